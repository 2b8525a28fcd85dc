# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Prometheus of the distribution, which reads what the playbook monitoring wrote, and a stand-in for an engine that answers with nothing."""

from __future__ import annotations

import contextlib
import http.server
import json
import pathlib
import subprocess
import threading
import time
import typing as t
import urllib.parse

import yaml
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring.alerts import ALERTS
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring.files import configuration
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring.settings import read_monitoring
from ansible_collections.ascend.inference.tests.e2e import _service as service

INTERVAL = 10  # seconds between two scrapes and between two evaluations
WINDOW = 4 * INTERVAL
SCRAPE = 8  # seconds until a scrape without an answer has failed
# These compare the pools under load, which is no fault within a minute.
OF_LOAD = {"PrefillOverloaded", "DecodeOverloaded"}
# An engine that hangs leaves the store before its window ends, as with the limits of the collection.
LATER = {"StoreMissesEngines": WINDOW + 3 * INTERVAL}
WITH_WINDOW = {alert.name for alert in ALERTS if alert.window}


def after(alert: str) -> int:
    """Seconds for which the condition of the alert has to hold."""
    return LATER.get(alert, INTERVAL)


def within(alert: str) -> float:
    """Seconds: two intervals more than the limits of the alert, and a scrape, take."""
    return SCRAPE + (WINDOW if alert in WITH_WINDOW else 0) + after(alert) + 2 * INTERVAL


def settings(directory: pathlib.Path) -> dict[str, t.Any]:
    """``inference_monitoring`` with the shortest limits that this interval allows."""
    alerts = {
        alert.name: {"after": after(alert.name), **({"window": WINDOW} if alert.window else {})}
        for alert in ALERTS
        if alert.name not in OF_LOAD
    }
    return {"directory": str(directory), "alerts": alerts}


class Prometheus:
    """A running Prometheus with the files of a folder; the port of Alertmanager, which need not run."""

    def __init__(self, folder: pathlib.Path, port: int, alertmanager: int) -> None:
        self.folder, self.url = folder, f"http://127.0.0.1:{port}"
        made = configuration(read_monitoring(settings(folder)))
        for scrape in made["scrape_configs"]:
            scrape.update(scrape_interval=f"{INTERVAL}s", scrape_timeout=f"{SCRAPE}s")
        made["alerting"] = {"alertmanagers": [{"static_configs": [{"targets": [f"127.0.0.1:{alertmanager}"]}]}]}
        made["global"] = {"evaluation_interval": f"{INTERVAL}s"}
        (folder / "prometheus.yml").write_text(yaml.safe_dump(made), encoding="utf-8")
        argv = ["prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data", "--web.enable-lifecycle"]
        with open(folder / "prometheus.log", "ab") as log:
            self.process = subprocess.Popen(
                [*argv, f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log, cwd=folder
            )

    def query(self, expression: str) -> list[dict[str, t.Any]]:
        """The series of an expression, now."""
        words = urllib.parse.urlencode({"query": expression})
        return json.loads(service.get(f"{self.url}/api/v1/query?{words}"))["data"]["result"]

    def firing(self) -> set[str]:
        """Names of alerts, without the prefix that they share."""
        found = self.query('count by (alertname) (ALERTS{alertstate="firing"})')
        return {item["metric"]["alertname"].replace("Inference", "", 1) for item in found}

    def up(self, targets: int) -> None:
        """Wait until so many targets answer, and until no engine is reported as down."""

        def answering() -> None:
            assert len(self.query("up == 1")) == targets and "EngineDown" not in self.firing()

        service.eventually(answering, 300, "targets that answer")

    def quiet(self, seconds: float = 300) -> None:
        """Wait until no alert fires and none is pending."""
        service.eventually(self._none, seconds, "the end of all alerts")

    def _none(self) -> None:
        assert self.query("count(up)") and self.query("ALERTS") == [], self.query("ALERTS")

    def raised(self, alert: str, seconds: float) -> float:
        """Wait until this alert fires, and two intervals more: no other one may have fired since the call. How long it took in seconds."""
        begin, seen, found = time.monotonic(), set(), 0.0
        while time.monotonic() < begin + (found + 2 * INTERVAL if found else seconds):
            seen |= self.firing()
            found = found or (alert in seen) * (time.monotonic() - begin)
            time.sleep(0.5)
        assert seen == {alert}, f"{sorted(seen)} fired, and {alert} was expected within {seconds} s: {self._seen()}"
        service.say(f"{alert} fired after {found:.1f} s")
        return found

    def _seen(self) -> list[t.Any]:
        """What tells why an alert did not fire: pending alerts, and the series of the engines' requests and tokens."""
        series = "up|vllm:(num_requests_running|num_requests_waiting|generation_tokens_total|prompt_tokens_total)"
        return [*self.query("ALERTS"), *self.query(f'{{__name__=~"{series}"}}[2m]')]

    def reload(self) -> None:
        """Read the rules again."""
        subprocess.run(["kill", "-HUP", str(self.process.pid)], check=True)

    def end(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def answers_nothing(port: int) -> t.Iterator[None]:
    """A server that says 200 to everything, and nothing else."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_POST = do_GET

        def log_message(self, *_arguments: t.Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield
        server.shutdown()
