"""Machines without GPUs, by name."""

import pytest

from inferfab.catalog.instances import Cloud
from inferfab.catalog.system_nodes import machine_size


@pytest.mark.parametrize(
    ("cloud", "name", "vcpus", "gib"),
    [
        ("aws", "m7i.large", 2, 8),
        ("aws", "m7i.xlarge", 4, 16),
        ("aws", "m7i.2xlarge", 8, 32),
        ("aws", "r7i.24xlarge", 96, 768),
        ("gcp", "n2-standard-8", 8, 32),
        ("gcp", "e2-highmem-4", 4, 32),
    ],
)
def test_sizes_by_name(cloud: Cloud, name: str, vcpus: int, gib: int) -> None:
    """As the clouds' machine pages have them."""
    size = machine_size(cloud, name)
    assert size is not None
    assert (size.cpu_millis, size.memory_mib) == (1000 * vcpus, 1024 * gib)


@pytest.mark.parametrize(
    ("cloud", "name"),
    [("aws", "t4g.micro"), ("aws", "m7i"), ("aws", "m7i.metal"), ("gcp", "n2-custom-4-5120"), ("gcp", "x")],
)
def test_what_the_catalog_does_not_know(cloud: Cloud, name: str) -> None:
    """Nothing is guessed."""
    assert machine_size(cloud, name) is None
