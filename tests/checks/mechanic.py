"""Following a finding's fix to the letter, as somebody in a hurry would."""

import re

from environments import Env, split
from inferfab.findings import Finding

_NUMBER = r"([\d,]+(?:\.\d+)?)"


def dotted_of(finding: Finding) -> str:
    return finding.dotted_path.replace('"', "")


def follow(env: Env, finding: Finding) -> Env | None:
    """The environment after the first thing that ``fix`` says; None where it takes thought."""
    at, fix = dotted_of(finding), finding.fix
    last = str(split(at)[-1])
    if hit := re.match(r"did you mean `?([^`?]+)`?\?", fix):
        return _replaced(env, at, hit[1], finding)
    if hit := re.match(r"rename `([^`]+)` to `([^`]+)`", fix):
        return env.rename(f"{at.rpartition('.')[0]}.{hit[1]}".lstrip("."), hit[2])
    if re.match(r"set it there and remove it here|remove it|correct or remove it|correct it, or remove it", fix):
        return env.delete(at)
    if hit := re.match(r"remove `(\w+)(: [\w]+)?`", fix):
        if last == hit[1]:
            return env.delete(at)
        above = at.rpartition(".")[0] if env_has(env, f"{at.rpartition('.')[0]}.{hit[1]}") else at
        return env.delete(f"{above}.{hit[1]}")
    if hit := re.match(rf"take {_NUMBER} GiB a GPU off", fix):
        return env.set(at, env.get(at) - float(hit[1].replace(",", "")))
    if hit := re.match(r"(take|add) ([\d.]+)( away)?$", fix):
        return env.set(at, round(env.get(at) + (-1 if hit[1] == "take" else 1) * float(hit[2]), 9))
    if hit := re.match(r"(?:write|use|give) `(--)?(\w[\w-]*): ?([\w.-]+)`", fix):
        return _sibling(env, at, (hit[1] or "") + hit[2], hit[3])
    if hit := re.match(r"write `([^`:]+)`$", fix):
        return _replaced(env, at, hit[1], finding)
    if hit := re.match(rf"(?:write|promise)(?: at (?:most|least))? {_NUMBER}(?![\w.])", fix):
        return env.set(at, _number(hit[1], env, at))
    if hit := re.match(r"write (\d+\.\d+\.\d+), or leave", fix):
        return env.set(at, hit[1])
    if hit := re.match(r"(?:`)desired: (\d+)` costs", fix):
        return env.set(f"{at}.desired", int(hit[1]))
    if hit := re.match(r"(?:write )?one of:? ([\w.-]+)", fix):
        return env.set(at, int(hit[1]) if hit[1].isdigit() else hit[1])
    if hit := re.match(r"use /(\d+)", fix):
        return env.set(at, re.sub(r"/\d+", f"/{hit[1]}", env.get(at)))
    if fix.startswith("leave `fabric` out"):
        return env.delete(at.removesuffix(".kind"))
    return None


def env_has(env: Env, dotted: str) -> bool:
    try:
        env.get(dotted)
    except (KeyError, IndexError, TypeError):
        return False
    return True


def _number(text: str, env: Env, at: str) -> int | float:
    plain = text.replace(",", "")
    if env_has(env, at) and isinstance(env.get(at), float):
        return float(plain)
    return float(plain) if "." in plain else int(plain)


def _replaced(env: Env, at: str, value: str, finding: Finding) -> Env:
    """A value, or the key where that is at fault."""
    parts = split(at)
    pool_in_cell = parts[0] == "cells" and "pools" in parts and len(parts) in (4, 5)
    if pool_in_cell or "flags" in parts:
        return env.rename(at, value)
    return env.set(at, value)


def _sibling(env: Env, at: str, key: str, value: str) -> Env | None:
    """Write ``key: value`` at the place, beside it, or over it."""
    parsed: object = {"true": True, "false": False}.get(value, int(value) if value.isdigit() else value)
    above, _, last = at.rpartition(".")
    if env_has(env, at) and isinstance(env.get(at), dict):
        return None  # the mapping needs more than this field
    if last == key:
        return env.set(at, parsed)
    if key.startswith("--"):
        return env.delete(at).set(f"{above}.{key}", parsed)
    if last in ("instance", "gpu"):
        return env.delete(at).set(f"{above}.{key}", parsed)
    return env.set(f"{above}.{key}", parsed)
