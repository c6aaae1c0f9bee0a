"""Where GPUs are in a Terraform plan: which machines, how many, bought how, on either side of a change."""

from inferfab.review.gpus.extract import HOLDERS, WANTED, holders
from inferfab.review.gpus.group import GpuGroup

__all__ = ["HOLDERS", "WANTED", "GpuGroup", "holders"]
