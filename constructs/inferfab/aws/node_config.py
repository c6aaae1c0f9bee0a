"""User data of a node: what nodeadm and cloud-init read before the kubelet starts."""

import base64

import yaml
from pydantic import NonNegativeInt, PositiveInt, field_validator

from inferfab.record import Record
from inferfab.render.templates import render

_BOUNDARY = "==inferfab=="
_HUGEPAGE_MIB = 2


class NodeConfigSpec(Record):
    """What differs from the image's own settings."""

    raid0: bool = False
    """Join the local NVMe disks, and put kubelet, containerd and pod logs there. Default: leave them unformatted."""
    max_pods: PositiveInt | None = None
    """Default: what EKS works out for the machine type, which does not know about efa-only interfaces."""
    hugepages_2mi_mib: NonNegativeInt = 0
    """Memory to set aside as huge pages of 2 MiB. Default: none."""

    @field_validator("hugepages_2mi_mib")
    @classmethod
    def _whole_pages(cls, mib: int) -> int:
        if mib % _HUGEPAGE_MIB:
            raise ValueError(f"{mib} MiB is not a whole number of 2 MiB pages")
        return mib


def user_data(spec: NodeConfigSpec) -> str | None:
    """The MIME document in Base64, as a launch template takes it; None where there is nothing to say.

    It names no cluster: EKS merges its own part in, for every image but a custom one.
    """
    parts = []
    if spec.hugepages_2mi_mib:
        script = render("node/hugepages.sh.j2", pages=spec.hugepages_2mi_mib // _HUGEPAGE_MIB)
        parts.append(("text/x-shellscript", script))
    node = _node_config(spec)
    if node:
        parts.append(("application/node.eks.aws", node))
    if not parts:
        return None
    lines = ["MIME-Version: 1.0", f'Content-Type: multipart/mixed; boundary="{_BOUNDARY}"', ""]
    for content_type, content in parts:
        lines += [f"--{_BOUNDARY}", f'Content-Type: {content_type}; charset="us-ascii"', "", content]
    lines += [f"--{_BOUNDARY}--", ""]
    return base64.b64encode("\n".join(lines).encode()).decode()


def _node_config(spec: NodeConfigSpec) -> str:
    settings: dict[str, object] = {}
    if spec.raid0:
        settings["instance"] = {"localStorage": {"strategy": "RAID0"}}
    if spec.max_pods is not None:
        # As a flag: EKS's own part says maxPods in the kubelet's file, and of two parts nodeadm takes the later
        # one's, whichever that is. Flags of both parts are appended, and the kubelet puts a flag before its file
        # (awslabs/amazon-eks-ami nodeadm/internal/api/merge.go).
        settings["kubelet"] = {"flags": [f"--max-pods={spec.max_pods}"]}
    if not settings:
        return ""
    document = {"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": settings}
    return "---\n" + yaml.safe_dump(document, sort_keys=False)
