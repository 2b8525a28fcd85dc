# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts of the kernel's files, on text and on a socket of our own."""

from __future__ import annotations

import json
import os
import platform
import socket

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.host import (
    cpu_list,
    facts,
    gather,
    interrupts,
    reserved_ports,
)
from ansible_collections.ascend.inference.plugins.module_utils.host import model_facts as model_facts_module
from ansible_collections.ascend.inference.plugins.module_utils.host.model_facts import model_facts
from ansible_collections.ascend.inference.plugins.module_utils.tools.runner import Output, ToolMissing

MEMINFO = (
    "MemTotal:  1056000 kB\nMemAvailable:  528000 kB\nHugePages_Total:  40\nHugePages_Free: 12\nHugepagesize: 2048 kB\n"
)
LIMITS = (
    "Limit                     Soft Limit           Hard Limit           Units\n"
    "Max locked memory         8388608              unlimited            bytes\n"
    "Max open files            1024                 524288               files\n"
)


def test_a_listening_socket_is_found_with_its_owner():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        found = [item for item in facts.listening() if item["port"] == port]
    assert [(item["address"], item["pid"]) for item in found] == [("127.0.0.1", os.getpid())]


@pytest.mark.parametrize(
    ("word", "address"),
    [
        ("0100007F", "127.0.0.1"),
        ("00000000", "0.0.0.0"),
        ("00000000000000000000000001000000", "::1"),
        ("00000000000000000000000000000000", "::"),
        ("0000000000000000FFFF00000200000A", "10.0.0.2"),  # of an IPv6 socket that takes IPv4 connections
    ],
)
def test_addresses_are_decoded(word, address):
    assert facts.decode_address(word) == address


def test_memory_and_limits():
    assert facts.parse_meminfo(MEMINFO) == {
        "memory_total_mib": 1031,
        "memory_available_mib": 515,
        "hugepages_total": 40,
        "hugepages_free": 12,
        "hugepage_size_kib": 2048,
    }
    assert facts.parse_limits(LIMITS) == {"memlock_bytes": None, "nofile": 524288}


def test_disk_of_a_path_that_does_not_exist_yet(tmp_path):
    found = facts.disk(str(tmp_path / "not" / "yet"))
    assert found["free_mib"] > 0 and (found["read_only"], found["no_exec"]) == (False, False)


@pytest.mark.parametrize(
    ("flag", "files", "expected"),
    [
        (os.ST_RDONLY, 100, (7, True, False)),
        (os.ST_NOEXEC | os.ST_NODEV, 100, (7, False, True)),
        (0, 0, (None, False, False)),  # the file system creates inodes as needed
    ],
)
def test_mount_options_and_inodes_of_a_disk(tmp_path, monkeypatch, flag, files, expected):
    found = os.statvfs_result((4096, 4096, 900, 800, 700, files, 8, 7, flag, 255))
    monkeypatch.setattr(facts.os, "statvfs", lambda path: found)
    disk = facts.disk(str(tmp_path))
    assert (disk["free_inodes"], disk["read_only"], disk["no_exec"]) == expected


def test_the_mtu_of_an_interface_is_returned():
    record = {"ifname": "eth0", "mtu": 9000, "flags": ["UP"], "addr_info": [{"local": "10.0.0.1"}]}
    assert facts.addresses([record]) == {"eth0": {"up": True, "addresses": ["10.0.0.1"], "mtu": 9000}}


def test_equal_models_have_equal_fingerprints_and_others_not(tmp_path):
    folders = []
    for name, text in (("a", "x"), ("b", "x"), ("c", "y")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps({"text_config": {"head_dim": 64}}))
        (folder / "model.safetensors").write_text(text)
        folders.append(model_facts(str(folder)))
    prints = [folder["fingerprint"] for folder in folders]
    assert prints[0] == prints[1] != prints[2]
    assert folders[0]["config"] == {"head_dim": 64}


@pytest.mark.parametrize(("text", "word"), [("{", "not JSON"), ("[]", "not a JSON object")])
def test_a_broken_configuration_is_named(tmp_path, text, word):
    (tmp_path / "config.json").write_text(text)
    assert word in model_facts(str(tmp_path))["config_error"]


def test_names_of_a_model_that_are_no_utf_8_are_judged_as_well(tmp_path):
    """Its author chose them, in the folder and in the index of weights; Ansible takes no result with them."""
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "\ud800", "b": "x\0"}}))
    before = model_facts(str(tmp_path))
    assert before["missing"] == ["\\ud800", "x\\x00"]
    with open(os.path.join(os.fsencode(str(tmp_path)), b"\xff\n.json"), "w") as stream:
        stream.write("{}")
    os.symlink(b"nowhere", os.path.join(os.fsencode(str(tmp_path)), b"\xfe.bin"))
    with open(os.path.join(os.fsencode(str(tmp_path)), b"\xfd.safetensors"), "w") as stream:
        stream.write("short")
    found = model_facts(str(tmp_path))
    assert found["fingerprint"] != before["fingerprint"] and "\\udcfe.bin" in found["missing"]
    assert found["damaged"] == ["\\udcfd.safetensors is not a safetensors file"]
    json.dumps(found, ensure_ascii=False).encode("utf-8")


def test_a_configuration_with_half_a_character_is_named(tmp_path):
    (tmp_path / "config.json").write_text('{"architectures": ["\\ud800"], "head_dim": 1}')
    found = model_facts(str(tmp_path))
    assert found["config"] == {} and "no character" in found["config_error"]
    (tmp_path / "config.json").write_text('{"architectures": ["\\ud83d\\ude00"], "_name": "\\ud800"}')
    found = model_facts(str(tmp_path))
    assert found["config"] == {"architectures": ["\U0001f600"]} and found["config_error"] == ""


def test_a_missing_model_is_an_answer():
    assert model_facts("/nowhere/at/all") == {
        "path": "/nowhere/at/all",
        "exists": False,
        "config": {},
        "config_error": "",
        "quantized": False,
        "size_mib": 0,
        "files": 0,
        "fingerprint": "",
        "missing": [],
        "damaged": [],
        "tokenizer": False,
        "chat_template": False,
        "tool_parsers": [],
        "weights": {},
        "schemes": [],
    }


def test_the_methods_of_quantized_layers_are_named(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    described = {
        "a.weight": "W8A8_DYNAMIC",
        "b.weight": "FLOAT",
        "b.bias": "W8A8",
        "c.weight": "W8A8_DYNAMIC",
        "version": "1.0",
        "d.weight": 7,
    }
    place = tmp_path / "quant_model_description.json"
    place.write_text(json.dumps(described))
    assert model_facts(str(tmp_path))["schemes"] == ["FLOAT", "W8A8_DYNAMIC"]
    place.write_text(json.dumps({f"{number}.weight": f"{number}" * 99 for number in range(30)}))
    found = model_facts(str(tmp_path))["schemes"]
    assert len(found) == 20 and max(map(len, found)) == 40
    for odd in ("[]", "{", "3"):
        place.write_text(odd)
        assert model_facts(str(tmp_path))["schemes"] == []


def test_a_folder_that_cannot_be_read_is_named(tmp_path, monkeypatch):
    def refused(_path):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "config.json").write_text('{"head_dim": 3}')
    monkeypatch.setattr(model_facts_module.os, "listdir", refused)
    found = model_facts(str(tmp_path))
    assert found["config_error"] == "is in a folder that cannot be read: Permission denied" and found["exists"]
    assert (found["config"], found["files"], found["missing"]) == ({"head_dim": 3}, 0, [])


# Of heads, layers and experts the planner computes memory and parallelism; of the others it knows the family, the context and the precision.
KNOWN = (
    "architectures",
    "dtype",
    "full_attention_interval",
    "head_dim",
    "hidden_size",
    "index_head_dim",
    "kv_lora_rank",
    "layer_types",
    "max_position_embeddings",
    "model_type",
    "n_routed_experts",
    "num_attention_heads",
    "num_experts",
    "num_hidden_layers",
    "num_key_value_heads",
    "num_local_experts",
    "num_nextn_predict_layers",
    "qk_rope_head_dim",
    "quantization_config",
    "torch_dtype",
)


@pytest.mark.parametrize("inside", [False, True])
def test_what_the_planner_asks_of_a_configuration_is_read(tmp_path, inside):
    known = {key: number for number, key in enumerate(KNOWN)}
    given = {**known, "vocab_size": 7, "transformers_version": "5"}
    (tmp_path / "config.json").write_text(json.dumps({"text_config": given, "x": 1} if inside else given))
    assert model_facts(str(tmp_path))["config"] == known


@pytest.mark.parametrize("text", [None, 3, []])
def test_a_text_part_of_another_form_is_none(tmp_path, text):
    (tmp_path / "config.json").write_text(json.dumps({"text_config": text, "head_dim": 3}))
    found = model_facts(str(tmp_path))
    assert (found["config"], found["config_error"]) == ({"head_dim": 3}, "")


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("tokenizer.json", True),
        ("tokenizer.model", True),
        ("vocab.json", True),
        ("tekken.json", True),
        ("tiktoken.model", True),
        ("qwen.tiktoken", True),
        ("tokenizer_config.json", False),
        ("merges.txt", False),
        ("tiktoken", False),
    ],
)
def test_files_that_a_tokenizer_is_loaded_from(tmp_path, name, is_one):
    (tmp_path / name).write_text("{}")
    assert model_facts(str(tmp_path))["tokenizer"] is is_one


def test_templates_in_a_folder_of_their_own_count(tmp_path):
    assert not model_facts(str(tmp_path))["chat_template"]
    (tmp_path / "additional_chat_templates").mkdir()
    assert model_facts(str(tmp_path))["chat_template"]


def test_a_link_counts_as_what_it_leads_to(tmp_path):
    """Downloads of the hub are links to files with names of their own."""
    prints = []
    for name in ("plain", "linked"):
        folder, blob = tmp_path / name, tmp_path / "blob"
        folder.mkdir()
        place = folder / "model.safetensors"
        (place if name == "plain" else blob).write_text("x")
        if name == "linked":
            place.symlink_to(blob)
        prints.append(model_facts(str(folder))["fingerprint"])
    (tmp_path / "blob").write_text("y")
    assert prints[0] == prints[1] != model_facts(str(tmp_path / "linked"))["fingerprint"]


@pytest.mark.parametrize(("size", "whole"), [(64 * 2**20, True), (64 * 2**20 + 1, False)])
def test_files_up_to_64_mib_are_compared_whole_and_larger_ones_by_a_mib_at_each_end(tmp_path, size, whole):
    def prints(place):
        with (tmp_path / "a.bin").open("wb") as stream:
            stream.truncate(size)
            stream.seek(place)
            stream.write(b"x")
        return model_facts(str(tmp_path))["fingerprint"]

    if whole:
        assert prints(2**25) != prints(2**25 + 1)
    else:
        middle = prints(2**25)
        assert middle == prints(2**20) == prints(size - 2**20 - 1)
        assert len({middle, prints(2**20 - 1), prints(size - 2**20), prints(0)}) == 4


def test_large_files_that_differ_in_their_length_only_are_different(tmp_path):
    found = set()
    for more in (1, 2):
        with (tmp_path / "a.bin").open("wb") as stream:
            stream.truncate(64 * 2**20 + more)
        found.add(model_facts(str(tmp_path))["fingerprint"])
    assert len(found) == 2


def test_sizes_of_weights_are_among_the_facts(tmp_path):
    head = json.dumps({"lm_head.weight": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 8]}}).encode()
    (tmp_path / "a.safetensors").write_bytes(len(head).to_bytes(8, "little") + head + bytes(8))
    found = model_facts(str(tmp_path))
    assert found["weights"] and found["weights"] == model_facts_module.weight_sizes(str(tmp_path))
    assert found["damaged"] == []


def test_a_renamed_file_is_another_one(tmp_path):
    found = []
    for name in ("a.bin", "b.bin"):
        (tmp_path / name).write_text("x")
        found.append(model_facts(str(tmp_path))["fingerprint"])
        (tmp_path / name).unlink()
    assert found[0] != found[1]


HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
ROW = "   0: {} 00000000:0000 {} 00000000:00000000 00:00000000 00000000     0        0 {} 1 0 100 0\n"


@pytest.fixture
def proc(tmp_path):
    """A /proc with two processes that share a socket, of which the first is a service, and one socket of nobody."""
    (tmp_path / "net").mkdir()
    rows = [
        ("0100007F:1F91", "0A", 11),
        ("0200007F:1F90", "0A", 12),
        ("0100007F:1F90", "0A", 11),
        ("0100007F:1F92", "01", 13),
    ]
    (tmp_path / "net" / "tcp").write_text(
        HEAD + "".join(ROW.format(*row) for row in rows) + "   4: 0100007F:1F93 short 0A\n"
    )
    for pid, environment in (
        ("70", "A=1\0ASCEND_INFERENCE_SERVICE=/srv/a\nb\0"),
        ("9", "X_ASCEND_INFERENCE_SERVICE=/no\0"),
        ("100", ""),
    ):
        (tmp_path / pid / "fd").mkdir(parents=True)
        (tmp_path / pid / "environ").write_text(environment)
        (tmp_path / pid / "cmdline").write_text(f"vllm\0serve\0{pid}{'x' * 300}\0")
    for pid, number, target in (
        ("70", "3", "socket:[11]"),
        ("100", "4", "socket:[11]"),
        ("9", "5", "pipe:[12]"),
        ("9", "6", "socket:[13]"),
    ):
        (tmp_path / pid / "fd" / number).symlink_to(target)
    (tmp_path / "9" / "fd" / "0").write_text("no link")
    (tmp_path / "80").mkdir()  # ended since, or of another user
    return str(tmp_path)


def test_listening_sockets_come_by_port_and_address_with_the_first_owner(proc):
    found = facts.listening(proc)
    assert [(item["port"], item["address"], item["pid"]) for item in found] == [
        (8080, "127.0.0.1", 70),
        (8080, "127.0.0.2", 0),
        (8081, "127.0.0.1", 70),
    ]
    assert (found[0]["service"], found[0]["command"][:15], len(found[0]["command"])) == (
        "/srv/a\\nb",
        "vllm serve 70xx",
        200,
    )
    assert (found[1]["service"], found[1]["command"]) == ("", "")
    assert facts.own_processes(proc) == [{"pid": 70, "service": "/srv/a\\nb"}]
    assert facts.socket_owners(proc) == {"11": 70, "13": 9}


def test_a_service_s_name_is_as_long_as_a_path_may_be(tmp_path):
    (tmp_path / "5").mkdir()
    (tmp_path / "5" / "environ").write_text(facts.MARK + "x" * 5000)
    assert len(facts.service_of(5, str(tmp_path))) == 4096
    assert facts.service_of(6, str(tmp_path)) == ""


def test_what_the_kernel_does_not_tell_is_zero_or_missing():
    assert set(facts.parse_meminfo("MemTotal: no number\nHugePages_Total:\n").values()) == {0}
    assert facts.parse_limits("Max processes  1  2  processes\n") == {}
    assert facts.parse_limits("Max locked memory  1  65536  bytes\n") == {"memlock_bytes": 65536}


@pytest.mark.parametrize(("state", "synchronised"), [(-1, False), (0, True), (1, True), (4, True), (5, False)])
def test_a_clock_is_synchronised_unless_the_kernel_says_otherwise(monkeypatch, state, synchronised):
    class Library:
        def adjtimex(self, pointer):
            pointer._obj[3] = 1500
            return state

    monkeypatch.setattr(facts.ctypes, "CDLL", lambda *_name, **_more: Library())
    assert facts.clock() == {"synchronised": synchronised, "max_error_ms": 1.5}
    monkeypatch.setattr(facts.ctypes, "CDLL", lambda *_name, **_more: object())  # another C library
    assert facts.clock() == {"synchronised": None, "max_error_ms": None}


def test_the_free_space_of_a_disk_is_that_of_users_in_mib(tmp_path, monkeypatch):
    found = os.statvfs_result((512, 4096, 9000, 2560, 1280, 100, 8, 7, 0, 255))
    monkeypatch.setattr(facts.os, "statvfs", lambda path: found)
    path = str(tmp_path / "not yet")
    assert facts.disk(path) == {"path": path, "free_mib": 5, "free_inodes": 7, "read_only": False, "no_exec": False}
    assert gather.shared_memory() == 35


def test_an_interface_without_a_name_or_an_address():
    records = [{}, {"ifname": "ib0", "flags": ["NO-CARRIER"], "addr_info": [{"family": "inet"}]}, {"ifname": "lo"}]
    nothing = {"up": False, "addresses": [], "mtu": None}
    assert facts.addresses(records) == {"ib0": nothing, "lo": nothing}


@pytest.mark.parametrize(
    ("answer", "found", "warning"),
    [
        (Output([], 0, "", "", False), {}, None),
        (Output([], 0, "{", "noise", False), None, "the output of ip -json address is not JSON: "),
        (Output([], 2, "[]", " no such option\n", False), None, "ip -json address failed: no such option"),
        (Output([], 124, "", "", True), None, "ip -json address failed: exceeded the timeout"),
        (ToolMissing("ip"), None, "the command ip (package iproute2) is missing: interfaces are unknown"),
    ],
)
def test_interfaces_are_unknown_with_the_reason(monkeypatch, answer, found, warning):
    def run(command, timeout):
        assert (command[1:], timeout) == (["-json", "address"], 10)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(gather, "find_executable", lambda name: name)
    monkeypatch.setattr(gather, "run", run)
    interfaces, warnings = gather.interfaces()
    assert interfaces == found and len(warnings) == (warning is not None)
    assert all(text.startswith(warning) for text in warnings)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('NAME="openEuler"\nPRETTY_NAME="openEuler 24.03 (LTS)"\n', "openEuler 24.03 (LTS)"),
        ("PRETTY_NAME='A=B'\n\nno pair\n", "A=B"),
        ("NAME=Debian\n", ""),
        ("", ""),
    ],
)
def test_the_name_of_an_operating_system(text, name):
    assert gather.operating_system(text) == name


def test_facts_of_the_system(monkeypatch):
    found = [(2, 1, 6, "", ("10.0.0.2", 0)), (2, 2, 17, "", ("10.0.0.2", 0)), (2, 1, 6, "", ("10.0.0.1", 0))]
    monkeypatch.setattr(gather.socket, "gethostname", lambda: "node-1")
    monkeypatch.setattr(
        gather.socket, "getaddrinfo", lambda name, port, family: found if family == socket.AF_INET else []
    )
    monkeypatch.setattr(gather.os, "environ", {"https_proxy": "", "NO_PROXY": "", "HTTP_PROXY": "", "All_Proxy": ""})
    monkeypatch.setattr(gather.facts, "read", lambda path: f" {path}\n")
    system = gather.system()
    assert (system["hostname"], system["hostname_addresses"]) == ("node-1", ["10.0.0.1", "10.0.0.2"])
    assert system["proxy_variables"] == ["All_Proxy", "HTTP_PROXY", "https_proxy"]
    assert (system["machine_id"], system["os"]) == ("/etc/machine-id", "")
    assert (system["kernel"], system["machine"]) == (os.uname().release, os.uname().machine)

    def unknown(*_arguments):
        raise OSError("no such name")

    monkeypatch.setattr(gather.socket, "getaddrinfo", unknown)
    assert gather.system()["hostname_addresses"] == []


def test_the_offset_of_a_clock_is_positive_if_the_host_is_ahead(monkeypatch):
    monkeypatch.setattr(gather.time, "time", lambda: 1000.5)
    assert (gather.clock(1000.0)["offset"], gather.clock(1000.0)["epoch"]) == (0.5, 1000.5)
    assert gather.clock(0.0)["offset"] == 1000.5
    assert gather.clock(None)["offset"] is None


def test_each_part_of_a_host_gets_what_it_is_about(monkeypatch):
    monkeypatch.setattr(gather, "interfaces", lambda: ({"eth0": {}}, ["slow"]))
    monkeypatch.setattr(gather, "model_facts", lambda path, every_byte: (path, every_byte))
    monkeypatch.setattr(gather, "access", lambda *arguments: arguments)
    monkeypatch.setattr(gather.facts, "disk", lambda path: path)
    monkeypatch.setattr(gather, "software", lambda path: {"cann": path})
    monkeypatch.setattr(gather, "shared_memory", lambda: 64)
    monkeypatch.setattr(gather, "systemd_version", lambda: 243)
    monkeypatch.setattr(gather, "tuning_facts", lambda: "tuning")
    monkeypatch.setattr(gather.shutil, "which", lambda name: "" if name == "gcc" else "/bin/x")
    monkeypatch.setattr(gather.facts, "read", lambda path: "262144\n" if path == "/proc/sys/vm/max_map_count" else "")
    found = gather.gather_host(["/m"], True, ["/d"], None, "/cann", "u", "g")
    assert (found["models"], found["disks"], found["access"]) == ([("/m", True)], ["/d"], ("u", ["/m"], ["/d"], "g"))
    assert (found["software"], found["memory"]["shm_mib"], found["tuning"]) == ({"cann": "/cann"}, 64, "tuning")
    assert (found["interfaces"], found["warnings"], found["sysctl"]) == (
        {"eth0": {}},
        ["slow"],
        {"vm.max_map_count": 262144},
    )
    assert found["tools"] == ["cmake", "g++", "git", "make"] and found["user"]["uid"] == os.geteuid()
    assert found["processors"] == os.cpu_count() and found["system"]["systemd_version"] == 243
    monkeypatch.setattr(gather.facts, "read", lambda path: "max")
    assert gather.gather_host()["sysctl"] == {"vm.max_map_count": None}


@pytest.mark.parametrize(("text", "enforcing"), [("1", True), ("0", False), ("", False)])
def test_selinux_is_read_where_the_kernel_has_it(monkeypatch, text, enforcing):
    monkeypatch.setattr(gather.facts, "read", lambda path: text if path == "/sys/fs/selinux/enforce" else "")
    assert gather.system()["selinux_enforcing"] is enforcing


def test_each_part_of_a_host_is_read_where_the_kernel_has_it(monkeypatch):
    texts = {
        "/proc/meminfo": MEMINFO,
        "/proc/self/limits": LIMITS,
        "/etc/machine-id": "5a2e\n",
        "/etc/os-release": "PRETTY_NAME=x\n",
    }
    monkeypatch.setattr(gather.facts, "read", lambda path: texts.get(path, ""))
    for name in ("listening", "own_processes", "sees_all_processes", "clock"):
        monkeypatch.setattr(gather.facts, name, lambda name=name: {"part": name} if name == "clock" else name)
    monkeypatch.setattr(gather, "interfaces", lambda: (None, []))
    monkeypatch.setattr(gather, "access", lambda *given: given)
    monkeypatch.setattr(gather, "tuning_facts", lambda: "")
    monkeypatch.setattr(gather.ascend_software, "driver", lambda: {"driver": "25.5", "firmware": "7.8"})
    monkeypatch.setattr(gather.ascend_software, "current", lambda root, machine: f"{root} {machine}")
    monkeypatch.setattr(gather.time, "time", lambda: 10.0)
    found = gather.gather_host(reference=7.0)
    assert (found["memory"]["memory_total_mib"], found["limits"]["nofile"]) == (1031, 524288)
    assert (found["system"]["machine_id"], found["system"]["os"]) == ("5a2e", "x")
    assert (found["listening"], found["own_processes"]) == ("listening", "own_processes")
    assert found["user"] == {"uid": os.geteuid(), "sees_processes": "sees_all_processes"}
    assert found["clock"] == {"part": "clock", "epoch": 10.0, "offset": 3.0}
    assert found["software"] == {"driver": "25.5", "firmware": "7.8", "cann": f"/usr/local/Ascend {os.uname().machine}"}
    assert (found["access"], found["models"], found["disks"]) == (("", (), (), ""), [], [])
    assert found["system"]["python"] == platform.python_version() and isinstance(found["system"]["systemd"], bool)
    assert found["system"]["libc"] == " ".join(platform.libc_ver())


def test_a_host_without_shared_memory(tmp_path):
    assert gather.shared_memory(str(tmp_path / "none")) is None and gather.shared_memory(str(tmp_path)) > 0


def test_sockets_of_ipv6_are_listening_too(tmp_path):
    (tmp_path / "net").mkdir()
    (tmp_path / "net" / "tcp6").write_text(HEAD + ROW.format("0" * 24 + "01000000:1F90", "0A", 11))
    nothing = {"pid": 0, "command": "", "service": ""}
    assert facts.listening(str(tmp_path)) == [{"address": "::1", "port": 8080, **nothing}]


def test_a_user_who_may_read_the_first_process_sees_all(tmp_path):
    assert facts.sees_all_processes(str(tmp_path)) is False
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "environ").write_text("")
    assert facts.sees_all_processes(str(tmp_path)) is True


@pytest.mark.parametrize(
    ("text", "ports"),
    [
        ("", []),
        ("0", [0]),
        ("65535", [65535]),
        ("7-7", [7]),
        ("3-5,1 2\n5", [1, 2, 3, 4, 5]),
        ("65536", None),
        ("65534-65536", None),
        ("5-4", None),
        ("-1", None),
        ("1-2x", None),
    ],
)
def test_the_edges_of_a_list_of_reserved_ports(text, ports):
    if ports is None:
        with pytest.raises(ValueError, match="neither a port nor a range"):
            reserved_ports.parse(text)
    else:
        assert reserved_ports.parse(text) == set(ports)


@pytest.mark.parametrize(
    ("numbers", "text"),
    [([], ""), ([5], "5"), ([2, 1], "1-2"), ([1, 3], "1,3"), ([9, 3, 2, 1, 7, 8, 5], "1-3,5,7-9"), ([1, 1, 2], "1-2")],
)
def test_ports_and_cpus_are_spelled_as_the_kernel_does(numbers, text):
    assert reserved_ports.spell(set(numbers)) == cpu_list.spell_cpus(numbers) == text
    assert cpu_list.parse_cpus(text) == tuple(sorted(set(numbers)))


@pytest.mark.parametrize("text", ["16384", "0-16384", "3-2", "1,", "a", "1--2"])
def test_what_is_no_list_of_cpus(text):
    with pytest.raises(ValueError, match="is not a (list|range) of CPUs"):
        cpu_list.parse_cpus(text)
    assert cpu_list.parse_cpus(" 16383\n") == (16383,)


@pytest.mark.parametrize(
    ("text", "ports"),
    [
        ("", set()),
        ("net.ipv4.ip_local_reserved_ports = 1\nnet/ipv4/ip_local_reserved_ports=2\n", {2}),
        ("net.ipv4.ip_local_reserved_ports = 1\n ; net.ipv4.ip_local_reserved_ports = 2\n", {1}),
        ("net.ipv4.ip_local_reserved_ports =\n", set()),
        (
            "net.ipv4.ip_local_reserved_ports = 1\nnet.ipv4.ip_local_reserved_ports = \nvm.swappiness = 5\n",
            set(),
        ),  # cleared
        (" -\tnet.ipv4.ip_local_reserved_ports\t=\t3 \r\n# net.ipv4.ip_local_reserved_ports = 4\n", {3}),
        ("xnet.ipv4.ip_local_reserved_ports = 1\n", set()),
    ],
)
def test_the_last_line_of_a_file_reserves(text, ports):
    assert reserved_ports.in_file(text) == ports


def test_interrupts_of_npus_are_a_pair_of_the_own_ones(tmp_path):
    lines = [
        "CPU0 CPU1",
        " 70: 1 2 ITS-MSI 1 Edge sq_send_trigger_irq",
        " 90: 0 0 sq_send_trigger_irq",
        "NMI: sq_send_trigger_irq",
    ]
    lines += ["71: 0 0 cq_update_irq", " 80: 0 0 no_sq_send_trigger_irq", " 50: 0 0 sq_send_trigger_irq"]
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "interrupts").write_text("\n".join(lines))
    for address, numbers in (
        ("0000:01:00.0", "70 71 90"),
        ("0000:00:00.0", "51 50 49 x"),
        ("0000:02:00.0", "90 92"),
        ("0000:03:00.0", "80 81"),
    ):
        for number in numbers.split():
            (tmp_path / "sys/bus/pci/devices" / address / "msi_irqs" / number).mkdir(parents=True)
    (tmp_path / "sys/bus/pci/devices/0000:04:00.0").mkdir()
    assert interrupts.send_numbers("\n".join(lines)) == {50, 70, 90}
    found = interrupts.npu_interrupts(str(tmp_path))
    assert found == {"0000:00:00.0": {"send": 50, "update": 51}, "0000:01:00.0": {"send": 70, "update": 71}}
    assert list(found) == sorted(found)
    assert interrupts.npu_interrupts(str(tmp_path / "nowhere")) == {}
    assert interrupts.affinity_path(70) == "/proc/irq/70/smp_affinity_list"


def test_a_model_s_facts_name_what_is_missing_and_count_the_rest(tmp_path):
    (tmp_path / "model.safetensors.index.json").write_text(
        json.dumps({"weight_map": {"a": "1.safetensors", "b": "0.safetensors"}})
    )
    (tmp_path / "tokenizer.json").symlink_to(tmp_path / "gone")
    (tmp_path / ".link").symlink_to(tmp_path / "gone")
    (tmp_path / "folder").mkdir()
    found = model_facts(str(tmp_path))
    assert found["missing"] == ["0.safetensors", "1.safetensors", "tokenizer.json"]
    assert (found["files"], found["size_mib"], found["quantized"], found["tokenizer"]) == (1, 0, False, False)
    assert found["config_error"] == "cannot be read: No such file or directory"
    (tmp_path / "tokenizer.json").unlink()
    (tmp_path / "quant_model_description_w8a8.json").write_text("{}")
    (tmp_path / "qwen.tiktoken").write_text("")
    (tmp_path / "config.json").write_text(
        '{"head_dim": null, "x": 1, "text_config": {"head_dim": 3, "model_type": "q"}}'
    )
    with (tmp_path / "0.safetensors").open("wb") as file:
        file.truncate(3 * 2**20 - 200)
    with (tmp_path / "1.safetensors").open("wb") as file:
        file.truncate(2**20 + 100)
    found = model_facts(str(tmp_path))
    assert (found["missing"], found["size_mib"], found["files"], found["quantized"], found["tokenizer"]) == (
        [],
        4,
        6,
        True,
        True,
    )
    assert (found["config"], found["config_error"]) == ({"head_dim": None, "model_type": "q"}, "")


@pytest.mark.parametrize(
    ("ending", "present"), [("bin", True), ("pt", True), ("gguf", True), ("safetensors", True), ("txt", False)]
)
def test_a_folder_without_weights_says_which_files_these_would_be(tmp_path, ending, present):
    (tmp_path / f"model.{ending}").write_text("")
    (tmp_path / "x.index.json").write_text("[]")
    assert model_facts(str(tmp_path))["missing"] == (
        [] if present else ["weights (*.safetensors, *.bin, *.pt, *.gguf)"]
    )


def test_of_large_weights_both_ends_are_in_the_fingerprint(tmp_path, monkeypatch):
    monkeypatch.setattr(model_facts_module, "EDGE", 4)
    monkeypatch.setattr(model_facts_module, "SMALL", 12)
    prints = {}
    for name, content in (
        ("same", b"aaaabbbbbcccc"),
        ("middle", b"aaaaxxxxxcccc"),
        ("head", b"xaaabbbbbcccc"),
        ("tail", b"aaaabbbbbcccx"),
    ):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "a.bin").write_bytes(content)
        prints[name] = (model_facts(str(folder))["fingerprint"], model_facts(str(folder), True)["fingerprint"])
    assert prints["same"][0] == prints["middle"][0] and len({pair[0] for pair in prints.values()}) == 3
    assert len({pair[1] for pair in prints.values()}) == 4
    small = []
    for middle in (b"aaaabbbbcccc", b"aaaaxbbbcccc"):  # as long as what is read completely
        (tmp_path / "same" / "a.bin").write_bytes(middle)
        small.append(model_facts(str(tmp_path / "same"))["fingerprint"])
    (tmp_path / "same" / ".hidden").write_text("")
    small.append(model_facts(str(tmp_path / "same"))["fingerprint"])
    assert small[0] != small[1] == small[2]
