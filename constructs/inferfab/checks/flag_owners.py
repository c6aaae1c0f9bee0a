"""Flags of a worker that are somebody else's: secrets, those of a program that does not run, and what the plan counts
on."""

from collections.abc import Iterator

from inferfab.catalog.engines import vllm_flags
from inferfab.checks.facts import Facts
from inferfab.checks.places import stated_flags
from inferfab.checks.registry import Problem, rule
from inferfab.findings import Severity

SECRETS = {
    "--hf-token": "put the token into a secret, and its name under `models.*.token_secret`",
    "--api-key": "remove it: workers answer no client; whoever calls the cell shows a key to its gateway",
}
"""Flags whose value is a secret, and what to do instead."""
_INSTEAD = {
    "--chat-template": "write `--custom-jinja-template`, Dynamo's own, with a file that the image has",
    "--tool-call-parser": "write `--dyn-tool-call-parser`, Dynamo's own",
    "--enable-auto-tool-choice": "write `--dyn-tool-call-parser`, Dynamo's own",
    "--lora-modules": "write the adapters under `models.*.adapters`",
    "--port": "remove it: the plan decides the ports, and frontends take requests",
    "--host": "remove it: the plan decides where workers listen, and frontends take requests",
}

_PARALLEL = "the operator sets it from the nodes of a worker", "use `tensor_parallel`, `pipeline_parallel` and so on"
_FOUND = "plan and operator decide how components find each other", "remove it"
_OTHER_KIND = "it makes the worker another kind than the plan's", "remove it"
_WEIGHTS_IN_MEMORY = (
    "weights in CPU memory are in no sum of the plan, neither the GPU's nor the node's",
    "use a smaller `quantization` or a larger `tensor_parallel`; for KV cache, `models.*.offload`",
)
_CACHE = "the plan reckons with the KV cache that `gpu_memory_utilization` leaves", "set `gpu_memory_utilization`"
_LORA = "it follows from the model's adapters", "write them under `models.*.adapters`"
_DRAFT = "the plan reckons with the model's drafting", "write it under `models.*.speculative`"
_REVISION = "the model's folder holds one pinned revision", "set `models.*.revision`"
COUNTED_ON: dict[str, tuple[str, str]] = {
    "--tokenizer": (
        "workers and frontends read the tokenizer from the model's folder",
        "put it beside the weights, and name them under `models.*.source`",
    ),
    "--tokenizer-revision": _REVISION, "--code-revision": _REVISION,
    "--download-dir": ("nothing is downloaded: the node's model cache has the weights", "remove it"),
    "--config": ("its file would decide beside the plan, which cannot read it", "write its flags here one by one"),
    "--headless": ("the operator adds it where a worker spans nodes", "remove it"),
    **dict.fromkeys(
        (
            "--nnodes", "--node-rank", "--master-addr", "--master-port", "--data-parallel-address",
            "--data-parallel-rank", "--data-parallel-start-rank", "--data-parallel-size-local",
            "--data-parallel-rpc-port", "--data-parallel-external-lb", "--data-parallel-hybrid-lb",
            "--prefill-context-parallel-size",
        ),
        _PARALLEL,
    ),
    **dict.fromkeys(
        (
            "--cpu-offload-gb", "--cpu-offload-params", "--offload-backend", "--offload-group-size",
            "--offload-num-in-group", "--offload-params", "--offload-prefetch-step",
        ),
        _WEIGHTS_IN_MEMORY,
    ),
    "--num-gpu-blocks-override": _CACHE, "--kv-cache-memory-bytes": _CACHE,
    "--enable-sleep-mode": ("nothing wakes such a worker", "use a shared pool with `sharing: sleep`"),
    "--enable-lora": _LORA, "--max-loras": _LORA, "--max-lora-rank": _LORA,
    "--spec-method": _DRAFT, "--spec-model": _DRAFT, "--spec-tokens": _DRAFT,
    **dict.fromkeys(
        (
            "--namespace", "--endpoint", "--kv-state-endpoint", "--discovery-backend", "--request-plane",
            "--response-plane", "--event-plane",
        ),
        _FOUND,
    ),
    "--connector": ("topology and fabric decide it, and Dynamo refuses the flag", "remove it"),
    **dict.fromkeys(
        (
            "--embedding-worker", "--classify-worker", "--realtime", "--route-to-encoder", "--custom-encoder-class",
            "--benchmark-mode", "--gms-shadow-mode",
        ),
        _OTHER_KIND,
    ),
    "--help": ("it prints and ends", "remove it"), "--version": ("it prints and ends", "remove it"),
}  # fmt: skip
"""What the plan counts on, and what to write instead. Errors: with another value the plan is wrong."""
_DOUBTFUL = {
    "--hf-overrides": ("the plan reckons with the shape in the catalog", "see that sizes and context stay the same"),
    "--hf-config-path": ("the plan reckons with the shape in the catalog", "see that sizes and context stay the same"),
    "--quantization": (
        "the plan reckons with the size of the checkpoint as it is",
        "name a checkpoint of that precision under `models.*.source`, with its `quantization`",
    ),
}
"""The same, where the plan may still be right."""


def server_flag(vllm: str, flag: str) -> str | None:
    """What to do about a flag of ``vllm serve``, which no worker runs; None if it is none."""
    declared = vllm_flags(vllm).get(flag)
    return None if declared is None or not declared.servers else _INSTEAD.get(flag, "remove it")


@rule(
    "IF-ENG-022",
    "a flag against what the plan counts on",
    joins=("environment", "engine"),
    why="memory, nodes, ports and paths were worked out without it, so pods do not start, or run with other figures "
    "than the plan shows.",
    do="say it in the field that the plan reads, or remove it.",
    source="ai-dynamo 1.6.1 dynamo/vllm/args.py; vLLM 0.31.0 vllm/engine/arg_utils.py; the plan's own fields",
)
def plan_holds(facts: Facts) -> Iterator[Problem]:
    for at, flag, _ in stated_flags(facts):
        severity: Severity = "error" if flag in COUNTED_ON else "warning"
        found = COUNTED_ON.get(flag) or _DOUBTFUL.get(flag)
        if found is not None:
            why, instead = found
            yield Problem(at.path("flags", flag), f"`{flag}`: {why}", instead, severity=severity, of_key=True)


@rule(
    "IF-ENG-023",
    "a secret among flags",
    joins=("environment", "engine"),
    why="it would stand in the file, in the plan, in Terraform's state and in the command line of every pod, for all "
    "who may list pods.",
    do="name a secret of the cell's account; never write its content.",
    source="Kubernetes: good practices for Secrets; vLLM 0.31.0 flags --hf-token and --api-key",
)
def no_secret_flags(facts: Facts) -> Iterator[Problem]:
    for at, flag, _ in stated_flags(facts):
        if flag in SECRETS:
            # The value is not repeated in a finding, which goes into logs and comments.
            yield Problem(
                at.path("flags", flag), f"`{flag}` holds a secret", SECRETS[flag], value="(not shown)", of_key=True
            )
