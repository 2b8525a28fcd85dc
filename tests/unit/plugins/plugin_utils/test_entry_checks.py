# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What check makes of the answers of an entry's hosts, and of its files here: each rule has a case that breaks it alone."""

from __future__ import annotations

import datetime
import subprocess
import time

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.entry.checked import (
    entry_checked,
    entry_engine_keys,
    entry_questions,
    files_checked,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.entry.checks import RULES as OF_HOSTS
from ansible_collections.ascend.inference.plugins.plugin_utils.entry.checks_of_files import RULES as OF_FILES
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.test_entry import GOOD, ONE, TEXTS, TWO

MET = {"vrrp": True, "peers": "", "problem": "", "began": 10.0, "ended": 11.0, "keeps": False}
WELL = {
    "systemd": True,
    "taken": [],
    "program": {"version": "2.6.12", "features": ["Lua", "OpenSSL"], "refused": "", "offered": ""},
    "routers": [],
    "held": False,
    "owner": "",
    "links": ["02:00:00:00:00:01"],
    "kept": "",
    "capabilities": 2**41 - 1,
    "memory_mib": 16384,
    "open_files": [1048576, 2**63 - 1],
    "meeting": MET,
    "offset": 0.1,
}
ALONE = {**WELL, "held": True, "meeting": {}}
NONE = {"version": "", "features": [], "refused": "", "offered": ""}
SILENT = {**MET, "vrrp": False, "ended": 18.0}


def found(first, second=WELL, settings=GOOD, ignored=()):
    questions = entry_questions(settings, TWO, list(TWO))
    return entry_checked(questions, {"h1": {**WELL, **first}, "h2": second}, [], ignored)["findings"]


def told(findings):
    return [(each["id"], each["severity"], each["path"]) for each in findings]


def test_all_is_well_on_one_host_and_on_two():
    assert found({}) == []
    assert entry_checked(entry_questions(GOOD, ONE, list(ONE)), {"h1": ALONE}, [])["findings"] == []
    report = entry_checked(entry_questions(GOOD, TWO, list(TWO)), {"h1": WELL, "h2": WELL}, [])
    assert report["lines"] == ["The entry on h1, h2: ready to deploy, no findings."] and report["errors"] == 0


BROKEN = [
    ({"taken": ["0.0.0.0:443 (nginx)"]}, "ENTRY-PORT", "error"),
    ({"program": {**NONE, "version": "2.4.24", "features": ["Lua", "OpenSSL"]}}, "ENTRY-PROGRAM", "error"),
    ({"program": {**NONE, "offered": "2.2.9"}}, "ENTRY-PROGRAM", "error"),
    ({"program": {**NONE, "version": "2.6.12", "features": ["OpenSSL"]}}, "ENTRY-PROGRAM", "error"),
    ({"program": {**NONE, "version": "2.6.12", "features": ["Lua"]}}, "ENTRY-PROGRAM", "error"),
    ({"program": {**WELL["program"], "refused": "unknown keyword"}}, "ENTRY-PROGRAM", "error"),
    ({"systemd": False}, "ENTRY-SYSTEMD", "error"),
    ({"owner": "02:00:00:00:00:99"}, "ENTRY-ADDRESS", "error"),
    ({"kept": "no interface of this host has its address. Fix: set inference_address"}, "ENTRY-ADDRESS", "error"),
    ({"capabilities": 2**41 - 1 - 2**12}, "ENTRY-RIGHTS", "error"),
    ({"open_files": [1024, 2**63 - 1]}, "ENTRY-FILES", "error"),
    ({"open_files": [1048576, 65535]}, "ENTRY-FILES", "error"),
    ({"memory_mib": 4096}, "ENTRY-MEMORY", "warning"),
    ({"offset": -11.0}, "ENTRY-CLOCK", "warning"),
    ({"unreachable": True, "msg": "no route to host"}, "ENTRY-HOST", "error"),
    ({"program": None}, "ENTRY-HOST", "error"),
]


@pytest.mark.parametrize(("first", "rule", "severity"), BROKEN)
def test_each_fault_is_one_finding_of_its_host(first, rule, severity):
    assert told(found(first)) == [(rule, severity, "h1")]
    assert told(found(first, ignored=[rule])) == [(rule, "accepted", "h1")]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (SILENT, SILENT, [("ENTRY-PAIR", "error", "h1"), ("ENTRY-PAIR", "error", "h2")]),
        (SILENT, {**MET, "ended": 18.0}, [("ENTRY-PAIR", "error", "h1")]),
        ({**MET, "peers": "timed out", "ended": 18.0}, {**MET, "ended": 18.0}, [("ENTRY-PAIR", "warning", "h1")]),
        (
            SILENT,
            {**SILENT, "began": 19.0, "ended": 27.0},
            [("ENTRY-PAIR", "remark", "h1"), ("ENTRY-PAIR", "remark", "h2")],
        ),
        ({**SILENT, "keeps": True}, {**SILENT, "keeps": True}, []),
        ({**SILENT, "keeps": True}, SILENT, [("ENTRY-PAIR", "remark", "h2")]),
    ],
)
def test_what_is_said_of_two_hosts_that_do_not_meet(first, second, expected):
    assert told(found({"meeting": first}, {**WELL, "meeting": second})) == expected


def test_the_other_host_may_have_the_address_and_another_machine_may_not():
    owner = {"owner": "02:00:00:00:00:02"}
    assert found(owner, {**WELL, "links": ["02:00:00:00:00:02"]}) == []
    assert "link address 02:00:00:00:00:02" in found(owner)[0]["problem"]


def test_a_single_host_without_the_address():
    questions = entry_questions(GOOD, ONE, list(ONE))
    assert told(entry_checked(questions, {"h1": {**ALONE, "held": False}}, [])["findings"]) == [
        ("ENTRY-ADDRESS", "error", "h1")
    ]
    assert entry_checked(questions, {"h1": {**ALONE, "held": None}}, [])["findings"] == [], (
        "a name, which may be its own"
    )


def test_what_is_needed_of_the_program_depends_on_the_settings():
    old = {"program": {**NONE, "version": "2.4.24", "features": ["Lua", "OpenSSL"]}}
    assert "Or set usage: false." in found(old)[0]["fix"]
    assert found(old, settings={**GOOD, "usage": False}) == []
    plain = {key: value for key, value in GOOD.items() if not key.startswith("certificate")}
    without = {"program": {**NONE, "version": "2.6.12", "features": ["Lua"]}}
    assert found(without, settings={**plain, "plain_http": True}) == []
    assert found({"program": NONE}) == [], "the package is installed by the playbook"


@pytest.mark.parametrize(
    ("kind", "severity"),
    [
        ("refused", "warning"),
        ("silent", "warning"),
        ("tls", "error"),
        ("key", "error"),
        ("of-a-later-version", "warning"),
    ],
)
def test_a_router_is_named_with_its_models_and_the_reason(kind, severity):
    (address, models) = next(iter(entry_questions(GOOD, TWO, [])["h1"]["models"].items()))
    (finding,) = found(
        {"routers": [{"address": address, "kind": kind, "detail": "x"}, {"address": "b:1", "kind": "", "detail": ""}]}
    )
    assert told([finding]) == [("ENTRY-ROUTER", severity, f"h1 router {address}")] and models[0] in finding["problem"]


@pytest.mark.parametrize("part", sorted(WELL))
def test_an_answer_in_a_wrong_form_costs_its_host_alone(part):
    wrong = found({part: {"a": ["b"]}}, {**WELL, "taken": ["0.0.0.0:443 (nginx)"]})
    assert [each["path"] for each in wrong if each["id"] == "ENTRY-PORT"][-1:] == ["h2"]


@pytest.mark.parametrize("meeting", [{}, {**MET, "began": "soon"}, {**MET, "ended": None}, [], "x", None])
def test_an_odd_meeting_costs_the_host_that_tells_it(meeting):
    """Also if the other one, which is judged with it, has not heard it."""
    odd = {**WELL, "meeting": meeting}
    for honest in (WELL, {**WELL, "meeting": SILENT}):
        assert [each["path"] for each in found(odd, honest) if each["id"] == "ENTRY-HOST"] in (["h1"], [])
        assert [each["path"] for each in found(honest, odd) if each["id"] == "ENTRY-HOST"] in (["h2"], [])
    assert told(found({"meeting": {**MET, "began": "soon"}}, {**WELL, "meeting": SILENT})) == [
        ("ENTRY-HOST", "error", "h1")
    ]


def test_questions_have_no_key_and_nothing_is_asked_of_what_is_removed():
    questions = entry_questions(GOOD, TWO, list(TWO))
    assert not [text for text in TEXTS.values() if text.strip() in str(questions)]
    assert questions["h1"]["options"]["pair"] == {"own": TWO["h1"], "other": TWO["h2"], "port": 8014}
    assert entry_questions(GOOD, TWO, ["h1"])["h1"]["options"]["pair"] == {}
    assert entry_questions({"state": "absent"}, TWO, list(TWO)) == {}
    assert entry_engine_keys(GOOD, TWO, TEXTS) == {"qwen.key": TEXTS["qwen.key"].strip()}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A function that makes a certificate: its text and that of its key."""
    folder = tmp_path_factory.mktemp("certificates")

    def make(name="x", names="IP:192.0.2.100", days=90, *more):
        place = folder / name
        argv = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-days", str(days), "-subj", "/CN=a", "-out", place]
        argv += ["-addext", f"subjectAltName={names}"] if names else []
        subprocess.run([*argv, "-keyout", f"{place}.key", *(more or ["-nodes"])], check=True, capture_output=True)
        return place.read_text(), (folder / f"{name}.key").read_text()

    return make


def of_files(pair, settings=GOOD, now=None, paths=(), **texts):
    known = {**TEXTS, GOOD["certificate"]: pair[0], GOOD["certificate_key"]: pair[1], **texts}
    settings = {**settings, "address": settings.get("address")}
    return files_checked(settings, TWO, known, dict(paths), now or time.time())


def test_certificates(made):
    address = GOOD["address"]
    good = made("good", f"IP:{address},DNS:llm.example.com")
    assert of_files(good) == []
    assert told(of_files(made("soon", f"IP:{address}", 20))) == [
        ("ENTRY-CERTIFICATE", "warning", "inference_entry.certificate")
    ]
    later = datetime.datetime(2099, 1, 1, tzinfo=datetime.timezone.utc).timestamp()
    (expired,) = of_files(good, now=later)
    assert expired["severity"] == "error" and "has expired on 20" in expired["problem"]
    (early,) = of_files(good, now=time.time() - 9 * 86400)
    assert early["severity"] == "error" and "valid only from" in early["problem"]
    assert told(of_files(made("named", "DNS:llm.example.com")))[0][:2] == ("ENTRY-CERTIFICATE", "remark")
    (foreign,) = of_files(made("foreign", "IP:192.0.2.77"))
    assert foreign["severity"] == "warning" and f"is not of {address}" in foreign["problem"]
    assert "no subject alternative name" in of_files(made("bare", ""))[0]["problem"]
    (unreadable,) = of_files(("none", good[1]))
    assert unreadable["severity"] == "error" and "no certificate in PEM format" in unreadable["problem"]


def test_a_name_as_address(made):
    settings = {**GOOD, "address": "llm.example.com"}
    wild = made("wild", "DNS:*.example.com")

    def judged(pair, hosts=ONE):
        known = {**TEXTS, GOOD["certificate"]: pair[0], GOOD["certificate_key"]: pair[1]}
        return files_checked(settings, hosts, known, {}, time.time())

    assert judged(wild) == []
    assert told(judged(made("deep", "DNS:*.llm.example.com")))[0][:2] == ("ENTRY-CERTIFICATE", "warning")


def test_keys_of_certificates(made):
    good, other = made("one", f"IP:{GOOD['address']}"), made("two", f"IP:{GOOD['address']}")
    (wrong,) = of_files((good[0], other[1]))
    assert wrong["id"] == "ENTRY-CERTIFICATE-KEY" and "is not that of" in wrong["problem"]
    (locked,) = of_files(made("locked", f"IP:{GOOD['address']}", 90, "-passout", "pass:abcd"))
    assert locked["id"] == "ENTRY-CERTIFICATE-KEY" and "has a password" in locked["problem"]
    (none,) = of_files((good[0], "none"))
    assert none["id"] == "ENTRY-CERTIFICATE-KEY" and "BEGIN" not in str(none)
    plain = {key: value for key, value in GOOD.items() if not key.startswith("certificate")}
    assert files_checked({**plain, "plain_http": True}, TWO, TEXTS, {}, time.time()) == []


@pytest.mark.parametrize(
    ("mode", "folder", "text", "expected"),
    [
        (0o600, 0o755, "k", ""),
        (0o644, 0o755, "k", "all users"),
        (0o644, 0o700, "k", ""),
        (0o640, 0o750, "k", "users of its group"),
        (0o602, 0o755, "k", "all users"),
        (0o644, 0o755, "$ANSIBLE_VAULT;1.1;AES256\n", ""),
    ],
)
def test_who_reads_keys(made, tmp_path, mode, folder, text, expected):
    file = tmp_path / "keys" / "lab"
    file.parent.mkdir()
    file.write_text(text)
    file.chmod(mode)
    file.parent.chmod(folder)
    (name,) = {team["keys_file"] for team in GOOD["teams"].values() if team["keys_file"] == "lab"}
    findings = of_files(made("good", f"IP:{GOOD['address']}"), paths={name: str(file)})
    assert [each["id"] for each in findings] == (["ENTRY-KEY-MODE"] if expected else [])
    assert not expected or findings[0]["problem"].startswith(expected)


def test_every_rule_is_broken_here():
    broken = {rule for _first, rule, _severity in BROKEN} | {
        "ENTRY-PAIR",
        "ENTRY-ROUTER",
        "ENTRY-CERTIFICATE",
        "ENTRY-CERTIFICATE-KEY",
        "ENTRY-KEY-MODE",
    }
    assert broken == {rule.id for rule in (*OF_HOSTS, *OF_FILES)}
