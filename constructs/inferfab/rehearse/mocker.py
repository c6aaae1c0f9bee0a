"""From a rendered worker's arguments to those of Dynamo's mock engine.

The mock engine (``dynamo.mocker``) registers, takes requests, hands KV over and publishes cache events as the real
worker does; it computes nothing. It takes vLLM's scheduling flags under their own names and knows nothing of GPUs.
"""

from collections.abc import Sequence

from inferfab.record import Record

_SAME = (
    "--max-model-len", "--block-size", "--max-num-seqs", "--max-num-batched-tokens", "--data-parallel-size",
    "--disaggregation-mode", "--enable-prefix-caching", "--no-enable-prefix-caching",
)  # fmt: skip
_RENAMED = {"--model": "--model-path", "--served-model-name": "--model-name"}
_KV_DTYPES = ("auto", "bfloat16", "fp8", "fp8_ds_mla", "fp8_e4m3", "fp8_e5m2", "fp8_inc")
"""Of ``dynamo.mocker --kv-cache-dtype`` 1.6.1."""
_SPEEDUP = 10
"""A rehearsal looks at who does what, not at how fast."""
_KV_BLOCKS = 16_384
"""Its own default: the real size would be a table of millions of entries that nothing fills."""


class MockerArguments(Record):
    """What the mock engine is started with, and what it cannot take."""

    argv: tuple[str, ...]
    taken: tuple[str, ...]
    """Rendered flags that it obeys."""
    left_out: tuple[str, ...]
    """Rendered flags that only a real engine reads."""


def pairs(arguments: Sequence[str]) -> list[tuple[str, str | None]]:
    """Flags with their values, as rendered: a flag, and behind it a value unless another flag follows."""
    found: list[tuple[str, str | None]] = []
    for word in arguments:
        if word.startswith("--"):
            found.append((word, None))
        else:
            found[-1] = (found[-1][0], word)
    return found


def mocker_arguments(
    arguments: Sequence[str], *, model_folder: str, kv_gigabytes_per_second: float | None, kv_bytes_per_token: int
) -> MockerArguments:
    """Translate.

    :param arguments: of ``dynamo.vllm``, as rendered.
    :param model_folder: where the model's small files are.
    :param kv_gigabytes_per_second: what the planned fabric carries; None without transfer.
    """
    argv: list[str] = []
    taken, left = [], []
    for flag, value in pairs(arguments):
        name = _RENAMED.get(flag, flag if flag in _SAME else None)
        if flag == "--kv-cache-dtype" and value in _KV_DTYPES:
            name = flag
        if name is None:
            left.append(flag)
            continue
        taken.append(flag)
        argv.append(name)
        if value is not None:
            argv.append(model_folder if flag == "--model" else value)
    argv += ["--speedup-ratio", str(_SPEEDUP), "--num-gpu-blocks-override", str(_KV_BLOCKS)]
    if kv_gigabytes_per_second:
        argv += ["--kv-transfer-bandwidth", f"{kv_gigabytes_per_second:g}", "--kv-bytes-per-token"]
        argv.append(str(kv_bytes_per_token))
    return MockerArguments(argv=tuple(argv), taken=tuple(taken), left_out=tuple(left))
