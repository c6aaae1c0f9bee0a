"""ENV means a file; `init` writes one that passes, or writes nothing."""

import contextlib
import json
import os
import stat
from pathlib import Path

import pytest

from inferfab.checks.check import check
from inferfab.cli.inputs import begin
from inferfab.cli.locate import complete_environment, environment_names, locate
from inferfab.cli.main import main
from inferfab.cli.output import Refused, write_whole
from inferfab.environment.loading import load


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(monkeypatch: pytest.MonkeyPatch, *argv: str) -> int:
    """Exit code of the command line, run in this process."""
    monkeypatch.setattr("sys.argv", ["inferfab", *argv])
    try:
        main()
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def everything(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


def test_a_name_is_looked_up_in_environments() -> None:
    """A bare name means environments/NAME.yaml, then .yml, then a file of that very name."""
    assert locate("prod") == Path("environments/prod.yaml")
    Path("prod").touch()
    assert locate("prod") == Path("prod")
    Path("environments").mkdir()
    Path("environments/prod.yml").touch()
    assert locate("prod") == Path("environments/prod.yml")
    Path("environments/prod.yaml").touch()
    assert locate("prod") == Path("environments/prod.yaml")


@pytest.mark.parametrize(
    "path", ["prod.yaml", "prod.yml", "fleet/prod", "./prod", "../prod", "/x/prod", "prod.json", ".prod"]
)
def test_a_path_is_taken_as_it_is(path: str) -> None:
    """What has a slash, a leading dot or a known suffix is a path, whether it exists or not."""
    assert locate(path) == Path(path)


def test_a_folder_of_the_name_is_no_file() -> None:
    """A folder called like the environment does not hide it."""
    Path("prod").mkdir()
    assert locate("prod") == Path("environments/prod.yaml")


def test_completion_offers_the_environments() -> None:
    """Names in environments/ that begin as typed; no hidden files, no schema, no error without the folder."""
    assert complete_environment("") == []
    Path("environments").mkdir()
    for name in ("dev.yaml", "prod.yaml", "prod-eu.yml", ".hidden.yaml", "environment.schema.json", "notes.txt"):
        Path("environments", name).touch()
    assert environment_names() == ["dev", "prod", "prod-eu"]
    assert complete_environment("pro") == ["prod", "prod-eu"]
    assert complete_environment("x") == []


@pytest.mark.parametrize("cloud", ["aws", "gcp"])
def test_the_starter_passes(cloud: str, empty_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an empty folder init writes the environment and the schema, and check finds nothing, not even a remark."""
    assert run(monkeypatch, "init", "dev", "--cloud", cloud) == 0
    assert everything(empty_folder) == ["environments", "environments/dev.yaml", "environments/environment.schema.json"]
    loaded = load(locate("dev"))
    assert loaded.environment is not None and loaded.environment.name == "dev"
    assert check(loaded).findings == ()
    assert "$schema=environment.schema.json" in loaded.source.lines[0]
    json.loads(Path("environments/environment.schema.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["on", "null", "true", "y", "no"])
def test_a_starter_may_have_a_yaml_word_as_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name is quoted in the file, so `no` and `null` are names."""
    assert run(monkeypatch, "init", name) == 0
    environment = load(locate(name)).environment
    assert environment is not None and environment.name == name


def test_init_overwrites_only_when_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A second init exits with 1, one line and an untouched file; --force replaces it."""
    assert run(monkeypatch, "init", "dev") == 0
    Path("environments/dev.yaml").write_text("mine", encoding="utf-8")
    capsys.readouterr()
    assert run(monkeypatch, "init", "dev") == 1
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "--force" in err
    assert Path("environments/dev.yaml").read_text(encoding="utf-8") == "mine"
    assert run(monkeypatch, "init", "dev", "--force") == 0
    assert check(load("environments/dev.yaml")).findings == ()


BAD_NAMES = [
    "Dev",
    "a/b",
    "../x",
    "..",
    ".",
    "",
    "a b",
    "dev.yaml",
    "ünï",
    "a" * 100,
    "a" * 21,
    "1a",
    "a-",
    "a_b",
    "{{x}}",
    "{% x %}",
    "a'b",
    'a"b',
    "a\nb",
    "a\r",
    "a\tb",
    "\x1b[31m",
    "a\u2028b",
    "[bold]",
    "[/]",
    "a\\b",
    "CON",
    "a:b",
    "~",
    "*",
    "\udcff",
]


@pytest.mark.parametrize("name", BAD_NAMES, ids=ascii)
def test_a_bad_name_writes_nothing(
    name: str, empty_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever is no name exits with 2 and one message without control characters, and no file or folder is made."""
    assert run(monkeypatch, "init", name) == 2
    assert everything(empty_folder) == []
    out, err = capsys.readouterr()
    assert out == "" and err.count("Invalid value for NAME") == 1
    assert "Traceback" not in err and "\x1b[31m" not in err and "environments" not in err


def test_a_leading_dash_is_an_option(empty_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`-x` is an unknown option, and a bad name after `--`."""
    assert run(monkeypatch, "init", "-x") == 2
    assert run(monkeypatch, "init", "--", "-x") == 2
    assert everything(empty_folder) == []


def fails(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("call", ["pathlib.Path.replace", "os.fdopen", "tempfile.mkstemp", "pathlib.Path.mkdir"])
@pytest.mark.parametrize(
    "argv", [("init", "q"), ("schema", "--out", "new/s.json"), ("plan", "old", "--out", "new/p.txt")]
)
def test_a_failed_write_leaves_nothing(
    call: str,
    argv: tuple[str, ...],
    empty_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """When the disk is full at any step: exit 1, one line, no file half-written and no temporary file left."""
    assert run(monkeypatch, "init", "old", "--folder", "environments") == 0
    before = [name for name in everything(empty_folder) if Path(name).is_file()]
    contents = {name: Path(name).read_bytes() for name in before}
    capsys.readouterr()
    with monkeypatch.context() as broken:
        broken.setattr(call, fails)
        assert run(monkeypatch, *argv) == 1
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "No space left" in err and err.startswith("inferfab: cannot write")
    assert [name for name in everything(empty_folder) if Path(name).is_file()] == before
    assert {name: Path(name).read_bytes() for name in before} == contents


def test_when_the_second_file_cannot_be_written_init_can_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment is written last: a failure never leaves one that makes the next init refuse."""
    original, calls = Path.replace, []

    def second_fails(self: Path, target: Path) -> Path:
        calls.append(target)
        if len(calls) == 2:
            fails()
        return original(self, target)

    with monkeypatch.context() as broken:
        broken.setattr("pathlib.Path.replace", second_fails)
        assert run(monkeypatch, "init", "dev") == 1
    assert not Path("environments/dev.yaml").exists()
    assert run(monkeypatch, "init", "dev") == 0


def test_targets_that_are_in_the_way(
    empty_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder where the file belongs, or a file where a folder belongs: one line and exit 1 (2 from options)."""
    Path("environments/dev.yaml").mkdir(parents=True)
    Path("file").write_text("x", encoding="utf-8")
    for argv, code in (
        (("init", "dev"), 1),
        (("init", "dev", "--force"), 1),
        (("schema", "--out", "file/s.json"), 1),
        (("schema", "--out", "environments"), 2),
        (("init", "q", "--folder", "file"), 2),
    ):
        capsys.readouterr()
        assert run(monkeypatch, *argv) == code, argv
        err = capsys.readouterr().err
        assert err.count("inferfab: ") == (1 if code == 1 else 0) and "Traceback" not in err
    assert Path("environments/dev.yaml").is_dir() and Path("file").read_text(encoding="utf-8") == "x"
    assert not [n for n in everything(empty_folder) if n.split("/")[-1].startswith(".")]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder that may not be written to is one line and exit 1."""
    Path("environments").mkdir(mode=0o500)
    assert run(monkeypatch, "init", "dev") == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    """--out /dev/null or a pipe keeps what it is: replacing it as root would break the machine."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with contextlib.closing(os.fdopen(reader, "rb")) as stream:
        write_whole(pipe, "hello\n")
        assert stream.read() == b"hello\n"
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """The file behind a link is replaced, the link is not; also where the file does not exist yet."""
    (tmp_path / "link").symlink_to("real.txt")
    for text in ("one\n", "two\n"):
        begin()  # a command of its own: this test reads what it wrote
        write_whole(tmp_path / "link", text)
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "real.txt").read_text(encoding="utf-8") == text


def test_modes_of_written_files(tmp_path: Path) -> None:
    """A new file is as readable as any other; an existing one keeps its mode."""
    mask = os.umask(0o027)
    try:
        write_whole(tmp_path / "new", "x")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    (tmp_path / "new").chmod(0o600)
    write_whole(tmp_path / "new", "y")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o600


def test_refused_names_the_folder_in_the_way(tmp_path: Path) -> None:
    """A parent that is a file is named as what it is."""
    (tmp_path / "f").touch()
    with pytest.raises(Refused, match="f is not a folder"):
        write_whole(tmp_path / "f" / "x", "")
