# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each playbook serves a runtime, or is refused with what to use instead: without hosts Ansible would end as after a success."""

from __future__ import annotations

import http.server
import json
import pathlib
import subprocess
import threading

import pytest
import yaml
from ansible_collections.ascend.inference.plugins.plugin_utils.runtimes import playbooks, registry

ROOT = pathlib.Path(__file__).resolve().parents[2]
PUBLIC = {path.stem for path in (ROOT / "playbooks").glob("*.yml")}
CLUSTER = ROOT / "tests/unit/rehearsal/inventories/kubernetes.yml"
# What serves a cluster, or says itself what it lacks there; a new playbook is named here or in one of the two tables.
EVERYWHERE = {
    "bench",
    "trace",
    "bundle",
    "check",
    "deploy",
    "entry",
    "logs",
    "plan",
    "prepare",
    "recipes",
    "remove",
    "restart",
    "site",
    "status",
    "usage",
    "verify",
}


def test_each_playbook_is_decided_for_each_runtime():
    in_cluster, on_hosts = set(playbooks.IN_CLUSTER), set(playbooks.ON_HOSTS)
    assert EVERYWHERE | in_cluster | on_hosts == PUBLIC
    assert not EVERYWHERE & (in_cluster | on_hosts)
    assert not in_cluster & on_hosts


@pytest.mark.parametrize("runtime", registry.NAMES)
@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_a_refusal_names_what_to_use(name, runtime):
    text = playbooks.instead(registry.runtime(runtime).facts(), name, "serving")
    refused = playbooks.IN_CLUSTER if runtime == "kubernetes" else playbooks.ON_HOSTS
    assert bool(text) == (name in refused)
    assert not text or text.startswith(f"{name} has nothing to do here: ") and "Nothing was changed. Fix: " in text
    assert "{" not in text


def test_nothing_is_refused_where_the_runtime_is_not_known():
    assert playbooks.instead({}, "restart", "default") == playbooks.instead({}, "kubernetes", "default") == ""
    assert playbooks.instead({"in_cluster": True}, "", "default") == ""


@pytest.mark.parametrize("name", sorted({*playbooks.IN_CLUSTER, *playbooks.ON_HOSTS}))
def test_a_playbook_of_the_tables_tells_its_name(name):
    first = yaml.safe_load((ROOT / f"playbooks/{name}.yml").read_text(encoding="utf-8"))[0]
    assert first["vars"]["__inference_playbook"] == name


def run(path, *options, inventory=CLUSTER):
    command = ["ansible-playbook", "-i", str(inventory), str(path), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)  # noqa: S603 # ours
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "text"), [("drill", "delete pod"), ("compare", "bench after each"), ("watchdog", "stalled_after")]
)
def test_a_playbook_without_hosts_is_refused(name, text):
    status, said = run(ROOT / f"playbooks/{name}.yml")
    assert (status, f"{name} has nothing to do here" in said, text in said) == (2, True, True), said
    assert "Gather the states" not in said


@pytest.mark.parametrize(
    "name", ["logs", pytest.param("remove", marks=pytest.mark.long), pytest.param("status", marks=pytest.mark.long)]
)
def test_what_needs_a_plan_of_a_cluster_is_refused_without_one(name):
    status, said = run(ROOT / f"playbooks/{name}.yml", "-e", '{"inference_pools": 1}')
    assert (status, "only a plan names what a cluster has" in " ".join(said.split())) == (2, True), said


def test_a_playbook_after_the_plan_is_refused_too(tmp_path):
    own = [{"name": name, "ansible.builtin.import_playbook": f"ascend.inference.{name}"} for name in ("plan", "tune")]
    path = tmp_path / "own.yml"
    path.write_text(yaml.safe_dump(own), encoding="utf-8")
    status, said = run(path)
    assert (status, "tune has nothing to do here" in said) == (2, True), said


class Counting(http.server.BaseHTTPRequestHandler):
    """An API server that refuses everybody."""

    def do_GET(self):
        self.server.requests += 1
        self.send_error(401)

    do_POST = do_PATCH = do_GET

    def log_message(self, *arguments):
        pass


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(PUBLIC - {"plan", "recipes"}))
def test_no_playbook_does_nothing_with_a_cluster_and_ends_as_after_a_success(name, tmp_path):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Counting) as server:
        server.requests = 0
        threading.Thread(target=server.serve_forever, daemon=True).start()
        named = {"name": "x", "cluster": {"server": f"http://127.0.0.1:{server.server_address[1]}"}}
        context = {"name": "x", "context": {"cluster": "x", "user": "x"}}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [named],
            "contexts": [context],
            "current-context": "x",
        }
        path = tmp_path / "kubeconfig"
        path.write_text(yaml.safe_dump({**config, "users": [{"name": "x", "user": {"token": "x"}}]}))
        status, said = run(
            ROOT / f"playbooks/{name}.yml", "-e", json.dumps({"kthena_kubeconfig": str(path), "kthena_poll": 1})
        )
        server.shutdown()
    is_refused = (
        bool(status) and "Fix: " in said and "Planning failed" not in said
    )  # and no accident before the first request
    assert server.requests or is_refused, said


OUTSIDE = [("nowhere", 2), ("localhost", 0), (["n1"], 0), (["n1", "nowhere"], 2), ("router:!localhost", 0)]


@pytest.mark.parametrize(("host", "status"), OUTSIDE)
def test_a_host_outside_is_one_of_the_inventory(host, status):
    found, said = run(ROOT / "playbooks/plan.yml", "-e", json.dumps({"inference_outside": host}))
    assert (found, "inventory has no host nowhere, so" in said) == (status, status > 0), said


def test_monitoring_on_a_host_that_is_not_there_is_refused():
    settings = json.dumps({"inference_monitoring": {"host": "this_machin"}, "inference_keep_placement": False})
    status, said = run(ROOT / "playbooks/monitoring.yml", "-e", settings, inventory=ROOT / "inventories/local")
    assert (status, "Did you mean 'this_machine'?" in said) == (2, True), said
