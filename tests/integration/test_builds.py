# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages that are built on a host: the code of their build runs without root's privileges, and root owns what is installed.

uv and pip are real. The packages record who runs their build, and try to write into the environment.
"""

from __future__ import annotations

import hashlib
import io
import os
import pathlib
import pwd
import shutil
import subprocess
import tarfile
import tempfile

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.install.unprivileged import Refused, Worker
from ansible_collections.ascend.inference.plugins.module_utils.install.venv import Builder, VenvError

USER = "nobody"
PYTHON = "/usr/bin/python3"  # the one that runs the tests may be in a directory of root
BACKEND = """
import os, zipfile

METADATA = "Metadata-Version: 2.1\\nName: made\\nVersion: 1\\n"


def note(step):
    with open("NOTES", "a") as stream:
        stream.write(f"{step} {os.getuid()} {os.getgroups()} {os.path.isdir(os.environ['HOME'])}\\n")
    try:
        open("ENVIRONMENT/planted", "w").close()
    except OSError:
        pass


def get_requires_for_build_wheel(settings=None):
    note("requires")
    return []


def prepare_metadata_for_build_wheel(folder, settings=None):
    note("metadata")
    os.mkdir(folder + "/made-1.dist-info")
    with open(folder + "/made-1.dist-info/METADATA", "w") as stream:
        stream.write(METADATA)
    return "made-1.dist-info"


def build_wheel(folder, settings=None, metadata=None):
    note("wheel")
    open("written_beside_the_sources", "w").close()
    record = "".join(f"{name},,\\n" for name in ("made.py", "made-1.dist-info/METADATA", "made-1.dist-info/WHEEL", "made-1.dist-info/RECORD"))
    with zipfile.ZipFile(os.path.join(folder, "made-1-py3-none-any.whl"), "w") as archive:
        archive.writestr("made.py", f"BUILT_BY = {os.getuid()}\\n")
        archive.writestr("made-1.dist-info/METADATA", METADATA)
        archive.writestr("made-1.dist-info/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        archive.writestr("made-1.dist-info/RECORD", record)
    return "made-1-py3-none-any.whl"
"""

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0
    or not shutil.which("setpriv")
    or subprocess.run([PYTHON, "-c", "import ensurepip"], check=False).returncode != 0,
    reason="needs root, setpriv and a Python with ensurepip that all users can run",
)


class Place:
    """The folder of a test, which all users can read, with a source distribution and an unpacked one."""

    def __init__(self, folder):
        self.folder, self.path, self.notes = folder, folder / "venvs/made", folder / "notes.txt"
        self.notes.touch()
        self.notes.chmod(0o666)
        texts = {
            "PKG-INFO": "Metadata-Version: 2.1\nName: made\nVersion: 1\n",
            "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
            "backend.py": BACKEND.replace("NOTES", str(self.notes)).replace("ENVIRONMENT", str(self.path)),
        }
        (folder / "links").mkdir()
        self.sources = folder / "sources/made"
        self.sources.mkdir(parents=True)
        with tarfile.open(folder / "links/made-1.tar.gz", "w:gz") as archive:
            for name, text in texts.items():
                (self.sources / name).write_text(text)
                entry = tarfile.TarInfo(f"made-1/{name}")
                entry.size = len(text)
                archive.addfile(entry, io.BytesIO(text.encode()))

    def build(self, wish, user=USER, **more):
        options = {"find-links": [str(self.folder / "links")]}
        made = Builder(
            str(self.path), PYTHON, str(self.folder / "venvs/tools"), options, no_index=True, build_user=user, **more
        )
        made.build("base", {"exclude": [], "imports": ["made"], **wish})
        return made

    def builders(self):
        """Lines of the notes."""
        return self.notes.read_text().splitlines()


@pytest.fixture(scope="module")
def tools():
    """One environment with uv for all tests."""
    with tempfile.TemporaryDirectory() as folder:
        Builder("", PYTHON, folder + "/tools").uv()
        yield folder + "/tools"


@pytest.fixture
def place(tools):
    folder = pathlib.Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    (folder / "venvs").mkdir(mode=0o755)
    shutil.copytree(tools, folder / "venvs/tools", symlinks=True)
    yield Place(folder)
    shutil.rmtree(folder)


@pytest.mark.parametrize("form", ["distribution", pytest.param("folder", marks=pytest.mark.long)])
def test_a_build_is_not_run_by_root(place, form):
    sources = {"requirements": [f"made @ file://{place.sources}"]}
    made = place.build(sources if form == "folder" else {"requirements": ["made==1"], "no_binary": ["made"]})
    uid = pwd.getpwnam(USER).pw_uid
    assert {line.split()[0] for line in place.builders()} >= {"wheel"}
    assert {line.split(" ", 1)[1] for line in place.builders()} == {f"{uid} [] True"}
    script = "import made, os; print(made.BUILT_BY, os.stat(made.__file__).st_uid)"
    assert subprocess.check_output([made.own_python, "-c", script], text=True).split() == [str(uid), "0"]
    assert not (place.path / "planted").exists()
    assert sorted(path.name for path in place.sources.iterdir()) == ["PKG-INFO", "backend.py", "pyproject.toml"]
    assert sorted(path.name for path in place.path.parent.iterdir()) == ["made", "tools"], (
        "the worker's folder is removed"
    )
    assert ("--hash=" in pathlib.Path(made.lock_path("base")).read_text()) == (form == "distribution")


def test_a_source_distribution_with_another_hash_is_not_built(place):
    wish = {"requirements": ["made==1"], "no_binary": ["made"], "exclude": [], "imports": ["made"]}
    made = place.build(wish)
    lock = pathlib.Path(made.lock_path("base")).read_text()
    shutil.rmtree(place.path)
    place.notes.write_text("")
    with tarfile.open(place.folder / "links/made-1.tar.gz", "w:gz") as archive:
        archive.add(place.sources, "made-1")
    with pytest.raises(VenvError, match="differs from the hash in the lock"):
        place.build(wish, given_lock=lock)
    assert place.builders() == []


@pytest.mark.parametrize("indexes", [None, pytest.param(lambda *unused: ("", []), marks=pytest.mark.long)])
def test_a_package_without_a_wheel_is_not_built_by_root_either(place, indexes):
    """``no_binary`` names what has to be built; an index that has no wheel of another package must not make root build it."""
    published = hashlib.sha256((place.folder / "links/made-1.tar.gz").read_bytes()).hexdigest()
    with pytest.raises(VenvError, match="made 1 has SHA-256"):
        place.build({"requirements": ["made==1"]}, sdists={"made==1": "0" * 64})
    assert "wheel" not in {line.split()[0] for line in place.builders()}
    made = place.build({"requirements": ["made==1"]}, sdists={"made==1": published}, choose=indexes)
    assert "wheel" in {line.split()[0] for line in place.builders()}
    assert {line.split()[1] for line in place.builders()} == {str(pwd.getpwnam(USER).pw_uid)}
    script = "import made, os; print(made.BUILT_BY, os.stat(made.__file__).st_uid)"
    assert subprocess.check_output([made.own_python, "-c", script], text=True).split()[1] == "0"


@pytest.mark.long  # as the first one
def test_a_second_package_without_a_wheel_is_not_built_by_root_either(place):
    """One is named in ``no_binary``, and it requires the other."""
    with tarfile.open(place.folder / "links/other-1.tar.gz", "w:gz") as archive:
        for path in sorted(place.sources.iterdir()):
            text = path.read_text().replace("made", "other")
            if path.name == "PKG-INFO":
                text = text.replace("Metadata-Version: 2.1", "Metadata-Version: 2.2") + "Requires-Dist: made==1\n"
            text = text.replace("Version: 1\\n", "Version: 1\\nRequires-Dist: made==1\\n")
            entry = tarfile.TarInfo(f"other-1/{path.name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    place.build({"requirements": ["other==1"], "no_binary": ["other"], "imports": ["made", "other"]})
    assert {line.split()[1] for line in place.builders()} == {str(pwd.getpwnam(USER).pw_uid)}
    assert [line.split()[0] for line in place.builders()].count("wheel") == 2


def test_only_the_known_source_distribution_is_built(place):
    wish = {"requirements": ["made==1"], "no_binary": ["made"]}
    published = hashlib.sha256((place.folder / "links/made-1.tar.gz").read_bytes()).hexdigest()
    with pytest.raises(VenvError, match=f"made 1 has SHA-256 {published}, and the release has {'0' * 64}"):
        place.build(wish, sdists={"made==1": "0" * 64})
    assert "wheel" not in {line.split()[0] for line in place.builders()}
    made = place.build(wish, sdists={"made==1": published, "other==1": "0" * 64})
    assert "wheel" in {line.split()[0] for line in place.builders()}
    lock = pathlib.Path(made.lock_path("base")).read_text()
    shutil.rmtree(place.path)
    place.notes.write_text("")
    with pytest.raises(VenvError, match="made 1 has SHA-256"):
        place.build(wish, given_lock=lock, sdists={"made==1": "0" * 64})
    assert place.builders() == [], "a lock that was kept is compared too"


def test_root_is_refused_as_the_user_who_builds(place):
    with pytest.raises(VenvError, match="root is root"):
        place.build({"requirements": ["made==1"], "no_binary": ["made"]}, user="root")
    assert place.builders() == []


def test_links_of_a_build_are_not_followed(place):
    with Worker(USER, str(place.path)) as worker:
        secret = place.folder / "secret"
        secret.write_text("of root")
        folder = pathlib.Path(worker.inside("cache"))
        folder.mkdir()
        (folder / "made-1-py3-none-any.whl").symlink_to(secret)
        with pytest.raises(Refused, match="not a file"):
            worker.take({"made"}, str(place.folder / "taken"))
        (folder / "made-1-py3-none-any.whl").unlink()
        os.link(secret, folder / "made-1-py3-none-any.whl")
        with pytest.raises(Refused, match="not a file of the user"):
            worker.take({"made"}, str(place.folder / "taken"))
    assert not any((place.folder / "taken").iterdir())
