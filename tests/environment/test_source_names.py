"""What may name weights and secrets."""

from typing import Any

import pytest
from pydantic import ValidationError

from inferfab.environment.served_models import ServedModel


def model(**fields: Any) -> ServedModel:
    return ServedModel.model_validate(
        {"catalog": "qwen3-8b", "revision": "9c925d64d727", "context_tokens": 8192, **fields}
    )


@pytest.mark.parametrize(
    "source", ["Qwen/Qwen3-8B", "gpt2", "a/b", "org_1/model.v1.5-fp8", "s3://bucket/folder", "gs://b/x--y"]
)
def test_sources(source: str) -> None:
    """Hub ids, with or without an owner, and URIs."""
    assert model(source=source).source == source


@pytest.mark.parametrize(
    "source",
    [
        "Qwen/Qwen3-8B..-", "Qwen/Qwen3--8B", "a..b/c", "-a/b", "a-/b", "a/.b", "a/b.", "a/b/c", "a/", "/b", "", "a b",
        "a/b.git", "a/$(id)", "é/b", "a" * 97,
    ],
)  # fmt: skip
def test_what_is_no_source(source: str) -> None:
    """huggingface_hub utils/_validators.py validate_repo_id: 96 characters at most, words at both ends of each part."""
    with pytest.raises(ValidationError, match="hub id"):
        model(source=source)
    with pytest.raises(ValidationError):
        model(adapters={"x": {"source": source, "revision": "0123456789"}})
    draft = {"source": source, "revision": "0123456789", "weights_gib": 1}
    with pytest.raises(ValidationError, match="hub id"):
        model(speculative={"method": "eagle3", "draft": draft})


@pytest.mark.parametrize("secret", ["hub-token", "prod/HF_token", "a+b=c@d.e", "7"])
def test_secrets(secret: str) -> None:
    """Names that AWS Secrets Manager takes."""
    assert model(token_secret=secret).token_secret == secret


@pytest.mark.parametrize("secret", ["--------------------/..", "", "a b", "a'b", "{{x}}", "é", "x" * 513, "hf\n"])
def test_what_names_no_secret(secret: str) -> None:
    """CreateSecret: letters, digits and /_+=.@-, 512 at most; without a letter or digit it names nothing."""
    with pytest.raises(ValidationError):
        model(token_secret=secret)
