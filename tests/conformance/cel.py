"""The CEL rules of the CRDs, answered by hand: there is no CEL engine in Python that the tests could use.

A rule that is neither answered nor passed over below makes the validator fail, so a newer CRD cannot bring a rule that
nobody looks at.
"""

import re
from collections import Counter
from collections.abc import Callable
from typing import Any


class UnknownRuleError(LookupError):
    """A CRD has a rule that this file does not name."""


def _no_twins(components: Any) -> bool:
    names = Counter(str(one["name"]).lower() for one in components if "name" in one)
    return all(count == 1 for count in names.values())


def _min_available(component: Any) -> bool:
    if "minAvailable" not in component or component.get("replicas") == 0:
        return True
    return bool(component["minAvailable"] <= component.get("replicas", 1))


ANSWERED: dict[str, Callable[[Any], bool]] = {
    "self.filter(c, has(c.type) && c.type == 'epp').size() <= 1": lambda components: (
        sum(one.get("type") == "epp" for one in components) <= 1
    ),
    "self.all(c1, !has(c1.name) || self.filter(c2, has(c2.name) && c2.name.lowerAscii() == c1.name.lowerAscii())"
    ".size() == 1)": _no_twins,
    "!has(self.eppConfig) || (has(self.type) && self.type == 'epp')": lambda component: (
        "eppConfig" not in component or component.get("type") == "epp"
    ),
    "has(self.configMapRef) != has(self.config)": lambda epp: ("configMapRef" in epp) != ("config" in epp),
    # 1.2.0 knows labelKey only; the overlay of 1.6 has the rule after it in its place.
    "has(self.labelKey)": lambda policy: "labelKey" in policy,
    "(has(self.labelKey) && !has(self.clusterTopologyName)) || "
    "(!has(self.labelKey) && has(self.clusterTopologyName))": (
        lambda policy: ("labelKey" in policy) != ("clusterTopologyName" in policy)
    ),
    "!has(self.enforcement) || self.enforcement != 'preferred' || has(self.preferredWeight)": lambda policy: (
        policy.get("enforcement") != "preferred" or "preferredWeight" in policy
    ),
    "!has(self.preferredWeight) || (has(self.enforcement) && self.enforcement == 'preferred')": lambda policy: (
        "preferredWeight" not in policy or policy.get("enforcement") == "preferred"
    ),
    "!self.contains('/') || self.split('/')[0].size() <= 253": lambda key: "/" not in key or key.index("/") <= 253,
    "!has(self.minAvailable) || (has(self.replicas) && self.replicas == 0) || self.minAvailable <= "
    "(has(self.replicas) ? self.replicas : 1)": _min_available,
    # NicConfigurationTemplate.
    "has(self.networkBay) || has(self.linkType)": lambda template: "networkBay" in template or "linkType" in template,
    "!has(self.networkBay) || !has(self.linkType)": lambda template: not {"networkBay", "linkType"} <= template.keys(),
    "!has(self.template.networkBay) || self.nicSelector.nicType == '1025'": lambda spec: (
        "networkBay" not in spec["template"] or spec["nicSelector"]["nicType"] == "1025"
    ),
    "!has(self.rawNvConfig) || self.rawNvConfig.all(p, !p.name.matches('.*[[][0-9]+[.][.][0-9]+[]].*'))": (
        lambda template: (
            not any(re.search(r"\[[0-9]+\.\.[0-9]+\]", one["name"]) for one in template.get("rawNvConfig", ()))
        )
    ),
    # KEDA's ScaledObject.
    "!has(self.minReplicaCount) || self.minReplicaCount <= (has(self.maxReplicaCount) ? self.maxReplicaCount : 100)": (
        lambda spec: spec.get("minReplicaCount", 0) <= spec.get("maxReplicaCount", 100)
    ),
    # What we render is created, so there is no old object.
    "oldSelf.hasValue() || !has(self.restart)": lambda spec: "restart" not in spec,
}
"""By the rule's text."""

_SPECTRUM_X = "Spectrum-X: inferfab renders none"
PASSED_OVER: dict[str, str] = {
    "!(has(self.template.spectrumXOptimized) && self.template.spectrumXOptimized.enabled) || "
    "(self.nicSelector.nicType == '1023' || self.nicSelector.nicType == '1025' || "
    "self.nicSelector.nicType == 'a2dc')": _SPECTRUM_X,
    "!has(self.multiplaneMode) || !has(self.numberOfPlanes) || self.multiplaneMode == 'none' || "
    "self.numberOfPlanes != 1": _SPECTRUM_X,
    "!has(self.multiplaneMode) || !has(self.numberOfPlanes) || self.multiplaneMode != 'none' || "
    "self.numberOfPlanes == 1": _SPECTRUM_X,
    "!(has(self.spectrumXOptimized) && self.spectrumXOptimized.enabled) || ((!has(self.linkType) || "
    "self.linkType == 'Ethernet') && self.numVfs == 1)": _SPECTRUM_X,
    "!has(self.template.spectrumXOptimized) || !has(self.template.spectrumXOptimized.multiplaneMode) || "
    "self.template.spectrumXOptimized.multiplaneMode != 'hwplb' || self.nicSelector.nicType == '1023' || "
    "self.nicSelector.nicType == '1025'": _SPECTRUM_X,
    "!(has(self.spectrumXOptimized) && self.spectrumXOptimized.enabled) || !(has(self.roceOptimized) && "
    "self.roceOptimized.enabled)": _SPECTRUM_X,
    "self == oldSelf": "what is rendered is created: there is no old object",
    "self.endIndex >= self.startIndex": "nv-ipam: inferfab excludes no addresses",
    "(has(self.checkpointRef) && size(self.checkpointRef) > 0) || has(self.identity)": (
        "checkpoint: the overlay of 1.6 takes the field away, inferfab renders none"
    ),
}
"""Rules that nothing rendered can reach, with the reason. Rules on ``oldSelf`` are admission.py's."""


def keeps(rule: str, value: Any) -> bool:
    """Whether a value keeps a rule.

    :raises UnknownRuleError: if the rule is not in this file.
    """
    if rule in PASSED_OVER:
        return True
    try:
        answer = ANSWERED[rule]
    except KeyError:
        raise UnknownRuleError(f"name this rule in {__name__}: {rule}") from None
    try:
        return answer(value)
    except (TypeError, AttributeError):
        # A value of the wrong type: another keyword of the schema reports it, as in an API server.
        return True
