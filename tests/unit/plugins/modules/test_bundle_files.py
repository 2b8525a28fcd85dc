# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module bundle_files: what a host lacks of a bundle, and files that get their names only with the announced SHA-256."""

from __future__ import annotations

import functools
import hashlib
import http.client
import http.server
import io
import os
import re
import stat
import tarfile
import threading
import types

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.install import bundle_files
from ansible_collections.ascend.inference.plugins.module_utils.tools import served
from ansible_collections.ascend.inference.plugins.modules import bundle_files as module_of_files


def announced(content):
    return {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}


FILES = {"a.whl": announced(b"first"), "b.whl": announced(b"second")}


def archive(path, members):
    with tarfile.open(str(path), "w") as opened:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            opened.addfile(member, io.BytesIO(content))
    return str(path)


def test_missing_truncated_and_changed_files_are_named(tmp_path, run_module):
    directory = tmp_path / "cache"
    found = run_module("bundle_files", directory=str(directory), files=FILES)
    assert not found["changed"] and found["missing"] == ["a.whl", "b.whl"] and found["free"] > 0
    assert found["host"]["machine"] == os.uname().machine and not directory.exists()
    directory.mkdir()
    (directory / "a.whl").write_bytes(b"first")
    (directory / "b.whl").write_bytes(b"secon!")
    assert run_module("bundle_files", directory=str(directory), files=FILES)["missing"] == ["b.whl"]
    (directory / "b.whl").write_bytes(b"sec")
    assert run_module("bundle_files", directory=str(directory), files=FILES)["missing"] == ["b.whl"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("kind", ["owner", "mode", "link"])
def test_a_file_that_another_user_can_still_change_is_copied_anew(tmp_path, run_module, kind):
    """It has the announced content while it is compared; root installs what it has afterwards."""
    directory, other = tmp_path / "cache", tmp_path / "other"
    directory.mkdir()
    (directory / "b.whl").write_bytes(b"second")
    other.write_bytes(b"first")
    if kind == "link":
        (directory / "a.whl").symlink_to(other)
    else:
        (directory / "a.whl").write_bytes(b"first")
        os.chown(str(directory / "a.whl"), 1234 if kind == "owner" else 0, -1)
        (directory / "a.whl").chmod(0o644 if kind == "owner" else 0o666)
    assert run_module("bundle_files", directory=str(directory), files=FILES)["missing"] == ["a.whl"]
    sent = archive(tmp_path / "sent.tar", {"a.whl": b"first"})
    assert run_module("bundle_files", directory=str(directory), files=FILES, archive=sent)["missing"] == []
    status = os.lstat(str(directory / "a.whl"))
    assert stat.S_ISREG(status.st_mode) and (status.st_uid, status.st_mode & 0o777) == (0, 0o644)


def test_the_archive_s_files_are_unpacked_once_and_others_stay(tmp_path, run_module):
    directory = tmp_path / "cache"
    directory.mkdir()
    (directory / "mine").write_text("x")
    (directory / "a.whl.new").write_text("mine")
    sent = archive(tmp_path / "sent.tar", {"a.whl": b"first", "b.whl": b"second"})
    found = run_module("bundle_files", directory=str(directory), files=FILES, archive=sent)
    assert found["changed"] and found["missing"] == []
    assert sorted(os.listdir(str(directory))) == ["a.whl", "a.whl.new", "b.whl", "mine"]
    assert run_module("bundle_files", directory=str(directory), files=FILES)["missing"] == []


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"a.whl": b"fir?t"}, "a.whl has SHA-256 .* after the copy"),
        ({"../a.whl": b"first"}, "not announced"),
        ({"c.whl": b"first"}, "not announced"),
    ],
)
def test_other_content_gets_no_name(tmp_path, run_module, members, reason):
    sent = archive(tmp_path / "sent.tar", members)
    found = run_module("bundle_files", directory=str(tmp_path / "cache"), files=FILES, archive=sent)
    assert found["failed"] and not found["changed"]
    assert re.search(reason, found["msg"])
    assert os.listdir(str(tmp_path / "cache")) == [] and not (tmp_path / "a.whl").exists()


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")


@needs_root
@pytest.mark.parametrize("place", ["itself", "above"])
@pytest.mark.parametrize(
    ("owner", "group", "mode"), [(65534, 0, 0o755), (0, 65534, 0o775), (0, 0, 0o777)], ids=["owner", "group", "all"]
)
def test_a_folder_in_which_others_could_swap_files_is_refused(tmp_path, run_module, place, owner, group, mode):
    """Root installs packages from there without a further comparison."""
    directory = tmp_path / "others" / "cache"
    directory.mkdir(parents=True)
    given = directory if place == "itself" else directory.parent
    sent = archive(tmp_path / "sent.tar", {"a.whl": b"first"})
    os.chmod(str(given), mode)
    os.chown(str(given), owner, group)
    found = run_module("bundle_files", directory=str(directory), files=FILES, archive=sent)
    assert found["failed"] and f"{given} belongs to another user" in found["msg"] and not os.listdir(str(directory))
    os.chown(str(given), 0, 0)
    os.chmod(str(given), 0o755)
    assert (
        run_module("bundle_files", directory=str(directory), files={"a.whl": FILES["a.whl"]}, archive=sent)["missing"]
        == []
    )


def test_check_mode_unpacks_nothing(tmp_path, run_module):
    sent = archive(tmp_path / "sent.tar", {"a.whl": b"first"})
    run_module("bundle_files", directory=str(tmp_path / "cache"), files=FILES, archive=sent, check=True)
    assert not (tmp_path / "cache").exists()


def test_packages_that_are_not_installed_are_named(tmp_path, run_module, monkeypatch):
    program = tmp_path / "dpkg-query"
    program.write_text(
        "#!/bin/sh\necho 'nginx installed'\necho 'haproxy config-files'\necho 'no packages found matching etcd' >&2\nexit 1\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = run_module("bundle_files", directory=str(tmp_path / "cache"), packages=["nginx", "haproxy", "etcd"])
    assert found["packages"] == ["etcd", "haproxy"]
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert bundle_files.lacking(["nginx"]) == ["nginx"] and bundle_files.lacking([]) == []


def test_a_host_with_dnf_lacks_what_it_neither_has_nor_is_offered(tmp_path, run_module, monkeypatch):
    programs = {
        "rpm": '[ "$*" = "--query --whatprovides libcurl" ] && echo libcurl-8.4.0-2.oe2403.aarch64\n',
        "dnf": 'case "$*" in *"repoquery --whatprovides nginx") echo nginx-1:1.24.0-1.oe2403.aarch64 ;;'
        ' *" libibverbs") echo "Updating Subscription Management repositories." ;;'
        ' *" etcd") echo "cannot download" >&2; exit 1 ;; esac\n',
        "nft": "",
        "podman": "",
    }
    for name, text in programs.items():
        (tmp_path / name).write_text("#!/bin/sh\n" + text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    asked = ["libcurl", "nginx", "nftables", "etcd", "libibverbs", "docker", "python3-requests"]
    wanted = {
        "directory": str(tmp_path / "cache"),
        "packages_of_dnf": asked,
        "programs": {"docker": "docker", "python3-requests": "docker"},
    }
    found = run_module("bundle_files", **wanted)
    assert found["packages_of_dnf"] == ["docker", "etcd", "libibverbs", "python3-requests"]
    assert run_module("bundle_files", **{**wanted, "programs": dict.fromkeys(wanted["programs"], "podman")})[
        "packages_of_dnf"
    ] == ["etcd", "libibverbs"]
    found = run_module("bundle_files", offered=False, **wanted)
    assert found["packages_of_dnf"] == ["docker", "etcd", "libibverbs", "nginx", "python3-requests"]
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert run_module("bundle_files", **wanted)["packages_of_dnf"] == sorted(asked)


def test_the_distribution_is_what_os_release_says(tmp_path):
    file = tmp_path / "os-release"
    file.write_text('PRETTY_NAME="Ubuntu 22.04"\nNAME="Ubuntu"\nVERSION_ID="22.04"\nID=ubuntu\nID_LIKE=debian\n')
    assert bundle_files.distribution(str(file)) == "ubuntu 22.04"
    file.write_text("ID=debian\n")
    assert bundle_files.distribution(str(file)) == ""
    assert bundle_files.distribution(str(tmp_path / "absent")) == ""


class Silent(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture
def rack(tmp_path):
    """(folder that a server has, its address, options that fetch a.whl from it)."""
    folder = tmp_path / "bundle"
    (folder / "blobs" / "1").mkdir(parents=True)
    (folder / "blobs" / "1" / "a.whl").write_bytes(b"first")
    (folder / "manifest.json").write_bytes(b"{}")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Silent, directory=str(folder)))
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    files = {"a.whl": {**FILES["a.whl"], "path": "blobs/1/a.whl"}}
    sums = hashlib.sha256(b"{}").hexdigest()
    yield (
        folder,
        url,
        {"url": url + "/", "manifest_sha256": sums, "files": files, "directory": str(tmp_path / "cache")},
    )
    server.shutdown()
    server.server_close()


def test_a_host_fetches_from_the_server_of_its_rack_without_proxies(tmp_path, run_module, rack, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    compared = run_module("bundle_files", state="compared", **rack[2])
    assert not compared["changed"] and compared["missing"] == ["a.whl"] and not (tmp_path / "cache").exists()
    run_module("bundle_files", check=True, **rack[2])
    assert not (tmp_path / "cache").exists()
    found = run_module("bundle_files", **rack[2])
    assert found["changed"] and found["missing"] == [] and os.listdir(str(tmp_path / "cache")) == ["a.whl"]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("blobs/1/a.whl", b"fir?t", "a.whl has SHA-256 .* after the download"),
        ("blobs/1/a.whl", b"first and more", "a.whl: more than the expected 5 bytes were sent by the download"),
        ("blobs/1/a.whl", None, "a.whl could not be fetched: .*404.*bundle_server"),
        ("manifest.json", b"{ }", "another bundle than the controller.*bundle_server"),
        ("manifest.json", None, "manifest.json could not be fetched: .*404.*bundle_server"),
    ],
)
def test_what_the_server_has_instead_is_refused(tmp_path, run_module, rack, name, content, reason):
    (rack[0] / name).unlink()
    if content is not None:
        (rack[0] / name).write_bytes(content)
    found = run_module("bundle_files", **rack[2])
    assert found["failed"] and not found["changed"] and re.search(reason, found["msg"]), found["msg"]
    assert not (tmp_path / "cache").exists() or os.listdir(str(tmp_path / "cache")) == []


@pytest.mark.parametrize("url", ["file:///srv/bundle", "/srv/bundle", "http://me:secret@192.0.2.9"])
def test_an_address_that_is_not_of_http_is_refused_and_not_repeated(run_module, rack, url):
    found = run_module("bundle_files", **{**rack[2], "url": url})
    assert found["failed"] and "no address of HTTP" in found["msg"] and url not in found["msg"]


def test_a_server_that_never_ends_is_given_up_and_nothing_stays(tmp_path, run_module, rack, monkeypatch, endless):
    monkeypatch.setattr(Silent, "do_GET", endless.whole(Silent.do_GET, but="a.whl"))
    found = run_module("bundle_files", **rack[2])
    assert found["failed"] and "a.whl: more than the expected 5 bytes were sent" in found["msg"], found["msg"]
    assert os.listdir(str(tmp_path / "cache")) == []
    monkeypatch.setattr(bundle_files, "MOST_MANIFEST", 2**20)
    monkeypatch.setattr(Silent, "do_GET", endless.do_GET)
    found = run_module("bundle_files", **rack[2])
    assert found["failed"] and "more than the expected 1048576 bytes" in found["msg"], found["msg"]


@pytest.mark.parametrize("kind", ["dripping", "continued"])
def test_a_head_without_an_end_is_given_up(tmp_path, run_module, rack, monkeypatch, odd_server, kind):
    monkeypatch.setattr(served, "HEAD", 0.3)
    odd_server.serve = getattr(odd_server, kind)
    found = run_module("bundle_files", **{**rack[2], "url": odd_server.url})
    assert found["failed"] and re.search("the head of the answer was not whole.*bundle_server", found["msg"]), found
    assert not (tmp_path / "cache").exists()


def test_a_link_in_the_place_of_a_file_that_is_written_is_not_followed(tmp_path, run_module):
    directory, precious = tmp_path / "cache", tmp_path / "precious"
    directory.mkdir()
    precious.write_text("mine")
    (directory / "a.whl.ascend-inference-new").symlink_to(precious)
    sent = archive(tmp_path / "sent.tar", {"a.whl": b"first", "b.whl": b"second"})
    assert run_module("bundle_files", directory=str(directory), files=FILES, archive=sent)["changed"]
    assert precious.read_text() == "mine" and not (directory / "a.whl").is_symlink()


def test_a_chunk_of_a_size_below_zero_is_no_traceback(run_module, rack, monkeypatch):
    def negative(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nabc")

    monkeypatch.setattr(Silent, "do_GET", negative)
    found = run_module("bundle_files", **rack[2])
    assert found["failed"] and "manifest.json could not be fetched" in found["msg"]


def test_another_address_that_a_server_names_is_not_asked(tmp_path, run_module, rack, monkeypatch):
    asked = []

    def elsewhere(handler):
        asked.append(handler.path)
        handler.send_response(302)
        handler.send_header("Location", "/manifest.json?elsewhere")
        handler.end_headers()

    monkeypatch.setattr(Silent, "do_GET", elsewhere)
    found = run_module("bundle_files", **rack[2])
    assert found["failed"] and re.search(
        "manifest.json could not be fetched: .*302.*without redirects", found["msg"]
    ), found["msg"]
    assert asked == ["/manifest.json"]


def test_a_server_that_does_not_answer_is_named(run_module, rack):
    found = run_module("bundle_files", **{**rack[2], "url": "http://127.0.0.1:9"})
    assert found["failed"] and "http://127.0.0.1:9/manifest.json could not be fetched" in found["msg"]


@pytest.mark.parametrize("error", [OSError("gone"), ValueError("odd"), http.client.BadStatusLine("x")])
def test_whatever_the_server_sends_first_is_no_traceback(monkeypatch, error):
    def opened(*_given, **_more):
        raise error

    monkeypatch.setattr(bundle_files.urllib.request, "build_opener", lambda *_given: types.SimpleNamespace(open=opened))
    with pytest.raises(bundle_files.FilesError, match="http://n1/a%20b"):
        bundle_files._opened("http://n1/", "a b")


@pytest.mark.parametrize(("user", "others", "refused"), [(0, ["/srv"], True), (0, [], False), (4242, ["/srv"], False)])
def test_only_root_needs_a_folder_that_nobody_else_can_change(monkeypatch, user, others, refused):
    """Another user installs nothing for the whole host from there."""
    monkeypatch.setattr(module_of_files.os, "geteuid", lambda: user)
    monkeypatch.setattr(module_of_files, "shared", lambda _folder: others)
    if refused:
        with pytest.raises(module_of_files.FilesError, match="/srv belongs to another user than root"):
            module_of_files.require_own("/srv/bundle")
    else:
        module_of_files.require_own("/srv/bundle")
