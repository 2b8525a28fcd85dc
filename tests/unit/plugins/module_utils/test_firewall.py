# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The firewall's policy, its texts for nftables and firewalld, and what is read back."""

from __future__ import annotations

import errno
import json
import socket

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.firewall import (
    backends,
    firewalld,
    nftables,
    outside,
    policy,
)

RULES = [
    {"ports": "7100-7115", "from": "cluster", "for": "prefill-0 api"},
    {"ports": "20000-36000", "from": "cluster", "for": "ascend_direct"},
    {"ports": "9003", "from": "monitoring", "for": "router metrics"},
    {"ports": "8443", "from": "client", "for": "frontend api"},
]
SOURCES = {"cluster": ["10.0.0.11", "10.0.0.12", "fd00::1"]}


def made(**more):
    return policy.Policy(RULES, {**SOURCES, **more}, [22, 30022])


def rule(*expressions):
    return {"rule": {"expr": list(expressions)}}


def test_ports_of_sshd_and_of_clients_are_never_filtered():
    assert policy.spell(made().filtered) == "7100-7115, 9003, 20000-30021, 30023-36000"
    rules = [{"ports": "8000-9000", "from": "cluster"}, {"ports": "8443", "from": "client"}]
    assert policy.spell(policy.Policy(rules, SOURCES).filtered) == "8000-8442, 8444-9000"
    closed = policy.Policy([{"ports": "22", "from": "client"}], {"client": ["10.1.0.0/16"]}, [22])
    assert closed.filtered == []


def test_clients_can_be_named_and_the_cluster_is_among_them():
    (clients,) = [access for access in made(client=["10.1.0.0/16"]).accesses if access.name == "client"]
    assert [str(network) for network in clients.networks] == [
        "10.0.0.11/32",
        "10.0.0.12/32",
        "10.1.0.0/16",
        "fd00::1/128",
    ]


def test_ports_of_sshd():
    assert policy.ssh_ports(["#Port 22\nPort 2222\n", "ListenAddress 10.0.0.1:30022\n"]) == [2222, 30022]
    assert policy.ssh_ports(["#Port 2022\n"]) == [22]
    assert policy.ssh_ports(["port 2222\n", "\tlistenaddress [fd00::1]:2223  \n"]) == [2222, 2223], (
        "sshd_config(5): in any case"
    )


def test_each_port_is_open_to_the_cluster_and_to_those_it_is_for():
    """A host of the deployment reads metrics and asks the frontend as well; nobody else gets more than is named."""
    made_ = made(monitoring=["10.2.0.9"], client=["10.1.0.0/16"])
    found = {access.name: [str(network) for network in access.networks] for access in made_.accesses}
    cluster = ["10.0.0.11/32", "10.0.0.12/32", "fd00::1/128"]
    assert found["cluster"] == cluster
    assert found["monitoring"] == [*cluster[:2], "10.2.0.9/32", cluster[2]]
    assert found["client"] == [*cluster[:2], "10.1.0.0/16", cluster[2]]
    alone = {access.name: access.networks for access in made().accesses}
    assert alone["monitoring"] == alone["cluster"] and alone["client"] == []


@pytest.mark.parametrize("text", ["0", "70000", "9-7", "all"])
def test_what_is_no_port_is_refused(text):
    with pytest.raises(ValueError):
        policy.Policy([{"ports": text, "from": "cluster"}], SOURCES)


@pytest.mark.parametrize("text", ["host1", "10.0.0.1; drop", "10.0.0.300", ""])
def test_what_is_no_address_is_refused(text):
    with pytest.raises(ValueError, match="neither an IP address"):
        policy.Policy(RULES, {"cluster": [text]})


def test_deployments_with_other_hosts_conflict_only_on_common_ports():
    mine, theirs = made().record(), policy.Policy(RULES[:1], {"cluster": ["10.0.0.13"]}).record()
    (text,) = policy.conflicts(mine, {"other": theirs})
    assert "deployment other filters the same ports of this host (7100-7115)" in text
    assert policy.conflicts(mine, {"other": {**theirs, "ports": [[1, 2]]}}) == []
    assert policy.conflicts(mine, {"other": mine}) == []


FLAGS = {"payload": {"protocol": "tcp", "field": "flags"}}


@pytest.mark.parametrize(
    "nested",
    [
        ["fin", "syn", "rst", "ack"],
        {"|": ["fin", "syn", "rst", "ack"]},
        {"|": [{"|": [{"|": ["fin", "syn"]}, "rst"]}, "ack"]},
    ],
)
def test_every_release_of_nft_is_read_alike(nested):
    """0.9, 1.0 and 1.1 nest the flags differently in JSON."""
    match = {"match": {"op": "!=", "left": {"&": [FLAGS, nested]}, "right": "syn"}}
    listing = json.dumps({"nftables": [rule(match, {"accept": None})]})
    assert nftables.present(listing) == [f"rule: {nftables.without_counter(nftables.rules_of(made())[1])}"]


def test_a_rule_that_is_not_ours_differs():
    drop = rule(
        {"match": {"op": "==", "left": {"meta": {"key": "iifname"}}, "right": "eth1"}}, {"jump": {"target": "x"}}
    )
    (line,) = nftables.present(json.dumps({"nftables": [drop]}))
    assert line not in [f"rule: {text}" for text in nftables.rules_of(made())] and "jump" in line


def test_elements_are_compared_by_value():
    assert nftables.spelled([{"range": [7100, 7110]}, {"elem": {"val": 7111}}]) == nftables.spelled(["7100-7111"])
    first = nftables.spelled([{"prefix": {"addr": "10.0.0.0", "len": 31}}])
    assert (
        first == nftables.spelled([{"range": ["10.0.0.0", "10.0.0.1"]}]) == nftables.spelled(["10.0.0.0", "10.0.0.1"])
    )


def test_names_of_firewalld_have_the_length_that_it_allows():
    name = "x" * 40
    sets = [path.split("/")[1][: -len(".xml")] for path in firewalld.places(name) if path.startswith("ipsets")]
    assert len(firewalld.policy_name(name)) <= 18 and max(map(len, sets)) <= 31


def test_policy_of_firewalld_accepts_before_it_drops():
    found = firewalld.files("sample", made())
    assert sorted(found) == sorted(set(firewalld.places("sample")) & set(found))
    text = found[f"policies/{firewalld.policy_name('sample')}.xml"]
    assert text.count("<drop/>") == 4 and "8443" in text
    dropped = text[text.index('priority="1"') :]
    assert "<accept/>" not in dropped and "8443" not in dropped and 'target="CONTINUE"' in text


class Programs:
    """A host without systemd, whose firewall-cmd answers from a mapping of its arguments."""

    def __init__(self, answers):
        self.answers, self.called = answers, []

    def __call__(self, argv):
        self.called.append(" ".join(argv[1:]))
        return self.answers.get(self.called[-1], (0, "", ""))


def host(tmp_path, answers, programs=("nft", "firewall-cmd")):
    run = Programs(answers)
    made_host = backends.Host(
        run,
        lambda name: name if name in programs else "",
        str(tmp_path / "f"),
        str(tmp_path),
        str(tmp_path / "d"),
        False,
    )
    return made_host, run


def test_files_of_firewalld_are_as_before_if_it_refuses_them(tmp_path):
    there, run = host(tmp_path, {"--check-config": (1, "", "INVALID_RULE")})
    with pytest.raises(backends.FirewallError, match="INVALID_RULE"):
        backends.Firewalld(there, "sample", made()).apply()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [] and run.called[-1] == "--reload"


TABLE = {"kernel": "a rule of others", "files": "another policy", "unit": "not enabled", "": ""}


@pytest.mark.parametrize("differs", sorted(TABLE))
def test_the_filter_is_applied_if_one_of_its_parts_differs(tmp_path, monkeypatch, differs):
    """Somebody may have emptied the kernel's table, edited the script or disabled the unit; the others are as planned."""
    there, _run = host(tmp_path, {})
    there.systemd = True
    monkeypatch.setattr(
        nftables, "present", lambda _out: nftables.wanted(made()) + (["rule: x"] if differs == "kernel" else [])
    )
    first = backends.Nftables(there, "sample", made())
    first.files.apply()
    if differs == "files":
        script = tmp_path / "f" / "sample.nft"
        script.write_text(script.read_text() + "# edited\n")
    if differs != "unit":
        wants = tmp_path / "multi-user.target.wants"
        wants.mkdir()
        (wants / first.unit).symlink_to(tmp_path / first.unit)
    assert backends.Nftables(there, "sample", made()).changed == bool(differs)


def test_a_user_without_rights_has_nothing_to_remove_where_nothing_is(tmp_path):
    """As with the runtime supervisor, which needs no root."""
    there, _run = host(tmp_path, {"--json list table inet ascend_inference_sample": (1, "", "Operation not permitted")})
    assert not backends.Nftables(there, "sample", None).changed
    with pytest.raises(backends.FirewallError, match="run as root"):
        backends.Nftables(there, "sample", made())


def test_boot_loads_the_table_after_those_of_the_site():
    unit = backends.UNIT.format(deployment="a", nft="/usr/sbin/nft", script="/x/a.nft", table="t")
    assert "After=local-fs.target nftables.service" in unit and "PartOf=nftables.service" in unit


def test_ports_that_only_the_cluster_needs_are_exposed():
    hosts = [
        {
            "name": "n1",
            "address": "10.0.0.11",
            "firewall": [*RULES, {"ports": "8000", "from": "cluster", "for": "router api"}],
        }
    ]
    tried, left = outside.targets(hosts)
    assert [target.port for target in tried] == [*range(7100, 7116), 8000, 8443, 9003] and left == [
        "n1 20000-36000 (ascend_direct)"
    ]
    opened, dummy = outside.probe(tried, 1, lambda target, timeout: target.port in (7100, 8443))
    found = outside.exposed(opened)
    assert [target.port for target in found] == [7100]
    text = outside.report(found, tried, left, 1)
    assert "n1 (10.0.0.11) port 7100 answers: prefill-0 api, needed by cluster only" in text and "Fix: " in text
    assert "Fix" not in outside.report([], tried, left, 1)


@pytest.mark.parametrize(
    ("error", "result"),
    [
        (ConnectionRefusedError(errno.ECONNREFUSED, "refused"), False),
        (socket.timeout("timed out"), False),
        (OSError(errno.EHOSTUNREACH, "a filter that rejects"), False),
        (OSError(errno.ENETUNREACH, "Network is unreachable"), "Network is unreachable"),
        (PermissionError(errno.EPERM, "a filter of this machine"), "a filter of this machine"),
        (OSError(errno.EMFILE, "Too many open files"), "Too many open files"),
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "Name or service not known"),
    ],
)
def test_a_port_that_cannot_be_asked_is_not_a_closed_one(monkeypatch, error, result):
    def connect(*dummy):
        raise error

    monkeypatch.setattr(socket, "create_connection", connect)
    target = outside.Target("n1", "10.0.0.1", 7100, ["cluster"], "prefill-0 api")
    answer = outside.answers(target, 1)
    assert answer is False if result is False else result in answer
    opened, untested = outside.probe([target], 1)
    text = outside.report(outside.exposed(opened), [target], [], 1, untested)
    assert ("None answers" in text) is (result is False) and ("unknown whether they answer: n1" in text) is (
        result is not False
    )


def test_a_policy_that_runs_is_compared_without_its_state():
    running = "ascend-1 (active)\n  priority: -10\n  rich rules:\n\tb\n\ta\n"
    assert firewalld.normal(running) == firewalld.normal("ascend-1\n  priority: -10\n  rich rules:\n\ta\n\tb\n")
    assert firewalld.normal(running) != firewalld.normal("ascend-1\n  priority: -11\n  rich rules:\n\ta\n\tb\n")


def test_address_sets_of_others_stay_and_the_policy_that_proves_ours_goes_last(tmp_path):
    there, _run = host(tmp_path, {})
    foreign = [tmp_path / "d" / path for path in firewalld.places("sample")[:2]]
    for path in foreign:
        path.parent.mkdir(parents=True)
        path.write_text("<ipset/>\n")
    kept = backends.Firewalld(there, "sample", None).files
    assert not kept.differing and sorted(kept.kept) == sorted(map(str, foreign))
    foreign[0].write_text(firewalld.files("sample", made())[firewalld.places("sample")[0]])
    gone = backends.Firewalld(there, "sample", None).files
    assert gone.differing == [str(path) for path in reversed(foreign)] and not gone.kept
