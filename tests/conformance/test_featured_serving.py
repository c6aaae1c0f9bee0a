"""What the shipped environments lack, through every proof: adapters, claims, sleeping models, several nodes, ..."""

import pytest

from inferfab.render.serving import serving_files

from .check_files import PROOFS, check_files
from .featured import FEATURES, featured
from .yaml_kit import assert_same_in_yaml_1_1_and_1_2


@pytest.mark.parametrize("proof", PROOFS)
@pytest.mark.parametrize("feature", FEATURES)
def test_real_consumers_take_it(feature: str, proof: str) -> None:
    """Each feature's files through one proof."""
    fleet = featured(feature)
    for cell in fleet.cells:
        check_files(serving_files(fleet, cell), (proof,))


@pytest.mark.parametrize("feature", FEATURES)
def test_every_yaml_reader_reads_the_same(feature: str) -> None:
    """YAML 1.1 and 1.2."""
    fleet = featured(feature)
    for cell in fleet.cells:
        for text in serving_files(fleet, cell).values():
            assert_same_in_yaml_1_1_and_1_2(text)
