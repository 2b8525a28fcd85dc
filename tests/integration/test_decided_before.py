# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What only files of a host show is decided before the first one is written: plan --diff promises it, and deploy does or refuses just that.

Another api_key is refused before anything is written, too, and processes with both keys end up with one in one run.

The playbooks, the role, supervisord and vllm-router are real; engines are simulated and require the key with which they started. All tests have
one deployment.
"""

from __future__ import annotations

import os
import signal
import time

import pytest
from ansible_collections.ascend.inference.tests.integration.test_serving_change import URL, nothing_lost, served
from ansible_collections.ascend.inference.tests.simulator import load

HOSTS = "other files on the host"
OLD, NEW = ({"inference_secrets": {"api_key": f"{name}-word-of-keys"}} for name in ("former", "other"))
EIGHT = {"inference_args": {"max-num-seqs": 8}}
KEYS = "the keys between the router and the engines change"


@pytest.fixture(scope="module")
def service():
    """Deployed and verified, with the old key."""
    with served() as made:
        made.variables.update(OLD)
        made.play("site")
        yield made


def test_files_of_a_host_are_compared_before_one_is_written(service):
    script = service.root / "deployments/inference/services/decode-1/run.sh"
    planned = script.read_text(encoding="utf-8")
    script.write_text(f"{planned}# by hand\n", encoding="utf-8")
    started = service.starts()
    shown = service.play("plan", options=["--diff"])
    assert f"~ decode-1 on n1 restarts: {HOSTS}" in shown and "1. drain, restart, prove and return decode-1;" in shown
    assert "Pause:" not in shown and script.read_text(encoding="utf-8") != planned, "nothing was written"
    with load.Load(URL, "tiny", clients=2) as requests:
        output = service.play("deploy")
    nothing_lost(requests)
    assert "1. Take decode-1 out of the routers (n1)" in output and script.read_text(encoding="utf-8") == planned
    assert [name for name, process in service.starts().items() if process != started[name]] == ["decode-1"]
    # A setting of the role, which is in the configuration of all programs: the router is alone.
    config = service.root / "deployments/inference/supervisord.conf"
    before, started = (config.read_bytes(), service.written()), service.starts()
    copies = {"service_supervisor_log_copies": 7}
    shown = service.play("plan", options=["--diff"], **copies)
    assert f"~ router on n1 restarts: {HOSTS}" in shown and "Pause: router" in shown
    refused = service.play("deploy", fails=True, **copies)
    assert (
        "router must restart, and no other instance serves in the meantime" in refused
        and "Nothing was changed." in refused
    )
    assert ((config.read_bytes(), service.written()), service.starts()) == (before, started)
    assert "changed=0" in service.play("deploy")


def crash(service, name):
    """Kill a process, and wait until supervisord has started another one, which answers."""
    before = service.starts()[name]
    os.kill(before, signal.SIGKILL)
    digest, end = service.root / f"deployments/inference/run/{name}.digest", time.monotonic() + 60
    stamp = digest.stat().st_mtime_ns
    while digest.stat().st_mtime_ns == stamp or service.starts()[name] in (0, before):
        assert time.monotonic() < end
        time.sleep(0.2)


def recorded(service):
    """The digests of secrets with which engines and router started; those of removed ones are left behind."""
    folder = service.root / "deployments/inference/run"
    texts = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.digest")}
    assert not any("word-of-keys" in text for text in texts.values())
    return {name: texts[name].split()[1] for name in service.starts()}


@pytest.mark.parametrize(
    "playbook",
    ["deploy", pytest.param("rollback", marks=pytest.mark.long), pytest.param("site", marks=pytest.mark.long)],
)
def test_another_key_is_no_trap(service, playbook):
    """Files get one key from a killed run, processes have the other, and one of these ends.

    ``deploy`` shows that what processes tell leads to the refusal and to the way out, whose texts test_keys.py has. ``rollback`` and ``site`` show the
    refusals of all playbooks, with a third decode engine and changed settings.
    """
    after = refused_before(service, playbook) if playbook != "deploy" else {}
    allowed = {**after, **NEW, "inference_allow_pause": True}
    service.play("deploy", fails=True, killed_at="Register the planned services", **allowed)
    crash(service, "decode-1")
    assert len(set(recorded(service).values())) == 2
    started = service.starts()
    assert "decode-1 started with the new ones already" in service.play("deploy", fails=True, **after, **NEW)
    if playbook != "deploy":
        assert "run with other keys than inference_secrets" in service.play("rollback", fails=True, **after, **NEW)
        assert "started with different keys" in service.play("status", fails=True, **after, **NEW)
    assert service.starts() == started
    output = service.play(playbook, **allowed)
    assert "no pause" not in output and "word-of-keys" not in output
    assert len(set(recorded(service).values())) == 1
    with load.Load(URL, "tiny", clients=2) as requests:
        if playbook == "deploy":
            time.sleep(3)
        else:
            unchanged = after if playbook == "site" else {}
            assert "No changes" in service.play("plan", options=["--diff"], **unchanged, **NEW)
    assert nothing_lost(requests)["answered"]


def refused_before(service, playbook):
    """The variables of a service to which an engine was added, and which refuses other keys before anything is written."""
    service.play("site", inference_allow_pause=True)  # a test before has left other keys
    after = {"inference_pools": service.pools(2, 3), **EIGHT}
    with load.Load(URL, "tiny", clients=2) as requests:
        service.play("deploy", **after)  # a new engine gets a file of secrets, which changes no key
        written, started = service.written(), service.starts()
        shown = service.play("plan", options=["--diff"], **after, **NEW)
        engines = ", ".join(name for name in sorted(started) if name != "router")
        assert "~ decode-0 on n1 restarts: other values of inference_secrets" in shown
        assert f"Pause: {engines} restart at once, because {KEYS}." in shown
        assert f"{KEYS}. Clients get errors" in service.play("deploy", fails=True, **after, **NEW)
        if playbook == "rollback":
            assert "run with other keys than inference_secrets" in service.play("rollback", fails=True, **after, **NEW)
        assert (service.written(), service.starts()) == (written, started)
    nothing_lost(requests)
    return after
