# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What only files of a host show is decided before the first one is written: plan --diff promises it, and deploy does or refuses just that.

The playbooks, the role, supervisord and vllm-router are real; engines are simulated.
"""

from __future__ import annotations

from ansible_collections.ascend.inference.tests.integration import test_serving_change
from ansible_collections.ascend.inference.tests.integration.test_serving_change import URL, nothing_lost
from ansible_collections.ascend.inference.tests.simulator import load

service = test_serving_change.service  # a fixture

HOSTS = "other files on the host"


def test_files_of_a_host_are_compared_before_one_is_written(service):
    service.play("deploy")
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
