"""``inferfab models`` and ``inferfab checksum``."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import yaml

Run = Callable[..., tuple[int, str, str]]

ROOT = Path(__file__).resolve().parents[2]


def test_the_registry_says_what_is_pinned_where_and_for_whom(run: Run) -> None:
    """prod: the store of each region, a folder a revision on local NVMe, the pools of both tiers."""
    code, out, _ = run("models", str(ROOT / "environments" / "prod.yaml"), "--format", "json")
    assert code == 0
    llama = json.loads(out)[0]
    assert (llama["source"], llama["licence"]) == ("nvidia/Llama-3.1-70B-Instruct-FP8", "Llama 3.1 Community License")
    # 72.65 GB over 2 GiB/s.
    assert round(llama["bytes"] / 2**30 / 2) == round(llama["load_seconds"]) == 34
    assert {(s["cell"], s["pool"]) for s in llama["served_by"]} == {
        (cell, pool) for cell in ("use1-a", "use1-b", "usw2-c") for pool in ("chat-priority", "chat-standard")
    }
    revision = "3a5f5b0b2c1d4e6f8a9b0c1d2e3f4a5b6c7d8e9f"
    places = {s["cell"]: s for s in llama["stored"]}
    assert places["usw2-c"]["store_uri"] == f"s3://prod-models-111122223333-us-west-2/models/llama-70b/{revision}/"
    assert places["use1-a"]["node_paths"] == [f"/mnt/k8s-disks/0/inferfab/models/llama-70b-{revision[:12]}"]


def test_evaluations_and_terms_are_shown(run: Run, tmp_path: Path) -> None:
    tree = yaml.safe_load((ROOT / "environments" / "dev.yaml").read_text(encoding="utf-8"))
    model = tree["models"]["qwen3-8b"]
    record = {
        "suite": "gsm8k", "revision": model["revision"], "kv_cache_dtype": "fp8", "score": 90.0, "baseline": 90.5,
        "date": "2026-11-02", "by": "evals",
    }  # fmt: skip
    model |= {
        "evaluations": [record], "gated": True, "token_secret": "hub/token", "manifest_sha256": "c" * 64,
        "licence_accepted": {"by": "legal", "date": "2026-10-01"},
    }  # fmt: skip
    path = tmp_path / "own.yaml"
    path.write_text(yaml.safe_dump(tree), encoding="utf-8")
    code, out, _ = run("models", str(path))
    assert code == 0
    # 0.5 of 90.5.
    assert "gsm8k: 90 for 90.5 (loss 0.55 %, accepted 1 %), KV cache fp8, 2026-11-02, evals" in out
    assert "passed" in out and "cccccccc" in out
    (one,) = json.loads(run("models", str(path), "--format", "json")[1])
    assert (one["standing"], one["gated"], one["licence_accepted"]["by"]) == ("passed", True, "legal")
    # A reference, and nothing else of a token.
    assert one["token_secret"] == "hub/token"


def test_a_manifest_is_written_and_pinned(run: Run, tmp_path: Path) -> None:
    """What the command prints is the SHA-256 of the file that it writes."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}", encoding="utf-8")
    (folder / "weights.safetensors").write_bytes(b"w" * 10)
    code, out, _ = run("checksum", str(folder))
    text = (folder / "MANIFEST.sha256").read_text(encoding="utf-8")
    assert code == 0 and out.strip() == hashlib.sha256(text.encode()).hexdigest()
    assert text == (
        f"{hashlib.sha256(b'{}').hexdigest()}  config.json\n"
        f"{hashlib.sha256(b'w' * 10).hexdigest()}  weights.safetensors\n"
    )
    # Its own manifest is not part of it.
    assert run("checksum", str(folder), "--dry-run")[1] == out
    code, _, err = run("checksum", str(tmp_path))
    assert code == 1 and "holds no config.json" in err
