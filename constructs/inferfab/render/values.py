"""Values of Helm charts as one YAML text.

One text instead of ``set`` entries: nothing guesses types or splits at commas, and a plan shows the difference.
"""

import yaml
from pydantic import JsonValue

Value = JsonValue
"""What YAML and JSON hold."""
Values = dict[str, Value]


class _Dumper(yaml.SafeDumper):
    """Quotes every text value, so that a reference which Terraform fills in later stays a text."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, data: str) -> yaml.ScalarNode:
    style = "|" if "\n" in data else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", data, style=style)


def _mapping(dumper: yaml.SafeDumper, data: Values) -> yaml.MappingNode:
    node = dumper.represent_mapping("tag:yaml.org,2002:map", data)
    # Keys are ours and never references: plain where YAML allows it, for the reader of a plan.
    for key, _ in node.value:
        key.style = None
    return node


_Dumper.add_representer(str, _text)
_Dumper.add_representer(dict, _mapping)


def yaml_text(values: Values) -> str:
    """The values as YAML, keys sorted: the same bytes whatever the order in which they were put together."""
    return str(yaml.dump(values, Dumper=_Dumper, sort_keys=True, default_flow_style=False, width=1 << 20))
