"""Command line, environment and memory of the workers, held against the pair's own flag lists."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from inferfab.catalog.engines import Flag, vllm_flags
from inferfab.catalog.facts import DATA
from inferfab.environment.environment import Environment
from inferfab.plan.engine import EnginePlan
from inferfab.plan.fleet import FleetPlan, plan
from inferfab.plan.transport import efa_transport, roce_transport
from strategies import environments, quick

from .planning import aggregated, disaggregated, pool_plan, prod_plan, tree

VLLM = vllm_flags("0.31.0")
WRAPPER: dict[str, Any] = json.loads((DATA / "dynamo_flags_1.6.1.json").read_text())["dynamo.vllm wrapper"]
CONFIG_CLASSES = Path(__file__).resolve().parents[3] / "shared/data/engines/vllm_config_classes_0.31.0.json"
GIB = 2**30


def engines(fleet: FleetPlan) -> list[EnginePlan]:
    found = [r.engine for p in fleet.pools for r in p.roles]
    return found + [i.engine for p in fleet.pools if p.shared for i in p.shared.instances]


def values(engine: EnginePlan) -> dict[str, str]:
    return {e.name: e.value for e in engine.env if e.value is not None}


def config(engine: EnginePlan, flag: str) -> dict[str, Any]:
    text = engine.value_of(flag)
    assert text is not None
    return json.loads(text)  # type: ignore[no-any-return]


def assert_flag_exists(name: str, value: str | None) -> None:
    if name in WRAPPER:
        choices = WRAPPER[name]["choices"]
        assert choices is None or value in choices
        return
    positive = f"--{name.removeprefix('--no-')}" if name.startswith("--no-") and name not in VLLM else name
    assert positive in VLLM, name
    flag: Flag = VLLM[positive]
    assert positive == name or flag.negatable, name
    if value is None:
        assert flag.type == "bool" or flag.nargs in (0, "?"), name
    elif isinstance(flag.choices, tuple) and not flag.choices_open:
        assert value in flag.choices, (name, value)


def assert_sound(engine: EnginePlan) -> None:
    """Long form, value apart, known to the pair, each flag once."""
    argv = engine.argv()
    for argument in engine.arguments:
        assert argument.flag.startswith("--")
        assert "=" not in argument.flag
        assert argument.flag.split() == [argument.flag]
        assert_flag_exists(argument.flag, argument.value)
    names = [a.flag for a in engine.arguments]
    assert len(names) == len(set(names))
    assert len(argv) == sum(1 if a.value is None else 2 for a in engine.arguments)
    assert int(engine.value_of("--max-num-batched-tokens") or 0) > 0
    assert 0 < float(engine.value_of("--gpu-memory-utilization") or 0) <= 1
    assert values(engine)["PYTHONHASHSEED"] == "0"
    side = next(e for e in engine.env if e.name == "VLLM_NIXL_SIDE_CHANNEL_HOST")
    assert (side.value, side.field_ref) == (None, "status.podIP")
    assert engine.image.rpartition(":")[2] in ("1.6.1", "1.6.1-efa")


def test_prod_engines() -> None:
    """Every worker of prod starts with flags that vLLM 0.31.0 or the Dynamo wrapper know."""
    for engine in engines(prod_plan()):
        assert_sound(engine)


@quick
@given(environments())
def test_generated_engines(environment: Environment) -> None:
    """The same over generated fleets, and the batch of tokens holds one token of each sequence."""
    for engine in engines(plan(environment)):
        assert_sound(engine)
        flags = {a.flag for a in engine.arguments}
        assert {"--model", "--max-model-len", "--tensor-parallel-size", "--block-size"} <= flags
        if not environment.pools:
            continue
        if "--max-num-seqs" in flags:
            assert int(engine.value_of("--max-num-seqs") or 0) <= int(engine.value_of("--max-num-batched-tokens") or 0)


@quick
@given(environments())
def test_memory_limit_holds_shm_and_cpu_tier(environment: Environment) -> None:
    """tmpfs counts against a pod's limit (kubernetes#128339), and the CPU KV tier is a file in it.

    /dev/shm: 10 GiB a GPU (4 for a single GPU without RDMA) and the tier; beside it 8 GiB and 4 a GPU.
    """
    fleet = plan(environment)
    tiers = {m.name: m.cpu_tier_bytes_per_gpu for m in fleet.models}
    for pool in fleet.pools:
        for role in pool.roles:
            engine, tier = role.engine, tiers[pool.models[0]] * role.engine.gpus
            alone = role.parallelism.gpus == 1 and role.fabric.kind == "tcp"
            assert engine.cpu_tier_bytes == tier
            assert engine.shm_bytes == (4 * GIB if alone else 10 * GIB * engine.gpus) + tier
            assert engine.memory_limit_bytes == engine.shm_bytes + 8 * GIB + 4 * GIB * engine.gpus


def test_example_argv() -> None:
    """The parallel flags stand in the only form that the operator reads: long, value as an item of its
    own."""
    argv = (
        pool_plan(aggregated(tensor_parallel=4, pipeline_parallel=2, data_parallel=2, expert_parallel=True))
        .roles[0]
        .engine.argv()
    )
    for flag, value in (
        ("--tensor-parallel-size", "4"),
        ("--pipeline-parallel-size", "2"),
        ("--data-parallel-size", "2"),
    ):
        assert argv[argv.index(flag) + 1] == value
    assert "--enable-expert-parallel" in argv
    assert argv[argv.index("--kv-cache-dtype") + 1] == "fp8"
    assert argv[argv.index("--max-model-len") + 1] == "32768"


@pytest.mark.parametrize(("dtype", "spelled"), [("auto", "bfloat16"), ("bf16", "bfloat16"), ("nvfp4", "nvfp4")])
def test_kv_dtype(dtype: str, spelled: str) -> None:
    """vLLM's own spelling of each precision."""
    models = tree()["models"]
    models["llama"]["kv_cache_dtype"] = dtype
    assert pool_plan(aggregated(), models=models).roles[0].engine.value_of("--kv-cache-dtype") == spelled


def test_roles_of_a_disaggregated_pool() -> None:
    """Prefill produces KV, decode consumes it; never kv_both, which is deprecated with the NIXL connector."""
    for role in pool_plan(disaggregated()).roles:
        assert role.engine.value_of("--disaggregation-mode") == role.role
        expected = {"prefill": "kv_producer", "decode": "kv_consumer"}[role.role]
        transfer = config(role.engine, "--kv-transfer-config")
        assert (transfer["kv_connector"], transfer["kv_role"]) == ("NixlConnector", expected)


def test_aggregated_pool_moves_no_cache() -> None:
    """No transfer config and no mode, but events for the router."""
    engine = pool_plan(aggregated()).roles[0].engine
    assert engine.value_of("--kv-transfer-config") is None
    assert engine.value_of("--disaggregation-mode") is None
    events = config(engine, "--kv-events-config")
    assert events == {"enable_kv_cache_events": True, "publisher": "zmq", "endpoint": "tcp://*:5557"}


def test_efa_bundle_is_complete() -> None:
    """LIBFABRIC, all FI_* of the EKS EFA guide, 5,120 MiB of huge pages, EFA devices, privileged, the
    -efa image."""
    for role in pool_plan(disaggregated()).roles:
        engine = role.engine
        transfer = config(engine, "--kv-transfer-config")
        assert transfer["kv_connector_extra_config"] == {"backends": ["LIBFABRIC"]}
        assert transfer.get("kv_buffer_device", "cuda") == "cuda"
        fi = {k: v for k, v in values(engine).items() if k.startswith("FI_")}
        assert fi == {
            "FI_PROVIDER": "efa", "FI_EFA_USE_DEVICE_RDMA": "1", "FI_EFA_ENABLE_SHM": "0",
            "FI_EFA_ENABLE_SHM_TRANSFER": "0", "FI_EFA_FORK_SAFE": "0", "FI_EFA_USE_HUGE_PAGE": "1",
        }  # fmt: skip
        assert engine.hugepages_2mi_mib == 5120
        assert engine.resources == {"vpc.amazonaws.com/efa": 8}
        assert engine.privileged
        assert engine.image == "nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.6.1-efa"
        assert not any(name.startswith("UCX_") for name in values(engine))


def test_dranet_needs_no_privilege() -> None:
    """With DRANET the pod claims devices: no extended resource, IPC_LOCK instead of privileged."""
    cell = {"fabric": {"kind": "efa", "plugin": "dranet"}}
    engine = pool_plan(disaggregated(), cell=cell).roles[0].engine
    assert (engine.resources, engine.privileged, engine.capabilities) == ({}, False, ("IPC_LOCK",))
    assert efa_transport(4, dranet=True, image_suffix="-efa").hugepages_2mi_mib == 5120


def test_roce_bundle() -> None:
    """UCX with cuda_copy and cuda_ipc in its list, and no GID index: it differs inside a pod."""
    for role in pool_plan(disaggregated("a3-ultragpu-8g"), gcp=True).roles:
        engine = role.engine
        assert config(engine, "--kv-transfer-config")["kv_connector_extra_config"] == {"backends": ["UCX"]}
        env = values(engine)
        assert {"rc", "cuda_copy", "cuda_ipc"} <= set(env["UCX_TLS"].split(","))
        assert env["UCX_IB_ADDR_TYPE"] == "eth"
        assert not any("GID_INDEX" in name for name in env)
        assert not any("TRAFFIC_CLASS" in name or name == "NCCL_IB_TC" for name in env)
        assert engine.capabilities == ("IPC_LOCK",)
        assert engine.image.endswith(":1.6.1")


def test_marking_reaches_ucx_and_nccl() -> None:
    """Where the fabric lets us mark, both libraries get the same ToS byte."""
    transport = roce_transport(traffic_class=106, nic_resources={"rdma/nics": 8})
    env = {e.name: e.value for e in transport.env}
    assert (env["UCX_IB_TRAFFIC_CLASS"], env["NCCL_IB_TC"]) == ("106", "106")
    assert transport.resources == {"rdma/nics": 8}


def test_cpu_tier_beside_nixl() -> None:
    """Offloading and NIXL together are a MultiConnector, the tier itself in both roles, of all GPUs of a rank."""
    models = tree()["models"]
    models["llama"]["offload"] = {"cpu_gib_per_gpu": 30, "nvme_gib_per_gpu": 100}
    for role in pool_plan(disaggregated(), models=models).roles:
        transfer = config(role.engine, "--kv-transfer-config")
        assert transfer["kv_connector"] == "MultiConnector"
        nixl, offload = transfer["kv_connector_extra_config"]["connectors"]
        assert nixl["kv_role"] == transfer["kv_role"] != "kv_both"
        assert (offload["kv_connector"], offload["kv_role"]) == ("OffloadingConnector", "kv_both")
        assert offload["kv_connector_extra_config"]["cpu_bytes_to_use"] == 4 * 30 * GIB
    alone = pool_plan(aggregated(tensor_parallel=4), models=models).roles[0].engine
    transfer = config(alone, "--kv-transfer-config")
    assert transfer["kv_role"] == "kv_both"
    assert transfer["kv_connector_extra_config"]["secondary_tiers"][0]["type"] == "fs"
    assert alone.kv_disk_bytes == 4 * 100 * GIB


def test_a_data_parallel_rank_has_its_own_cpu_tier() -> None:
    """Two ranks of TP2: each engine gets the tier of two GPUs, the pod's memory that of four."""
    models = tree()["models"]
    models["llama"]["offload"] = {"cpu_gib_per_gpu": 30}
    engine = pool_plan(aggregated(tensor_parallel=2, data_parallel=2), models=models).roles[0].engine
    assert config(engine, "--kv-transfer-config")["kv_connector_extra_config"]["cpu_bytes_to_use"] == 2 * 30 * GIB
    assert engine.cpu_tier_bytes == 4 * 30 * GIB


def transfer_parts(transfer: dict[str, Any]) -> list[dict[str, Any]]:
    nested = transfer.get("kv_connector_extra_config", {}).get("connectors", [])
    return [transfer, *nested]


@pytest.mark.skipif(not CONFIG_CLASSES.exists(), reason="the extracted config classes are on the build machine only")
@quick
@given(environments())
def test_json_keys_exist(environment: Environment) -> None:
    """Keys and choices of the JSON flags are fields of vLLM 0.31.0's config classes."""
    classes = json.loads(CONFIG_CLASSES.read_text())["classes"]
    for engine in [*engines(plan(environment)), *engines(prod_plan())]:
        for flag, name in (
            ("--kv-transfer-config", "KVTransferConfig"),
            ("--kv-events-config", "KVEventsConfig"),
            ("--speculative-config", "SpeculativeConfig"),
        ):
            if engine.value_of(flag) is None:
                continue
            for part in transfer_parts(config(engine, flag)):
                for key, value in part.items():
                    assert key in classes[name], (flag, key)
                    choices = classes[name][key].get("choices")
                    if choices and not classes[name][key].get("choices_open"):
                        assert value in choices, (flag, key, value)


def flagged(**flags: str | int | float | bool) -> EnginePlan:
    named = {f"--{name.replace('_', '-')}": value for name, value in flags.items()}
    return pool_plan(aggregated(flags=named)).roles[0].engine


def test_stated_flags_replace_ours() -> None:
    """What the environment states stands once and last."""
    engine = flagged(max_num_seqs=17, enforce_eager=True, enable_chunked_prefill=False)
    assert engine.argv().count("--max-num-seqs") == 1
    assert engine.value_of("--max-num-seqs") == "17"
    assert "--enforce-eager" in engine.argv()
    assert "--no-enable-chunked-prefill" in engine.argv()


def test_stated_switch_replaces_its_opposite() -> None:
    """``--enable-prefix-caching: false`` leaves the negative form only; so does turning it on against
    the model's."""
    off = flagged(enable_prefix_caching=False).argv()
    assert "--no-enable-prefix-caching" in off
    assert "--enable-prefix-caching" not in off
    off = flagged(no_enable_prefix_caching=True).argv()
    assert "--no-enable-prefix-caching" in off
    assert "--enable-prefix-caching" not in off


def test_batch_is_what_the_cache_holds() -> None:
    """Gemma 3's windows are full at 1,024 tokens: 2,000-token requests need far more a token than 128k ones.

    H100 81,559 MiB x 0.92 = 78.68 GB; less 54.86 weights and 3 + 0.88 + 0.27 overhead leaves 19.67 GB.
    A request of
    2,000 + 300 / 2 tokens holds (10 x 2,150 + 52 x 1,024) x 2 x 16 x 128 elements of two bytes = 612
    MB: 32 of them.
    """
    models = {
        "llama": {
            "catalog": "gemma-3-27b",
            "revision": "0123456789",
            "context_tokens": 131_072,
            "quantization": "bf16",
        }
    }
    workload = {"prompt_tokens": 2000, "output_tokens": 300}
    engine = (
        pool_plan(aggregated("p5.48xlarge"), models=models, tiers={"standard": {"workload": workload}}).roles[0].engine
    )
    left = 81_559 * 2**20 * 0.92 - 54_864_980_440 - 3e9 - 10 * 8192 * 5376 * 2 - 256 * 262_208 * 4
    each = (10 * 2150 + 52 * 1024) * 2 * 16 * 128 * 2
    assert int(left / each) == 32
    assert engine.value_of("--max-num-seqs") == "32"


def test_mirror_of_the_image() -> None:
    """A registry of one's own keeps the image's name."""
    engine = (
        pool_plan(disaggregated(), engine={"dynamo": "1.6.1", "image_registry": "registry.example.com/mirror/"})
        .roles[0]
        .engine
    )
    assert engine.image == "registry.example.com/mirror/vllm-runtime:1.6.1-efa"
