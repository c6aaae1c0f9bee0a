"""The hardware facts load, agree with the research notes and with one another, and a broken file is refused.

Expected values are typed in from the notes and datasheets, never computed from the files under test.
"""

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from inferfab.catalog import engines
from inferfab.catalog.engines import engine_pairs, vllm_flags
from inferfab.catalog.facts import DATA, BadFactFile, read_facts
from inferfab.catalog.gpus import Gpu, GpuFile, gpus
from inferfab.catalog.instances import EfaNics, InstanceFile, InstanceType, RoceNics, instances
from inferfab.catalog.limits import limit, limits

GPU_IDS = [
    "t4",
    "a10g",
    "l4",
    "l40s",
    "a100-40gb",
    "a100-80gb",
    "h100",
    "h200",
    "b200",
    "b300",
    "gb200",
    "rtx-pro-4500",
    "rtx-pro-6000",
]


def aws(name: str) -> tuple[InstanceType, EfaNics]:
    instance = instances("aws")[name]
    assert isinstance(instance.nics, EfaNics)
    return instance, instance.nics


def gcp(name: str) -> tuple[InstanceType, RoceNics]:
    instance = instances("gcp")[name]
    assert isinstance(instance.nics, RoceNics)
    return instance, instance.nics


class TestGpus:
    """Every GPU is there, with dense (never sparse) tensor rates and the memory that the driver reports."""

    def test_all_ids(self) -> None:
        assert list(gpus()) == GPU_IDS

    @pytest.mark.parametrize(
        ("gpu", "memory_mib"),
        [
            ("a10g", 23028),
            ("l4", 23034),
            ("l40s", 46068),
            ("a100-80gb", 81920),
            ("h100", 81559),
            ("h200", 143771),
            ("b200", 183359),
            ("b300", 275040),
            ("gb200", 189471),
            ("rtx-pro-6000", 97887),
        ],
    )
    def test_driver_memory(self, gpu: str, memory_mib: int) -> None:
        assert gpus()[gpu].memory_mib == memory_mib

    @pytest.mark.parametrize(
        ("gpu", "with_sparsity"),
        [
            ("a10g", {"bf16": 140}),
            ("l4", {"bf16": 242, "fp8": 485}),
            ("l40s", {"bf16": 733, "fp8": 1466}),
            ("a100-40gb", {"bf16": 624}),
            ("a100-80gb", {"bf16": 624}),
            ("h100", {"bf16": 1979, "fp8": 3958}),
            ("h200", {"bf16": 1979, "fp8": 3958}),
            ("b200", {"bf16": 4500, "fp8": 9000, "fp4": 18000}),
            ("gb200", {"bf16": 5000, "fp8": 10000, "fp4": 20000}),
            ("rtx-pro-6000", {"fp4": 4000}),
        ],
    )
    def test_half_of_the_sparse_figure(self, gpu: str, with_sparsity: dict[str, float]) -> None:
        """A datasheet prints twice the dense rate in large letters; only the dense one may be in the file."""
        dense = {str(precision): rate for precision, rate in gpus()[gpu].dense_tflops.items()}
        for precision, sparse in with_sparsity.items():
            assert dense[precision] == pytest.approx(sparse / 2, rel=0.02)

    def test_precisions_by_architecture(self) -> None:
        """fp8 began with Ada, fp4 with Blackwell, and Turing has no bf16."""
        expected = {
            "turing": set(),
            "ampere": {"bf16"},
            "ada": {"bf16", "fp8"},
            "hopper": {"bf16", "fp8"},
            "blackwell": {"bf16", "fp8", "fp4"},
        }
        for gpu in gpus().values():
            assert set(gpu.dense_tflops) == expected[gpu.architecture], gpu.title

    def test_nvlink(self) -> None:
        without = {name for name, gpu in gpus().items() if not gpu.nvlink}
        assert without == {"t4", "a10g", "l4", "l40s", "rtx-pro-4500", "rtx-pro-6000"}

    def test_every_row_has_a_source(self) -> None:
        assert all(gpu.source for gpu in gpus().values())


class TestMig:
    """Profiles stay inside the memory slices and can be placed as often as NVIDIA's guide says."""

    @pytest.mark.parametrize(
        ("gpu", "names"),
        [
            ("a100-40gb", ["1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"]),
            ("a100-80gb", ["1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"]),
            ("h100", ["1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"]),
            ("h200", ["1g.18gb", "1g.35gb", "2g.35gb", "3g.71gb", "4g.71gb", "7g.141gb"]),
            ("b200", ["1g.23gb", "1g.45gb", "2g.45gb", "3g.90gb", "4g.90gb", "7g.180gb"]),
            ("rtx-pro-6000", ["1g.24gb", "2g.48gb", "4g.96gb"]),
        ],
    )
    def test_names(self, gpu: str, names: list[str]) -> None:
        assert [profile.name for profile in gpus()[gpu].mig_profiles] == names

    @pytest.mark.parametrize("gpu", ["a100-40gb", "a100-80gb", "h100", "h200", "b200"])
    def test_placements_and_instance_counts(self, gpu: str) -> None:
        """What ``-lgipp`` prints for an eight-slice GPU, and the guide's 7, 4, 3, 2, 1 and 1 instances."""
        profiles = gpus()[gpu].mig_profiles
        assert [(p.starts, p.memory_slices) for p in profiles] == [
            ((0, 1, 2, 3, 4, 5, 6), 1),
            ((0, 2, 4, 6), 2),
            ((0, 2, 4), 2),
            ((0, 4), 4),
            ((0,), 4),
            ((0,), 8),
        ]
        assert [p.compute_slices for p in profiles] == [1, 1, 2, 3, 4, 7]

    @pytest.mark.parametrize("gpu", [gpu for gpu in gpus().values() if gpu.mig_profiles], ids=lambda g: g.title)
    def test_inside_the_slices_and_apart(self, gpu: Gpu) -> None:
        slices = max(profile.memory_slices for profile in gpu.mig_profiles)
        assert slices in (4, 8)
        for profile in gpu.mig_profiles:
            taken = [slot for start in profile.starts for slot in range(start, start + profile.memory_slices)]
            assert max(taken) < slices, profile.name
            assert len(taken) == len(set(taken)), f"{profile.name} overlaps itself"
            assert profile.memory_mib * len(profile.starts) <= gpu.memory_mib
            assert profile.name.startswith(f"{profile.compute_slices}g.")

    def test_a_process_sees_less_than_the_name_says(self) -> None:
        """A size in GB is rounded up from the true size, so taking it as GiB would overfill the instance."""
        for gpu in gpus().values():
            for profile in gpu.mig_profiles:
                assert profile.memory_mib < int(profile.name.split(".")[1].removesuffix("gb")) * 1024


class TestAws:
    """The converted table says what the notes say."""

    def test_every_type_has_a_known_gpu_and_sources(self) -> None:
        assert len(instances("aws")) == 54
        for instance in instances("aws").values():
            assert instance.gpu in gpus()
            assert instance.gpu_count >= 1
            assert instance.sources
            assert instance.quota_family is not None

    @pytest.mark.parametrize(
        ("name", "gpu", "count"),
        [
            ("p4d.24xlarge", "a100-40gb", 8),
            ("p4de.24xlarge", "a100-80gb", 8),
            ("p5.48xlarge", "h100", 8),
            ("p5en.48xlarge", "h200", 8),
            ("g7e.12xlarge", "rtx-pro-6000", 2),
            ("g6e.12xlarge", "l40s", 4),
        ],
    )
    def test_gpus(self, name: str, gpu: str, count: int) -> None:
        instance, _ = aws(name)
        assert (instance.gpu, instance.gpu_count) == (gpu, count)

    @pytest.mark.parametrize(
        ("name", "efa", "cards", "gbps"),
        [
            ("p5en.48xlarge", 16, 16, 3200),
            ("p5.48xlarge", 32, 32, 3200),
            ("p6-b200.48xlarge", 8, 8, 3200),
            ("p6-b300.48xlarge", 16, 17, 6400),
            ("g6e.48xlarge", 4, 4, 400),
            ("g6e.4xlarge", 0, 1, 20),
        ],
    )
    def test_efa(self, name: str, efa: int, cards: int, gbps: float) -> None:
        instance, nics = aws(name)
        assert (nics.efa_interfaces, nics.cards, instance.network_gbps) == (efa, cards, gbps)
        assert instance.rdma_gbps == (gbps if efa else 0)

    def test_p5en_layout(self) -> None:
        _, nics = aws("p5en.48xlarge")
        assert nics.layout is not None
        assert nics.layout[:3] == ((0, 0, "interface"), (0, 1, "efa-only"), (1, 0, "efa-only"))
        assert len(nics.layout) == 17

    def test_p6_b300_has_no_efa_on_card_0(self) -> None:
        _, nics = aws("p6-b300.48xlarge")
        assert not nics.card0_can_efa
        assert nics.layout is not None
        assert [kind for card, _, kind in nics.layout if card == 0] == ["interface"]

    def test_small_sizes_have_one_plain_interface(self) -> None:
        for name in ("g6e.4xlarge", "g5.xlarge", "g6.2xlarge", "g7e.4xlarge"):
            instance, nics = aws(name)
            assert nics.layout == ((0, 0, "interface"),)
            assert instance.rdma_nic_count == 0

    def test_layout_holds_as_many_efas_as_the_type_supports(self) -> None:
        for instance in instances("aws").values():
            assert isinstance(instance.nics, EfaNics)
            if instance.nics.layout is not None:
                efas = [kind for _, _, kind in instance.nics.layout if kind == "efa-only"]
                assert len(efas) == instance.nics.efa_interfaces, instance.name

    @pytest.mark.parametrize(
        ("name", "plain", "with_rdma"),
        [("p5en.48xlarge", 198, 149), ("p5.48xlarge", 100, 51), ("p6-b300.48xlarge", 198, 198)],
    )
    def test_pod_limits(self, name: str, plain: int, with_rdma: int) -> None:
        instance, _ = aws(name)
        assert (instance.max_pods, instance.max_pods_with_rdma) == (plain, with_rdma)

    def test_pod_limits_follow_the_formula(self) -> None:
        for instance in instances("aws").values():
            assert isinstance(instance.nics, EfaNics)
            enis, addresses = instance.nics.enis_per_card, instance.nics.ipv4_per_eni
            if enis is not None and addresses is not None:
                assert instance.max_pods == enis * (addresses - 1) + 2, instance.name

    def test_gb200_keeps_its_gaps(self) -> None:
        instance, nics = aws("p6e-gb200.36xlarge")
        assert instance.capacity_block_only
        assert instance.arch == "arm64"
        assert (instance.vcpus, instance.memory_mib, nics.efa_interfaces, nics.layout) == (
            None,
            None,
            None,
            None,
        )
        assert instance.note

    def test_only_gb200_is_sold_by_capacity_block_alone(self) -> None:
        only = [name for name, instance in instances("aws").items() if instance.capacity_block_only]
        assert only == ["p6e-gb200.36xlarge"]

    def test_quota_families(self) -> None:
        assert aws("p5.48xlarge")[0].quota_family == "Running On-Demand P instances"
        assert aws("g6e.12xlarge")[0].quota_family == "Running On-Demand G and VT instances"

    def test_driver_memory_against_the_size_that_aws_lists(self) -> None:
        """AWS converts 24 and 48 decimal GB, so the driver may report a little more, but never 1 % more."""
        listed = {"a10g": 22888, "l4": 22888, "l40s": 45776, "h100": 81920, "h200": 144384, "b300": 275040}
        for gpu, mib in listed.items():
            assert gpus()[gpu].memory_mib < mib * 1.01


class TestGcp:
    """RDMA where Google has it, none where it only has GPUDirect over TCP."""

    @pytest.mark.parametrize(
        ("name", "gpu", "count", "rdma", "total"),
        [
            ("a3-ultragpu-8g", "h200", 8, 3200, 3600),
            ("a4-highgpu-8g", "b200", 8, 3200, 3600),
            ("a4x-highgpu-4g", "gb200", 4, 1600, 2000),
            ("a3-megagpu-8g", "h100", 8, 0, 1800),
            ("a3-highgpu-8g", "h100", 8, 0, 1000),
            ("g2-standard-96", "l4", 8, 0, 100),
        ],
    )
    def test_types(self, name: str, gpu: str, count: int, rdma: float, total: float) -> None:
        instance, _ = gcp(name)
        assert (instance.gpu, instance.gpu_count) == (gpu, count)
        assert (instance.rdma_gbps, instance.network_gbps) == (rdma, total)

    def test_nics_add_up_to_the_advertised_bandwidth(self) -> None:
        for name in instances("gcp"):
            instance, nics = gcp(name)
            assert nics.gvnic_count * nics.gvnic_gbps + instance.rdma_gbps == instance.network_gbps

    def test_local_ssd_is_in_decimal_gigabytes(self) -> None:
        """32 disks of 375 GiB are 12,000 GiB, which are 12,884 GB."""
        assert gcp("a3-ultragpu-8g")[0].local_nvme_gb == 12884

    def test_only_grace_is_arm(self) -> None:
        assert [i.name for i in instances("gcp").values() if i.arch == "arm64"] == ["a4x-highgpu-4g"]

    def test_default_pods(self) -> None:
        assert {instance.max_pods for instance in instances("gcp").values()} == {110}


class TestEngines:
    """One pair, and a flag list by every spelling."""

    def test_pair(self) -> None:
        pair = engine_pairs()["1.6.1"]
        assert (pair.vllm, pair.nixl, pair.cuda, pair.minimum_driver) == ("0.31.0", "1.4.1", "13.0", "580")

    def test_every_pair_has_a_flag_list(self) -> None:
        assert all(vllm_flags(pair.vllm) for pair in engine_pairs().values())

    @pytest.mark.parametrize("version", ["0.31.0", "0.33.0"])
    def test_spellings_of_one_flag(self, version: str) -> None:
        flags = vllm_flags(version)
        assert flags["--tensor-parallel-size"] is flags["-tp"]
        assert flags["--tensor-parallel-size"].type == "int"

    def test_number_of_flags(self) -> None:
        """312 and 321 declarations; spellings may be more."""
        assert len({id(flag) for flag in vllm_flags("0.31.0").values()}) == 312
        assert len({id(flag) for flag in vllm_flags("0.33.0").values()}) == 321

    def test_dynamo_flag_list(self) -> None:
        raw = json.loads((DATA / "dynamo_flags_1.6.1.json").read_text(encoding="utf-8"))
        assert raw["version"].startswith("ai-dynamo 1.6.1")
        assert len(raw["dynamo.frontend"]) == 102

    @pytest.mark.parametrize(
        ("content", "problem"),
        [
            (b"\xff\xfe\x00", "codec"),
            (b"{", "Expecting"),
            (b"[]", "list indices"),
            (b'{"version": "9", "count": 0}', "missing 'flags'"),
            (b'{"version": "8", "count": 0, "flags": {}}', "version"),
            (b'{"version": "9", "count": 2, "flags": {"--a": {"flags": ["--a"]}}}', "count"),
            (b'{"version": "9", "count": 1, "flags": {"--a": {"flags": []}}}', "flags"),
            (b'{"version": "9", "count": 1, "flags": {"--a": {"flags": ["--a b"]}}}', "--a b"),
            (b'{"version": "9", "count": 1, "flags": {"--a": {"flags": ["--a"], "choices": 3}}}', "choices"),
            (
                b'{"version": "9", "count": 2, "flags": {"a": {"flags": ["--a"]}, "b": {"flags": ["--a"]}}}',
                "spelled by two flags",
            ),
        ],
    )
    def test_flag_list_refuses_rubbish(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, problem: str
    ) -> None:
        (tmp_path / "vllm_flags_9.json").write_bytes(content)
        monkeypatch.setattr(engines, "DATA", tmp_path)
        with pytest.raises(BadFactFile, match=problem):
            vllm_flags("9")

    def test_unknown_version(self) -> None:
        with pytest.raises(BadFactFile, match=r"vllm_flags_0\.0\.1\.json"):
            vllm_flags("0.0.1")


class TestLimits:
    """Limits are looked up by name, each with a source."""

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("eks_node_groups_per_cluster", 30),
            ("eks_nodes_per_node_group", 450),
            ("eks_cluster_name_length", 100),
            ("eks_node_group_name_length", 63),
            ("aws_iam_role_name_length", 64),
            ("gke_cluster_name_length", 40),
            ("gke_nodes_per_node_pool_zone", 1000),
            ("kubernetes_label_length", 63),
            ("grove_name_budget", 45),
        ],
    )
    def test_values(self, name: str, value: int) -> None:
        assert limit(name) == value

    def test_sources(self) -> None:
        assert all(one.source and one.applies_to and one.unit for one in limits().values())

    def test_unknown_name(self) -> None:
        with pytest.raises(KeyError):
            limit("no_such_limit")


GOOD_GPU: dict[str, Any] = {
    "title": "G",
    "architecture": "ada",
    "compute_capability": "8.9",
    "memory_mib": 1024,
    "memory_gb_per_second": 100,
    "dense_tflops": {"bf16": 1},
    "nvlink": False,
    "source": "test",
}


def gpu_file(tmp_path: Path, **changes: Any) -> Path:
    """A GPU file with one row; a change to ``None`` removes the key."""
    row = {key: value for key, value in {**GOOD_GPU, **changes}.items() if value is not None}
    path = tmp_path / "gpus.json"
    provenance = {"source": "test", "retrieved": "2026-01-01"}
    path.write_text(json.dumps({"provenance": provenance, "gpus": {"g": row}}), encoding="utf-8")
    return path


class TestBrokenFiles:
    """A file that does not hold what its type promises is refused whole, and the message names the field."""

    def test_the_unchanged_file_is_good(self, tmp_path: Path) -> None:
        assert read_facts(gpu_file(tmp_path), GpuFile).gpus["g"].memory_mib == 1024

    @pytest.mark.parametrize(
        ("changes", "field"),
        [
            ({"memory_mib": None}, "gpus.g.memory_mib"),
            ({"memroy": 3}, "gpus.g.memroy"),
            ({"nvlink": "perhaps"}, "gpus.g.nvlink"),
            ({"memory_mib": -1}, "gpus.g.memory_mib"),
            ({"dense_tflops": {"fp3": 1}}, "gpus.g.dense_tflops.fp3"),
            ({"architecture": "volta"}, "gpus.g.architecture"),
        ],
    )
    def test_field_is_named(self, tmp_path: Path, changes: dict[str, Any], field: str) -> None:
        with pytest.raises(BadFactFile) as caught:
            read_facts(gpu_file(tmp_path, **changes), GpuFile)
        assert any(problem.startswith(f"{field}") for problem in caught.value.problems)

    def test_all_problems_at_once(self, tmp_path: Path) -> None:
        with pytest.raises(BadFactFile) as caught:
            read_facts(gpu_file(tmp_path, memory_mib=None, nvlink="perhaps", title=3), GpuFile)
        assert len(caught.value.problems) == 3

    def test_profile_larger_than_the_gpu(self, tmp_path: Path) -> None:
        profile = {
            "name": "7g.9gb",
            "memory_mib": 9999,
            "compute_slices": 7,
            "memory_slices": 8,
            "starts": [0],
        }
        with pytest.raises(BadFactFile, match=r"7g\.9gb is larger"):
            read_facts(gpu_file(tmp_path, mig_profiles=[profile]), GpuFile)

    @pytest.mark.parametrize("content", [b"\xff\xfe\x00\x01", b"a: [1,", b"\t- x", b""])
    def test_not_yaml(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "gpus.yaml"
        path.write_bytes(content)
        with pytest.raises(BadFactFile, match=r"gpus\.yaml"):
            read_facts(path, GpuFile)

    def test_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(BadFactFile, match="cannot be read"):
            read_facts(tmp_path / "none.yaml", GpuFile)

    @pytest.mark.parametrize(
        ("change", "problem"),
        [
            ({"gpu": "h9000"}, "h9000"),
            ({"nics": {"kind": "infiniband"}}, "instances.0.nics"),
            ({"name": None}, "instances.0.name"),
        ],
    )
    def test_instances(self, tmp_path: Path, change: dict[str, Any], problem: str) -> None:
        raw = json.loads((DATA / "aws_instances.json").read_text(encoding="utf-8"))
        raw["instances"] = [{**raw["instances"][0], **change}]
        path = tmp_path / "aws_instances.json"
        path.write_text(json.dumps(raw), encoding="utf-8")
        with pytest.raises(BadFactFile, match=problem):
            read_facts(path, InstanceFile)

    def test_two_interfaces_in_one_slot(self, tmp_path: Path) -> None:
        raw = json.loads((DATA / "aws_instances.json").read_text(encoding="utf-8"))
        row = raw["instances"][0]
        row["nics"]["layout"] = [[0, 0, "interface"], [0, 0, "efa-only"]]
        raw["instances"] = [row]
        path = tmp_path / "aws_instances.json"
        path.write_text(json.dumps(raw), encoding="utf-8")
        with pytest.raises(BadFactFile, match="share a"):
            read_facts(path, InstanceFile)


@pytest.fixture(scope="module")
def importer() -> ModuleType:
    path = Path(__file__).parents[2] / "tools" / "import_aws_instances.py"
    spec = importlib.util.spec_from_file_location("import_aws_instances", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def aws_row(**changes: Any) -> dict[str, Any]:
    return {
        "instance_type": "g9.xlarge",
        "family": "g9",
        "gpu_count": 1,
        "gpu_name": "l4",
        "vcpus": 4,
        "memory_mib": 16384,
        "local_nvme_gb": None,
        "arch": "amd64",
        "network_bandwidth_mbps": 2500,
        "efa_max_interfaces": 0,
        "network_cards": 1,
        "enis_per_card": {"0": 4},
        "ipv4_per_eni": 15,
        "card0_supports_efa": False,
        "efa_layout_ip_optimised": [],
        "max_pods_eni_mode": 58,
        "max_pods_eni_mode_with_efa_only_on_card0": 58,
        "instance_topology_layers": None,
        "sources": ["owner/repo@0123456789abcdef0123:a/b.md (generated from somewhere)"],
        **changes,
    }


class TestImporter:
    """The tool keeps whole-GPU types of known GPUs, and gives the same bytes each time."""

    def test_row(self, importer: ModuleType) -> None:
        file = importer.convert({"generated": "2026-01-02", "rows": [aws_row()]})
        (instance,) = file.instances
        assert instance.network_gbps == 2.5
        assert instance.local_nvme_gb == 0
        assert instance.nics.layout == ((0, 0, "interface"),)
        assert instance.sources == ("owner/repo@0123456789ab:a/b.md",)

    def test_fractions_and_unknown_gpus_are_left_out_and_named(self, importer: ModuleType) -> None:
        rows = [
            aws_row(),
            aws_row(instance_type="g9f.xlarge", gpu_count=0),
            aws_row(instance_type="p99.xlarge", gpu_name="z1"),
        ]
        file = importer.convert({"generated": "2026-01-02", "rows": rows})
        assert [instance.name for instance in file.instances] == ["g9.xlarge"]
        assert "g9f.xlarge, p99.xlarge left out" in file.provenance.note

    def test_same_bytes_whatever_the_order(self, importer: ModuleType, tmp_path: Path) -> None:
        rows = [aws_row(), aws_row(instance_type="g9.2xlarge")]
        for name, order in (("a.json", rows), ("b.json", rows[::-1])):
            importer.write(importer.convert({"generated": "2026-01-02", "rows": order}), tmp_path / name)
        assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
        assert len(read_facts(tmp_path / "a.json", InstanceFile).instances) == 2
