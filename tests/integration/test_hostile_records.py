# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Root of one host of three forges all that it recorded: no playbook gives its orders to another host, and no secret to its address.

The forged plan has right digests. It has commands for the other hosts, a service on a host of the inventory that is in no deployment, and an address
that wants a secret which no service gets. The hosts are those of ``_rack.py``: planner, roles, modules and supervisord are real.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import http.server
import json
import os
import pathlib
import threading

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.agreed import _service_digest
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.handover import part_of
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.record import (
    WHOLE,
    digest_of,
    record_of,
    whole_plan,
)
from ansible_collections.ascend.inference.tests.integration import _hosts, _rack

pytestmark = pytest.mark.skipif(not _hosts.possible(), reason="this user cannot make namespaces")
HOSTILE, *HONEST = "n1", "n2", "n3"
STRANGER = "n4"  # in the inventory, and in no deployment
SECRET = "OTHER-SECRET-1234"  # noqa: S105 # planted
GIVEN = {"inference_secrets": {"other_team_key": SECRET}}


class Thief(http.server.BaseHTTPRequestHandler):
    """Answers with 200, and keeps what it was sent."""

    got: list[str] = []

    def do_GET(self):  # noqa: N802 # its name in the library
        self.got.append(f"{self.path} {self.headers}")
        self.send_response(200)
        self.end_headers()

    do_POST = do_GET  # noqa: N815

    def log_message(self, *_more):
        """Print nothing."""


@contextlib.contextmanager
def thief():
    """The port of a server on the hostile host's address."""
    with http.server.ThreadingHTTPServer((_hosts.ALL[HOSTILE], 0), Thief) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.fixture(scope="module")
def rack():
    with contextlib.ExitStack() as opened:
        made = opened.enter_context(_rack.deployed((HOSTILE, *HONEST), (STRANGER,)))
        made.port = opened.enter_context(thief())
        made.without("prepare")  # upgrade would install the software again
        made.before = contents(made, STRANGER)
        yield made


def contents(rack, host):
    """All files of a host, by their digests."""
    found = {}
    for folder, _folders, files in os.walk(rack.folder / host):
        for name in files:
            path = pathlib.Path(folder, name)
            if path.is_file() and "npus" not in path.parts:
                found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def forged_plan(rack, plan):
    """A whole plan that starts a command on all hosts, one of which is no host of the deployment."""
    forged = copy.deepcopy(dict(plan))
    for service in forged["services"]:
        if service["host"] != HOSTILE:
            service["argv"] = ["/bin/sh", "-c", f"touch {rack.pwned}; exec sleep 1000"]
    more = copy.deepcopy(forged["services"][-1])
    forged["services"].append(
        {**more, "name": "colocated-9", "unit": "inference-colocated-9", "host": STRANGER, "instance": 9}
    )
    forged["hosts"].append({**forged["hosts"][-1], "name": STRANGER, "address": _hosts.ALL[STRANGER]})
    for service in forged["services"]:
        service["digest"] = _service_digest(service)
    text = json.dumps(forged["verify"])
    for host in (HOSTILE, *HONEST):
        text = text.replace(f"http://{_hosts.ALL[host]}:", f"http://{_hosts.ALL[HOSTILE]}:{rack.port}/?")
    forged["verify"] = {**json.loads(text), "engine_api_key": "other_team_key"}
    forged["digest"] = digest_of(forged)
    return forged


def forge(rack):
    """Write all records of the hostile host anew."""
    directory = rack.folder / HOSTILE / "deployments/inference"
    for name in ("plan.json", "verified.json"):
        path = directory / name
        if path.exists():
            stored = json.loads(path.read_text(encoding="utf-8"))
            plan = forged_plan(rack, whole_plan(stored))
            part = {**stored, **part_of(plan, HOSTILE), WHOLE: record_of(plan)[WHOLE]}
            path.write_text(json.dumps(part), encoding="utf-8")
    placement = json.loads((directory / "placement.json").read_text(encoding="utf-8"))
    for item in placement["instances"]:
        if item["hosts"][0][0] != HOSTILE:
            item["hosts"] = [[STRANGER, item["hosts"][0][1]]]
            break
    (directory / "placement.json").write_text(json.dumps(placement), encoding="utf-8")
    (directory / "begun.json").write_text(json.dumps({"hosts": [STRANGER]}), encoding="utf-8")


def harmless(rack, run):
    """No order of the hostile host was followed."""
    rack.unharmed(run)  # which looks for what a command of the forged plan makes
    assert not [text for text in Thief.got if SECRET in text], Thief.got
    assert contents(rack, STRANGER) == rack.before, run.output[-6000:]
    return run


def argv_of(rack, host):
    """The engine's command on a host."""
    (text,) = (rack.folder / host).glob("deployments/inference/services/colocated-*/run.sh")
    return text.read_text(encoding="utf-8")


CHANGED = {"inference_args": {"max-model-len": 2048}}
CHAIN = ["restart", "deploy", "verify", "upgrade", "rollback"]


@pytest.mark.parametrize(
    "playbook", [pytest.param(name, marks=pytest.mark.long if name == "upgrade" else ()) for name in CHAIN]
)
def test_orders_of_a_forged_plan_are_followed_by_nobody(rack, playbook):
    forge(rack)
    changed = CHANGED if playbook in ("deploy", "verify") else {}
    run = harmless(rack, rack.play(playbook, inference_allow_pause=True, **changed, **GIVEN))
    # A host can end a run: its own journal knows no verified plan, so that a rollback is refused.
    assert run.code == 0 or playbook == "rollback" and "Nothing was changed" in run.output, run.output[-6000:]
    for host in HONEST:
        assert str(rack.pwned) not in argv_of(rack, host)


def test_remove_goes_where_the_deployment_is(rack):
    """It ends after all others because nothing is left."""
    forge(rack)
    run = harmless(rack, rack.play("remove", **GIVEN))
    assert run.code == 0, run.output[-6000:]
    assert not [host for host in HONEST if (rack.folder / host / "deployments/inference/plan.json").exists()]
