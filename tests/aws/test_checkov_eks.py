"""checkov over a whole cell: no finding without a reason beside its resource."""

from pathlib import Path

from inferfab.aws.cluster import EksCluster
from inferfab.terraform.skips import recorded_skips

from .checkov import scan
from .samples_eks import cluster_spec, whole_cell
from .synth_eks import stack_json


def test_a_cells_cluster_passes_checkov(tmp_path: Path) -> None:
    """Excused are only checkov's old list of versions, and what a public cluster with short logs asks for."""
    cell = stack_json(whole_cell)
    public = stack_json(
        lambda stack: EksCluster(
            stack, "cluster", cluster_spec(public_access_cidrs=("203.0.113.0/24",), log_retention_days=30)
        )
    )
    assert {skip.check_id for skip in recorded_skips(cell)} == {"CKV_AWS_339"}
    found = scan({"cell": cell, "public": public}, tmp_path)
    assert found.checks > 60
    assert found.failed == ()
    assert {(f.stack, f.check_id) for f in found.explained} == {
        ("cell", "CKV_AWS_339"), ("public", "CKV_AWS_339"), ("public", "CKV_AWS_39"), ("public", "CKV_AWS_338"),
    }  # fmt: skip
