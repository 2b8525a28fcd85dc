# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Root of one managed host changes what its modules answer: nothing of it runs or is written on the controller, and the other host is served.

Two hosts on this machine, see ``_rack.py`` of the integration tests.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tarfile

import pytest
from ansible_collections.ascend.inference.tests.integration import _hosts, _rack
from ansible_collections.ascend.inference.tests.integration._hub import Hub, tiny_model
from ansible_collections.ascend.inference.tests.integration._playbook import PROGRAM
from ansible_collections.ascend.inference.tests.integration._rack import HONEST, HOSTILE, PYTHON

pytestmark = pytest.mark.skipif(not _hosts.possible(), reason="this user cannot make namespaces")
LIFE = [
    *(
        "plan",
        "verify",
        "restart",
        "watchdog",
        "monitoring",
        "tune",
        "deploy",
        "upgrade",
        "rollback",
        "logs",
        "trace",
        "acceptance",
        "remove",
    ),
]


@pytest.fixture(scope="module")
def rack():
    with _rack.deployed() as made:
        yield made


PLAY = """
- hosts: localhost
  gather_facts: false
  tasks:
    - {name: As each playbook has it, ascend.inference.plan: {}, when: false}
- hosts: all
  gather_facts: false
  tasks:
    - {name: A module of this collection, ascend.inference.deployed_plan_info: {directory: /nonexistent}}
    - ansible.builtin.debug: {msg: "{{ inventory_hostname }} own {{ inference_allow_pause | default('unset') }}"}
    - {name: One of Ansible, ansible.builtin.stat: {path: /}}
    - ansible.builtin.debug: {msg: "{{ inventory_hostname }} obeys {{ ansible_sftp_executable | default(ansible_control_path_dir) | default('nothing') }}"}
    - {name: One of this collection again, ascend.inference.deployed_plan_info: {directory: /nonexistent}}
    - ansible.builtin.debug: {msg: "{{ inventory_hostname }} goes on"}
"""


@pytest.mark.parametrize("name", ["inference_allow_pause", "ansible_sftp_executable", "ansible_control_path_dir"])
def test_facts_with_names_of_variables_end_on_their_host(name, tmp_path):
    """Of this collection's modules they are left out; of Ansible's own the next module of this collection refuses them.

    Those that choose programs and folders of the controller are no variables at all, not even for Ansible's own modules before that.
    """
    settings = {"python": PYTHON, "attack": "facts", "facts": {name: "yes"}}
    (tmp_path / "hostile.json").write_text(json.dumps(settings), encoding="utf-8")
    program = tmp_path / "python"
    program.write_text(
        f'#!/bin/sh\nexec {PYTHON} {_rack.HERE}/_hostile_python.py {tmp_path}/hostile.json "$@"\n', encoding="utf-8"
    )
    program.chmod(0o755)
    hosts = {HOSTILE: {"ansible_python_interpreter": str(program)}, HONEST: {"ansible_python_interpreter": PYTHON}}
    (tmp_path / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts}}), encoding="utf-8")
    (tmp_path / "play.yml").write_text(PLAY, encoding="utf-8")
    argv = [PROGRAM, "-c", "local", "-i", tmp_path / "hosts.json", tmp_path / "play.yml"]
    variables = {**os.environ, "ANSIBLE_INJECT_FACT_VARS": "True", "ANSIBLE_HOME": str(tmp_path)}
    run = subprocess.run(argv, env=variables, capture_output=True, text=True, check=False, timeout=300)
    assert f"{HOSTILE} obeys nothing" in run.stdout, run.stdout
    assert f"{HOSTILE} own unset" in run.stdout and f"{HONEST} goes on" in run.stdout, run.stdout + run.stderr
    assert f"{HOSTILE} goes on" not in run.stdout
    said = " ".join(run.stdout.replace("''", "'").split())  # as YAML has it
    assert re.search(f"{HOSTILE} answered facts with names of variables of .*: {name.removeprefix('ansible_')}", said)


def readable(run):
    """Whether the other host's service is reported as it is."""
    return re.search(rf"^colocated-1 +{HONEST} +running ", run.output, re.MULTILINE)


@pytest.mark.parametrize("injected", [True, False])
def test_facts_name_nothing_on_the_controller(rack, injected, monkeypatch):
    """Every answer has facts with the names of variables. The reports were written where the host said."""
    monkeypatch.setenv("ANSIBLE_INJECT_FACT_VARS", str(injected))
    rack.become("facts")
    run = rack.unharmed(rack.play("verify"))
    assert run.code == 0 and "VERIFIED" in run.output, run.output[-6000:]
    assert ("Remark: inject_facts_as_vars is on" in run.output) is injected


def test_texts_are_only_texts(rack):
    """A template, a line, terminal codes and markup in the texts of every answer."""
    pages = {
        "inference_check_html": str(rack.folder / "check.html"),
        "inference_check_json": str(rack.folder / "check.json"),
    }
    rack.become("texts", share=0.3)
    rack.unharmed(rack.play("check", **pages))
    facts = json.loads((rack.folder / "check.json").read_text(encoding="utf-8"))["facts"]
    assert "INJECTED" in json.dumps(facts[HOSTILE]) and "INJECTED" not in json.dumps(facts[HONEST])
    assert (rack.folder / "check.html").exists()
    run = rack.unharmed(rack.play("status"))
    assert readable(run) and "# INJECTED" in run.output
    assert "The entry: 0 of 1 hosts serve" in run.output and "nothing is compared" not in run.output


@pytest.mark.parametrize(
    "attack", ["types", pytest.param("keys", marks=pytest.mark.long), pytest.param("sizes", marks=pytest.mark.long)]
)
def test_a_bad_answer_costs_that_host_only(rack, attack):
    rack.become(attack, share=0.1)
    archive = rack.folder / f"{attack}.tar.gz"
    assert readable(rack.unharmed(rack.play("status")))
    run = rack.unharmed(rack.play("check"))
    assert "2 of 2 planned hosts answered" in run.output and f" {HONEST}: colocated-1 would preload" in run.output
    assert attack != "types" or f"ERROR {HOSTILE} " in run.output
    assert rack.unharmed(rack.play("logs", inference_logs_file=str(archive))).code == 0
    with tarfile.open(archive) as opened:
        assert [name for name in opened.getnames() if f"/{HONEST}/colocated-1" in name]


# Playbook: the modules of the hostile host that answer wrong types, variables, and what the output says. All others answer facts with names of variables,
# and texts with templates and control characters. The hostile host sends the load of bench and drill, and is the first one that would fetch the model.
QUICK = {"rate": 6, "words": 24, "tokens": 6, "before": 2, "after": 2, "window": 3, "request_timeout": 30}
DRILL = {**QUICK, "faults": [{"kind": "colocated"}]}
BATCHES = {
    "entry --check": ("", {}, "entry_settings names something on the controller"),
    "usage": ("entry_usage_info", {}, f"fatal: .{HOSTILE}.*This host's answer is not that of the module"),
    "models": ("model_listing", {}, f"{HONEST} fetches "),
    "bench": ("tuning_info|service_log", {"inference_bench": {"profile": "smoke"}}, "Benchmark"),
    "drill": (
        "service_log",
        {"inference_drill": DRILL, "inference_drill_confirm": "inference"},
        "# Drill of inference",
    ),
    "remove": ("deployed_plan_info", {}, f"{HONEST} .*failed=0"),
}


@pytest.mark.parametrize("playbook", BATCHES)
def test_a_batch_of_attacks(rack, playbook, monkeypatch):
    """All at once. Where facts become variables, which is Ansible's default, bench and drill would end at the first module of Ansible's own."""
    wrong, given, said = BATCHES[playbook]
    monkeypatch.setenv("ANSIBLE_INJECT_FACT_VARS", str(not given))
    model, path = tiny_model(), str(rack.root / "models/m")
    rack.folder.chmod(0o755)  # who hands a model out has no privileges
    # A host can end a run with its lock, and messages of Ansible's own modules are printed as they are, as that of a copy into a folder that it names.
    rack.become("mixed", share=0.3, wrong=wrong, modules="(?!deployment_run|tempfile).*")
    kinds = {"bench": ("json", "markdown", "html"), "drill": ("json", "markdown")}.get(playbook, ())
    files = {f"inference_{playbook}_{kind}": str(rack.folder / f"{playbook}.{kind}") for kind in kinds}
    with Hub(model) as hub:
        models = [{"path": path, "source": f"{hub.address}/web"}]
        run = rack.play(playbook, inference_models=models, inference_status_fail=False, **files, **given)
    assert re.search(said, " ".join(rack.unharmed(run).output.split())), run.output[-6000:]
    if playbook == "models":
        got = rack.folder / HONEST / "models/m"
        assert {name: (got / name).read_bytes() for name in model} == model, run.output[-6000:]


@pytest.mark.long
@pytest.mark.parametrize("playbook", LIFE)  # varies first
@pytest.mark.parametrize("attack", ["facts", "texts", "types", "keys", "sizes"])
def test_no_playbook_obeys_an_answer(rack, playbook, attack):
    """Whether it ends well or not: a host can end a run that changes it."""
    if playbook == LIFE[0]:  # the last one removed it
        rack.become("")
        assert rack.play("deploy", inference_allow_pause=True).code == 0
    rack.become(attack, share=0.1)
    given = {
        "inference_monitoring": {"directory": str(rack.root / "monitoring")},
    }
    rack.unharmed(rack.play(playbook, inference_allow_pause=True, **given))
