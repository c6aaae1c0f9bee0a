"""The shell script that fills a mirror."""

import json
import re
from typing import Any

from inferfab.mirror.ecr import ecr_of
from inferfab.mirror.inventory import Inventory
from inferfab.plan.images import ImageSource
from inferfab.render.templates import render

_EXPRESSION = re.compile(r"\$\{[^}]*\}")


def mirror_script(found: Inventory, source: ImageSource) -> str:
    """Copies images and charts, then asks the real charts what they pull and refuses what is not in the mirror.

    :raises ValueError: without a mirror.
    """
    if source.mirror is None:
        raise ValueError("the environment has no images.mirror")
    host, _, path = source.mirror.partition("/")
    return render(
        "mirror/mirror.sh.j2",
        environment=found.environment,
        mirror=source.mirror,
        host=host,
        path=path,
        ecr=ecr_of(source.mirror),
        sources=_logins(found, host),
        images=[one.reference for one in found.images if one.tag or one.digest],
        unknown=[one.public for one in found.images if not one.tag and not one.digest],
        charts=[
            {
                "chart": use.chart,
                "version": use.version,
                "oci": use.public.startswith("oci://"),
                "repository": use.public,
                "values": [_for_helm(values) for values in use.values],
            }
            for use in found.charts
        ],
        charts_repository=source.charts,
    )


def _logins(found: Inventory, mirror_host: str) -> list[dict[str, str]]:
    """Registries of ECR that images come from: also AWS's own want a login, of any account."""
    hosts = {one.public.partition("/")[0] for one in found.images} - {mirror_host}
    known = ((host, ecr_of(host)) for host in sorted(hosts))
    return [{"host": host, "region": ecr.region} for host, ecr in known if ecr is not None]


def _for_helm(values: dict[str, Any]) -> str:
    """What only Terraform knows (a VPC's id) changes no image. JSON on one line is YAML."""
    return json.dumps(json.loads(_EXPRESSION.sub("unknown", json.dumps(values))), sort_keys=True)
