"""From ENV to a file: a name in ``environments/`` or a path."""

from pathlib import Path

FOLDER = Path("environments")
SUFFIXES = (".yaml", ".yml")


def environment_names() -> list[str]:
    """Names that ENV may take here."""
    if not FOLDER.is_dir():
        return []
    return sorted(p.stem for p in FOLDER.iterdir() if p.suffix in SUFFIXES and not p.name.startswith("."))


def complete_environment(incomplete: str) -> list[str]:
    """Shell completion."""
    return [name for name in environment_names() if name.startswith(incomplete)]


def locate(env: str) -> Path:
    """The file that ENV means. It need not exist; reading it says so better."""
    path = Path(env)
    looks_like_path = path.suffix in (*SUFFIXES, ".json") or len(path.parts) > 1 or env.startswith(".")
    if looks_like_path:
        return path
    for suffix in SUFFIXES:
        named = FOLDER / f"{env}{suffix}"
        if named.exists():
            return named
    return path if path.is_file() else FOLDER / f"{env}.yaml"
