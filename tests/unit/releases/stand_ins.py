# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A package index with empty wheels, in the place of indexes that tests do not reach."""

from __future__ import annotations

import base64
import contextlib
import functools
import http.server
import pathlib
import threading
import typing as t
import zipfile


def wheel(folder: pathlib.Path, name: str, version: str, requires: t.Iterable[str] = ()) -> None:
    """Write an empty wheel for every platform."""
    own = name.replace("-", "_")
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {name}",
        f"Version: {version}",
        *(f"Requires-Dist: {requirement}" for requirement in requires),
    ]
    inside = f"{own}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{own}-{version}-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{inside}/METADATA", "\n".join(lines) + "\n")
        archive.writestr(
            f"{inside}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{inside}/RECORD", "")


def index(folder: pathlib.Path, packages: t.Mapping[str, str]) -> None:
    """Write a simple index of ``packages``: {'torch==2.10.0+cpu': ''}; a value is what the package requires."""
    for pinned, requires in packages.items():
        name, version = pinned.split("==")
        page = folder / name
        page.mkdir(parents=True, exist_ok=True)
        wheel(page, name, version, [requires] if requires else [])
        links = "".join(
            f'<a href="{path.name.replace("+", "%2B")}">{path.name}</a>\n' for path in sorted(page.glob("*.whl"))
        )
        (page / "index.html").write_text(f"<!DOCTYPE html><html><body>\n{links}</body></html>\n")


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves files, and notes which paths were asked for."""

    asked: t.ClassVar[list[str]] = []
    login = ""  # USER:PASSWORD, without which nothing is served

    def send_head(self) -> t.Any:
        """Serve, and note."""
        self.asked.append(self.path)
        wanted = "Basic " + base64.b64encode(self.login.encode()).decode()
        if self.login and self.headers.get("Authorization") != wanted:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="index"')
            self.end_headers()
            return None
        return super().send_head()

    def log_message(self, *_arguments: t.Any) -> None:
        """Print nothing."""


@contextlib.contextmanager
def served(folder: pathlib.Path, login: str = "") -> t.Iterator[tuple[str, list[str]]]:
    """The address of a folder on this machine while the block runs, and the paths that were asked for.

    ``login`` is the USER:PASSWORD that each request has to have.
    """
    asked: list[str] = []
    handler = type("Own", (Handler,), {"asked": asked, "login": login})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        server.server_close()
