"""Quoted scalars, read back by a YAML 1.1 and a YAML 1.2 reader; sizes as Kubernetes takes them."""

import pytest
from hypothesis import given

from inferfab.render.yaml_scalar import quantity, quoted
from strategies import cheap

from .yaml_kit import assert_value, nasty_scalars


@cheap
@given(nasty_scalars())
def test_a_text_stays_what_it_is_everywhere(text: str) -> None:
    """As a value, a key, an item and in a flow mapping."""
    assert_value(f"key: {quoted(text)}\n", {"key": text})
    assert_value(f"- {quoted(text)}\n", [text])
    assert_value(f"key: {{{quoted('a')}: {quoted(text)}}}\n", {"key": {"a": text}})


@pytest.mark.parametrize("value", [1, 1.5, True, None])
def test_what_is_no_text_is_not_quoted_by_accident(value: object) -> None:
    """``replicas: '1'`` is an error in Kubernetes; so a number that comes here is a mistake of ours."""
    with pytest.raises(TypeError, match="not a text"):
        quoted(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("bytes_", "text"),
    [
        (0, "0"),
        (1, "1"),
        (1024**2, "1Mi"),
        (1536 * 1024**2, "1536Mi"),
        (1024**3, "1Gi"),
        (80 * 1024**3, "80Gi"),
        (10**9, "1000000000"),
    ],
)
def test_quantities_are_exact(bytes_: int, text: str) -> None:
    """1 Gi is 2^30 bytes; 10^9 is no whole number of Mi."""
    assert quantity(bytes_) == text
