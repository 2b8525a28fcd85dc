# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module cann_download on a real socket: a package gets its name when it is whole and compared, and nothing else stays."""

from __future__ import annotations

import hashlib
import http.server
import os
import threading

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.tools import served

BODY = b"#!/bin/bash\n" * 1000
NAME = "Ascend-cann-toolkit_9.1.0_linux-aarch64.run"
SUM = "sha256:" + hashlib.sha256(BODY).hexdigest()


class Mirror(http.server.BaseHTTPRequestHandler):
    """Has BODY everywhere; breaks off after ``cut`` bytes."""

    cut = len(BODY)

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY[: self.cut])

    def log_message(self, *args):
        """Print nothing."""


@pytest.fixture
def mirror(tmp_path):
    """(the handler's class, the folder on the host, the options of the module)."""
    handler = type("Handler", (Mirror,), {})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    folder = tmp_path / "cann"
    folder.mkdir()
    url = f"http://me:secret@127.0.0.1:{server.server_port}/a/"
    yield handler, folder, {"url": url, "packages": [NAME], "checksums": {NAME: SUM}, "directory": str(folder)}
    server.shutdown()
    server.server_close()


def test_a_package_is_fetched_once(mirror, run_module):
    _handler, folder, options = mirror
    assert run_module("cann_download", check=True, **options)["fetched"] == [NAME] and os.listdir(str(folder)) == []
    found = run_module("cann_download", **options)
    assert found["changed"] and found["fetched"] == [NAME] and (folder / NAME).read_bytes() == BODY
    assert (folder / NAME).stat().st_mode & 0o777 == 0o644
    assert not run_module("cann_download", **options)["changed"]
    (folder / NAME).write_bytes(b"damaged")
    assert not run_module("cann_download", **dict(options, checksums={}))["changed"]
    assert run_module("cann_download", **options)["changed"] and (folder / NAME).read_bytes() == BODY


def refused(found, folder):
    assert found["failed"] and "Fix:" in found["msg"] and "secret" not in found["msg"], found["msg"]
    assert os.listdir(str(folder)) == []
    return found["msg"]


def test_a_server_that_never_ends_is_given_up(mirror, run_module, monkeypatch, endless):
    handler, folder, options = mirror
    monkeypatch.setattr(handler, "do_GET", endless.do_GET)
    found = refused(run_module("cann_download", max_mib=1, **options), folder)
    assert f"/a/{NAME}: more than the expected 1048576 bytes were sent" in found and "cann_download_max_mib" in found


@pytest.mark.parametrize("kind", ["dripping", "continued"])
def test_a_head_without_an_end_is_given_up(mirror, run_module, monkeypatch, odd_server, kind):
    _handler, folder, options = mirror
    monkeypatch.setattr(served, "HEAD", 0.3)
    odd_server.serve = getattr(odd_server, kind)
    found = refused(run_module("cann_download", **dict(options, url=odd_server.url)), folder)
    assert "the head of the answer was not whole" in found and "too slow" in found and "fills the disk" not in found


def test_a_package_that_is_announced_as_too_large_is_not_begun(mirror, run_module):
    _handler, folder, options = mirror
    assert f"{len(BODY)} bytes are announced" in refused(run_module("cann_download", max_mib=0, **options), folder)


def test_what_breaks_off_or_is_another_file_is_not_kept(mirror, run_module):
    handler, folder, options = mirror
    handler.cut = 100
    found = refused(run_module("cann_download", **dict(options, checksums={})), folder)
    assert f"ended after 100 of {len(BODY)} bytes" in found
    handler.cut = len(BODY)
    wrong = dict(options, checksums={NAME: "sha256:" + 64 * "0"})
    assert "expected 0000" in refused(run_module("cann_download", **wrong), folder)


def test_the_rest_of_a_killed_run_is_replaced_and_a_link_is_not_followed(tmp_path, mirror, run_module):
    _handler, folder, options = mirror
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (folder / (NAME + ".ascend-inference-new")).symlink_to(precious)
    assert run_module("cann_download", **options)["changed"]
    assert precious.read_text() == "mine" and os.listdir(str(folder)) == [NAME]


def test_an_unknown_algorithm_is_no_traceback(mirror, run_module):
    _handler, folder, options = mirror
    found = run_module("cann_download", **dict(options, checksums={NAME: "sha257:00"}))
    assert found["failed"] and "sha257" in found["msg"] and os.listdir(str(folder)) == []


@pytest.mark.parametrize("slashes", ["", "/", "//"])
def test_each_package_comes_from_below_the_address(mirror, run_module, slashes):
    handler, folder, options = mirror
    asked, answer = [], handler.do_GET
    handler.do_GET = lambda self: (asked.append(self.path), answer(self))[1]
    (folder / "b.run").write_bytes(b"kept")
    names = ["a.run", "b.run", NAME]
    found = run_module("cann_download", **dict(options, url=options["url"].rstrip("/") + slashes, packages=names))
    assert found["fetched"] == ["a.run", NAME] and asked == ["/a/a.run", f"/a/{NAME}"]
    assert (folder / "b.run").read_bytes() == b"kept" and (folder / "a.run").read_bytes() == BODY


def test_a_package_may_have_as_many_mib_as_the_option_says(mirror, run_module, monkeypatch):
    handler, folder, options = mirror
    monkeypatch.setattr(handler, "cut", 2**20)
    for size, good in ((2**20, True), (2**20 + 1, False)):

        def do_get(self, size=size):
            self.send_response(200)
            self.send_header("Content-Length", str(size))
            self.end_headers()
            self.wfile.write(b"x" * size)

        monkeypatch.setattr(handler, "do_GET", do_get)
        found = run_module("cann_download", max_mib=1, **dict(options, checksums={}, packages=[f"{size}.run"]))
        assert found["failed"] is not good and (folder / f"{size}.run").exists() is good


def test_a_folder_that_is_not_there_is_named(mirror, run_module):
    _handler, folder, options = mirror
    found = run_module("cann_download", **dict(options, directory=str(folder / "none")))
    assert found["failed"] and f"{folder}/none/{NAME}" in found["msg"] and "Fix:" in found["msg"]


def test_checksums_in_capitals_are_the_same(mirror, run_module):
    _handler, folder, options = mirror
    assert run_module("cann_download", **dict(options, checksums={NAME: "sha256:" + SUM[7:].upper()}))["changed"]
    assert not run_module("cann_download", **options)["changed"] and os.listdir(str(folder)) == [NAME]
