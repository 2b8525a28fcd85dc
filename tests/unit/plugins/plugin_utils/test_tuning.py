# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a profile of tuning and a host's facts to its settings, findings, and the sections of reports."""

from __future__ import annotations

import copy
import re

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.report import bench_report
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.runs import bench_runs
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.text import bench_text
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts import tuning
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.check_plan import check_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.report_page import check_report
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.report_text import check_text
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.tuning_report import tune_settings, tune_states
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan

HOST = "n1"
THP = "/sys/kernel/mm/transparent_hugepage/"


def planned(own=None, **changes):
    variables = {
        "inference_release": "0.23.0",
        "inference_hardware": "a2",
        "inference_model": {"path": "/models/moe", "name": "moe"},
        "inference_pools": {"prefill": {"tensor_parallel_size": 8}, "decode": {"tensor_parallel_size": 8}},
        **{f"inference_{name}": value for name, value in changes.items()},
    }
    inventory = {
        name: {"groups": [group], "variables": {"ansible_host": address, "inference_interface": "bond0", **(own or {})}}
        for name, group, address in ((HOST, "prefill", "10.0.0.1"), ("n2", "decode", "10.0.0.2"))
    }
    return launch_plan(variables, inventory)


def latency(**tune):
    return planned({"inference_tune_profile": "latency", "inference_tune": tune})


def address(device):
    return f"0000:{device:02x}:00.0"


def state(**changes):
    """A host with four NUMA nodes of 48 CPUs, two NPUs on each."""
    found = {
        "machine": "aarch64",
        "sysctl": {"vm.swappiness": "60", "kernel.numa_balancing": "1", "vm.nr_hugepages": "0"},
        "governors": {"found": {"ondemand": 192}, "possible": True},
        "transparent_hugepages": {"enabled": "always", "defrag": "madvise"},
        "memory": {"memory_total_mib": 1500000, "hugepage_size_kib": 2048},
        "online": "0-191",
        "nodes": {str(node): f"{node * 48}-{node * 48 + 47}" for node in range(4)},
        "interrupts": {
            address(device): {
                "numbers": {"send": 800 + 2 * device, "update": 801 + 2 * device},
                "cpus": {"send": "0-191", "update": "0-191"},
                "node": device // 2,
                "near": f"{device // 2 * 48}-{device // 2 * 48 + 47}",
            }
            for device in range(8)
        },
        "irqbalance": {"active": False, "banned": []},
        "jemalloc": "/usr/lib64/libjemalloc.so.2",
        "tools": ["lscpu", "migratepages", "taskset"],
        "remembered": {},
    }
    return {**found, **changes}


NPUS = {"npus": [{"npu_id": device, "device_id": None, "bus_id": address(device).upper()} for device in range(8)]}


def decided(plan, **changes):
    found = tune_settings(plan, HOST, state(**changes), NPUS)
    return found["settings"], {finding["id"]: finding for finding in found["findings"]}


def test_safe_is_the_default_and_touches_no_service():
    assert [host["tune"] for host in planned()["hosts"]] == [{"profile": "safe"}] * 2
    settings, findings = decided(planned())
    assert settings == {
        "sysctl": {"vm.swappiness": "1", "kernel.numa_balancing": "0"},
        "sysfs": {"/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor": "performance"},
        "interrupts": {},
        "files": {},
        "services": {},
    }
    assert findings == {}


def test_none_wants_nothing():
    settings, findings = decided(planned({"inference_tune_profile": "none"}))
    assert not any(settings.values()) and findings == {}


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ({"inference_tune_profile": "fast"}, ("n1.inference_tune_profile", "none")),
        ({"inference_tune": {"irqbalance": "kill"}}, ("n1.inference_tune.irqbalance", "exclude")),
        ({"inference_tune": {"house": 1}}, ("n1.inference_tune.house", "housekeeping")),
    ],
)
def test_unknown_values_are_refused(own, words):
    with pytest.raises(PlanError) as refused:
        planned(own)
    assert all(word in str(refused.value) for word in words)


def test_latency_binds_each_planned_npu_to_the_first_two_cpus_of_its_slice():
    settings, findings = decided(latency())
    assert settings["interrupts"][address(0)] == ["0", "1"] and settings["interrupts"][address(1)] == ["24", "25"]
    assert settings["interrupts"][address(7)] == ["168", "169"] and len(settings["interrupts"]) == 8
    assert settings["sysfs"][THP + "enabled"] == "madvise" and settings["sysfs"][THP + "defrag"] == "defer+madvise"
    assert settings["services"] == settings["files"] == findings == {}


def test_a_running_irqbalance_is_left_alone_unless_asked_and_named():
    settings, findings = decided(latency(), irqbalance={"active": True, "banned": []})
    assert settings["interrupts"] == settings["services"] == {}
    assert "inference_tune: {irqbalance: exclude}" in findings["TUNE-IRQBALANCE"]["fix"]

    banned = {"active": True, "banned": list(range(800, 816))}
    settings, findings = decided(latency(), irqbalance=banned)
    assert len(settings["interrupts"]) == 8 and findings == {}, "a site may exclude them itself"


def test_irqbalance_is_stopped_or_excludes_the_interrupts_on_request():
    settings, findings = decided(latency(irqbalance="stop"), irqbalance={"active": True, "banned": []})
    assert settings["services"] == {"irqbalance.service": "stopped"} and not settings["files"] and findings == {}
    settings, findings = decided(latency(irqbalance="exclude"), irqbalance={"active": True, "banned": []})
    assert settings["services"] == {"irqbalance.service": "excluding"} and findings == {}
    (text,) = settings["files"].values()
    assert 'Environment="IRQBALANCE_BANNED_CPULIST=0-1,24-25,48-49,72-73,96-97,120-121,144-145,168-169"' in text
    assert "--banirq=800 --banirq=801" in text and "--banirq=815" in text


def test_housekeeping_cpus_belong_to_the_services_that_are_no_engines():
    settings, findings = decided(latency(housekeeping=4))
    shown = {path.split("/")[4]: text.splitlines()[-1] for path, text in settings["files"].items()}
    assert shown["inference-prefill-0.service.d"] == "CPUAffinity=4-47,52-95,100-143,148-191"
    assert shown["inference-router.service.d"] == "CPUAffinity=0-3,48-51,96-99,144-147"
    assert settings["interrupts"][address(0)] == ["4", "5"] and findings == {}


def test_only_systemd_keeps_housekeeping_cpus_free():
    plan = planned({"inference_tune_profile": "latency", "inference_tune": {"housekeeping": 2}}, runtime="docker")
    settings, findings = decided(plan)
    assert settings["files"] == {} and "TUNE-HOUSEKEEPING" in findings
    assert settings["interrupts"][address(0)] == ["0", "1"], (
        "engines use all CPUs, so nothing is left out of the division"
    )


STORE = {"kv_transfer": "mooncake+store", "store": {"segment_size": "20GB"}}


def test_huge_pages_hold_the_stores_segments():
    plan = planned({"inference_tune_profile": "latency"}, **STORE)
    mib = plan["hosts"][0]["store_mib"]
    assert plan["hosts"][0]["tune"]["huge_pages_mib"] == mib > 100000
    assert decided(plan)[0]["sysctl"]["vm.nr_hugepages"] == str(-(-mib // 2))

    more = {"sysctl": {**state()["sysctl"], "vm.nr_hugepages": "500000"}}
    assert decided(plan, **more)[0]["sysctl"]["vm.nr_hugepages"] == "500000", "pages of others are kept"
    more["remembered"] = {"/proc/sys/vm/nr_hugepages": "16\n"}
    assert decided(plan, **more)[0]["sysctl"]["vm.nr_hugepages"] == str(-(-mib // 2)), "ours may shrink"

    settings, findings = decided(plan, memory={"memory_total_mib": 200000, "hugepage_size_kib": 2048})
    assert "vm.nr_hugepages" not in settings["sysctl"] and "60 %" in findings["TUNE-HUGE-PAGES"]["problem"]

    off = planned({"inference_tune_profile": "latency", "inference_tune": {"huge_pages": False}}, **STORE)
    assert "vm.nr_hugepages" not in decided(off)[0]["sysctl"]


def test_too_few_cpus_and_missing_interrupts_are_findings():
    few = {"online": "0-31", "nodes": {"0": "0-31"}}
    settings, findings = decided(latency(), **few)
    assert findings["TUNE-SLICES"]["severity"] == "warning" and "needs 5" in findings["TUNE-SLICES"]["problem"]

    some = {key: value for key, value in state()["interrupts"].items() if key != address(3)}
    settings, findings = decided(latency(), interrupts=some)
    assert address(3) not in settings["interrupts"] and len(settings["interrupts"]) == 7
    assert findings["TUNE-INTERRUPTS"]["path"] == f"{HOST} device 3"

    found = tune_settings(latency(), HOST, state(), {"msg": "npu-smi is missing"})
    assert found["settings"]["interrupts"] == {} and found["findings"][0]["id"] == "TUNE-INTERRUPTS"


def facts(npu=True, host=None, **changes):
    """Facts of both hosts, as the check has them."""
    own = {"tuning": state(**changes), "sysctl": {"vm.max_map_count": 1000000}, **(host or {})}
    return {name: {"host": copy.deepcopy(own), **({"npu": NPUS} if npu else {})} for name in (HOST, "n2")}


def found_by(plan, given):
    return {
        finding["id"]: finding
        for finding in check_plan(plan, given, options={"tcp": "none", "ping": "none"})
        if finding["id"].startswith("TUNE-")
    }


def test_check_names_what_differs_from_the_profile():
    findings = found_by(planned(), facts())
    assert set(findings) == {"TUNE-DIFFERS"} and findings["TUNE-DIFFERS"]["severity"] == "remark"
    assert "profile safe: vm.swappiness is 60 (wanted: 1)" in findings["TUNE-DIFFERS"]["problem"]
    tuned = {
        "sysctl": {"vm.swappiness": "1", "kernel.numa_balancing": "0"},
        "governors": {"found": {"performance": 192}, "possible": True},
    }
    assert found_by(planned(), facts(**tuned)) == {}
    assert found_by(planned({"inference_tune_profile": "none"}), facts()) == {}


@pytest.mark.parametrize(
    ("count", "more"), [(1, ""), (4, ""), (5, ", and 1 more settings"), (7, ", and 3 more settings")]
)
def test_four_settings_that_differ_are_named(monkeypatch, count, more):
    row = {"tuned": True, "as_wanted": False, "found": "0", "wanted": "1"}
    odd = [{**row, "setting": f"s{number}"} for number in range(count)]
    right = {**row, "setting": "right", "as_wanted": True}
    monkeypatch.setattr(tuning, "rows", lambda *asked: [right, *odd, {**row, "setting": "untuned", "tuned": False}])
    problem = found_by(planned(), facts())["TUNE-DIFFERS"]["problem"]
    named = ", ".join(f"s{number} is 0 (wanted: 1)" for number in range(min(count, 4)))
    assert problem == f"profile safe: {named}{more}"


def test_interrupts_that_moved_differ():
    bound = copy.deepcopy(state()["interrupts"])
    for device in range(8):
        first = device // 2 * 48 + device % 2 * 24
        bound[address(device)]["cpus"] = {"send": str(first), "update": str(first + 1)}
    tuned = {
        "sysctl": {"vm.swappiness": "1", "kernel.numa_balancing": "0"},
        "governors": {},
        "transparent_hugepages": {"enabled": "madvise", "defrag": "defer+madvise"},
        "interrupts": bound,
    }
    assert found_by(latency(), facts(**tuned)) == {}
    bound[address(5)]["cpus"]["send"] = "7"
    assert (
        "interrupts of device 5 is 7, 121 (wanted: 120, 121)"
        in found_by(latency(), facts(**tuned))["TUNE-DIFFERS"]["problem"]
    )


def test_a_missing_jemalloc_is_a_finding_with_the_package():
    found = found_by(planned(), facts(jemalloc=""))["TUNE-JEMALLOC"]
    assert found["severity"] == "remark" and "libjemalloc2" in found["fix"] and "-0 would preload" in found["problem"]
    assert found_by(planned(None, **STORE), facts(jemalloc=""))["TUNE-JEMALLOC"]["severity"] == "warning"
    assert "TUNE-JEMALLOC" not in found_by(planned({"inference_tune_profile": "none"}), facts(jemalloc=""))
    assert "TUNE-JEMALLOC" not in found_by(planned(runtime="docker"), facts(jemalloc="")), "the image has it"


def test_engines_that_run_as_root_bind_interrupts_themselves():
    plan = planned({"inference_tune_profile": "latency"}, runtime="supervisor")
    root = {"user": {"uid": 0, "sees_processes": True}}
    assert "TUNE-BINDERS" in found_by(plan, facts(host=root))
    assert "TUNE-BINDERS" not in found_by(plan, facts(host={"user": {"uid": 1000}}))
    assert "TUNE-BINDERS" not in found_by(latency(), facts(host=root)), "units have a user of their own"


def test_programs_of_the_cpu_binding_are_named():
    assert "migratepages" in found_by(planned(), facts(tools=["lscpu", "taskset"]))["TUNE-TOOLS"]["problem"]
    assert "TUNE-TOOLS" not in found_by(planned(), facts(tools=[], machine="x86_64"))


def test_hosts_whose_state_was_not_gathered_have_no_findings():
    assert found_by(planned(), {name: {"host": {"memory": {}}} for name in (HOST, "n2")}) == {}


def test_the_report_of_a_check_has_the_state_of_tuning():
    plan, options = planned(), {"tcp": "none", "ping": "none"}
    given = facts(governors={"found": {"performance": 192}, "possible": True})
    given["n2"]["host"]["tuning"]["sysctl"]["vm.swappiness"] = "1"
    text = check_text(plan, given, [], options)
    assert "Tuning: profile safe on 2 hosts." in text
    assert "  vm.swappiness: wanted 1, found 60 on 1 host (n1)." in text
    assert "  kernel.numa_balancing: wanted 0, found 1 on 2 hosts (n1, n2)." in text
    assert "  As wanted: CPU governor, jemalloc, vm.max_map_count." in text
    page = check_report(plan, given, [], options)
    assert "<h2>Tuning</h2>" in page and re.search(r'<td class="warning">60 !</td>\s*<td>n1</td>', page)


def test_a_benchmark_records_the_state_and_names_what_changed():
    plan = planned()
    bench = bench_runs(plan, {"profile": "latency", "loads": [4], "repeats": 3})
    figures = {"completed": 64, "failed": 0, "empty": 0, "short": 0, "first_error": "", "ttft_p50": 50.0}
    results = [{"figures": figures, "engines": {}} for dummy in bench["runs"]]
    tuned = {"vm.swappiness": "1", "kernel.numa_balancing": "0"}
    before = bench_report(plan, bench, results, None, tune_states(plan, {HOST: state(), "n2": {"failed": True}}, {}))
    assert set(before["tuning"]) == {HOST, "n2"} and before["tuning"][HOST]["profile"] == "safe"
    text = "\n".join(bench_text(before))
    assert "Tuning: profile safe on 2 hosts." in text
    assert "all settings: wanted profile safe, found unknown on 1 host (n2)." in text

    now = bench_report(plan, bench, results, before, tune_states(plan, {HOST: state(sysctl=tuned)}, {}))
    other, found = sorted(
        (finding for finding in now["findings"] if finding["id"] == "BENCH-TUNING"),
        key=lambda item: item["path"] == HOST,
    )
    assert other["path"] == "n2" and "all settings is unknown in one of the reports" in other["problem"]
    assert found["path"] == HOST and "vm.swappiness is 1, before 60" in found["problem"] and now["passed"]
    same = bench_report(plan, bench, results, before, tune_states(plan, {HOST: state()}, {}))
    assert [finding["path"] for finding in same["findings"] if finding["id"] == "BENCH-TUNING"] == ["n2"]


def test_interrupts_of_a_benchmark_are_unknown_without_npu_smi():
    known = tune_states(latency(), {HOST: state(), "n2": state()}, {HOST: NPUS, "n2": {"failed": True, "msg": "no"}})
    assert not [row for row in known[HOST]["settings"] if row["found"] == "unknown"]
    (row,) = [row for row in known["n2"]["settings"] if row["setting"].startswith("interrupts")]
    assert row["found"] == "unknown" and not row["as_wanted"]


@pytest.mark.parametrize("mode", ["exclude", "stop"])
def test_a_failure_of_npu_smi_keeps_the_binding(mode):
    bound = copy.deepcopy(state()["interrupts"])
    remembered = {}
    for device in range(8):
        bound[address(device)]["cpus"] = {"send": str(device * 24), "update": str(device * 24 + 1)}
        remembered.update({f"interrupt {address(device)} {kind}": "0-191" for kind in ("send", "update")})
    given = state(interrupts=bound, remembered=remembered)
    before = tune_settings(latency(irqbalance=mode), HOST, given, NPUS)["settings"]
    assert len(before["interrupts"]) == 8
    found = tune_settings(latency(irqbalance=mode), HOST, given, {"failed": True, "msg": "npu-smi: timeout"})
    assert found["settings"] == before
    (finding,) = [finding for finding in found["findings"] if finding["id"] == "TUNE-INTERRUPTS"]
    assert "8 of them stay bound as they are" in finding["problem"]


@pytest.mark.parametrize(
    ("own", "changes", "there"),
    [
        ({}, {}, True),
        ({"inference_tune_profile": "none"}, {}, False),
        ({"inference_tune_profile": "none"}, STORE, True),
        ({}, {"env": {"LD_PRELOAD": "/opt/libtcmalloc.so"}}, False),
        ({}, {"env": {"LD_PRELOAD": "/opt/x.so:$LD_PRELOAD"}}, False),
        ({}, {"env": {"LD_PRELOAD": None}}, False),
    ],
)
def test_engines_preload_jemalloc_unless_the_user_decides(own, changes, there):
    service = next(item for item in planned(own, **changes)["services"] if item["name"] == "prefill-0")
    shell = next(file["content"] for file in service["files"] if file["path"].endswith("shell.sh"))
    assert ("libjemalloc" in shell) is there


@pytest.mark.parametrize(
    ("changes", "there"),
    [
        ({"env": {"CPU_AFFINITY_CONF": 2}}, True),
        ({"env": {"CPU_AFFINITY_CONF": 0}}, False),
        ({"env": {"CPU_AFFINITY_CONF": 2}, "args": {"additional-config": {"enable_cpu_binding": False}}}, False),
        ({"env": {"CPU_AFFINITY_CONF": 2}, "release": "0.13.0"}, False),
        (
            {
                "env": {"CPU_AFFINITY_CONF": 2},
                "release": "0.13.0",
                "args": {"additional-config": {"enable_cpu_binding": True}},
            },
            True,
        ),
    ],
)
def test_two_binders_of_threads_are_a_finding_of_the_plan(changes, there):
    assert ("ENV-BINDERS" in {finding["id"] for finding in planned(**changes)["findings"]}) is there
