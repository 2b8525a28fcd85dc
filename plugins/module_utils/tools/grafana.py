# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A dashboard in Grafana: two requests of its HTTP API, with the proxies of the environment, and bounds on what the other end answers."""

from __future__ import annotations

import json
import threading
from urllib.error import HTTPError

from ansible.module_utils.urls import open_url

from . import foreign_json
from .text import one_line

TIMEOUT = 30.0  # seconds of one exchange
MOST = 8 * 2**20  # bytes of an answer; the largest dashboard has some 100 KiB
SHOWN = 200  # characters of an answer in a message


class GrafanaProblem(Exception):
    """Grafana does not answer, or refuses; the text has the fix."""


class Grafana:
    """One Grafana: its URL and the token of a service account."""

    def __init__(self, url, token):
        self.url, self.token = url.rstrip("/"), token

    def dashboard(self, uid):
        """The dashboard as a dict, empty if there is none."""
        status, text = self._exchange("GET", f"/api/dashboards/uid/{uid}", None, (200, 404))
        try:
            found = foreign_json.loads(text) if status == 200 else {}
        except ValueError as error:
            raise self._problem(f"answered {text[:SHOWN]!r}, which is no JSON") from error
        board = found.get("dashboard") if isinstance(found, dict) else None
        return board if isinstance(board, dict) else {}

    def send(self, dashboard, folder):
        """Write the dashboard, in place of an older one of its uid."""
        self._exchange(
            "POST", "/api/dashboards/db", {"dashboard": dashboard, "folderUid": folder, "overwrite": True}, (200,)
        )

    def _problem(self, what):
        return GrafanaProblem(
            f"Grafana at {self.url} {one_line(what)}. Fix: check inference_monitoring.grafana_url, the proxy of this host, and that the token "
            "belongs to a service account with the role Editor"
        )

    def _exchange(self, method, path, payload, good):
        """Status and text of an answer. In a thread, because the timeout of a socket starts anew with every byte that the other end sends."""
        outcome = []
        worker = threading.Thread(target=self._ask, args=(method, path, payload, outcome), daemon=True)
        worker.start()
        worker.join(TIMEOUT)
        if not outcome:
            raise self._problem(f"sent no whole answer within {TIMEOUT:.0f} s")
        status, text = outcome[0]
        if len(text) > MOST:
            raise self._problem(f"answered more than {MOST} bytes")
        if status not in good:
            raise self._problem(f"answered {status or 'nothing'}: {text[:SHOWN].decode('utf-8', 'replace')}")
        return status, text.decode("utf-8", "replace")

    def _ask(self, method, path, payload, outcome):
        """Append ``(status, content)``. A redirect is no answer: whoever it names would get the token."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        data = None if payload is None else json.dumps(payload)
        try:
            with open_url(
                self.url + path, data=data, headers=headers, method=method, timeout=TIMEOUT, follow_redirects="none"
            ) as answer:
                outcome.append((answer.getcode(), answer.read(MOST + 1)))
        except HTTPError as error:
            try:
                outcome.append((error.code, error.read(MOST + 1)))
            except Exception as problem:
                outcome.append((error.code, str(problem).encode()))
        except Exception as problem:  # any exception that the other end causes is reported
            shown = (
                "" if isinstance(problem, ValueError) else f": {problem}"
            )  # it may quote a header, which has the token
            outcome.append((0, f"{type(problem).__name__}{shown}".encode()))
