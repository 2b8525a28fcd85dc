# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""host_tuning on a made-up tree: set, remembered, and set back byte for byte."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import subprocess

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.files import tree
from ansible_collections.ascend.inference.plugins.module_utils.host import tuning
from ansible_collections.ascend.inference.plugins.modules import host_tuning

SYSCTL = {"vm.swappiness": "1", "kernel.numa_balancing": "0"}
GOVERNORS = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"
SYSFS = {GOVERNORS: "performance"}
START = {
    "proc/sys/vm/swappiness": "60\n",
    "proc/sys/kernel/numa_balancing": "1\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "ondemand\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_available_governors": "ondemand performance \n",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "schedutil\n",
    "sys/devices/system/cpu/cpu2/cpufreq/scaling_governor": "userspace\n",
    "sys/devices/system/cpu/cpu2/cpufreq/scaling_available_governors": "userspace\n",
    "etc/systemd/system/foreign.service": "[Unit]\n",
}
UNIT = "etc/systemd/system/ascend-inference-tuning.service"
OWN = "/etc/systemd/system/inference-prefill-0.service.d/50-ascend-inference-tuning.conf"
RECORD = "var/lib/ascend-inference/tuning.json"
MARK = "var/lib/ascend-inference/.ascend-inference-made"


@pytest.fixture
def root(tmp_path):
    for path, text in START.items():
        place = tmp_path / "root" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return tmp_path / "root"


@pytest.fixture
def tune(run_module, root):
    def run(check=False, **options):
        return run_module("host_tuning", check=check, root=str(root), **options)

    return run


def content(root):
    return {
        os.path.relpath(os.path.join(folder, name), str(root)): open(os.path.join(folder, name)).read()
        for folder, _folders, names in os.walk(str(root))
        for name in names
    }


def test_settings_are_set_once_and_set_back_byte_for_byte(tune, root):
    promised = tune(check=True, sysctl=SYSCTL, sysfs=SYSFS)
    assert promised["changed"] and content(root) == START

    real = tune(sysctl=SYSCTL, sysfs=SYSFS)
    assert not real["failed"] and real["steps"] == promised["steps"] and real["diff"] == promised["diff"]
    found = content(root)
    assert found["proc/sys/vm/swappiness"] == "1\n" and found["proc/sys/kernel/numa_balancing"] == "0\n"
    assert found["sys/devices/system/cpu/cpu1/cpufreq/scaling_governor"] == "performance\n"
    assert found["sys/devices/system/cpu/cpu2/cpufreq/scaling_governor"] == "userspace\n", (
        "the driver does not offer it"
    )
    assert list(real["not_set"]) == ["/sys/devices/system/cpu/cpu2/cpufreq/scaling_governor"]
    assert real["unit"] and "swappiness" in found[UNIT] and "performance" in found[UNIT]
    assert (root / RECORD).stat().st_mode & 0o777 == 0o600

    assert not tune(sysctl=SYSCTL, sysfs=SYSFS)["changed"] and content(root) == found
    back = tune(check=True)
    assert back["changed"] and content(root) == found
    assert not tune()["failed"] and content(root) == START
    assert not tune()["changed"]


def test_a_setting_that_is_not_wanted_any_more_goes_back(tune, root):
    tune(sysctl=SYSCTL)
    less = tune(sysctl={"vm.swappiness": "10"})
    assert [step["path"] for step in less["steps"]] == ["/proc/sys/kernel/numa_balancing", "/proc/sys/vm/swappiness"]
    assert content(root)["proc/sys/kernel/numa_balancing"] == "1\n"
    tune()
    assert content(root) == START, "the oldest value counts, not the one in between"


def test_after_a_boot_the_same_settings_are_set_again_and_the_old_ones_stay_known(tune, root):
    tune(sysctl=SYSCTL)
    (root / "proc/sys/vm/swappiness").write_text("60\n")
    assert [step["before"] for step in tune(sysctl=SYSCTL)["steps"]] == ["60"]
    tune()
    assert content(root) == START


@pytest.mark.parametrize("options", [{}, {"sysctl": {"kernel.numa_balancing": "0"}}], ids=["none", "one that stays"])
def test_a_run_that_is_killed_while_it_sets_back_is_ended_by_the_next(tune, root, monkeypatch, options):
    before = content(root)
    tune(sysctl=SYSCTL, sysfs=SYSFS)

    def killed(self, key, value):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(tuning.Tuning, "_write", killed)
        with pytest.raises(KeyboardInterrupt):
            tune(**options)
    tune(**options)
    tune()
    assert content(root) == before


def test_what_others_changed_since_is_not_set_back(tune, root):
    tune(sysctl=SYSCTL)
    (root / "proc/sys/vm/swappiness").write_text("30\n")
    back = tune()
    assert back["warnings"] == ["/proc/sys/vm/swappiness was changed by others to '30' since, so it is not set back"]
    assert content(root) == dict(START, **{"proc/sys/vm/swappiness": "30\n"})


@pytest.mark.parametrize("text", ["60", "60 \n", "4096\t87380 \n"])
def test_old_values_keep_their_blanks(tune, root, text):
    (root / "proc/sys/vm/swappiness").write_text(text)
    tune(sysctl={"vm.swappiness": "1"})
    assert not tune()["failed"] and (root / "proc/sys/vm/swappiness").read_text() == text


@pytest.mark.parametrize("path", ["proc/sys/vm/swappiness", OWN[1:], UNIT])
def test_check_mode_sees_all_that_others_changed_since(tune, root, path):
    """Nothing else is to do: the record is as wanted, and so is what is not changed here."""
    wanted = {"sysctl": SYSCTL, "files": {OWN: "[Service]\nCPUAffinity=4-79\n"}}
    tune(**wanted)
    assert not tune(check=True, **wanted)["changed"]
    (root / path).write_text("7\n")
    assert tune(check=True, **wanted)["changed"] and (root / path).read_text() == "7\n"
    assert tune(**wanted)["changed"] and not tune(check=True, **wanted)["changed"]


def test_a_host_without_the_files_is_left_as_it_is(tune, root):
    found = tune(sysctl={"kernel.no_such": "1"}, sysfs={"/sys/none*/x": "1"})
    assert sorted(found["not_set"]) == ["/sys/none*/x", "kernel.no_such"] and found["steps"] == []
    assert content(root) == START, "no unit for settings that the host does not have"


@pytest.mark.parametrize(
    "options",
    [
        {"sysctl": {"vm.swappiness": "1; reboot"}},
        {"sysctl": {"../../etc/passwd": "1"}},
        {"sysfs": {"/etc/passwd": "x"}},
        {"sysfs": {"/sys/../etc/passwd": "x"}},
        {"sysfs": {"/sys/a b": "x"}},
        {"sysfs": {GOVERNORS: "$(id)"}},
        {"interrupts": {"0000:c1:00.0": ["0", "$(id)"]}},
        {"interrupts": {"0000:c1:00.0": ["0"]}},
        {"interrupts": {"../../x": ["0", "1"]}},
        {"files": {"/etc/systemd/system/sshd.service.d/x.conf": ""}},
        {"files": {"/etc/systemd/system/../50-ascend-inference-tuning.conf": ""}},
        {"services": {"sshd.service": "stopped"}},
    ],
)
def test_only_names_and_plain_values_reach_the_unit(tune, root, options):
    assert tune(**options)["failed"] and content(root) == START


def test_a_damaged_record_is_an_error_before_anything_changes(tune, root):
    tune(sysctl={"vm.swappiness": "1"})
    (root / RECORD).write_text("{")
    before = content(root)
    found = tune()
    assert found["failed"] and "damaged" in found["msg"] and content(root) == before


@pytest.mark.parametrize("path", [RECORD, os.path.dirname(RECORD)], ids=["file", "folder"])
def test_a_record_that_others_can_write_sets_nothing(tune, root, path):
    tune(sysctl={"vm.swappiness": "1"})
    os.chmod(str(root / path), 0o777)
    before = content(root)
    found = tune()
    assert found["failed"] and "not trusted" in found["msg"] and content(root) == before


class Kernel:
    """open() of files behind which the kernel is: ``refuses`` ends of paths, ``makes`` maps a name to what becomes of each value."""

    def __init__(self):
        self.refuses, self.makes = set(), {}

    def __call__(self, path, mode="r", **more):
        name = os.path.basename(path)
        if mode == "w" and any(path.endswith("/" + end) for end in self.refuses):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        if mode == "w" and name in self.makes:
            with open(path, "w") as stream:
                stream.write(self.makes[name])
            return io.StringIO()
        return open(path, mode, **more)


@pytest.fixture
def kernel(monkeypatch):
    found = Kernel()
    monkeypatch.setattr(tuning, "open", found, raising=False)
    return found


def test_what_the_kernel_refuses_is_named_and_the_rest_is_set_and_goes_back(tune, root, kernel):
    kernel.refuses.add("swappiness")
    found = tune(sysctl=SYSCTL, sysfs=SYSFS)
    assert not found["failed"] and found["changed"], found
    assert found["not_set"]["vm.swappiness"] == "the kernel refuses '1' (Invalid argument)"
    assert "/proc/sys/vm/swappiness" not in [step["path"] for step in found["steps"]] and len(found["steps"]) == 3
    done = content(root)
    assert done["proc/sys/kernel/numa_balancing"] == "0\n" and done["proc/sys/vm/swappiness"] == "60\n"
    assert "swappiness" not in done[UNIT] and "numa_balancing" in done[UNIT] and "swappiness" not in done[RECORD]
    again = tune(sysctl=SYSCTL, sysfs=SYSFS)
    assert not again["changed"] and again["steps"] == [] and again["not_set"] == found["not_set"]
    assert content(root) == done
    assert not tune()["failed"] and content(root) == START


def test_a_host_that_refuses_everything_is_left_without_a_trace(tune, root, kernel):
    kernel.refuses.update(("swappiness", "numa_balancing"))
    for dummy in range(2):
        found = tune(sysctl=SYSCTL)
        assert not found["failed"] and not found["changed"] and not found["unit"] and len(found["not_set"]) == 2
        assert content(root) == START


def test_the_old_value_stays_known_where_the_kernel_refuses_later(tune, root, kernel):
    """After a boot, in which a container lost its rights."""
    tune(sysctl=SYSCTL)
    (root / "proc/sys/vm/swappiness").write_text("60\n")
    kernel.refuses.add("swappiness")
    before = content(root)
    found = tune(sysctl=SYSCTL)
    assert not found["failed"] and not found["changed"] and "refuses" in found["not_set"]["vm.swappiness"]
    assert content(root) == before
    kernel.refuses.clear()
    assert tune(sysctl=SYSCTL)["changed"] and not tune()["failed"] and content(root) == START


def test_another_value_that_the_kernel_refuses_keeps_the_way_back(tune, root, kernel):
    tune(sysctl={"vm.swappiness": "1"})
    kernel.refuses.add("swappiness")
    found = tune(sysctl={"vm.swappiness": "5"})
    assert not found["failed"] and "refuses" in found["not_set"]["vm.swappiness"]
    kernel.refuses.clear()
    back = tune()
    assert not back["failed"] and back["warnings"] == [] and content(root) == START


def test_huge_pages_of_which_the_kernel_finds_fewer_go_back(tune, rack, kernel):
    """They must not count as changed by others, or they stay reserved for ever."""
    before, wanted = content(rack), {"sysctl": {"vm.nr_hugepages": "1024"}}
    kernel.makes["nr_hugepages"] = "700\n"
    found = tune(**wanted)
    assert not found["failed"] and found["steps"] == [
        {"path": "/proc/sys/vm/nr_hugepages", "before": "16", "after": "700"}
    ]
    assert found["not_set"]["vm.nr_hugepages"] == "it was set to '1024', but it is '700'" + tuning.PAGES
    assert "1024" in content(rack)[UNIT], "at a boot there is free memory"
    again = tune(**wanted)
    assert not again["changed"] and again["not_set"] == found["not_set"]

    kernel.makes["nr_hugepages"] = "300\n"  # of which 300 are in use
    back = tune()
    assert back["failed"] and "not set back: /proc/sys/vm/nr_hugepages" in back["msg"] and "Fix:" in back["msg"]
    kernel.makes.clear()
    back = tune()
    assert not back["failed"] and back["warnings"] == [] and content(rack) == before


def test_huge_pages_that_are_found_later_are_set_and_go_back(tune, rack, kernel):
    before, wanted = content(rack), {"sysctl": {"vm.nr_hugepages": "1024"}}
    kernel.makes["nr_hugepages"] = "700\n"
    tune(**wanted)
    kernel.makes.clear()
    found = tune(**wanted)
    assert found["changed"] and found["not_set"] == {} and "700" not in content(rack)[RECORD]
    assert not tune(**wanted)["changed"]
    assert not tune()["failed"] and content(rack) == before


def test_what_the_kernel_does_not_set_back_is_an_error_and_stays_known(tune, root, kernel):
    tune(sysctl=SYSCTL, sysfs=SYSFS)
    kernel.refuses.add("numa_balancing")  # the first of the steps
    back = tune()
    assert back["failed"] and "not set back: /proc/sys/kernel/numa_balancing: the kernel refuses '1'" in back["msg"]
    left = content(root)
    assert {path for path in left if left[path] != START.get(path)} == {"proc/sys/kernel/numa_balancing", RECORD, MARK}
    kernel.refuses.clear()
    assert not tune()["failed"] and content(root) == START


def test_no_interrupt_of_an_npu_is_bound_at_boot_if_the_kernel_refuses_one(tune, rack, kernel):
    before = content(rack)
    kernel.refuses.add("813/smp_affinity_list")
    found = tune(interrupts=LATENCY["interrupts"])
    assert list(found["not_set"]) == ["interrupt 0000:c1:00.0 update"]
    assert "0000:c1:00.0" not in content(rack)[UNIT] and "0000:01:00.0" in content(rack)[UNIT]
    assert not tune()["failed"] and content(rack) == before


def test_a_unit_that_cannot_be_written_changes_no_setting(tune, root, monkeypatch):
    real = tree.write

    def write(folder, name, *rest):
        if name.endswith(".service"):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        real(folder, name, *rest)

    monkeypatch.setattr(tree, "write", write)
    found = tune(sysctl=SYSCTL)
    assert found["failed"] and f"/{UNIT} cannot be written: Read-only file system" in found["msg"]
    assert content(root)["proc/sys/vm/swappiness"] == "60\n"
    monkeypatch.setattr(tree, "write", real)
    assert not tune()["failed"] and content(root) == START


NPUS = {"0000:c1:00.0": (812, 813), "0000:01:00.0": (900, 901)}
PAGES = "sys/kernel/mm/transparent_hugepage"
DROP_IN = "/etc/systemd/system/irqbalance.service.d/50-ascend-inference-tuning.conf"
LATENCY = {
    "sysctl": dict(SYSCTL, **{"vm.nr_hugepages": "1024"}),
    "sysfs": dict(
        SYSFS,
        **{
            "/sys/kernel/mm/transparent_hugepage/enabled": "madvise",
            "/sys/kernel/mm/transparent_hugepage/defrag": "defer+madvise",
        },
    ),
    "interrupts": {"0000:c1:00.0": ["0", "1"], "0000:01:00.0": ["40", "41"]},
    "files": {OWN: "[Service]\nCPUAffinity=4-79\n"},
    "services": {"irqbalance.service": "stopped"},
}
WORDS = {"enabled": ("always", "madvise", "never"), "defrag": ("always", "defer", "defer+madvise", "madvise", "never")}


def kernel_shows(root):
    """Transparent huge pages as the kernel shows them after a write: all values, the chosen one in brackets."""
    for name, words in WORDS.items():
        place = root / PAGES / name
        chosen = place.read_text().strip()
        if "[" not in chosen:
            place.write_text(" ".join(f"[{word}]" if word == chosen else word for word in words) + "\n")


@pytest.fixture
def rack(root, tmp_path):
    """The tree with all that the profile latency sets, and a systemctl that keeps the state of irqbalance in a file."""
    files = {
        "proc/sys/vm/nr_hugepages": "16\n",
        f"{PAGES}/enabled": "[always] madvise never\n",
        f"{PAGES}/defrag": "always defer defer+madvise [madvise] never\n",
        "proc/interrupts": "           CPU0\n 812:  5  ITS-MSI 1 Edge  sq_send_trigger_irq\n 813: 1 ITS-MSI 2 Edge cq_update_irq\n"
        " 900:  7  ITS-MSI 9 Edge  sq_send_trigger_irq\n 901: 1 x Edge cq_update_irq\nNMI:  0 x\n",
    }
    for address, numbers in NPUS.items():
        for number in numbers:
            files[f"sys/bus/pci/devices/{address}/msi_irqs/{number}"] = "msix\n"
            files[f"proc/irq/{number}/smp_affinity_list"] = f"0-{number}\n"
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    state = tmp_path / "irqbalance"
    state.write_text("active enabled")
    systemctl = tmp_path / "systemctl"
    systemctl.write_text(SYSTEMCTL.format(state=state, log=tmp_path / "calls"))
    systemctl.chmod(0o755)
    return root


SYSTEMCTL = """#!/bin/sh
read -r active enabled < {state}
echo "$1" >> {log}
case "$1" in
show) echo LoadState=loaded; echo ActiveState=$active; echo UnitFileState=$enabled ;;
stop) active=inactive ;;
start) active=active ;;
disable) enabled=disabled ;;
enable) enabled=enabled ;;
esac
echo "$active $enabled" > {state}
"""


def test_all_settings_of_the_profile_latency_go_back_byte_for_byte(tune, rack, tmp_path):
    before, systemctl = content(rack), str(tmp_path / "systemctl")
    promised = tune(check=True, systemctl=systemctl, **LATENCY)
    assert content(rack) == before and (tmp_path / "irqbalance").read_text().split() == ["active", "enabled"]

    real = tune(systemctl=systemctl, **LATENCY)
    kernel_shows(rack)
    assert not real["failed"], real["msg"]
    assert real["steps"] == promised["steps"]
    assert {"path": "irqbalance.service", "before": "active, enabled", "after": "stopped"} in real["steps"]
    assert {"path": f"/{PAGES}/enabled", "before": "always", "after": "madvise"} in real["steps"]
    shown = {item["before_header"]: (item["before"], item["after"]) for item in promised["diff"]}
    assert set(shown) == {"settings", OWN, "/" + UNIT} and shown[OWN] == ("", LATENCY["files"][OWN])
    assert "irqbalance.service = active, enabled\n" in shown["settings"][0]
    assert {"path": "/proc/irq/901/smp_affinity_list", "before": "0-901", "after": "41"} in real["steps"]
    assert (tmp_path / "irqbalance").read_text().split() == ["inactive", "disabled"]
    assert content(rack)["proc/irq/812/smp_affinity_list"] == "0\n"
    assert (rack / OWN[1:]).read_text() == LATENCY["files"][OWN]
    assert not tune(systemctl=systemctl, **LATENCY)["changed"]

    back = tune(systemctl=systemctl)
    kernel_shows(rack)
    assert not back["failed"] and back["warnings"] == [] and content(rack) == before
    assert (tmp_path / "irqbalance").read_text().split() == ["active", "enabled"]
    assert not (rack / OWN[1:]).parent.exists()
    assert not tune(systemctl=systemctl)["changed"]


def test_interrupts_go_back_although_their_numbers_changed_at_a_boot(tune, rack, tmp_path):
    tune(interrupts=LATENCY["interrupts"])
    for kind, old, new in (("send", 812, 700), ("update", 813, 701)):
        (rack / f"sys/bus/pci/devices/0000:c1:00.0/msi_irqs/{old}").rename(
            rack / f"sys/bus/pci/devices/0000:c1:00.0/msi_irqs/{new}"
        )
        place = rack / f"proc/irq/{new}/smp_affinity_list"
        place.parent.mkdir()
        place.write_text("0\n" if kind == "send" else "1\n")  # as the unit sets them at boot
    text = (rack / "proc/interrupts").read_text().replace(" 812:", " 700:").replace(" 813:", " 701:")
    (rack / "proc/interrupts").write_text(text)
    assert not tune()["failed"]
    assert (rack / "proc/irq/700/smp_affinity_list").read_text() == "0-812\n"


def test_the_units_commands_set_the_interrupts_at_boot(tune, rack, tmp_path):
    """Each command of the unit, run by a shell on the made-up tree."""
    tune(**dict(LATENCY, services={}, files={}))
    unit = (rack / UNIT).read_text()
    for name, text in {"812/smp_affinity_list": "0-812\n", "901/smp_affinity_list": "0-901\n"}.items():
        (rack / "proc/irq" / name).write_text(text)
    (rack / "proc/sys/vm/nr_hugepages").write_text("16\n")
    commands = [line[len("ExecStart=-/bin/sh -c '") : -1] for line in unit.splitlines() if line.startswith("ExecStart")]
    assert len(commands) == 9
    for command in commands:
        inside = command.replace("$$", "$").replace("/sys/", f"{rack}/sys/").replace("/proc/", f"{rack}/proc/")
        inside = inside.replace(f"{rack}{rack}", str(rack)).replace(f"/proc{rack}/sys/", "/proc/sys/")
        assert subprocess.run(["/bin/sh", "-c", inside], timeout=20, check=False).returncode == 0, command
    assert (rack / "proc/irq/812/smp_affinity_list").read_text() == "0\n"
    assert (rack / "proc/irq/901/smp_affinity_list").read_text() == "41\n"
    assert (rack / "proc/sys/vm/nr_hugepages").read_text() == "1024\n"


def test_irqbalance_with_a_drop_in_is_restarted_and_goes_back(tune, rack, tmp_path):
    before, systemctl = content(rack), str(tmp_path / "systemctl")
    wanted = {"files": {DROP_IN: "[Service]\n"}, "services": {"irqbalance.service": "excluding"}}
    done = tune(systemctl=systemctl, **wanted)
    assert not done["failed"] and done["restart"] == []
    assert (tmp_path / "calls").read_text().split() == ["daemon-reload", "try-restart"]
    assert (tmp_path / "irqbalance").read_text().split() == ["active", "enabled"]
    assert not tune(systemctl=systemctl, **wanted)["changed"]
    assert not tune(systemctl=systemctl)["failed"] and content(rack) == before
    assert (tmp_path / "calls").read_text().split() == ["daemon-reload", "try-restart"] * 2


def test_a_drop_in_of_others_is_kept_and_set_back(tune, rack):
    place = rack / OWN[1:]
    place.parent.mkdir(parents=True)
    place.write_text("[Service]\nNice=5\n")
    before = content(rack)
    assert tune(files=LATENCY["files"])["restart"] == ["inference-prefill-0.service"]
    assert place.read_text() == LATENCY["files"][OWN]
    assert tune(files=LATENCY["files"])["restart"] == []
    assert tune()["restart"] == ["inference-prefill-0.service"]
    assert content(rack) == before


def test_a_service_that_others_started_since_is_left_as_it_is(tune, rack, tmp_path):
    systemctl = str(tmp_path / "systemctl")
    tune(systemctl=systemctl, services={"irqbalance.service": "stopped"})
    (tmp_path / "irqbalance").write_text("active disabled")
    assert "irqbalance.service was started" in tune(systemctl=systemctl)["warnings"][0]
    assert (tmp_path / "irqbalance").read_text().split() == ["active", "disabled"]


@pytest.mark.parametrize(
    ("before", "steps"),
    [
        ("active enabled", ["stop", "disable"]),
        ("activating disabled", ["stop"]),
        ("reloading disabled", ["stop"]),
        ("inactive enabled", ["disable"]),
        ("failed disabled", []),
        ("deactivating disabled", []),
    ],
)
def test_a_service_runs_also_while_it_starts_or_reloads(tune, rack, tmp_path, before, steps):
    """One that is just starting would run beside the settings a moment later."""
    (tmp_path / "irqbalance").write_text(before)
    found = tune(systemctl=str(tmp_path / "systemctl"), services={"irqbalance.service": "stopped"})
    calls = (tmp_path / "calls").read_text().split()
    assert found["changed"] == bool(steps) and set(steps) <= {*calls}
    assert ("stop" in calls) == bool(steps) and ("disable" in calls) == ("disable" in steps)


def test_what_is_remembered_stays_wanted_where_it_cannot_be_written_now(tune, root, monkeypatch):
    """Else a check without rights would promise to set it back."""
    assert not tune(sysctl=SYSCTL)["failed"]
    (root / "proc/sys/vm/swappiness").write_text("60\n")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    found = tune(check=True, sysctl=SYSCTL)
    assert len(found["steps"]) == 1 and "swappiness" in str(found["steps"]) and found["not_set"] == {}


def test_what_cannot_be_written_is_skipped_and_leaves_no_trace(tune, root, monkeypatch):
    """In a container /proc/sys is read-only."""
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    found = tune(sysctl=SYSCTL, sysfs=SYSFS)
    assert not found["failed"] and not found["changed"] and content(root) == START
    assert "read-only" in found["not_set"]["vm.swappiness"]


def test_a_host_without_systemctl_skips_the_service(tune, rack, tmp_path):
    found = tune(systemctl=str(tmp_path / "none"), services={"irqbalance.service": "stopped"})
    assert not found["failed"] and "does not exist" in found["not_set"]["irqbalance.service"]


def test_of_two_runs_at_once_the_second_goes_on_from_what_the_first_remembers(tune, root, monkeypatch):
    locked = host_tuning.locked

    @contextlib.contextmanager
    def late(place):
        """Another run begins and ends between the comparison of this one and its lock."""
        monkeypatch.setattr(host_tuning, "locked", locked)
        other = {"sysctl": {"vm.swappiness": "10", "kernel.numa_balancing": "0"}}
        params = {"root": place, "record": "/" + RECORD, "unit": "/" + UNIT, "systemctl": None}
        host_tuning.tuned(params, other, apply=True)
        with locked(place):
            yield

    monkeypatch.setattr(host_tuning, "locked", late)
    assert tune(sysctl={"vm.swappiness": "1"})["changed"]
    assert (root / "proc/sys/vm/swappiness").read_text() == "1\n"
    assert tune()["changed"] and content(root) == START


def test_a_run_beside_another_one_is_refused_and_changes_nothing(tune, root, monkeypatch):
    monkeypatch.setattr(host_tuning, "PATIENCE", 0)
    with host_tuning.locked(str(root)):
        before = content(root)
        found = tune(sysctl=SYSCTL)
        assert found["failed"] and f"is held by process {os.getpid()} on" in found["msg"] and "Fix:" in found["msg"]
        assert content(root) == before
        assert tune(check=True, sysctl=SYSCTL)["changed"] and not tune()["changed"]  # neither needs the lock
    assert content(root) == START


@pytest.mark.parametrize("name", ["vm.nr_hugepages", "vm.swappiness"])
def test_memory_explains_only_huge_pages_of_which_there_are_some(tune, rack, kernel, name):
    kernel.makes["swappiness"] = "7\n"
    kernel.refuses.add("nr_hugepages")
    why = tune(sysctl={name: "10"})["not_set"][name]
    assert tuning.PAGES not in why and ("refuses '10'" if name == "vm.nr_hugepages" else "but it is '7'") in why
