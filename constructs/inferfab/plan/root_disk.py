"""The root disk of a GPU node."""

import math

from inferfab.plan.quantities import GIB

ROOT_DISK_GIB = 200
_IMAGES_GIB = 100
"""Of a root disk without local NVMe beside it: system, engine images (20 GiB each, unpacked) and logs. An estimate."""
_MODEL_ROOM = 1.2
"""Over the models' size: a revision comes beside the old one in parts."""


def root_disk_gib(local_nvme_gb: int, model_bytes: int) -> int:
    """200 GiB; more where the models lie on it."""
    if local_nvme_gb:
        return ROOT_DISK_GIB
    return max(ROOT_DISK_GIB, _IMAGES_GIB + math.ceil(_MODEL_ROOM * model_bytes / GIB))
