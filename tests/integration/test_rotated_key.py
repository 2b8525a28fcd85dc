# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Another api_key: it is refused before anything is written, and processes with both keys end up with one in one run.

The playbooks, the role, supervisord and vllm-router are real; engines are simulated and require the key with which they started.
"""

from __future__ import annotations

import os
import signal
import time

import pytest
from ansible_collections.ascend.inference.tests.integration import test_serving_change
from ansible_collections.ascend.inference.tests.integration.test_serving_change import URL, nothing_lost
from ansible_collections.ascend.inference.tests.simulator import load

service = test_serving_change.service  # a fixture

OLD, NEW = ({"inference_secrets": {"api_key": f"{name}-word-of-keys"}} for name in ("former", "other"))
EIGHT = {"inference_args": {"max-num-seqs": 8}}
KEYS = "the keys between the router and the engines change"


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
    """``rollback`` and ``site`` begin with a third decode engine and changed settings, and ``rollback`` is refused before and after the trap."""
    service.play("site", **OLD)
    after = {}
    with load.Load(URL, "tiny", clients=2) as requests:
        if playbook != "deploy":
            after = {"inference_pools": service.pools(2, 3), **EIGHT}
            service.play("deploy", **after, **OLD)  # a new engine gets a file of secrets, which changes no key
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
    # What the trap left: files have one key, processes the other, and one of these has ended since.
    allowed = {**after, **NEW, "inference_allow_pause": True}
    service.play("deploy", fails=True, killed_at="Register the planned services", **allowed)
    crash(service, "decode-1")
    assert len(set(recorded(service).values())) == 2
    started = service.starts()
    assert "decode-1 started with the new ones already" in service.play("deploy", fails=True, **after, **NEW)
    assert "run with other keys than inference_secrets" in service.play("rollback", fails=True, **after, **NEW)
    assert "started with different keys" in service.play("status", fails=True, **after, **NEW)
    assert service.starts() == started
    output = service.play(playbook, **allowed)
    assert "no pause" not in output and "word-of-keys" not in output
    assert len(set(recorded(service).values())) == 1
    with load.Load(URL, "tiny", clients=2) as requests:
        assert "No changes" in service.play(
            "plan", options=["--diff"], **(after if playbook != "rollback" else {}), **NEW
        )
    nothing_lost(requests)
