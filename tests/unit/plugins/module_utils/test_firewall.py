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


@pytest.mark.parametrize(
    ("spans", "joined"),
    [
        ([], []),
        ([(5, 6), (1, 2)], [(1, 2), (5, 6)]),
        ([(1, 2), (3, 4)], [(1, 4)]),
        ([(1, 2), (4, 4)], [(1, 2), (4, 4)]),
        ([(1, 9), (2, 3), (9, 10)], [(1, 10)]),
    ],
)
def test_spans_are_joined(spans, joined):
    assert policy.merged(spans) == joined


@pytest.mark.parametrize(
    ("holes", "left"),
    [
        ([], [(10, 20)]),
        ([(1, 9)], [(10, 20)]),
        ([(1, 10)], [(11, 20)]),
        ([(20, 30)], [(10, 19)]),
        ([(21, 30)], [(10, 20)]),
        ([(12, 13), (15, 15)], [(10, 11), (14, 14), (16, 20)]),
        ([(10, 20)], []),
        ([(1, 99)], []),
    ],
)
def test_holes_are_taken_out_of_spans(holes, left):
    assert policy.without([(10, 20)], holes) == left


@pytest.mark.parametrize(
    ("text", "span"), [("1", (1, 1)), (65535, (65535, 65535)), ("1-65535", (1, 65535)), ("7-7", (7, 7))]
)
def test_edges_of_a_span(text, span):
    assert policy.span(text) == span


@pytest.mark.parametrize("text", ["65536", "1-65536", "0-5", "-5", "5-"])
def test_what_is_no_span(text):
    if text == "5-":
        assert policy.span(text) == (5, 5)
    else:
        with pytest.raises(ValueError):
            policy.span(text)


def test_networks_are_merged_without_their_zones():
    found = policy.parse_networks(["fe80::1%eth0", "10.0.0.1/24", "10.0.0.9", "10.0.1.0/24"])
    assert [str(network) for network in found] == ["10.0.0.0/23", "fe80::1/128"]


def test_deployments_that_share_their_last_port_conflict():
    mine = {"ports": [[10, 20], [40, 50]], "peers": [f"10.0.0.{number}/32" for number in range(10)]}
    for ports, both in (([[20, 25]], "20"), ([[1, 10], [45, 60]], "10, 45-50"), ([[21, 39]], "")):
        found = policy.conflicts(mine, {"b": {"ports": ports, "peers": []}})
        assert len(found) == bool(both) and all(f"({both})" in text for text in found)
    (text,) = policy.conflicts(mine, {"b": {"ports": [[10, 10]], "peers": []}})
    assert "10.0.0.7/32. Each" in text and "10.0.0.8" not in text
    assert [
        item[:12] for item in policy.conflicts(mine, {name: {"ports": [[10, 10]], "peers": []} for name in "ba"})
    ] == [
        "deployment a",
        "deployment b",
    ]


def test_what_other_deployments_compare_is_that_of_the_cluster():
    assert made(client=["10.1.0.0/16"]).record() == {
        "ports": [[7100, 7115], [20000, 30021], [30023, 36000]],
        "peers": ["10.0.0.11/32", "10.0.0.12/32", "fd00::1/128"],
    }


def test_the_whole_script_of_nftables():
    """The order decides: whoever is named is accepted before all others are dropped."""
    small = policy.Policy(
        [RULES[2], RULES[3], {"ports": "7100", "from": "cluster"}], {**SOURCES, "client": ["10.1.0.0/16"]}
    )
    table = "table inet ascend_inference_a_b"
    elements = "10.0.0.11, 10.0.0.12"
    assert nftables.script("a-b", small).replace("\t", " ").splitlines() == [
        "# Written by ascend.inference for the deployment a-b. Do not edit.",
        table,
        f"delete {table}",
        f"{table} {{",
        *(
            line
            for name, kind, text in (
                ("client_ports", "inet_service", "8443"),
                ("client_ip", "ipv4_addr", f"{elements}, 10.1.0.0/16"),
                ("client_ip6", "ipv6_addr", "fd00::1"),
                ("cluster_ports", "inet_service", "7100"),
                ("cluster_ip", "ipv4_addr", elements),
                ("cluster_ip6", "ipv6_addr", "fd00::1"),
                ("monitoring_ports", "inet_service", "9003"),
                ("monitoring_ip", "ipv4_addr", elements),
                ("monitoring_ip6", "ipv6_addr", "fd00::1"),
                ("filtered_ports", "inet_service", "7100, 8443, 9003"),
            )
            for line in (f" set {name} {{", f"  type {kind}", "  flags interval", f"  elements = {{ {text} }}", " }")
        ),
        " chain input {",
        "  type filter hook input priority -10; policy accept;",
        "  iifname lo accept",
        "  tcp flags & (fin | syn | rst | ack) != syn accept",
        *(
            f"  {family} saddr @{name}_{family} tcp dport @{name}_ports accept"
            for name in ("client", "cluster", "monitoring")
            for family in ("ip", "ip6")
        ),
        "  tcp dport @filtered_ports counter drop",
        " }",
        "}",
    ]
    nothing = policy.Policy([RULES[3]], SOURCES)
    assert nftables.rules_of(nothing) == [] and nftables.sets_of(nothing) == {}


@pytest.mark.parametrize(
    ("item", "line"),
    [
        ({"set": {"name": "s", "elem": [{"range": [5, 7]}, 9, "10.0.0.0/31"]}}, "set s: 5-7, 9, 10.0.0.0/31"),
        ({"set": {"name": "s"}}, "set s: "),
        ({"set": {"name": "s", "elem": [{"odd": 1}]}}, 'set s: {"odd": 1}'),
        (
            {"chain": {"name": "input", "type": "filter", "hook": "input", "prio": -10, "policy": "accept"}},
            nftables.CHAIN,
        ),
        ({"chain": {"name": "mine"}}, "chain mine: None, hook None, priority None, policy None"),
        ({"map": {"name": "m"}}, 'map: {"name": "m"}'),
        (
            rule({"match": {"op": "==", "left": {"meta": {"key": "iifname"}}, "right": "lo"}}, {"accept": None}),
            "rule: iifname lo accept",
        ),
        (
            rule(
                {"match": {"op": "==", "left": {"payload": {"protocol": "tcp", "field": "dport"}}, "right": "@f"}},
                {"counter": {}},
                {"drop": None},
            ),
            "rule: tcp dport @f drop",
        ),
    ],
)
def test_what_the_kernel_has(item, line):
    assert nftables.present(json.dumps({"nftables": [{"metainfo": {}}, {"table": {}}, item]})) == [line]


def test_another_operator_is_another_rule():
    match = {"op": "!=", "left": {"meta": {"key": "iifname"}}, "right": "lo"}
    assert nftables.match_text(match) == json.dumps(match, sort_keys=True)
    assert nftables.match_text(dict(match, op="==", right=5)) == json.dumps(
        dict(match, op="==", right=5), sort_keys=True
    )


def test_everybody_is_accepted_by_firewalld_without_a_source():
    text = firewalld.files("a<b", made())[f"policies/{firewalld.policy_name('a<b')}.xml"]
    assert '  <rule priority="-1">\n    <port port="8443" protocol="tcp"/>\n    <accept/>\n  </rule>' in text
    name = firewalld.set_name("a<b", "cluster", 6)
    accept = f'  <rule family="ipv6" priority="-1">\n    <source ipset="{name}"/>\n    <port port="7100-7115" protocol="tcp"/>\n    <accept/>'
    assert accept in text and "ascend.inference a&lt;b" in text
    assert '  <rule priority="1">\n    <port port="9003" protocol="tcp"/>\n    <drop/>\n  </rule>' in text
    found = firewalld.files("a<b", made())
    for version, family, entry in ((4, "inet", "10.0.0.12"), (6, "inet6", "fd00::1")):
        set_text = found[f"ipsets/{firewalld.set_name('a<b', 'cluster', version)}.xml"]
        assert f'value="{family}"' in set_text and f"<entry>{entry}</entry>" in set_text


def test_a_range_that_is_small_enough_is_tried():
    def tried(ports):
        hosts = [{"name": "n", "address": "a", "firewall": [{"ports": ports, "from": "cluster", "for": "x"}]}]
        found, left = outside.targets(hosts)
        return len(found), len(left)

    assert (tried("1000-1255"), tried("1000-1256")) == ((256, 0), (0, 1))


def test_a_port_of_several_rules_is_tried_once():
    rules = [
        {"ports": "9", "from": name, "for": what}
        for name, what in (("monitoring", "m"), ("cluster", "c"), ("cluster", "d"))
    ]
    (target,), _left = outside.targets([{"name": "n", "address": "a", "firewall": rules}])
    assert target == outside.Target("n", "a", 9, ["cluster", "monitoring"], "m, c, d")
    assert outside.exposed([target, target._replace(sources=["client", "cluster"])]) == [target]
    text = outside.report([], [target] * 3, [], 2, [(target, "no route")] * 2)
    assert "1 planned ports were tried from here, each for 2 s." in text
    assert "2 could not be tried, so it is unknown whether they answer: n (a): no route\n" in text
