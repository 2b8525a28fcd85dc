# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Process names, log lines and answers that a hostile service chooses: reports stay one line for one thing, without control characters."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.host import facts
from ansible_collections.ascend.inference.plugins.module_utils.status.plan import status_plan
from ansible_collections.ascend.inference.plugins.module_utils.status.services import Host
from ansible_collections.ascend.inference.plugins.module_utils.tools.http_client import Reply
from ansible_collections.ascend.inference.plugins.module_utils.tools.text import bounded, one_line, visible
from ansible_collections.ascend.inference.plugins.module_utils.verify import logs, records
from ansible_collections.ascend.inference.plugins.module_utils.verify.faults import Problem
from ansible_collections.ascend.inference.plugins.module_utils.verify.plan import Lines, Log
from ansible_collections.ascend.inference.plugins.plugin_utils.views.status_table import status_report, status_table
from ansible_collections.ascend.inference.plugins.plugin_utils.views.verify_text import verify_text


def test_a_text_of_one_host_buries_nothing():
    begin, end = "# Title\nh1 is ill", "h9 is ill\nFix: x"
    for evil in ("y" * 3_000_000, "y\n" * 3_000_000, "\n".join(["y" * 20_000] * 500)):
        shown = bounded(f"{begin}\n{evil}\n{end}")
        assert shown.startswith(begin) and shown.endswith(end) and len(shown) < 1_100_000
        assert "more characters]" in shown or "lines are left out here" in shown
    assert bounded("x" * 2**14 + "\n" + "y\n" * 1000) == "x" * 2**14 + "\n" + "y\n" * 1000


def test_each_line_that_is_left_out_is_counted():
    shown = bounded("\n".join(map(str, range(500_000)))).split("\n")
    (place,) = [number for number, line in enumerate(shown) if line.startswith("[")]
    missing = int(shown[place][1:].split(" ")[0])
    assert [int(line) for line in shown[:place]] == list(range(place))
    assert place + missing == int(shown[place + 1]) and shown[-1] == "499999"


EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eolleh\x00\r\u2028\x85\udcff\ud800"
FORGED = "\nnode9: verified\tno findings"
UNSAFE = re.compile("[^\\t\\n -~\xa1-\u200d\u2010-\u2027\u202f-\u2065\u206a-\ud7ff\ue000-\U0010ffff]")
HEALTH = {"url": "http://n1:1/health", "timeout": 600}
SERVICE = {
    "name": "decode-0",
    "kind": "decode",
    "host": "n1",
    "address": "n1",
    "digest": "d",
    "health": HEALTH,
    "digest_file": "/nowhere/digest",
    "files": [],
    "ports": [{"name": "api", "first": 1, "count": 1}],
    "log": {"kind": "file", "path": "/logs/x"},
    "unit": "x-decode-0",
}
PLAN = {
    "deployment": "x",
    "directory": "/d",
    "runtime": "systemd",
    "digest": "p",
    "plan_version": 3,
    "runtime_settings": {},
    "services": [SERVICE, {**SERVICE, "name": "router", "kind": "router", "unit": "x-router"}],
    "verify": {"transfer": {"protocol": "bootstrap"}, "prefill": [1], "decode": [1], "store": {"clients": 2}},
    "software": {"engine": {"version": "0.32.0"}},
    "runtime_facts": {"in_cluster": False},
    "findings": [],
}
NESTED = '{"a":' * 50_000


def safe(text):
    return not UNSAFE.search(text)


class Runtime:
    def __init__(self, status):
        self.status = status

    def states(self, services):
        found = {"state": self.status, "since": 1000.0, "restarts": 5, "detail": EVIL, "digest": ""}
        return {"x-decode-0": found, "x-router": found, "evil" + EVIL + FORGED: found}

    def log(self, one, lines):
        return "start\nRuntimeError: " + EVIL + "\nend " + EVIL


@pytest.mark.parametrize("status", ["running", "failed"])
@pytest.mark.parametrize(
    "answer",
    [
        Reply(200, json.dumps({"version": EVIL + FORGED, "request_num": EVIL}), 0.0, ""),
        Reply(200, json.dumps({"version": "9" * 10_000, "request_num": [1]}), 0.0, ""),
        Reply(200, '{"version": "\\ud800", "request_num": {}}', 0.0, ""),
        Reply(200, '{"version": {"a": 1}, "request_num": true, "prefill_instances": "x"}', 0.0, ""),
        Reply(200, NESTED, 0.0, ""),
        Reply(500, EVIL, 0.0, "cut", "BadStatusLine: " + EVIL + FORGED),
        Reply(200, "vllm:num_requests_waiting 1e999\nvllm:prompt_tokens_total " + EVIL + "\n", 0.0, ""),
    ],
)
def test_the_status_of_a_hostile_service_is_a_safe_table(answer, status):
    asked = status_plan(PLAN, "n1")
    rows, findings = Host(Runtime(status), asked, asked, lambda *unused: answer, clock=lambda: 5000.0).look()
    json.dumps({"services": rows}).encode("utf-8")
    for row in rows:
        (row["version"] + "".join(row["log"])).encode("utf-8")  # Ansible refuses a module's result with surrogates
        assert all("\n" not in line for line in row["log"])
    report = status_report("x", {"n1": {"services": rows, "plan_digest": "p", "findings": findings}}, PLAN)
    text = visible("\n".join(status_table(report)))
    assert safe(text)
    assert not [line for line in text.splitlines() if line.startswith("node9")], text
    assert not report["healthy"]


PROBE_PAGE = {"findings": [], "age": 1.0, "interval": 60.0, "timeout": 30.0}
HALF = {
    "a count that no float can hold": ("router", json.dumps({"request_num": 10**400})),
    "a count that is none": ("router", '{"request_num": NaN, "prefill_instances": Infinity}'),
    "a quota without a size": ("etcd", "etcd_server_quota_backend_bytes 8\n"),
    "a quota below every size": ("etcd", "etcd_server_quota_backend_bytes -1e999\n"),
    "results without the good ones": ("probe", json.dumps({**PROBE_PAGE, "paths": {"failed": 5}})),
    "results below zero": ("probe", json.dumps({**PROBE_PAGE, "paths": {"good": 2, "failed": -1, "unknown": 0}})),
    "results as texts": ("probe", json.dumps({**PROBE_PAGE, "paths": {"good": "2", "failed": 0, "unknown": 0}})),
}


@pytest.mark.parametrize("form", HALF)
def test_half_an_answer_hides_no_other_service(form):
    """The table has a row of every service, and the one that answers oddly has a finding or no count."""
    kind, body = HALF[form]
    odd = {**SERVICE, "name": "odd", "kind": kind, "unit": "x-odd", "address": "odd"}
    odd["health"] = {"url": "http://odd:1/health", "timeout": 600}
    odd["ports"] = [{"name": "metrics", "first": 1, "count": 1}]
    asked = status_plan({**PLAN, "services": [SERVICE, odd]}, "n1")

    def get(target, *unused):
        return Reply(200, body if "//odd:" in target.url else "{}", 0.0, "")

    rows, findings = Host(Runtime("running"), asked, asked, get, clock=lambda: 5000.0).look()
    found = json.loads(json.dumps(rows))
    lines = status_table(
        status_report("x", {"n1": {"services": found, "plan_digest": "p", "findings": findings}}, PLAN)
    )
    assert [line.split()[0] for line in lines[2:4]] == ["decode-0", "odd"]
    assert kind == "router" or any("not known" in text or "unknown" in text for text in found[1]["findings"])
    assert found[1]["requests"]["running"] is None


def test_a_process_cannot_add_lines_to_a_report():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        number = listener.getsockname()[1]
        name = "$'x\\xff\\x1b]0;owned\\x07\\nnode9: verified'"
        process = subprocess.Popen(["bash", "-c", f"exec -a {name} sleep 30"], pass_fds=[listener.fileno()])
    try:
        for _unused in range(100):
            found = [item for item in facts.listening() if item["port"] == number and "sleep" not in item["command"]]
            if found:
                break
            time.sleep(0.05)
        assert found[0]["command"] == "x\ufffd\\x1b]0;owned\\x07\\nnode9: verified 30"
    finally:
        process.kill()
        process.wait()


def test_the_logs_of_a_hostile_service_are_safe_lines(tmp_path):
    path = tmp_path / "log"
    flags = [
        "Mooncake transfer failed " + EVIL,
        "got request took 1.2.3 ms",
        "got request took . ms",
        "got request took " + "9" * 5000 + " ms",
        "Avg xfer time (ms)=1.2.3",
        "Avg xfer time (ms)=....",
        "got request took 12.5 ms",
    ]
    path.write_bytes("\n".join(flags).encode("utf-8", "surrogatepass"))
    log = Log("file", str(path), "")
    found = logs.read([("decode-0", log)], {}, Lines("got request", "", ""), None)["decode-0"]
    assert found["transfer_ms"] == [12.5]
    assert all(safe(line) and "\n" not in line for line in found["tail"] + found["red_flags"])
    assert "\\x1b]0;owned\\x07" in "".join(found["red_flags"])


def test_the_verification_of_a_hostile_service_is_a_safe_report():
    step = records.failed("answer", "decode-0", Problem("HTTP 200, but: " + EVIL + FORGED, "wrong_model"))
    assert safe(step["message"]) and "\n" not in step["message"]
    report = {
        "summary": ["x"],
        "findings": [step["finding"]],
        "causes": [],
        "verified": False,
        "tails": {"decode-0": [one_line(EVIL)]},
    }
    text = "\n".join(verify_text(report))
    assert safe(text)
    assert not [line for line in text.splitlines() if line.startswith("node9")], text


def test_a_text_in_a_line_has_no_line_ends():
    assert one_line("a\nb\tc\r\x1b") == "a\\nb\\tc\\r\\x1b"
    assert safe(visible(EVIL + FORGED)) and "\n" in visible(FORGED)
