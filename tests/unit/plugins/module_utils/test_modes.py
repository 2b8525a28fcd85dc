# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is made outside of the deployment's tree has its mode whatever the umask of the login user: services and other users read it."""

from __future__ import annotations

import hashlib
import http.server
import io
import os
import tarfile
import threading

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.files import own_folder
from ansible_collections.ascend.inference.plugins.module_utils.host import kernel_settings
from ansible_collections.ascend.inference.plugins.module_utils.install import bundle_files, download
from ansible_collections.ascend.inference.plugins.module_utils.router import away

BODY = b"content"


class Mirror(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, *args):
        """Print nothing."""


def own(folder):
    return own_folder.begin(folder + "/qwen.unpacking")


def own_private(folder):
    return own_folder.begin(folder + "/packages", 0o700)


def settings(folder):
    kernel_settings.write(folder + "/60-own.conf", "a=1\n")
    return folder + "/60-own.conf"


def unpacked(folder):
    with tarfile.open(folder + "/sent.tar", "w") as opened:
        member = tarfile.TarInfo("a.whl")
        member.size, member.mode = len(BODY), 0o600
        opened.addfile(member, io.BytesIO(BODY))
    wanted = {"a.whl": {"sha256": hashlib.sha256(BODY).hexdigest(), "size": len(BODY)}}
    bundle_files.unpack(folder + "/sent.tar", folder, wanted)
    return folder + "/a.whl"


def fetched(folder):
    server = http.server.HTTPServer(("127.0.0.1", 0), Mirror)
    threading.Thread(target=server.handle_request, daemon=True).start()
    try:
        download.fetch(f"http://127.0.0.1:{server.server_port}/a.run", folder + "/a.run", "", 100)
    finally:
        server.server_close()
    return folder + "/a.run"


def noted(folder):
    away.note(folder + "/router.removed", ["http://192.0.2.1:7100"])
    return folder + "/router.removed"


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o000])
@pytest.mark.parametrize(
    ("make", "mode"),
    [
        (own, 0o755),
        (own_private, 0o700),
        (settings, 0o644),
        (unpacked, 0o644),
        (fetched, 0o644),
        (noted, 0o644),
    ],
)
def test_the_mode_does_not_depend_on_the_umask(tmp_path, make, mode, umask):
    before = os.umask(umask)
    try:
        found = make(str(tmp_path))
    finally:
        os.umask(before)
    assert os.stat(found).st_mode & 0o777 == mode
