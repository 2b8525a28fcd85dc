# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sources in a bundle, from real repositories: at a tag, branch or commit, with submodules and history's end, without git's settings."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.tools.runner import ToolMissing, execute
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.archives import Given
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.checkouts import Checkout
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.contents import Contents, Environment
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.git import Git, pack
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.make import Listing, fetched_sources
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.manifest import _valid
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.platform import Platform
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.store import FetchError, Store

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="needs git")
WHO = ["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "init.defaultBranch=main"]
ARM = Platform("aarch64", "3.11", "2.34")


def git(folder, *argv):
    done = subprocess.run(["git", *WHO, "-C", str(folder), *argv], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def repository(folder, name, files):
    """A new repository with one commit."""
    place = folder / name
    place.mkdir()
    git(place, "init", "-q")
    for path, text in files.items():
        (place / path).write_text(text)
    git(place, "add", ".")
    git(place, "commit", "-qm", "one")
    return place


@pytest.fixture
def origin(tmp_path, monkeypatch):
    """A repository with a submodule, the tags v1 and v2 and the branch work after them."""
    for number, value in enumerate([("protocol.file.allow", "always")]):  # of submodules in folders of this machine
        monkeypatch.setenv(f"GIT_CONFIG_KEY_{number}", value[0])
        monkeypatch.setenv(f"GIT_CONFIG_VALUE_{number}", value[1])
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    part = repository(tmp_path, "part", {"part.h": "int part;\n"})
    cmake = 'set(URL "https://files.example/makeself-2.5.tar.gz?AccessKey=x")\n# https://docs.example/page.html\n'
    cmake += "GIT_REPOSITORY https://files.example/umdk.git\n"
    place = repository(
        tmp_path,
        "whole",
        {
            "third.cmake": cmake,
            "CMakeLists.txt": "include(third.cmake)\n# https://docs.example/x.zip\n",
            "pyproject.toml": '[build-system]\nrequires = ["helper"]\n',
            "run.sh": "",
        },
    )
    (place / "run.sh").chmod(0o755)
    git(place, "submodule", "add", "-q", str(part), "extern/part")
    git(place, "commit", "-qam", "two")
    git(place, "tag", "-am", "one", "v1")
    (place / "new.txt").write_text("new")
    git(place, "add", ".")
    git(place, "commit", "-qm", "three")
    git(place, "tag", "v2")
    git(place, "checkout", "-q", "-b", "work/x")
    git(place, "commit", "-q", "--allow-empty", "-m", "four")
    return place


def checkout(origin, ref, **more):
    return Checkout("whole", str(origin), ref, **more)


def unpacked(store, entry, folder):
    """The top folder of an archive, unpacked as the roles do."""
    folder.mkdir()
    argv = ["tar", "--strip-components", "1", "-xzf", os.path.join(store.folder, entry["path"]), "-C", str(folder)]
    subprocess.run(argv, check=True)
    return folder


@pytest.mark.parametrize(
    ("ref", "described"), [("v1", "v1"), ("v2", "v2"), ("work/x", "v2-1-g")], ids=["annotated tag", "tag", "branch"]
)
def test_an_archive_has_the_files_of_submodules_and_a_version_but_no_settings(origin, tmp_path, ref, described):
    store, programs = Store(str(tmp_path / "bundle")), Git(str(tmp_path))
    source = programs.find(checkout(origin, ref))
    assert source.commit == git(origin, "rev-parse", f"{ref}^{{commit}}")
    entry = programs.fetch(source, store, [])
    assert _valid(entry) and (entry["kind"], entry["version"], entry["published"]) == ("source", source.commit, False)
    tree = unpacked(store, entry, tmp_path / "tree")
    assert (tree / "extern/part/part.h").read_text() == "int part;\n" and (tree / "run.sh").stat().st_mode & 0o100
    assert (tree / "new.txt").exists() is (ref != "v1")
    assert git(tree, "describe", "--tags", "--dirty").startswith(described)
    assert "dirty" not in git(tree, "describe", "--tags", "--dirty"), "packages take their version from it"
    told = b"".join(path.read_bytes() for path in tree.rglob("*") if path.is_file() and "objects" not in path.parts)
    assert str(origin).encode() not in told.replace((tree / ".gitmodules").read_bytes(), b"")
    assert sorted(path.name for path in tree.rglob(".git")) == [".git"] and not (tree / ".git/hooks").exists()


def test_archives_of_a_build_are_a_part_of_the_sources_and_the_version_stays(origin, tmp_path):
    store, given = Store(str(tmp_path / "bundle")), tmp_path / "given"
    given.mkdir()
    (given / "makeself-2.5.tar.gz").write_bytes(b"makeself")
    programs = Git(str(tmp_path), given=Given(str(given)))
    source = programs.find(checkout(origin, "v1", fetches=True))
    entry = programs.fetch(source, store, [])
    assert [(each["name"], each["size"], each["published"]) for each in entry["archives"]] == [
        ("makeself-2.5.tar.gz", 8, False)
    ]
    tree = unpacked(store, entry, tmp_path / "tree")
    assert "file://" in (tree / "third.cmake").read_text() and list((tree / ".archives").glob("*/makeself-2.5.tar.gz"))
    assert git(tree, "describe", "--tags", "--dirty") == "v1", "packages take their version from it"
    (given / "makeself-2.5.tar.gz").unlink()
    again = Store(store.folder)
    assert programs.fetch(source, again, [entry]) == entry and again.fetched == []
    without = {key: value for key, value in entry.items() if key != "archives"}
    with pytest.raises(FetchError, match="makeself-2.5.tar.gz cannot be read"):
        programs.fetch(source, again, [without])


def test_a_whole_commit_is_taken_without_a_question(origin, tmp_path):
    commit = git(origin, "rev-parse", "v1^{commit}")
    programs = Git(str(tmp_path), run=lambda *_given, **_more: pytest.fail("git was asked"))
    assert programs.find(checkout(origin, commit)).commit == commit
    entry = Git(str(tmp_path)).fetch(programs.find(checkout(origin, commit)), Store(str(tmp_path / "bundle")), [])
    assert entry["name"] == f"whole-{commit}.sources.tar.gz"


def test_the_same_commit_is_fetched_once_and_a_moved_tag_again(origin, tmp_path):
    store, programs = Store(str(tmp_path / "bundle")), Git(str(tmp_path))
    first = programs.fetch(programs.find(checkout(origin, "v2")), store, [])
    stored = Store(store.folder)
    assert programs.fetch(programs.find(checkout(origin, "v2")), stored, [first]) == first and stored.fetched == []
    newer = Store(str(tmp_path / "newer"), base=store.folder)
    assert programs.fetch(programs.find(checkout(origin, "v2")), newer, [first]) == first and newer.fetched == []
    git(origin, "tag", "-f", "v2", "work/x")
    moved = programs.fetch(programs.find(checkout(origin, "v2")), stored, [first])
    assert moved["version"] == git(origin, "rev-parse", "work/x") != first["version"] and len(stored.fetched) == 1
    os.unlink(os.path.join(store.folder, moved["path"]))
    assert len(programs.fetch(programs.find(checkout(origin, "v2")), Store(store.folder), [moved])["sha256"]) == 64


@pytest.mark.parametrize(
    ("repository_of", "ref", "reason"),
    [
        (None, "v3", "has no tag and no branch v3"),
        (None, "--upload-pack=x", "cannot be asked for"),
        ("--upload-pack=touch x", "v1", "cannot be asked for"),
        ("https://me:secret@127.0.0.1:1/x.git", "v1", "git cannot get the sources https://127.0.0.1:1/x.git at v1"),
    ],
)
def test_what_cannot_be_had_is_named_without_the_password(origin, tmp_path, repository_of, ref, reason):
    with pytest.raises(FetchError, match="Fix: ") as refused:
        Git(str(tmp_path)).find(Checkout("whole", repository_of or str(origin), ref))
    assert reason in str(refused.value) and "secret" not in str(refused.value)


class Guarded(BaseHTTPRequestHandler):
    """A repository of git's simple protocol, for one user and password."""

    def do_GET(self):
        given = self.headers.get("Authorization", "")
        allowed = given == "Basic " + base64.b64encode(b"me:s@cret").decode()
        self.send_response(200 if allowed else 401)
        if not allowed:
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
        self.end_headers()
        if allowed:
            self.wfile.write(f"{'a' * 40}\trefs/tags/v1\n".encode() if "/info/refs" in self.path else b"")

    def log_message(self, *unused):
        pass


def test_a_password_reaches_git_and_no_argument(tmp_path, monkeypatch):
    """The arguments of a process can be read by all users of a machine."""
    asked = []

    def run(argv, *given, **more):
        asked.extend(argv)
        return execute(argv, *given, **more)

    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Guarded)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        place = f"127.0.0.1:{server.server_port}"
        for secret, there in (("s%40cret", True), ("wrong", False)):
            wanted = Checkout("whole", f"http://me:{secret}@{place}/x.git", "v1")
            try:
                assert Git(str(tmp_path), run=run).find(wanted).commit == "a" * 40 and there
            except FetchError as refused:
                assert not there and secret not in str(refused)
    finally:
        server.shutdown()
        server.server_close()
    assert f"http://{place}/x.git" in asked and not any("cret" in each or "wrong" in each for each in asked)
    other = subprocess.run(
        [str(tmp_path / "askpass"), "Password for 'https://me@other.example': "],
        env={"ASCEND_GIT_SERVER": place, "ASCEND_GIT_PASSWORD": "s@cret", "PATH": os.environ["PATH"]},
        capture_output=True,
        check=False,
    )
    assert other.returncode == 1 and other.stdout == b"", "another server, such as that of a submodule"


@pytest.mark.parametrize(
    ("repository", "address", "asks"),
    [
        (
            "ssh://git@git.example/x.git",
            "ssh://git@git.example/x.git",
            False,
        ),  # its user is no secret, and ssh needs it
        ("git@git.example:x.git", "git@git.example:x.git", False),
        ("https://git.example/x.git", "https://git.example/x.git", False),
        ("https://me@git.example/x.git", "https://git.example/x.git", True),
        ("http://me:s%40cret@git.example:8080/x.git", "http://git.example:8080/x.git", True),
    ],
)
def test_only_a_user_of_http_is_kept_from_arguments(tmp_path, repository, address, asks):
    given, access = Git(str(tmp_path))._access(repository)
    assert given == address and (tmp_path / "askpass").exists() is bool(access) is asks
    if asks:
        assert access["ASCEND_GIT_USER"] == "me" and access["ASCEND_GIT_SERVER"] in address
        assert access["ASCEND_GIT_PASSWORD"] == ("s@cret" if "cret" in repository else "")


def test_modes_of_files_are_those_that_git_knows(tmp_path):
    (tmp_path / "x-1/folder").mkdir(parents=True)
    for name, mode in (("run", 0o700), ("data", 0o600), ("open", 0o666)):
        (tmp_path / "x-1" / name).touch()
        (tmp_path / "x-1" / name).chmod(mode)
    for folder in (tmp_path / "x-1/folder", tmp_path / "x-1"):
        folder.chmod(0o2775)
    pack(str(tmp_path / "x-1"), str(tmp_path / "a.tar.gz"), 7)
    with tarfile.open(tmp_path / "a.tar.gz") as opened:
        found = {member.name: member.mode for member in opened}
        assert {(member.uid, member.gid, member.uname, member.mtime) for member in opened} == {(0, 0, "", 7)}
    modes = {"x-1": 0o755, "x-1/folder": 0o755, "x-1/run": 0o755, "x-1/data": 0o644, "x-1/open": 0o644}
    assert found == modes


def test_a_machine_without_git_is_named(origin, tmp_path):
    def run(*_given, **_more):
        raise ToolMissing("git cannot be started")

    with pytest.raises(FetchError, match="Fix: install git"):
        Git(str(tmp_path), run=run).find(checkout(origin, "v1"))


def test_other_than_files_and_links_is_refused(origin, tmp_path, monkeypatch):
    programs, real = Git(str(tmp_path)), Git._checked_out

    def with_pipe(self, source, tree):
        moment = real(self, source, tree)
        os.mkfifo(os.path.join(tree, "pipe"))
        return moment

    monkeypatch.setattr(Git, "_checked_out", with_pipe)
    with pytest.raises(FetchError, match="pipe, which is neither"):
        programs.fetch(programs.find(checkout(origin, "v1")), Store(str(tmp_path / "bundle")), [])


class Resolution:
    """Resolves nothing; remembers what it was asked for."""

    def __init__(self):
        self.asked = []

    def files(self, environment):
        self.asked.append(environment)
        return []


def test_what_a_build_needs_is_asked_for_with_the_indexes_of_its_environment(origin, tmp_path):
    options = {"requirements": ["whole @ file:///venvs/e-source/whole-v1"], "index_url": "https://index.example/simple"}
    python, other = checkout(origin, "v1", python=True), checkout(origin, "v2", fetches=True)
    (tmp_path / "given").mkdir()
    (tmp_path / "given/makeself-2.5.tar.gz").write_bytes(b"makeself")
    programs = Git(str(tmp_path), given=Given(str(tmp_path / "given")))
    listing = Listing(Contents(), environments=[(Environment("e", ARM, options, "lock"), [])])
    listing.sources = [programs.find(python), programs.find(other)]
    resolution, store = Resolution(), Store(str(tmp_path / "bundle"))
    items, findings = fetched_sources(listing, resolution, programs, store, [])
    assert [entry["name"] for entry in items] == [python.archive, other.archive] and findings == []
    (build,) = resolution.asked
    assert build.options == {"index_url": options["index_url"], "requirements": ["helper"]} and build.lock == ""
    assert len(listing.environments) == 2
    assert listing.contents.missing == ["what CMake of whole-v2 may fetch: https://files.example/umdk.git"]
    assert "downloads" not in items[0] and items[1]["downloads"] == ["https://files.example/umdk.git"]
    with tarfile.open(os.path.join(store.folder, items[0]["path"])) as archive:
        first = archive.getmembers()[0]
    assert (first.name, first.uid, first.uname) == ("whole-v1", 0, "")
    shutil.rmtree(origin)
    listing.sources = listing.sources[:1]
    _items, findings = fetched_sources(listing, resolution, programs, Store(str(tmp_path / "new")), [])
    assert [finding.id for finding in findings] == ["bundle_sources_of_builds"]


def test_an_archive_is_the_same_whenever_and_by_whom_it_was_checked_out(tmp_path):
    """Only so a bundle that is made again has the same digest, and is no new one for hosts."""
    found = []
    for number, mode in enumerate((0o600, 0o664)):
        tree = tmp_path / str(number) / "vllm-v1"
        (tree / "csrc").mkdir(parents=True)
        (tree / "setup.py").write_text("x")
        (tree / "run.sh").write_text("x")
        (tree / "link").symlink_to("setup.py")
        os.chmod(tree / "setup.py", mode)
        os.chmod(tree / "run.sh", mode | 0o100)
        os.utime(tree / "setup.py", (number, 1000 + number))
        archive = tmp_path / str(number) / "vllm.tar.gz"
        pack(str(tree), str(archive), 1700000000)
        with tarfile.open(archive) as opened:
            rows = [(one.name, one.mtime, one.mode, one.uid, one.gid, one.uname, one.gname) for one in opened]
        found.append(sorted(rows))
    assert found[0] == found[1]
    assert {row[1] for row in found[0]} == {1700000000}
    assert {row[0]: oct(row[2]) for row in found[0] if "." in row[0]} == {
        "vllm-v1/setup.py": "0o644",
        "vllm-v1/run.sh": "0o755",
    }
