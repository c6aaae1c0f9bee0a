"""What of a worker's command line the mock engine is given."""

from inferfab.rehearse.mocker import mocker_arguments, pairs

RENDERED = [
    "--model", "/models/llama-3a5f", "--served-model-name", "llama", "--max-model-len", "32768",
    "--kv-cache-dtype", "nvfp4", "--enable-prefix-caching", "--tensor-parallel-size", "4", "--block-size", "16",
    "--max-num-seqs", "60", "--max-num-batched-tokens", "8192", "--disaggregation-mode", "decode",
    "--kv-transfer-config", '{"kv_connector":"NixlConnector"}',
]  # fmt: skip


def translated(speed: float | None = 50.0) -> dict[str, str | None]:
    found = mocker_arguments(
        RENDERED, model_folder="/tmp/tiny", kv_gigabytes_per_second=speed, kv_bytes_per_token=163_840
    )
    return dict(pairs(found.argv))


def test_scheduling_flags_keep_their_values() -> None:
    flags = translated()
    assert flags["--block-size"] == "16"
    assert flags["--max-num-seqs"] == "60"
    assert flags["--max-num-batched-tokens"] == "8192"
    assert flags["--max-model-len"] == "32768"
    assert flags["--disaggregation-mode"] == "decode"
    assert flags["--enable-prefix-caching"] is None


def test_the_model_is_the_made_up_one_under_the_served_name() -> None:
    flags = translated()
    assert flags["--model-path"] == "/tmp/tiny"
    assert flags["--model-name"] == "llama"


def test_the_fabric_is_a_bandwidth() -> None:
    assert translated()["--kv-transfer-bandwidth"] == "50"
    assert translated()["--kv-bytes-per-token"] == "163840"
    assert "--kv-transfer-bandwidth" not in translated(None)


def test_what_it_cannot_take_is_named() -> None:
    found = mocker_arguments(RENDERED, model_folder="/tmp/tiny", kv_gigabytes_per_second=None, kv_bytes_per_token=0)
    # It refuses a cache type that it does not know.
    assert set(found.left_out) == {"--kv-cache-dtype", "--tensor-parallel-size", "--kv-transfer-config"}
    assert "nvfp4" not in found.argv
