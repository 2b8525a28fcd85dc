# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A drill of the entry on two hosts: real HAProxy and keepalived, the load and the faults of the playbook drill, and its report.

Programs are children of this process in place of units: what systemd starts again is started here.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import threading
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.drill.fault import kill, pause
from ansible_collections.ascend.inference.plugins.module_utils.drill.processes import tree
from ansible_collections.ascend.inference.plugins.plugin_utils.drill.entry import entry_drill, entry_drill_key
from ansible_collections.ascend.inference.plugins.plugin_utils.drill.report import drill_report
from ansible_collections.ascend.inference.plugins.plugin_utils.drill.text import drill_text
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.render.virtual_address import with_length
from ansible_collections.ascend.inference.tests.integration import _entry_hosts as hosts
from ansible_collections.ascend.inference.tests.integration._entry import Deployment, install

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")
MODULE = "ansible_collections.ascend.inference.plugins.modules.service_load"
QUICK = {"before": 5, "after": 10, "window": 4, "compare": 8, "request_timeout": 8}


class Completions(Deployment):
    """SIMULATED: a router whose engines answer a prompt always with the same text."""

    def _whole(self, asked, size):
        text = hashlib.sha256(asked["prompt"].encode()).hexdigest()
        usage = {"prompt_tokens": 64, "completion_tokens": 16}
        return {"id": "a", "choices": [{"index": 0, "text": text, "finish_reason": "length"}], "usage": usage}

    def _events(self, asked):
        whole = self._whole(asked, 0)
        (choice,) = whole["choices"]
        for at in range(0, 64, 16):
            end = "length" if at == 48 else None
            yield json.dumps({"choices": [{**choice, "text": choice["text"][at : at + 16], "finish_reason": end}]})
        if (asked.get("stream_options") or {}).get("include_usage"):
            yield json.dumps({"choices": [], "usage": whole["usage"]})
        yield "[DONE]"


@pytest.fixture
def entry(monkeypatch):
    install()
    monkeypatch.setattr(hosts, "Deployment", Completions)
    with hosts.started() as made:
        yield made


def load(**options):
    """The module service_load on the host of the load, which is this one."""
    argv = [sys.executable, "-m", MODULE]
    sent = json.dumps({"ANSIBLE_MODULE_ARGS": options})
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True), sent


def result_of(started):
    process, sent = started
    result = json.loads(process.communicate(sent, timeout=120)[0])
    assert not result.get("failed"), result["msg"]
    return result


def restart(host, kind, seconds):
    """As the unit does after its program was killed."""
    host.end(kind, 9)
    if kind == "keepalived":
        gone = ["ip", "-n", host.space, "address", "delete", with_length(hosts.VIRTUAL), "dev", "v0"]
        subprocess.run(gone, check=False, capture_output=True)  # its other process may have removed it
    time.sleep(seconds)
    getattr(host, kind)()


def holders(entry):
    return [host.name for host in entry.hosts if host.holds]


def drilled(entry, folder, fault):
    """The report of a drill with one fault, made as playbooks/shared/fault.yml makes it."""
    texts = entry.texts("first")
    settings = {**entry.settings, "teams": {**entry.settings["teams"], "lab": {"keys_file": "lab"}}}
    drill = entry_drill(settings, hosts.HOSTS, texts, {**QUICK, "faults": [fault]}, "entry")
    (run,) = drill["faults"]
    verify, chosen = drill["plan"]["verify"], drill["settings"]
    common = {
        "directory": str(folder),
        "model": verify["model"],
        "api_key": entry_drill_key(settings, hosts.HOSTS, texts),
        "url": verify["entry"]["url"],
        "certificate": verify["entry"]["certificate"],
        "request_timeout": chosen["request_timeout"],
    }
    running = {key: chosen[key] for key in ("rate", "clients", "words")}
    sender = load(state="running", seconds=run["longest"], output_tokens=chosen["tokens"], **running, **common)
    thread = threading.Thread(target=result_of, args=(sender,))
    thread.start()
    try:
        baseline = result_of(load(state="baseline", seconds=chosen["before"], **common))
        (before,) = holders(entry)
        hit = next(host for host in entry.hosts if host.name == before)
        kind = {"entry": "haproxy", "address": "keepalived"}[run["kind"]]
        begun, begin = time.time(), time.monotonic()
        victims = tree(hit.programs[kind].pid)
        if run["action"] == "kill":
            kill(victims[:1])
            restart(hit, kind, 2 if kind == "haproxy" else 1)
            ended = begun
        else:
            pause(victims, run["seconds"], run["times"])
            ended = time.time()
        hosts.until(lambda: hit.healthy, 30)
        made = {"begun": begun, "ended": ended, "recovered": {run["names"][0]: round(time.time() - ended, 1)}}
        time.sleep(chosen["after"])
        ago = time.monotonic() - begin
        figures = result_of(
            load(
                state="reported", begun=begun, earliest=baseline["ended"], ago=ago, compare=chosen["compare"],
                window=chosen["window"], words=chosen["words"], output_tokens=chosen["tokens"], **common
            )
        )  # fmt: skip
    finally:
        pathlib.Path(folder, "stop").touch()
        thread.join(60)
    address = {"before": before, "after": holders(entry)}
    result = {"problem": "", "fault": made, "load": figures, "logs": [], "address": address}
    report = drill_report(drill["plan"], drill, [result])
    print("\n".join(drill_text(report)))
    return report


def ids(report):
    return {finding["id"] for finding in report["faults"][0]["findings"] if finding["severity"] == "error"}


@pytest.mark.parametrize(
    "fault", [{"kind": "entry"}, {"kind": "entry", "action": "pause", "seconds": 15}, {"kind": "address"}]
)
def test_two_hosts_survive_each_fault_within_the_limits(entry, tmp_path, fault):
    first, other = entry.keepalived()
    report = drilled(entry, tmp_path, fault)
    figures = report["faults"][0]["figures"]
    assert report["passed"], report["faults"][0]["findings"]
    assert figures["baseline"]["failed"] == 0 and figures["fault"]["answered"] > 20
    if fault.get("action") == "pause":
        assert (first.holds, other.holds) == (False, True) and figures["fault"]["gap"] > 1


def test_an_address_that_cannot_move_is_an_outage_that_the_report_names(entry, tmp_path):
    first, other = entry.keepalived()
    other.end("keepalived")
    report = drilled(entry, tmp_path, {"kind": "entry", "action": "pause", "seconds": 15})
    assert first.holds and not report["passed"]
    assert {"DRILL-GAP", "DRILL-ADDRESS"} <= ids(report)


@pytest.mark.parametrize(("broken", "why"), [("key", "HTTP 401"), ("router", "HTTP 503")])
def test_an_entry_that_serves_nobody_gets_no_fault(entry, tmp_path, monkeypatch, broken, why):
    first, dummy = entry.keepalived()
    pid = first.programs["haproxy"].pid
    if broken == "key":
        monkeypatch.setitem(hosts.KEYS, "both", "key-that-the-entry-does-not-know")
    else:
        entry.qwen.close()
    with pytest.raises(AssertionError, match=f"no good answer before any fault: http_error: {why}.* No fault was made"):
        drilled(entry, tmp_path, {"kind": "entry"})
    assert first.programs["haproxy"].pid == pid and first.programs["haproxy"].poll() is None


def test_a_pause_ends_although_its_process_is_killed(entry):
    first, dummy = entry.keepalived()
    pid = first.programs["haproxy"].pid
    script = (
        "from ansible_collections.ascend.inference.plugins.module_utils.drill import fault, processes; "
        f"print('begins', flush=True); fault.pause(processes.tree({pid}), 60, 1)"
    )
    made = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    made.stdout.readline()
    hosts.until(lambda: not first.healthy, 10)
    made.kill()
    made.wait()
    hosts.until(lambda: first.healthy, 10)
    with contextlib.suppress(AssertionError):
        hosts.until(lambda: not first.healthy, 2)
        raise RuntimeError("it was paused again")
