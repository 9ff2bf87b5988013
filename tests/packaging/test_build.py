"""What is shipped, and that it stands beside a host application with rooms of the same names."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from tests.needs import missing, need

ROOT = Path(__file__).parents[2]
ROOMS = ("harness", "plugins", "policy", "profiles")


def run(*command: str | Path, cwd: Path) -> str:
    """What a command says, with its errors in the report when it fails."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def tracked(*paths: str) -> list[str]:
    """The files that git tracks, as paths from the root."""
    if not (ROOT / ".git").exists():
        missing("a git checkout, not an unpacked sdist")
    # A checkout may belong to somebody else (a mounted folder): listing it is harmless.
    git = (need("git"), "-c", f"safe.directory={ROOT}")
    names = run(*git, "ls-files", "-z", "--", *paths, cwd=ROOT).rstrip("\0").split("\0")
    return [name for name in names if os.path.lexists(ROOT / name)]  # else: deleted, not committed


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what git tracks, links as links: what a stranger would build from."""
    clone = tmp_path_factory.mktemp("build") / "clone"
    for name in tracked():
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, clone / name, follow_symlinks=False)
    return clone


@pytest.fixture(scope="module")
def sdist(clone: Path) -> Path:
    """The sdist, unpacked."""
    out = clone.parent / "sdist"
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", out, cwd=clone)
    (archive,) = out.iterdir()
    with tarfile.open(archive) as tar:
        tar.extractall(out, filter="data")
    return out / archive.name.removesuffix(".tar.gz")


@pytest.fixture(scope="module")
def wheel(sdist: Path) -> Path:
    """The wheel, built from the sdist as an installer does."""
    out = sdist.parent.parent / "wheel"
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", out, cwd=sdist)
    (wheel,) = out.iterdir()
    return wheel


class TestFiles:
    @pytest.mark.parametrize("room", ROOMS)
    def test_links(self, room: str) -> None:
        """The four rooms stand at the top as tracked links into the package."""
        assert tracked(room) == [room]
        assert (ROOT / room).readlink() == Path("src/remit", room)

    def test_wheel(self, wheel: Path) -> None:
        """A wheel made from the sdist holds exactly the tracked files of src/remit."""
        with zipfile.ZipFile(wheel) as archive:
            names = {name for name in archive.namelist() if ".dist-info/" not in name}

        assert {name.removeprefix("src/") for name in tracked("src/remit")} == names

    def test_nothing_else(self, wheel: Path) -> None:
        """Installing puts one name into site-packages."""
        with zipfile.ZipFile(wheel) as archive:
            tops = {name.split("/")[0] for name in archive.namelist()}

        assert {"remit", f"{'-'.join(wheel.name.split('-')[:2])}.dist-info"} == tops

    def test_sdist(self, sdist: Path) -> None:
        """An sdist carries licence, readme, tests and tools, and none of the links."""
        names = {path.name for path in sdist.iterdir()}

        assert {"LICENSE", "README.md", "src", "tests", "tools"} <= names
        assert names.isdisjoint(ROOMS)


@pytest.fixture(scope="module")
def host(wheel: Path) -> Path:
    """An application with its own four rooms, and the wheel installed in its environment."""
    host = wheel.parent.parent / "host"
    for room in ROOMS:
        (host / room).mkdir(parents=True)
        (host / room / "__init__.py").write_text("OWNER = 'host'\n")
    (host / "app.py").write_text(
        "import harness, plugins, policy, profiles\n"
        "import remit, remit.policy\n"
        "from remit import plugins as ours\n"
        "print({room.OWNER for room in (harness, plugins, policy, profiles)})\n"
        "print(remit.__file__, remit.policy.__file__, ours.__file__, sep='\\n')\n"
    )
    venv.create(host / "venv", symlinks=True)
    python = host / "venv" / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python)
    run(*pip, "install", "--quiet", "--no-index", "--no-deps", wheel, cwd=host)
    # What remit depends on comes from the environment of the tests: no network. This checkout does
    # not come along, since a path that a .pth file adds is not searched for .pth files.
    (site(host) / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return host


def site(host: Path) -> Path:
    """The host application's site-packages."""
    (site,) = (host / "venv" / "lib").glob("python*/site-packages")
    return site


class TestHost:
    def test_import(self, host: Path) -> None:
        """A host's own rooms and ours do not get in each other's way."""
        said = run(host / "venv" / "bin" / "python", "app.py", cwd=host).splitlines()

        assert said[0] == "{'host'}"
        assert [Path(line).is_relative_to(site(host) / "remit") for line in said[1:]] == [True] * 3

    @pytest.mark.parametrize("command", [["remit"], ["python", "-m", "remit"]], ids=" ".join)
    def test_command(self, host: Path, command: list[str]) -> None:
        """The console script and the module run from within the host's folder."""
        program, *rest = command

        assert "Usage: " in run(host / "venv" / "bin" / program, *rest, "--help", cwd=host)

    def test_typed(self, host: Path) -> None:
        """Type checkers of a host see our types."""
        assert (site(host) / "remit" / "py.typed").is_file()
        assert os.access(host / "venv" / "bin" / "remit", os.X_OK)
