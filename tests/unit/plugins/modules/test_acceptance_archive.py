# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tools of a host printed comes out of the archive again: a replay of it gives the same facts, as it is and masked."""

from __future__ import annotations

import base64
import io
import json
import os
import pathlib
import platform
import re
import stat
import subprocess
import sys
import tarfile
import time
import zlib

import ascend_cluster
import pytest
import replay
from ansible_collections.ascend.inference.plugins.module_utils.support import acceptance
from ansible_collections.ascend.inference.plugins.module_utils.support.mask import Masker
from ansible_collections.ascend.inference.plugins.module_utils.support.words import words_of
from ansible_collections.ascend.inference.plugins.module_utils.tools.record import Recorder, unpacked
from ansible_collections.ascend.inference.plugins.module_utils.tools.runner import ToolMissing

ARCHIVES = (
    pathlib.Path(__file__).parent / "archives"
)  # of real racks, masked; beside each the facts that the modules read from it
DECLARED = {
    "variables": {"inference_model": {"path": "/m"}, "inference_check_ignore": ["CLOCK"]},
    "hosts": {
        "node0": {
            "groups": ["all", "prefill"],
            "variables": {"inference_address": "10.9.8.7", "ansible_host": "10.9.8.7"},
        },
        "node1": {"groups": ["all", "decode"], "variables": {}},
    },
}
PLANTED = {
    "health": "Critical",
    "link": "DOWN",
    "ip": ["10.20.7.99", "255.255.255.0"],
    "rx_errors": 3,
    "rx_errors_grow": 2,
}
PEERS = [{"address": "10.20.0.10", "devices": [0]}, {"address": "10.20.0.99", "devices": [0]}]


def ask(run_module, host, hccn_conf, **options):
    tools = {"npu_smi": f"{host}/npu-smi", "hccn_tool": f"{host}/hccn_tool"}
    return run_module(
        "check_info", **{"devices": [0, 1], "hccn_conf": str(hccn_conf), "counter_seconds": 0.1, **tools, **options}
    )


def ping(run_module, host, peers=None, **options):
    return run_module("hccn_ping", executable=f"{host}/hccn_tool", peers=peers or PEERS, fail=False, **options)


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """Two simulated hosts; the second one has faults, and its hccn_tool is busy at first."""
    hosts = ascend_cluster.cluster(tmp_path_factory.mktemp("real"), hosts=2, generation="a2", devices=2)
    with ascend_cluster.edit(hosts["node1"]["state"]) as state:
        state["devices"][1].update(PLANTED)
        state["behaviour"]["busy_calls"] = 1
    return hosts


@pytest.fixture(scope="module")
def once():
    """What is recorded once for all tests; modules run in a fixture of each test."""
    return {}


@pytest.fixture
def recorded(real, run_module, once):
    """(what check_info and hccn_ping returned, the records) of both hosts."""
    if not once:
        once["all"] = record(real, run_module)
    return once["all"]


def record(real, run_module):
    facts = {name: ask(run_module, host["bin"], host["hccn_conf"], record=True) for name, host in real.items()}
    pings = {name: ping(run_module, host["bin"], record=True) for name, host in real.items()}
    return facts, pings, {name: [facts[name]["record"], pings[name]["record"]] for name in facts}


def archived(run_module, folder, records, **options):
    path = folder / "archive.tar.gz"
    documents = {"inventory.json": json.dumps(DECLARED)}
    done = run_module(
        "acceptance_archive", path=str(path), deployment="d", records=records, documents=documents, **options
    )
    assert not done["failed"], done
    return str(path), done


def replayed(archive, folder):
    """{host: (folder of its programs, its hccn.conf)} of a replay, and its inventory."""
    folder.mkdir()
    with open(replay.replay(archive, folder, python=sys.executable), encoding="utf-8") as handle:
        inventory = json.load(handle)["all"]
    hosts = {name: own for group in inventory["children"].values() for name, own in group["hosts"].items()}
    places = {
        name: (os.path.dirname(own["host_check_executables"]["npu_smi"]), own["host_check_hccn_conf"])
        for name, own in hosts.items()
    }
    return places, inventory


def facts_of(run_module, archive, folder):
    """{host: facts of check_info} of a replay, without what depends on this machine."""
    places, _inventory = replayed(archive, folder)
    found = {}
    for name, (programs, conf) in places.items():
        index = json.loads(replay.contents(archive)[f"{name}/tools.json"])
        devices = {int(call["argv"][2]) for call in index["commands"] if call["argv"][1:2] == ["-i"]}
        facts = ask(run_module, programs, conf, devices=sorted(devices))
        found[name] = {part: {**facts[part], "hccn_conf_access": None, "serial": None} for part in ("npu", "hccn")}
    return found


@pytest.mark.parametrize("archive", ["simulated", *sorted(path.name for path in ARCHIVES.glob("*.tar.gz"))])
def test_the_outputs_of_an_archive_are_read_as_before(run_module, archive, tmp_path, request):
    """RENEW_ARCHIVES=1 writes what the modules make of a new archive; read it before it is committed."""
    path, expected = ARCHIVES / archive, ARCHIVES / archive.replace(".tar.gz", ".json")
    if archive == "simulated":
        facts, _pings, records = request.getfixturevalue("recorded")
        path, expected = archived(run_module, tmp_path, records)[0], tmp_path / "expected.json"
        parts = {
            name: {part: {**item[part], "hccn_conf_access": None, "serial": None} for part in ("npu", "hccn")}
            for name, item in facts.items()
        }
        expected.write_text(json.dumps(parts))
    found = facts_of(run_module, path, tmp_path / "replayed")
    if os.environ.get("RENEW_ARCHIVES") and archive != "simulated":
        expected.write_text(without_times(found) + "\n")
    assert without_times(found) == without_times(json.loads(expected.read_text()))


def without_times(value):
    return re.sub(r'"seconds": [0-9.]+', '"seconds": 0', json.dumps(value, sort_keys=True, indent=1))


def test_a_replay_gives_the_same_pings_and_an_inventory(run_module, recorded, tmp_path):
    facts, pings, records = recorded
    archive, done = archived(run_module, tmp_path, records)
    places, inventory = replayed(archive, tmp_path / "again")
    assert done["missing"] == [] and done["pseudonyms"] == {}
    for name, (programs, _conf) in places.items():
        assert ping(run_module, programs)["matrix"] == pings[name]["matrix"]
    assert facts["node1"]["npu"]["npus"][1]["health"] == "Critical"
    assert facts["node1"]["hccn"]["devices"][1]["growth"]["counters"]
    assert inventory["vars"]["inference_check_ignore"] == sorted({"CLOCK", *ascend_cluster.MACHINE})
    assert inventory["children"]["prefill"]["hosts"]["node0"]["inference_address"] == "127.0.0.2"


def test_a_masked_archive_names_nobody_and_still_replays(run_module, recorded, tmp_path, monkeypatch):
    monkeypatch.setattr(
        os, "urandom", lambda count: b"k" * count
    )  # a random key leaves an address as it is once in 65536
    facts, _pings, records = recorded
    archive, done = archived(run_module, tmp_path, records, mask=True)
    assert (
        done["pseudonyms"] == {"node0": "host-1", "node1": "host-2"}
        and "node1 is host-2 in the archive" in done["text"]
    )
    texts = replay.contents(archive)
    whole = "\n".join([*texts, *texts.values()])
    addresses = {device["ip"]["address"] for item in facts.values() for device in item["hccn"]["devices"]}
    for word in ("node0", "node1", "leaf-1", "02:00:5e:10", "10.9.8.7", *addresses):
        assert word not in whole, word
    places, _inventory = replayed(archive, tmp_path / "again")
    programs, conf = places["host-2"]
    again = ask(run_module, programs, conf)
    before, after = facts["node1"], again
    assert [npu["health"] for npu in after["npu"]["npus"]] == [npu["health"] for npu in before["npu"]["npus"]]
    assert [device["link"] for device in after["hccn"]["devices"]] == ["up", "down"]
    assert (
        [item["device_id"] for item in after["hccn"]["stale"]]
        == [item["device_id"] for item in before["hccn"]["stale"]]
        == [1]
    )
    assert after["npu"]["driver_version"] == before["npu"]["driver_version"]
    assert after["hccn"]["warnings"] == before["hccn"]["warnings"]


NAMES = re.compile(  # of hosts, switches and addresses, and their pseudonyms
    rf"\b(?:node\d|host-\d|leaf-\d|switch-[0-9a-f]{{8}}|{re.escape(platform.node())}|(?:\d{{1,3}}\.){{3}}\d{{1,3}}|(?:[0-9a-f]{{2}}:){{5}}[0-9a-f]{{2}})\b"
    r"|\b[0-9a-f:]+::[0-9a-f:]*",
    re.IGNORECASE,
)


def words_that_differ(before, after, path=()):
    """(place, name before, name after) of two values of one form; fails where anything but a name differs."""
    assert type(before) is type(after), path
    if isinstance(before, dict):
        assert len(before) == len(after), path
        for (key, value), (other_key, other) in zip(before.items(), after.items()):
            yield from words_that_differ(str(key), str(other_key), (*path, "key"))
            yield from words_that_differ(value, other, (*path, key))
    elif isinstance(before, list):
        assert len(before) == len(after), path
        for number, (value, other) in enumerate(zip(before, after)):
            yield from words_that_differ(value, other, (*path, number))
    elif isinstance(before, str):
        assert NAMES.sub("", before) == NAMES.sub("", after), path
        names, others = NAMES.findall(before), NAMES.findall(after)
        assert len(names) == len(others), path
        yield from ((path, *pair) for pair in zip(names, others))
    else:
        assert before == after or "seconds" in path, path


def test_facts_and_pings_of_a_masked_archive_are_the_real_ones_under_other_names(
    run_module, recorded, tmp_path, monkeypatch
):
    """Each address and name has one pseudonym, no two share one, and nothing but they differs: not a counter, a state or a warning."""
    monkeypatch.setattr(os, "urandom", lambda count: b"k" * count)
    facts, pings, records = recorded
    folders = [tmp_path / name for name in ("plain", "masked")]
    for folder in folders:
        folder.mkdir()
    plain, _done = archived(run_module, folders[0], records)
    archive, done = archived(run_module, folders[1], records, mask=True)
    pseudonyms: dict[str, str] = {}

    def compare(before, after):
        for path, word, other in words_that_differ(before, after):
            if word == platform.node():  # all hosts are this machine
                continue
            assert pseudonyms.setdefault(word, other) == other, (path, word)

    texts = replay.contents(plain), replay.contents(archive)
    assert [json.loads(found.pop("archive.json"))["masked"] for found in texts] == [False, True]
    compare(*texts)
    assert done["pseudonyms"].items() <= pseudonyms.items()
    again = facts_of(run_module, archive, tmp_path / "facts")
    places, _inventory = replayed(archive, tmp_path / "pings")
    peers = [{**peer, "address": pseudonyms.get(peer["address"], peer["address"])} for peer in PEERS]
    for name, pseudonym in done["pseudonyms"].items():
        for part in ("npu", "hccn"):
            real = {**facts[name][part], "hccn_conf_access": None, "serial": None}
            compare(json.loads(json.dumps(real)), again[pseudonym][part])
        compare(pings[name]["matrix"], ping(run_module, places[pseudonym][0], peers)["matrix"])
    assert len(set(pseudonyms.values())) == len(pseudonyms) > 6
    assert pseudonyms["10.20.0.10"] != "10.20.0.10" and pseudonyms["node1"] == "host-2"


def test_outputs_are_kept_as_printed_with_command_status_and_time(run_module, recorded, tmp_path, real):
    archive, _done = archived(run_module, tmp_path, recorded[2])
    assert stat.S_IMODE(os.stat(archive).st_mode) == 0o600
    texts = replay.contents(archive)
    index = json.loads(texts["node1/tools.json"])
    table = next(call for call in index["commands"] if call["argv"][1:] == ["info"])
    printed = subprocess.run(
        [f"{real['node1']['bin']}/npu-smi", "info"], stdout=subprocess.PIPE, check=True
    ).stdout.decode()
    assert texts[f"node1/{table['stdout']}"] == printed
    assert table["rc"] == 0 and table["seconds"] > 0 and re.match(r"\d{4}-\d\d-\d\dT[\d:.]+Z\Z", table["begin"])
    busy = [call for call in index["commands"] if call["rc"] == 11]
    assert busy, "each call is kept, also one that was refused; two at once may both be"
    lost = next(call for call in index["commands"] if call["argv"][-1] == "10.20.0.99")
    assert lost["rc"] == 1 and texts[f"node1/{lost['stderr']}"] == "Command execute failed!\n"
    with open(real["node1"]["hccn_conf"], encoding="utf-8") as conf:
        assert texts["node1/" + index["files"][real["node1"]["hccn_conf"]]] == conf.read()
    begins = [call["begin"] for call in index["commands"]]
    assert begins == sorted(begins)


def written(path, documents):
    with tarfile.open(path, "w:gz") as archive:
        for name, text in documents.items():
            entry = tarfile.TarInfo(f"top/{name}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return path


@pytest.mark.parametrize("host", ["../outside", "/outside", "..", "a'; touch b; '"])
def test_an_archive_writes_nothing_outside_of_the_folder(tmp_path, host):
    declared = {"variables": {}, "hosts": {host: {"groups": ["all"], "variables": {}}}}
    tools = json.dumps({"commands": [], "files": {}})
    archive = written(tmp_path / "a", {"inventory.json": json.dumps(declared), f"{host}/tools.json": tools})
    (tmp_path / "again").mkdir()
    with pytest.raises(ValueError, match="the archive names a host"):
        replay.replay(archive, tmp_path / "again")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "again"]


def test_an_archive_brings_no_templates_and_no_settings_of_ansible(tmp_path):
    hostile = "{{ lookup('pipe', 'touch /tmp/made-up') }}"
    variables = {"inference_address": "10.9.8.7", "inference_env": {"A": [hostile]}, "ansible_shell_executable": "/x"}
    declared = {"variables": variables, "hosts": {"node0": {"groups": ["all"], "variables": {}}}}
    archive = written(tmp_path / "a", {"inventory.json": json.dumps(declared)})
    with open(replay.replay(archive, tmp_path), encoding="utf-8") as handle:
        found = json.load(handle)["all"]["vars"]
    assert found["inference_env"] == {"A": [{"__ansible_unsafe": hostile}]}
    assert "ansible_shell_executable" not in found and found["ansible_connection"] == "local"


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(replay, "MOST", 100)
    archive = written(tmp_path / "a", {"one": "x" * 60, "two": "x" * 60})
    with pytest.raises(ValueError, match="more than 100 bytes"):
        replay.contents(archive)


def test_an_archive_whose_members_lie_about_their_sizes_is_refused(tmp_path, monkeypatch):
    """A negative size makes room for larger members; one that is too large ends amid the file."""
    monkeypatch.setattr(replay, "MOST", 100)
    path = tmp_path / "a"
    for claimed, reason in ((-5000, None), (90, "unexpected end of data|more than")):
        entry = tarfile.TarInfo("top/inventory.json")
        entry.size = claimed
        header = entry.tobuf(tarfile.GNU_FORMAT)
        path.write_bytes(header + b"{}".ljust(20, b"\0"))
        with pytest.raises((ValueError, tarfile.TarError), match=reason):
            replay.contents(path)


def test_a_call_that_was_not_recorded_is_named(run_module, recorded, tmp_path):
    archive, _done = archived(run_module, tmp_path, recorded[2])
    places, _inventory = replayed(archive, tmp_path / "again")
    argv = [f"{places['node0'][0]}/npu-smi", "info", "-t", "made-up"]
    done = subprocess.run(argv, capture_output=True, check=False)
    assert done.returncode == 70 and b"no answer of: npu-smi info -t made-up" in done.stderr


def test_a_host_without_record_and_a_secret(run_module, recorded, tmp_path):
    records = {**recorded[2], "node2": []}
    archive, done = archived(run_module, tmp_path, records, secrets=["10.9.8.7", ""])
    assert done["missing"] == ["node2"] and "node2: nothing was recorded" in done["text"]
    assert "10.9.8.7" not in replay.contents(archive)["inventory.json"]


def test_passwords_in_urls_are_left_out(run_module, tmp_path):
    documents = {"plan.json": '{"index": "https://me:pass-word@index.example/simple"}', "other": "pass-word"}
    run_module("acceptance_archive", path=str(tmp_path / "a"), deployment="d", records={}, documents=documents)
    texts = replay.contents(tmp_path / "a")
    assert "pass-word" not in "".join(texts.values()) and "index.example" in texts["plan.json"]


def test_secrets_that_contain_the_name_of_a_host_are_left_out_of_a_masked_archive(run_module, tmp_path):
    documents = {
        "plan.json": '{"index": "https://me:node0-password@index.example/simple", "key": "key-10.9.8.7-of-node0"}'
    }
    options = {"records": {"node0": []}, "documents": documents, "secrets": ["key-10.9.8.7-of-node0"], "mask": True}
    run_module("acceptance_archive", path=str(tmp_path / "a"), deployment="d", **options)
    text = replay.contents(tmp_path / "a")["plan.json"]
    assert "password" not in text and "-of-" not in text and "index.example" in text


def test_secrets_are_left_out_of_json_too(run_module, tmp_path):
    secret = 'made"up\\s\u00e4cret'
    documents = {"report.json": json.dumps({"tail": f"key {secret}."}), "report.md": f"key {secret}."}
    run_module(
        "acceptance_archive",
        path=str(tmp_path / "a"),
        deployment="d",
        records={},
        documents=documents,
        secrets=[secret],
    )
    texts = replay.contents(tmp_path / "a")
    assert json.loads(texts["report.json"]) == {"tail": "key [left out]."} and texts["report.md"] == "key [left out]."


CALL = {
    "argv": ["npu-smi"],
    "stdin": None,
    "begin": 1.0,
    "seconds": 1,
    "rc": 0,
    "timed_out": False,
    "stderr": "",
    "problem": "",
}


def call(text, *argv):
    return {**CALL, "argv": ["hccn_tool", *argv], "stdout": text}


def as_record(node, *commands, **files):
    whole = {"node": node, "commands": list(commands), "files": files}
    return base64.b64encode(zlib.compress(json.dumps(whole).encode())).decode()


def packed(value):
    return base64.b64encode(zlib.compress(json.dumps(value).encode())).decode()


GOOD = as_record("n2", call("n2 ok, leaf-1\n"), call("System Name TLV\n leaf-1\n", "-lldp"))


@pytest.mark.parametrize(
    "record",
    [
        "eJw=",
        "garbage!",
        packed([1]),
        packed({"node": 5, "commands": [], "files": {}}),
        packed({"node": "n", "commands": [{"argv": []}], "files": {}}),
        packed({"node": "n", "commands": [{**CALL, "stdout": 7}], "files": {}}),
        packed({"node": "n", "commands": [{**CALL, "stdout": "", "begin": 1e300}], "files": {}}),
        packed({"node": "n", "commands": [], "files": {"a": 5}}),
        packed({"node": "n", "commands": [[]] * 10**6, "files": {}}),
    ],
)
@pytest.mark.parametrize("mask", [True, False])
def test_a_record_in_a_wrong_form_costs_its_host_only(run_module, tmp_path, record, mask):
    """It was no archive of any host."""
    records = {"evil": [record], "zgood": [GOOD]}
    done = run_module("acceptance_archive", path=str(tmp_path / "a"), deployment="d", records=records, mask=mask)
    assert not done["failed"] and done["missing"] == ["evil"]
    assert "evil: its record is left out, because it has a wrong form (" in done["text"]
    assert ("host-2" if mask else "zgood") + "/outputs/00001.out" in replay.contents(tmp_path / "a")


def test_a_host_has_no_more_switches_than_npus(run_module, tmp_path):
    """Each name is sought in each text."""
    many = as_record("n", *(call(f"System Name TLV\n sw{number}x\n", "-lldp") for number in range(300)))
    records = {"evil": [many], "zgood": [GOOD]}
    done = run_module("acceptance_archive", path=str(tmp_path / "a"), deployment="d", records=records, mask=True)
    assert done["missing"] == ["evil"] and "more than 256 names of switches" in done["text"]


REPORT = {
    "report.md": "# Acceptance of d: not passed\n- evil: device 3, leaf-9\n- zgood device 3: the link is down, leaf-1\n",
    "report.json": json.dumps(
        {"verdict": "not passed", "deviations": [{"path": "zgood device 3", "problem": "the link is down"}]}
    ),
}


@pytest.mark.parametrize(
    "word", ["not passed", "passed", "link is down", "n2", "ok", "leaf-1", "10.0.0.5x", "Acceptance of d"]
)
def test_the_words_of_one_host_change_no_text_of_another_one(run_module, tmp_path, word, monkeypatch):
    """Root of a host chooses its name, those of its switches, and what looks like the password of a URL."""
    monkeypatch.setattr(os, "urandom", lambda count: b"k" * count)
    honest, forged = ([as_record(node, call(f"System Name TLV\n {node}\n", "-lldp"))] for node in ("n1", word))
    texts = []
    for number, (record, more) in enumerate(
        [(honest, ""), (forged, f"- evil https://{word.split()[0]}@h and //u:{word}@h\n")]
    ):
        documents = {**REPORT, "report.md": REPORT["report.md"] + more}
        options = {"records": {"evil": record, "zgood": [GOOD]}, "documents": documents, "mask": True}
        done = run_module("acceptance_archive", path=str(tmp_path / str(number)), deployment="d", **options)
        assert done["pseudonyms"] == {"evil": "host-1", "zgood": "host-2"}, done
        found = replay.contents(tmp_path / str(number))
        found["report.md"] = "\n".join(line for line in found["report.md"].split("\n") if "host-1" not in line)
        texts.append({name: text for name, text in found.items() if not name.startswith("host-1/")})
    assert (
        texts[0] == texts[1]
        and "leaf-1" not in texts[0]["report.md"]
        and "leaf-1" not in texts[0]["host-2/outputs/00001.out"]
    )


def test_what_a_host_says_of_itself_is_masked_in_reports(run_module, tmp_path):
    options = {"records": {"zgood": [GOOD]}, "documents": REPORT, "mask": True}
    run_module("acceptance_archive", path=str(tmp_path / "a"), deployment="d", **options)
    assert "leaf-1" not in replay.contents(tmp_path / "a")["report.md"]


def test_a_password_in_the_text_of_a_host_is_left_out_there(run_module, tmp_path):
    documents = {"report.md": "pip of evil: https://me:pass-word@index.example/\n", "plan.json": '{"a": "pass-word"}'}
    run_module("acceptance_archive", path=str(tmp_path / "a"), deployment="d", records={}, documents=documents)
    texts = replay.contents(tmp_path / "a")
    assert (
        texts["report.md"] == "pip of evil: https://[left out]@index.example/\n" and "pass-word" in texts["plan.json"]
    )


@pytest.mark.parametrize(
    "text",
    ["System Name TLV" + "\n" * 200_000, "System Name TLV \n" * 50_000, "sn" + " " * 200_000, "sn:" + " " * 200_000],
)
def test_no_output_takes_long(text):
    """With two ways to match a line end, 200,000 of them took hours."""
    begin = time.process_time()
    masker = Masker(["node1"], key=b"key").of_host()
    masker.learn([text])
    masker(text)
    assert time.process_time() - begin < 5


def test_check_mode_writes_nothing(run_module, tmp_path):
    done = run_module("acceptance_archive", check=True, path=str(tmp_path / "a"), deployment="d", records={})
    assert done["changed"] and done["bytes"] == 0 and list(tmp_path.iterdir()) == []
    assert "No archive was written" in done["text"] and str(tmp_path) not in done["text"]


def test_nothing_is_recorded_unless_asked(run_module, real):
    host = real["node0"]
    assert "record" not in ask(run_module, host["bin"], host["hccn_conf"])
    assert "record" not in ping(run_module, host["bin"])


def test_timeouts_and_missing_tools_are_recorded(tmp_path):
    recorder = Recorder()
    recorder(["/bin/sh", "-c", "echo begun; sleep 5"], 0.3)
    with pytest.raises(ToolMissing):
        recorder([str(tmp_path / "none")], 1)
    recorder.keep_file(str(tmp_path / "none.conf"))
    hung, missing = unpacked(recorder.packed(), 10**6)["commands"]
    assert hung["timed_out"] and hung["rc"] is None and hung["stdout"] == "begun\n"
    assert missing["rc"] is None and "cannot be started" in missing["problem"]
    assert recorder.files == {str(tmp_path / "none.conf"): None}


@pytest.mark.parametrize(
    "text",
    [
        "netmask:255.255.255.0",
        "netdetect addr: 0.0.0.0",
        "127.0.0.1",
        "0000:8F:00.0",
        "10:00:00",
        "::1",
        "Firmware Version : 7.8.0.1",
        '"firmware_version": "7.8.0.1",',
        "7.8.0.1.220",
        "550e8400-e29b-41d4-a716-446655440000",
        "localhost",
        "node10 renode1 node1x",
        "HBM 549755813888",
        '"digest": "dc4877459d69"',
        "550E8400-E29B-41D4-A716-446655440000",
        "version 2026.1123.0001",
        "1.a4bb.6d00.0001",
    ],
)
def test_what_names_nobody_stays(text):
    assert Masker(["node1", "localhost"])(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "ipaddr:10.1.2.3",
        "address_3=10.1.2.3",
        "route_address_10.1.2.3_netmask_255.255.255.0_0=gateway_10.1.2.1",
        "MAC: a4:bb:6d:00:00:01",
        "a4bb-6d00-0001",
        "A4-BB-6D-00-00-01",
        "mac: a4bb6d000001",
        '"mac_address": "a4bb6d000001"',
        "mac address 102030405060",
        "link/ether a4bb.6d00.0001",
        "NODE1",
        "Node1.hccn.conf",
        "RACK.site.example",
        "Rack",
        "ip fe80::a4bb:6dff:fe00:1 x",
        "Serial Number : 102012345678",
        "node1",
        "node1.hccn.conf",
        "node1_eth0",
        "rack.site.example",
        "rack",
        "::ffff:10.1.2.3",
        "64:ff9b::10.1.2.3",
        "at 10:00:00:10.1.2.3",
        "search site.example",
        "other.site.example",
        "\x1b[31mnode1",
    ],
)
def test_what_names_something_is_masked_the_same_each_time(text):
    masker = Masker(["node1", "rack.site.example"], key=b"key")
    assert masker(text) == masker(text) != text


@pytest.mark.parametrize(
    ("own", "hidden", "stays"),
    [
        ("kunpeng", ["kunpeng", "KUNPENG"], []),
        ("kunpeng.site.example", ["kunpeng.site.example", "kunpeng", "Kunpeng"], ["site"]),
        ("rack.other.example", ["rack.other.example"], []),
        ("", [], ["kunpeng"]),
        ("localhost", [], ["localhost"]),
        ("10.1.2.3", [], ["host"]),
    ],
)
def test_a_host_s_own_name_is_another_name_of_it(own, hidden, stays):
    """Its full name, and the first part of that, as the prompt of a shell shows it."""
    masker = Masker(["node1", "rack.site.example"], key=b"key")
    masker.also(own, "node1")
    assert {masker(f"at {name}: up") for name in hidden} <= {f"at {masker('node1')}: up"}
    assert [masker(f"{name} is up") for name in stays] == [f"{name} is up" for name in stays]
    assert masker("rack") == masker("rack.site.example"), "a name that is taken keeps its host"


@pytest.mark.parametrize(
    "line",
    ["10.1.2.3", "::ffff:10.1.2.3", "a4bb-6d00-0001", "a4:bb:6d:00:00:01", "fe80::a4bb:1", "node1", "sn: AB12CD34"],
)
@pytest.mark.parametrize("before", ["\n", "\r\n", "\t", "\x1b[1;31m"])
def test_escapes_of_json_hide_nothing(line, before):
    masked = Masker(["node1"], key=b"key")(json.dumps({"text": f"x{before}{line}"}))
    assert not any(part in masked for part in (line, "1.2.3", "AB12CD34")) and json.loads(masked)["text"].startswith(
        "x"
    )


@pytest.mark.parametrize("word", ["fd12:3456:789a:1::10.1.2.3", "fd12:3456:789a:1:0:1:10.1.2.3"])
def test_nothing_of_an_ipv6_address_stays_if_it_ends_like_ipv4(word):
    masked = Masker([], key=b"key")(f"via {word}.")
    assert "fd12" not in masked and "10.1.2.3" not in masked and re.fullmatch(r"via fd[0-9a-f]{2}:[0-9a-f:]+\.", masked)


def test_the_domain_of_a_full_name_is_masked():
    masker = Masker(["rack.dc1.site.example"], key=b"key")
    masker.also("kunpeng.dc2.site.example", "rack.dc1.site.example")
    found = masker("search dc1.site.example DC2.site.example; rack.dc1.site.example up, new-node.dc2.site.example")
    assert "site" not in found and "dc" not in found.lower().replace("domain", ""), found
    assert found.count("host-1") == 1


def test_a_mac_address_is_known_in_every_spelling_and_keeps_it():
    masker = Masker([], key=b"key")
    spellings = ["a4:bb:6d:00:00:01", "A4-BB-6D-00-00-01", "a4bb-6d00-0001", "a4bb6d000001", "a4bb.6d00.0001"]
    assert masker(spellings[3]) == spellings[3], "it might be a digest"
    masker.learn_addresses("MAC: A4:BB:6D:00:00:01")
    found = [masker(word) for word in spellings]
    assert len({re.sub("[:.-]", "", word) for word in found}) == 1 and "a4bb" not in "".join(found).lower()
    assert [re.sub("[0-9a-f]", "", word) for word in found] == [":::::", "-----", "--", "", ".."]


def test_a_host_that_is_named_like_a_word_stays_and_is_named(run_module, tmp_path):
    records = {"router": [], "node1": [], "prefill.site.example": []}
    text = (
        '{"inference_router": {"flavour": "router"}, "hosts": {"router": {}, "NODE1": {}, "prefill.site.example": {}}}'
    )
    archive, done = archived(run_module, tmp_path, records, mask=True)
    run_module(
        "acceptance_archive", path=archive, deployment="d", records=records, documents={"a.json": text}, mask=True
    )
    whole = json.loads(replay.contents(archive)["a.json"])
    assert whole["inference_router"] == {"flavour": "router"} and list(whole["hosts"]) == ["router", "host-1", "host-2"]
    assert (done["unmasked"], sorted(done["pseudonyms"])) == (["router"], ["node1", "prefill.site.example"])
    assert "router is NOT masked" in done["text"]


def test_words_of_documents_are_names_of_fields():
    documents = ['{"expert_load": {"n1": 1, "apollo": 2}, "env": {"ARES_HOME": ""}, "/srv/zeus": 0}', "no JSON", "[1]"]
    assert words_of(documents, ["n1", "apollo"]) == {"expert", "load", "env", "ares", "home"}
    assert Masker(["load"], words=words_of(documents, ["load"])).kept == {"load"}
    assert Masker(["apollo"], words=words_of(documents, ["n1", "apollo"])).kept == set()


def test_an_archive_of_yesterday_is_kept(run_module, tmp_path):
    path, done = archived(run_module, tmp_path, {}, backup=True)
    before = pathlib.Path(path).read_bytes()
    assert done["backup_file"] == ""
    again = archived(run_module, tmp_path, {"n1": []}, backup=True, mask=True, check=True)[1]
    assert again["backup_file"] == "" and pathlib.Path(path).read_bytes() == before
    again = archived(run_module, tmp_path, {"n1": []}, backup=True, secrets=["CLOCK"])[1]
    assert pathlib.Path(again["backup_file"]).read_bytes() == before != pathlib.Path(path).read_bytes()
    assert stat.S_IMODE(os.stat(again["backup_file"]).st_mode) == 0o600


def test_addresses_in_a_line_with_a_version_are_masked():
    text = Masker([], key=b"key")(
        '{"driver_version": "7.8.0.1", "gateway": "10.1.2.3", "of": "10.1.2.3 has version 7.8.0.1"}'
    )
    assert "10.1.2.3" not in text and text.count("7.8.0.1") == 2


def test_each_archive_has_other_pseudonyms():
    text = "10.1.2.3 10.77.5.3"
    assert Masker([], key=b"key")(text) != Masker([], key=b"other")(text)
    assert len({Masker([])(text) for _number in range(4)}) > 1, "the key is random"


def test_addresses_keep_their_networks():
    masker = Masker([], key=b"key")
    first, gateway, other, far = (
        masker(f"10.{item}").split(".") for item in ("20.1.10", "20.1.1", "20.9.10", "77.1.10")
    )
    assert first[:3] == gateway[:3] != other[:3] and first[:2] == other[:2] != far[:2]
    assert (first[0], first[3], gateway[3]) == ("10", "10", "1")
    networks = {masker(f"10.{high}.{low}.1") for high in range(16) for low in range(64)}
    assert len(networks) == 16 * 64, "no two addresses share a pseudonym"
    assert masker("172.16.5.1").split(".")[:2][0] == "172" and 16 <= int(masker("172.16.5.1").split(".")[1]) < 32


def test_no_archive_is_left_half_written(run_module, tmp_path, monkeypatch):
    old = tmp_path / "a.tar.gz"
    old.write_text("older")

    def fail(*_arguments):
        raise OSError("disk is full")

    monkeypatch.setattr(tarfile.TarFile, "addfile", fail)
    done = run_module("acceptance_archive", path=str(old), deployment="d", records={}, documents={"a": "b"})
    assert done["failed"] and "disk is full" in done["msg"]
    assert old.read_text() == "older" and [path.name for path in tmp_path.iterdir()] == ["a.tar.gz"]


def test_words_of_the_documents_stay_although_a_host_has_such_a_name():
    given = {
        "records": {"load": {}, "apollo": {}},
        "documents": {"a.json": '{"expert_load": 1}'},
        "secrets": [],
        "mask": True,
    }
    files, calls, missing, masker = acceptance.contents(given)
    assert masker.kept == {"load"} and files[0] == ("a.json", '{"expert_load": 1}') and calls == 0
    assert sorted(missing) == ["apollo", "load"] and acceptance.contents(dict(given, mask=False))[3] is None
