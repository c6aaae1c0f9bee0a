"""Rules about engines that serve together, on plans: what flags of the environment can break, and what only another
plan could. The same rules on manifests: tests/manifests."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from rule_examples import Bend, Example, Fails, Passes, bend_groups, examples

from environments import AGGREGATED, DISAGGREGATED, GCP, base, cell
from inferfab.plan.engine import Argument, EnginePlan
from inferfab.plan.fabric import NicPlan
from inferfab.plan.fleet import FleetPlan
from inferfab.plan.transport import EnvValue

DIS, AGG, GOOGLE = base(DISAGGREGATED), base(AGGREGATED), base(GCP)
PREFILL, DECODE = "pools.chat.prefill", "pools.chat.decode"
RESERVED = {"kind": "reservation", "id": "cr-0a1b2c3d4e5f60001"}


def bend_engine(role: str, change: Callable[[EnginePlan], dict[str, Any]]) -> Bend:
    """The engines of one role with other parts."""

    def bend(fleet: FleetPlan) -> FleetPlan:
        cells = []
        for each in fleet.cells:
            pools = []
            for pool in each.pools:
                roles = tuple(
                    r.model_copy(update={"engine": r.engine.model_copy(update=change(r.engine))})
                    if r.role == role
                    else r
                    for r in pool.roles
                )
                pools.append(pool.model_copy(update={"roles": roles}))
            cells.append(each.model_copy(update={"pools": tuple(pools)}))
        return fleet.model_copy(update={"cells": tuple(cells)})

    return bend


def with_argument(role: str, flag: str, value: object) -> Bend:
    """A flag with another value; None removes it."""

    def change(engine: EnginePlan) -> dict[str, Any]:
        kept = tuple(a for a in engine.arguments if a.flag != flag)
        new = (
            ()
            if value is None
            else (Argument(flag=flag, value=value if isinstance(value, str) else json.dumps(value)),)
        )
        return {"arguments": (*kept, *new)}

    return bend_engine(role, change)


def with_env(role: str, name: str, value: str | None, field: str | None = None) -> Bend:
    def change(engine: EnginePlan) -> dict[str, Any]:
        kept = tuple(e for e in engine.env if e.name != name)
        return {"env": (*kept, EnvValue(name=name, value=value, field_ref=field)) if value or field else kept}

    return bend_engine(role, change)


@examples("IF-ENG-012")
def test_both_sides_alike() -> Iterator[Example]:
    """What vLLM's compatibility hash is made of must be equal: here the attention backend and the dtype."""
    at = f"{PREFILL}.flags"
    yield Fails(
        DIS.set(at, {"--attention-backend": "FLASHINFER"}), f"{at}.--attention-backend", ("`FLASHINFER`", "the default")
    )
    yield Fails(DIS.set(f"{DECODE}.flags", {"--dtype": "float16"}), f"{DECODE}.flags.--dtype", ("dtype", "`float16`"))
    both = DIS.set(at, {"--dtype": "float16"}).set(f"{DECODE}.flags", {"--dtype": "half"})
    yield Passes(both)  # `half` is vLLM's other name of float16
    yield Passes(DIS)
    yield Passes(AGG.set("pools.docs.worker.flags", {"--dtype": "float16"}))


@examples("IF-ENG-013")
def test_connectors_of_both_roles() -> Iterator[Example]:
    """Without a connector, or with the other role, no KV cache arrives."""
    yield Fails(DIS, DECODE, ("no `--kv-transfer-config`",), bend=with_argument("decode", "--kv-transfer-config", None))
    swapped = {"kv_connector": "NixlConnector", "kv_role": "kv_producer"}
    yield Fails(DIS, DECODE, ("`kv_producer`",), bend=with_argument("decode", "--kv-transfer-config", swapped))
    nested = {
        "kv_connector": "MultiConnector", "kv_role": "kv_consumer",
        "kv_connector_extra_config": {"connectors": [{"kv_connector": "NixlConnector"}]},
    }  # fmt: skip
    yield Fails(DIS, DECODE, ("no `kv_role`",), bend=with_argument("decode", "--kv-transfer-config", nested))
    yield Passes(DIS)
    yield Passes(DIS.set("models.llama-70b.offload", {"cpu_gib_per_gpu": 100.0}))


@examples("IF-ENG-014")
def test_events_say_something() -> Iterator[Example]:
    """A publisher that is named and not enabled publishes nothing."""
    silent = {"publisher": "zmq", "endpoint": "tcp://*:5557"}
    yield Fails(DIS, PREFILL, ("does not enable",), bend=with_argument("prefill", "--kv-events-config", silent))
    yield Passes(DIS)


@examples("IF-ENG-018")
def test_a_pass_holds_a_prompt() -> Iterator[Example]:
    """Without chunked prefill 32,768 promised tokens must fit the 8,192 (2,048) tokens of a pass."""
    off = {"--enable-chunked-prefill": False}
    at = f"{PREFILL}.max_batched_tokens"
    yield Fails(DIS.set(f"{PREFILL}.flags", off), at, ("8,192", "32,768"), fix_says=("at least 32768",))
    yield Passes(DIS.set(f"{PREFILL}.flags", off).set(at, 32768))
    yield Passes(DIS)


@examples("IF-ENG-021")
def test_speculation_starts() -> Iterator[Example]:
    """vLLM wants a number of tokens above zero, and a model for methods that have one."""
    ngram = DIS.set("models.llama-70b.speculative", {"method": "ngram"})
    at, flag = "models.llama-70b.speculative", "--speculative-config"
    none = {"method": "ngram", "num_speculative_tokens": 0}
    yield Fails(ngram, at, ("is 0",), bend=with_argument("decode", flag, none))
    draft = {"method": "eagle3", "num_speculative_tokens": 3}
    yield Fails(ngram, at, ("`eagle3` needs a `model`",), bend=with_argument("decode", flag, draft))
    unknown = {"method": "guess", "num_speculative_tokens": 3}
    yield Fails(ngram, at, ("no speculative method `guess`",), bend=with_argument("decode", flag, unknown))
    yield Passes(ngram)


@examples("IF-FAB-008")
def test_bundles() -> Iterator[Example]:
    """EFA without its device, its backend or huge pages; RoCE with transports that cannot read GPU memory."""
    yield Fails(DIS, DECODE, ("no `vpc.amazonaws.com/efa`",), bend=bend_engine("decode", lambda e: {
        "resources": {}, "privileged": False}))  # fmt: skip
    ucx = {"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}
    yield Fails(DIS, DECODE, ("by UCX",), bend=with_argument("decode", "--kv-transfer-config", ucx))
    yield Fails(DIS, DECODE, ("no huge pages",), "warning", bend=bend_engine("decode", lambda e: {
        "hugepages_2mi_mib": 0}))  # fmt: skip
    yield Fails(GOOGLE, "pools.far.decode", ("cannot read GPU memory",), bend=with_env("decode", "UCX_TLS", "rc,dc"))
    yield Passes(DIS)
    yield Passes(GOOGLE)
    yield Passes(DIS.set("cells.east-b.fabric", {"kind": "efa", "plugin": "dranet"}))


@examples("IF-FAB-009")
def test_no_gid_index() -> Iterator[Example]:
    """The index of a host's table is another one in a pod."""
    bend = with_env("decode", "UCX_IB_GID_INDEX", "3")
    yield Fails(GOOGLE, "pools.far.decode", ("UCX_IB_GID_INDEX", "`3`"), "warning", bend=bend)
    yield Passes(GOOGLE)


@examples("IF-FAB-010")
def test_same_class() -> Iterator[Example]:
    """NCCL and UCX of one pod mark alike."""

    def both(fleet: FleetPlan) -> FleetPlan:
        return with_env("decode", "NCCL_IB_TC", "96")(with_env("decode", "UCX_IB_TRAFFIC_CLASS", "106")(fleet))

    yield Fails(GOOGLE, "pools.far.decode", ("`106`", "`96`"), "warning", bend=both)
    yield Passes(GOOGLE)


@examples("IF-FAB-011")
def test_side_channel() -> Iterator[Example]:
    """Only the pod's own address can be reached by other pods and is not a leader's."""
    bend = with_env("prefill", "VLLM_NIXL_SIDE_CHANNEL_HOST", "127.0.0.1")
    yield Fails(DIS, PREFILL, ("`127.0.0.1`",), bend=bend)
    yield Passes(DIS)


@examples("IF-FAB-012")
def test_layouts() -> Iterator[Example]:
    """EC2 refuses an EFA as the primary interface, and two interfaces in one slot (terraform-aws-eks#2654, #3653)."""
    first = NicPlan(card=0, device=0, type="efa-only", subnet="inference", gbps=100)
    plain = NicPlan(card=0, device=0, type="interface", subnet="inference", gbps=100)
    far = NicPlan(card=99, device=0, type="efa-only", subnet="inference", gbps=100)
    yield Fails(DIS, "pools.chat", ("`efa-only` as its first",), bend=bend_groups(layout=(first,)))
    yield Fails(DIS, "pools.chat", ("two NICs",), bend=bend_groups(layout=(plain, plain)))
    yield Fails(DIS, "pools.chat", ("card 99",), bend=bend_groups(layout=(plain, far)))
    yield Passes(DIS)
    yield Passes(GOOGLE)


def bend_mtu(mtu: int) -> Bend:
    def bend(fleet: FleetPlan) -> FleetPlan:
        cells = []
        for each in fleet.cells:
            assert each.fabric.marking is not None
            marking = each.fabric.marking.model_copy(update={"mtu": mtu})
            cells.append(each.model_copy(update={"fabric": each.fabric.model_copy(update={"marking": marking})}))
        return fleet.model_copy(update={"cells": tuple(cells)})

    return bend


@examples("IF-FAB-013")
def test_packets() -> Iterator[Example]:
    """Google's RoCE networks take 8,896 bytes; 4,096 bytes of payload need their headers beside them."""
    yield Fails(GOOGLE, "cells.central-c.fabric", ("9000", "8896"), bend=bend_mtu(9000))
    yield Fails(GOOGLE, "cells.central-c.fabric", ("4096",), bend=bend_mtu(4096))
    yield Passes(GOOGLE)
    yield Passes(GOOGLE, bend=bend_mtu(8896))
    yield Passes(DIS)


@examples("IF-FAB-015")
def test_locality() -> Iterator[Example]:
    """EC2's instance topology lists P4d and newer, not G6."""
    silent = DIS.set("pools.chat.instance", "g6.24xlarge")
    yield Fails(silent, "pools.chat", ("g6.24xlarge", "no network layers"), "info")
    yield Passes(DIS)


@examples("IF-PLC-012")
def test_updates() -> Iterator[Example]:
    """Two workers of four GPUs share one reserved node, which an update stops first; four stand on two."""
    reserved = DIS.set("pools.chat.capacity", RESERVED)
    yield Fails(reserved, f"{PREFILL}.replicas", ("1 reserved node",), "warning", count=2)
    yield Passes(reserved.set(f"{PREFILL}.replicas.desired", 4).set(f"{DECODE}.replicas.desired", 4))
    yield Passes(DIS)  # on demand: another node comes first


@examples("IF-SCL-001")
def test_bounds() -> Iterator[Example]:
    """A budget above what node groups bring is never used up."""

    def bend(fleet: FleetPlan) -> FleetPlan:
        cells = []
        for each in fleet.cells:
            pools = tuple(
                p.model_copy(update={"scaling": p.scaling.model_copy(update={"gpu_budget": 999})}) for p in each.pools
            )
            cells.append(each.model_copy(update={"pools": pools}))
        return fleet.model_copy(update={"cells": tuple(cells)})

    yield Fails(DIS, "pools.chat", ("999 GPUs",), bend=bend)
    yield Passes(DIS)


@examples("IF-CLD-006")
def test_reservations() -> Iterator[Example]:
    """An On-Demand Capacity Reservation is of one zone and one instance type."""
    two = DIS.set("pools.chat.capacity", RESERVED).set(
        "cells.east-c", cell("aws", "us-east-1", "us-east-1c", "10.18.0.0/16", "chat")
    )
    yield Fails(two, "pools.chat.capacity", ("us-east-1c", "us-east-1b", RESERVED["id"]))
    again = two.set("pools.chat.capacity", {"kind": "on_demand"})
    for each in ("east-b", "east-c"):
        again = again.set(f"cells.{each}.pools.chat", {"capacity": RESERVED})
    yield Fails(again, "cells.east-c.pools.chat", ("us-east-1c", "us-east-1b"))
    own = {**RESERVED, "id": "cr-0a1b2c3d4e5f60002"}
    yield Passes(two.set("cells.east-c.pools.chat", {"capacity": own}))


LOWER = {"rule": "IF-PLC-012", "severity": "info", "reason": "staging may be down for an update"}


@examples("IF-CHK-001")
def test_rules_and_pools_exist() -> Iterator[Example]:
    """A misspelled id or pool would accept nothing."""
    yield Fails(DIS.set("checks", [{**LOWER, "rule": "IF-PLC-999"}]), "checks[0].rule", ("`IF-PLC-999`",))
    yield Fails(DIS.set("checks", [{**LOWER, "pool": "chatt"}]), "checks[0].pool", ("`chatt`",), fix_says=("`chat`",))
    yield Passes(DIS.set("checks", [LOWER]))


@examples("IF-CHK-002")
def test_some_stay() -> Iterator[Example]:
    """A name that nothing declares leaves nothing to plan, and stays an error."""
    yield Fails(DIS.set("checks", [{**LOWER, "rule": "IF-REF-005"}]), "checks[0].rule", ("cannot be lowered",))
    yield Passes(DIS.set("checks", [LOWER]))


@examples("IF-CHK-003")
def test_no_idle_changes() -> Iterator[Example]:
    """An entry that lowers nothing reads as if a risk were there."""
    yield Fails(DIS.set("checks", [LOWER]), "checks[0]", ("`IF-PLC-012`",), "warning")
    yield Passes(DIS.set("pools.chat.capacity", RESERVED).set("checks", [LOWER]))
