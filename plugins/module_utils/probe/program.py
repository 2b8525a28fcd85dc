# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program of the service `probe`: rounds without an end, and the pages /health and /metrics. Only the standard library.

Called with the path of its settings as JSON: {deployment, verify, address, port, interval, timeout, stalled}; a file beside it pauses the
rounds (pause.py). From the environment: the keys
PROBE_ENGINE_KEY and PROBE_CLIENT_KEY, which run.sh reads from a file of mode 0600, and PROBE_TEXTFILES, the folder for node_exporter.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from socketserver import ThreadingMixIn
from typing import Any

from ..verify.plan import read_plan
from ..verify.probe import Keys
from .pages import metrics_of, page_of, page_text
from .pause import paused_until
from .rounds import Rounds, Settings

CLIENT = 10  # seconds that a client of the pages has for its request
LOOK = 2.0  # seconds between looks for the end of a pause
TEXTFILE = "inference_probe_{}.prom"


class Service:
    """Rounds and pages. trouble: what the service itself cannot do, as a finding."""

    def __init__(self, settings: dict[str, Any], environment: dict[str, str]) -> None:
        numbers = {name: float(settings[name]) for name in ("interval", "timeout", "stalled") if name in settings}
        # A frontend has several keys, separated by spaces. Any of them is a client's.
        entry = environment.get("PROBE_CLIENT_KEY", "").split()
        keys = Keys(environment.get("PROBE_ENGINE_KEY", ""), entry[0] if entry else "")
        self.rounds = Rounds(read_plan(settings["verify"]), keys, Settings(settings["deployment"], **numbers))
        self.folder = environment.get("PROBE_TEXTFILES", "")
        self.trouble = ""
        self.settings = settings.get("path", "")
        self.publish()

    def paused(self) -> bool:
        """Whether no requests may be sent now; the pages show a change."""
        until = paused_until(self.settings)
        if until != self.rounds.paused_until:
            self.rounds.paused_until = until
            self.rounds.progress.forget()
            self.publish()
        return until > self.rounds.clock()

    def publish(self) -> None:
        """Make the pages anew; between rounds, because a round changes what they are made from."""
        text = metrics_of(self.rounds)
        self.trouble = self._write(text) if self.folder else ""
        self.found, self.metrics = page_of(self.rounds, self.trouble), text

    def page(self, path: str) -> str | None:
        """The page; None if there is none. The age on the health page is that of now."""
        if path == "/health":
            return page_text(self.found, self.rounds.clock(), self.rounds.ticks() - self.rounds.ended)
        return self.metrics if path == "/metrics" else None

    def _write(self, text: str) -> str:
        """Replace the file for node_exporter in one step; the reason if it cannot be written."""
        path = os.path.join(self.folder, TEXTFILE.format(self.rounds.settings.deployment))
        try:
            descriptor, new = tempfile.mkstemp(dir=self.folder, prefix=".inference_probe")
            try:
                with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                    stream.write(text)
                    os.fchmod(descriptor, 0o644)
                os.replace(new, path)
            except OSError:
                os.unlink(new)
                raise
        except OSError as error:
            return (
                f"cannot write {path} ({error.strerror}), so node_exporter has no or old results. Fix: make the folder of "
                "inference_probe.textfile_directory writable for the services' user"
            )
        return ""


class Pages(ThreadingMixIn, HTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], service: Service) -> None:
        self.service = service
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        """Without the name of the host, whose lookup may hang."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no news."""


class _Handler(BaseHTTPRequestHandler):
    timeout = CLIENT

    def log_message(self, *unused: Any) -> None:
        """Nothing: the pages are read every few seconds."""

    def do_GET(self) -> None:
        """GET /health and /metrics."""
        text = self.server.service.page(self.path)  # type: ignore[attr-defined]
        data = (text if text is not None else "").encode("utf-8")
        self.send_response(404 if text is None else 200)
        kind = "application/json" if self.path == "/health" else "text/plain; version=0.0.4"
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def run(service: Service, ended: threading.Event) -> None:
    """Rounds until `ended`. An error of a round ends the program, and its runtime starts it again."""
    settings = service.rounds.settings
    last: list[str] = []
    while not ended.is_set():
        if service.paused():
            ended.wait(LOOK)
            continue
        started = time.monotonic()
        service.rounds.round()
        service.publish()
        found = service.found["findings"]
        for text in found:
            if text not in last:
                say(text)
        if last and not found:
            say("no findings any more")
        last = found
        rest = max(1.0, settings.interval - (time.monotonic() - started))
        while rest > 0 and not ended.is_set() and not service.paused():
            ended.wait(min(LOOK, rest))
            rest -= LOOK


def say(text: str) -> None:
    """Write a line to the service's log."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> int:
    """Read the settings, open the port, run rounds until SIGTERM."""
    with open(sys.argv[1], encoding="utf-8") as stream:
        settings = json.load(stream)
    service, ended = Service({**settings, "path": sys.argv[1]}, dict(os.environ)), threading.Event()
    pages = Pages((settings["address"], int(settings["port"])), service)
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *unused: os._exit(0))  # also amid a request that hangs
    with contextlib.suppress(KeyboardInterrupt):
        run(service, ended)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
