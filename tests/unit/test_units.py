# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The units that the role service writes, judged by systemd itself: they can be read, and how much they leave open."""

from __future__ import annotations

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import jinja2
import pytest
import yaml
from ansible_collections.ascend.inference.plugins.filter.linked import linked
from ansible_collections.ascend.inference.plugins.module_utils.firewall.backends import UNIT
from ansible_collections.ascend.inference.plugins.module_utils.host.tuning_unit import unit_text
from ansible_collections.ascend.inference.plugins.module_utils.host.virtual_address import UNIT as ADDRESS_UNIT
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring.collector import (
    collector_files,
    log_files,
    proxy_files,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring.settings import Monitoring
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import ENTRY, family

ROLE = pathlib.Path(__file__).resolve().parents[2] / "roles" / "service"
ENGINES = ("prefill", "decode", "colocated", "encode")
MOST = {"engine": 5.0, "other": 3.0}  # exposure, of 10
FRONTED = {
    "inference_router": ENTRY,
    "inference_secrets": {"client_keys": "y"},
    "inference_probe": {"enabled": True, "textfile_directory": "/srv/textfiles"},
}

analyze = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")


def planned(name, changes):
    """A plan, and one of its services of each kind."""
    plan = launch_plan(*family(name, changes))
    return plan, {service["kind"]: service for service in plan["services"]}


CASES = [
    (*case, kind)
    for case in (("both", FRONTED), ("cpu", {"inference_runtime": "systemd"}))
    for kind in planned(*case)[1]
] + [("ha", {}, "etcd"), ("pooled", {}, "colocated")]
# Timers that run as root: the files of one, and how much it may leave open. The vendor's tools need the devices of NPUs.
TIMERS = {"npu": (collector_files, "engine"), "logs": (log_files, "other"), "proxies": (proxy_files, "other")}
# Other units of root's: how much they may leave open. The first two run once, at boot, and that of tuning writes settings of the kernel; that of a
# virtual address runs all the time.
ONCE = {"firewall": 2.0, "tuning": 2.5, "address": MOST["other"]}
IDS = [f"{name}-{kind}" for name, _changes, kind in CASES]


def unit(folder, name, changes, kind, systemd="252", home="/var/lib/the daemon"):
    """Render a unit of the plan as the role does; returns its file. Paths of programs and folders become ones that are here."""
    plan, services = planned(name, changes)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(ROLE / "templates"), undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    environment.filters["ascend.inference._linked"] = linked
    environment.tests["match"] = lambda text, pattern: bool(re.match(pattern, text))
    host = next(host for host in plan["hosts"] if host["name"] == services[kind]["host"])
    constants = yaml.safe_load((ROLE / "vars" / "main.yml").read_text())
    defaults = yaml.safe_load((ROLE / "defaults" / "main.yml").read_text())
    text = environment.get_template("systemd/unit.service.j2").render(
        item=services[kind],
        service_plan=plan,
        **{name: value for name, value in defaults.items() if name.startswith("service_systemd_")},
        __service_target=plan["runtime_settings"]["target"],
        __service_here=[service for service in plan["services"] if service["host"] == host["name"]],
        __service_user="daemon",
        __service_home=home,
        __service_account={"driver_group": "HwHiAiUser", "systemd": systemd},
        __service_engine_kinds=constants["__service_engine_kinds"],
        __service_host=host,
    )
    path = folder / services[kind]["unit"]
    path.write_text(text)
    return path, services[kind], host


def values(path, name):
    """The values of a directive, in order."""
    return [line.partition("=")[2] for line in path.read_text().splitlines() if line.startswith(name + "=")]


def timer(folder, kind):
    """Write the unit that a timer starts; returns its file."""
    plan = launch_plan(*family("p2p", {"inference_runtime": "systemd"}))
    files = TIMERS[kind][0](plan, Monitoring(npu="collector", logs=True, proxies=True))["files"]
    found = next(file for file in files if file["path"].endswith(".service"))
    path = folder / pathlib.PurePath(found["path"]).name
    path.write_text(found["content"])
    return path


def once(folder, kind):
    """Write a unit of root's that belongs to no service; returns its file."""
    path = folder / f"ascend-inference-{kind}.service"
    addresses = {"0000:c1:00.0": ["0-7", "8-15"]}
    texts = {
        "firewall": UNIT.format(deployment="a", nft="/usr/sbin/nft", script="/etc/x/a.nft", table="ascend_inference_a"),
        "address": ADDRESS_UNIT.format(
            **dict.fromkeys(("deployment", "name", "configuration", "address", "interface"), "a"), program="/p", ip="/i"
        ),
        "tuning": unit_text({"/proc/sys/kernel/numa_balancing": "0"}, addresses),
    }
    path.write_text(texts[kind])
    return path


def exposure(path):
    """(how much systemd finds open in a unit, of 10, its table)."""
    argv = ["systemd-analyze", "security", "--offline=yes", "--no-pager", str(path)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    found = re.search(r"Overall exposure level for .*: ([\d.]+)", done.stdout)
    assert found, done.stdout + done.stderr
    return float(found.group(1)), done.stdout


@analyze
@pytest.mark.parametrize(("name", "changes", "kind"), CASES, ids=IDS)
def test_little_is_left_open(tmp_path, name, changes, kind):
    path, _service, _host = unit(tmp_path, name, changes, kind)
    found, table = exposure(path)
    assert found <= MOST["engine" if kind in ENGINES else "other"], table


@analyze
@pytest.mark.parametrize("kind", TIMERS)
def test_little_is_left_open_to_what_a_timer_starts_as_root(tmp_path, kind):
    found, table = exposure(timer(tmp_path, kind))
    assert found <= MOST[TIMERS[kind][1]], table


@analyze
@pytest.mark.parametrize("kind", ONCE)
def test_little_is_left_open_to_what_runs_once_as_root(tmp_path, kind):
    found, table = exposure(once(tmp_path, kind))
    assert found <= ONCE[kind], table


def test_what_runs_once_keeps_what_it_needs(tmp_path):
    """Another network or IPC namespace has settings and filters of its own; those of /proc and /sys have to stay writable for tuning."""
    firewall, tuning, address = (once(tmp_path, kind) for kind in ("firewall", "tuning", "address"))
    for path in (firewall, tuning, address):
        names = ("PrivateNetwork", "PrivateIPC", "PrivateUsers", "ProcSubset", "DynamicUser", "User")
        assert not [name for name in names if values(path, name)]
    assert values(firewall, "CapabilityBoundingSet") == ["CAP_NET_ADMIN"]
    assert not {"CAP_SYS_ADMIN", "CAP_DAC_OVERRIDE"} & set(values(address, "CapabilityBoundingSet")[0].split())
    assert {"AF_NETLINK", "AF_PACKET"} <= set(values(address, "RestrictAddressFamilies")[0].split())
    assert "AF_NETLINK" in values(firewall, "RestrictAddressFamilies")[0]
    assert not values(tuning, "ProtectKernelTunables") and values(tuning, "CapabilityBoundingSet") == ["CAP_SYS_ADMIN"]


def test_the_vendors_tools_see_devices_and_processes(tmp_path):
    """ProtectClock implies a list of devices (DeviceAllow), which would hide those of the NPUs."""
    path = timer(tmp_path, "npu")
    assert not [values(path, name) for name in ("PrivateDevices", "DeviceAllow", "ProtectClock") if values(path, name)]
    assert not values(path, "ProtectProc") and values(path, "ProtectSystem")[-1] == "true"
    taken = " ".join(values(path, "CapabilityBoundingSet"))
    assert not {"CAP_SYS_ADMIN", "CAP_SYS_RAWIO", "CAP_NET_ADMIN", "CAP_DAC_OVERRIDE"} & set(taken.split())


@analyze
@pytest.mark.parametrize("kind", [*ONCE, *TIMERS, *CASES], ids=[*ONCE, *TIMERS, *IDS])
def test_systemd_reads_every_line(tmp_path, kind):
    made = {**dict.fromkeys(ONCE, once), **dict.fromkeys(TIMERS, timer)}
    path = made[kind](tmp_path, kind) if isinstance(kind, str) else unit(tmp_path, *kind)[0]
    path.write_text(re.sub(r"^(Exec\w+)=.*$", r"\1=/bin/true", path.read_text(), flags=re.M))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(path)], capture_output=True, text=True, check=False
    )
    about = [line for line in done.stderr.splitlines() if path.name in line]
    assert not about, about


@pytest.mark.parametrize("kind", ["decode", "router", "frontend", "mooncake_master", "probe"])
def test_no_service_can_use_up_the_process_ids_of_its_host(tmp_path, kind):
    path, _service, _host = unit(tmp_path, "both", FRONTED, kind)
    assert values(path, "TasksMax") == ["65536"]
    path, _service, _host = unit(tmp_path, "both", {**FRONTED, "inference_tasks_max": 20000}, kind)
    assert values(path, "TasksMax") == ["20000"]


@pytest.mark.parametrize("case", [case for case in CASES if case[2] in ENGINES], ids=str)
def test_an_engine_cannot_change_what_is_obeyed_in_its_user_s_home(tmp_path, case):
    """What engines write goes elsewhere: CANN takes the home from the user database, all others from HOME."""
    path, service, _host = unit(tmp_path, *case)
    assert values(path, "ReadOnlyPaths") == ['"-/var/lib/the daemon"']
    written = " ".join(values(path, "ReadWritePaths")).split()
    assert service["env"]["HOME"] in written and "/var/lib" not in " ".join(written)
    if service["devices"]:
        assert service["env"]["ASCEND_PROCESS_LOG_PATH"] in written


@pytest.mark.parametrize("key", ["", "caches", "run", "logs"])
@pytest.mark.parametrize("end", ["", "/"])
def test_what_an_engine_has_to_write_stays_writable_if_it_is_its_user_s_home(tmp_path, key, end):
    """Of two directives for one path, systemd takes the one that forbids more; a folder below it may be writable all the same."""
    changes = {"inference_runtime": "systemd"}
    place = planned("p2p", changes)[0]["folders"][key] if key else "/"
    assert not values(unit(tmp_path, "p2p", changes, "decode", home=place + end)[0], "ReadOnlyPaths")
    above = str(pathlib.PurePosixPath(place).parent)
    assert values(unit(tmp_path, "p2p", changes, "decode", home=above)[0], "ReadOnlyPaths") == [f'"-{above}"'] * bool(
        key
    )


@pytest.mark.parametrize("kind", ["decode", "router"])
def test_a_service_starts_with_its_host(tmp_path, kind):
    path, _service, _host = unit(tmp_path, "p2p", {"inference_runtime": "systemd"}, kind)
    assert values(path, "WantedBy") == ["inference.target"] and values(path, "Restart") == ["always"]


def test_a_plan_of_an_older_version_keeps_its_caches(tmp_path, monkeypatch):
    """It names no other place for them, and a rollback starts it as it was."""
    plan = launch_plan(*family("p2p", {"inference_runtime": "systemd"}))
    for service in plan["services"]:
        service["env"].pop("HOME", None)
    monkeypatch.setattr(sys.modules[__name__], "launch_plan", lambda *dummy: plan)
    assert not values(unit(tmp_path, "p2p", {}, "decode")[0], "ReadOnlyPaths")


def test_one_more_engine_on_its_host_does_not_change_the_unit_of_the_router(tmp_path):
    """A service restarts if its unit is newer than its start, and the router's members change while it runs."""
    texts = []
    for instances in (1, 2):
        pools = {"prefill": {"instances": 1}, "decode": {"instances": instances}}
        changes = {"inference_runtime": "systemd", "inference_pools": pools}
        engines = [service["name"] for service in planned("cpu", changes)[0]["services"] if service["kind"] in ENGINES]
        assert len(engines) == 1 + instances
        texts.append(unit(tmp_path, "cpu", changes, "router")[0].read_text())
    assert texts[0] == texts[1]


@pytest.mark.parametrize(("systemd", "steps"), [("253", []), ("254", ["6"]), ("255", ["6"])])
def test_the_delay_of_restarts_grows_where_systemd_can(tmp_path, systemd, steps):
    """RestartSteps and RestartMaxDelaySec came with systemd 254, which counts; older ones warn about them."""
    path, _service, _host = unit(tmp_path, "both", FRONTED, "decode", systemd)
    assert values(path, "RestartSteps") == steps and len(values(path, "RestartMaxDelaySec")) == len(steps)
    assert values(path, "Restart") == ["always"] and values(path, "StartLimitIntervalSec") == ["0"]


def test_an_engine_reaches_the_npus_of_its_host_and_no_other_device(tmp_path):
    path, _service, host = unit(tmp_path, "both", FRONTED, "decode")
    assert values(path, "DevicePolicy") == ["closed"] and not values(path, "PrivateDevices")
    allowed = [value.partition(" ")[0] for value in values(path, "DeviceAllow")]
    assert allowed == [*host["device_files"], "char-infiniband*"]
    assert {f"/dev/davinci{number}" for number in host["devices"]} < set(allowed)
    assert {"/dev/davinci_manager", "/dev/devmm_svm", "/dev/hisi_hdc"} < set(allowed)
    assert values(path, "SupplementaryGroups") == ["HwHiAiUser"]


@pytest.mark.parametrize("kind", ["router", "balancer", "frontend", "mooncake_master", "probe"])
def test_what_needs_no_npu_reaches_none(tmp_path, kind):
    path, service, _host = unit(tmp_path, "both", FRONTED, kind)
    assert values(path, "PrivateDevices") == ["yes"] and not values(path, "SupplementaryGroups")
    writable = values(path, "ReadWritePaths")[0].split()
    assert writable == [str(pathlib.PurePath(service["digest_file"]).parent), service["scratch_directory"]]
    assert values(path, "ProtectSystem") == ["strict"]


def test_a_root_in_a_home_stays_readable(tmp_path):
    changes = {**FRONTED, "inference_root": "/home/x/ascend"}
    assert values(unit(tmp_path, "both", changes, "router")[0], "ProtectHome") == ["read-only"]
    assert values(unit(tmp_path, "both", FRONTED, "router")[0], "ProtectHome") == ["yes"]


def test_hosts_without_npus_have_no_device_files():
    plan = planned("cpu", {"inference_runtime": "systemd"})[0]
    assert [host["device_files"] for host in plan["hosts"]] == [[]]
    assert json.dumps(plan)


def test_only_the_probe_may_write_the_textfiles(tmp_path):
    probe, router = (unit(tmp_path, "both", FRONTED, kind)[0] for kind in ("probe", "router"))
    assert values(probe, "ReadWritePaths")[1:] == ["-/srv/textfiles"]
    assert values(router, "ReadWritePaths")[1:] == []


@analyze
@pytest.mark.parametrize("kind", ["decode", "router"])
def test_systemd_finds_the_program_below_a_path_with_every_character_that_is_allowed(kind, request):
    """It judges the path as it reads it: one with another meaning to systemd would be that of a program that does not exist."""
    tmp_path = pathlib.Path(
        tempfile.mkdtemp(prefix="u")
    )  # short, because the path of a socket below it has at most 107 characters
    request.addfinalizer(lambda: shutil.rmtree(tmp_path))
    root = tmp_path / "a-b" / "x..y" / "_1.2"
    path, service, _host = unit(tmp_path, "both", {**FRONTED, "inference_root": str(root)}, kind)
    program = pathlib.Path(service["scripts"]["run"])
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    argv = ["systemd-analyze", "verify", "--man=no", str(path)]
    for mode, expected in ((0o644, True), (0o755, False)):
        program.chmod(mode)
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert (f"Command {program} is not executable" in done.stderr) is expected, done.stderr
        assert ("Command " in done.stderr) is expected, done.stderr


@pytest.mark.parametrize("kind", ["decode", "router"])
def test_a_unit_has_no_value_of_the_environment_or_the_command(tmp_path, kind):
    """systemd would expand % and $ in them, and end a value at a line; run.sh hands them over, as a test of its scripts shows."""
    awkward = {
        "inference_env": {"AWKWARD": "%h $HOME 'it\"s' \\ ~", "OTHER": "%n"},
        "inference_args": {"max-model-len": 4096},
    }
    texts = []
    for number, changes in enumerate((FRONTED, {**FRONTED, **awkward})):
        (tmp_path / str(number)).mkdir()
        texts.append(unit(tmp_path / str(number), "both", changes, kind)[0].read_text())
    assert texts[0] == texts[1]
