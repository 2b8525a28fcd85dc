# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of a plan reach the container engine as they are: a real engine makes the container, and says what it understood."""

from __future__ import annotations

import json
import subprocess
import uuid

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.runtime.base import RuntimeProblem
from ansible_collections.ascend.inference.plugins.module_utils.runtime.docker import Docker
from ansible_collections.ascend.inference.plugins.module_utils.runtime.docker_create import creation
from ansible_collections.ascend.inference.plugins.modules.service_state import registered
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.views.service_states import service_states
from ansible_collections.ascend.inference.tests.integration.test_container_runtime import answers
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import family

pytestmark = pytest.mark.skipif(not answers(), reason="no Docker engine here")
# What the planner allows in paths: all of it would mean something else to a shell, or to a parser of lists and of NAME=VALUE.
AWKWARD = ["/srv/it's a folder/%h=1,2*~#!:/data/größe (1)/x\\n", "/srv/b c:/b c:ro"]
CHANGES = {
    "inference_container": {"mounts": AWKWARD, "shm_size": "24g", "read_only": True},
    "inference_root": "/opt/a-b_1.2/x..y",
}
SETTINGS = {"log_size": "50m", "log_copies": 3, "user": "nobody", "group": "no-such-group"}


@pytest.fixture(scope="module")
def image():
    """An image without files, which no registry is asked for."""
    name = f"ascend-inference-test/empty:{uuid.uuid4().hex[:8]}"
    subprocess.run(["docker", "import", "-", name], input=b"\0" * 10240, check=True, capture_output=True)
    yield name
    subprocess.run(["docker", "image", "rm", "--force", name], check=True, capture_output=True)


@pytest.mark.parametrize("kind", ["decode", "router"])
def test_the_engine_understands_each_value_as_it_was_planned(image, kind, tmp_path):
    plan = launch_plan(*family("docker", CHANGES))
    planned = next(service for service in plan["services"] if service["kind"] == kind)
    (service,) = service_states(plan, [planned])
    container = {
        **service["container"],
        "image": image,
        "devices": ["/dev/null"] if service["container"]["devices"] else [],
    }
    if kind == "decode":  # the paths of a deployment that is not on this machine; Docker refuses files that are missing
        (tmp_path / "passwd").touch()
        (tmp_path / "group").touch()
        container["accounts"] = {
            **container["accounts"],
            "passwd": str(tmp_path / "passwd"),
            "group": str(tmp_path / "group"),
        }
    name = f"ascend-inference-test-{uuid.uuid4().hex[:8]}"
    argv = creation({**service, "unit": name, "container": container}, {**SETTINGS, "deployment": plan["deployment"]})
    made = subprocess.run(["docker", "create", "--pull=never", *argv], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    try:
        text = subprocess.run(["docker", "inspect", name], capture_output=True, check=True).stdout
    finally:
        subprocess.run(["docker", "rm", "--force", name], capture_output=True, check=True)
    (found,) = json.loads(text)
    config, host = found["Config"], found["HostConfig"]
    assert sorted(host["Binds"]) == sorted(container["mounts"]) and set(AWKWARD) < set(host["Binds"])
    own_files = sorted((item["Source"], item["Target"], item["ReadOnly"]) for item in host.get("Mounts") or [])
    assert own_files == [
        (str(tmp_path / name), f"/etc/{name}", True) for name in ("group", "passwd") if kind == "decode"
    ]
    assert [item["PathOnHost"] for item in host["Devices"] or []] == container["devices"]
    assert (host["NetworkMode"], host["IpcMode"]) == (container["network"], container["ipc"])
    assert host["ReadonlyRootfs"] is container["read_only"] is True
    assert {item["Name"]: (item["Soft"], item["Hard"]) for item in host["Ulimits"]} == {
        limit: (value, value) for limit, value in container["ulimits"].items()
    }
    assert host["PidsLimit"] == container["pids_limit"] == 65536
    if container["shm_size"]:
        assert host["ShmSize"] == 24 << 30
    assert (host["CapDrop"], host["CapAdd"] or []) == (["ALL"], [f"CAP_{item}" for item in container["capabilities"]])
    assert "no-new-privileges" in host["SecurityOpt"] and not host["Privileged"]
    assert host["RestartPolicy"]["Name"] == "unless-stopped"
    assert host["LogConfig"] == {"Type": "json-file", "Config": {"max-size": "50m", "max-file": "3"}}
    assert (config["StopSignal"], config["StopTimeout"]) == (f"SIG{service['stop_signal']}", service["stop_timeout"])
    assert (config["Entrypoint"], config["Cmd"]) == (["/bin/sh"], [f"{planned['work_directory']}/run.sh"])
    assert config["WorkingDir"] == container["work_directory"]
    assert config["Labels"]["ascend.inference.service"] == service["name"]
    assert config["Labels"]["ascend.inference.digest"] == service["digest"]


def test_a_tag_that_was_moved_is_refused_and_a_container_of_others_is_left_alone(image, tmp_path):
    plan = launch_plan(*family("docker", CHANGES))
    (service,) = service_states(plan, [next(one for one in plan["services"] if one["kind"] == "router")])
    deployment = f"ascend-inference-test-{uuid.uuid4().hex[:8]}"
    service.update(unit=deployment, container={**service["container"], "image": image})
    runtime = Docker({**SETTINGS, "deployment": deployment, "pull": "never", "records": str(tmp_path)})

    def present(check=True):
        return registered(runtime, {"state": "present", "services": [service]}, check)

    def docker(*words, **more):
        return subprocess.run(["docker", *words], check=True, capture_output=True, **more).stdout.decode().strip()

    docker("create", f"--name={deployment}", "--label=ascend.inference.deployment=other", image, "/x")
    try:
        with pytest.raises(RuntimeProblem, match="did not create"):
            present()
        docker("rm", deployment)
        docker("create", f"--name={deployment}", f"--label=ascend.inference.deployment={deployment}", image, "/x")
        assert present(check=False)["outdated"] == []
        before = docker("image", "inspect", "--format={{.Id}}", image)
        docker("import", "--message=another", "-", image, input=b"\0" * 10240)
        with pytest.raises(RuntimeProblem, match=f"docker tag {before} {image}"):
            present()
        docker("rm", deployment)
        with pytest.raises(RuntimeProblem, match=f"last created containers from .{before}"):
            present()
        docker("tag", before, image)
        assert present()["down"] == [service["name"]]
    finally:
        docker("rm", "--force", deployment)  # no error if there is none
