# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which host tries which ports of which other host, where a listener is started for that, and when it has to be stopped."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.connections import (
    entry,
    planned_connections,
    port_probes,
    still_listening,
)


def service(name, host, address="", **ports):
    """A service such as decode-1; ports as name=first or name=(first, count)."""
    kind, number = name.rsplit("-", 1)
    rows = []
    for label, numbers in ports.items():
        first, count = numbers if isinstance(numbers, tuple) else (numbers, 1)
        protocol = "http" if label in ("api", "metrics") else "tcp"
        rows.append({"name": label, "first": first, "count": count, "protocol": protocol})
    place = {"host": host, "address": address or f"10.0.0.{host}"}
    return {"kind": kind, "instance": int(number), "name": name, "ports": rows, **place}


def plan(*services, hosts="", firewall=None, in_cluster=False):
    names = hosts or sorted({item["host"] for item in services})
    rows = [{"name": name, "address": f"10.0.0.{name}", "firewall": (firewall or {}).get(name, [])} for name in names]
    return {"hosts": rows, "services": list(services), "runtime_facts": {"in_cluster": in_cluster}}


def shown(wanted):
    """Source to target to the numbers of its ports."""
    return {
        source: {host: [target.port for target in targets] for host, targets in found.items()}
        for source, found in wanted.items()
    }


PAIR = (
    service("prefill-0", "p", api=8100, kv=(5007, 2), metrics=9000),
    service("decode-0", "d", api=8200, kv=(6000, 1), dp_rpc=7000, metrics=9001),
    service("decode-0", "e", hccl=(7100, 2)),
    service("router-0", "r", api=8000),
)


def test_of_a_range_both_ends_are_tried_by_those_that_use_it():
    wanted, total = planned_connections(plan(*PAIR))
    assert shown(wanted) == {
        "d": {"e": [7100, 7101], "p": [5007, 5008]},
        "e": {"d": [6000 + 1000], "p": [5007, 5008]},
        "p": {"d": [6000]},
        "r": {"d": [8200], "p": [8100]},
    }
    assert total == 2 + 2 + 1 + 2 + 1 + 1 + 1
    target = wanted["e"]["p"][0]
    assert target == ("p", "10.0.0.p", 5007, "prefill-0 kv", "kv", "tcp")
    assert wanted["r"]["d"][0].protocol == "http"


def test_the_hosts_of_the_plan_are_tried_in_its_order():
    wanted = planned_connections(plan(*PAIR, hosts="repd"))[0]
    assert list(wanted["d"]) == ["e", "p"] and list(wanted["r"]) == ["p", "d"]
    assert list(planned_connections(plan(*PAIR, hosts="rpde"))[0]["d"]) == ["p", "e"]


@pytest.mark.parametrize(
    ("left_out", "expected", "number"),
    [
        ("p", {"d": {"e": [7100, 7101]}, "e": {"d": [7000]}, "r": {"d": [8200]}}, 4),
        ("r", {"d": {"e": [7100, 7101], "p": [5007, 5008]}, "e": {"d": [7000], "p": [5007, 5008]}, "p": {"d": [6000]}}, 8),
    ],
)  # fmt: skip
def test_a_host_that_is_left_out_neither_connects_nor_is_connected_to(left_out, expected, number):
    wanted, total = planned_connections(plan(*PAIR), [left_out])
    assert (shown(wanted), total) == (expected, number)


def row(name, ports):
    return {"for": name, "ports": ports}


def test_both_ends_of_a_transfer_engine_s_range_are_tried_from_the_other_side():
    rows = [row("ascend_direct", "20000-20099"), row("transfer_engine", "15000"), row("clients", "8000")]
    services = (
        service("prefill-0", "p"),
        service("decode-0", "d"),
        service("colocated-0", "c"),
        service("decode-1", "b"),
    )
    wanted, total = planned_connections(plan(*services, firewall={name: rows for name in "pdc"}))
    pool = [15000, 20000, 20099]
    assert shown(wanted) == {"p": {"d": pool}, "d": {"p": pool}, "b": {"p": pool}} and total == 9
    targets = wanted["d"]["p"]
    assert targets[0] == ("p", "10.0.0.p", 15000, "transfer_engine", "transfer_engine", "tcp")


def test_a_host_of_both_sides_tries_those_of_both():
    services = (
        service("prefill-0", "a"),
        service("decode-0", "a"),
        service("prefill-1", "p"),
        service("decode-1", "d"),
    )
    rows = [row("ascend_direct", "20000-20001")]
    wanted = planned_connections(plan(*services, firewall={"a": rows}))[0]
    ends = {"a": [20000, 20001]}
    assert shown(wanted) == {"p": ends, "d": ends}
    alone = (service("prefill-0", "a"), service("prefill-1", "p"))
    assert planned_connections(plan(*alone, firewall={"a": rows})) == ({}, 0)


def test_a_service_that_binds_a_loopback_address_is_not_tried():
    inside = service("decode-0", "d", "127.0.0.1", api=8200)
    assert planned_connections(plan(inside, service("router-0", "r"))) == ({}, 0)


def test_several_hosts_on_one_machine_are_tried_at_their_loopback_addresses():
    wanted = plan(service("decode-0", "d", "127.0.1.1", api=8200), service("router-0", "r"))
    wanted["hosts"][0]["address"] = "127.0.1.1"
    assert shown(planned_connections(wanted)[0]) == {"r": {"d": [8200]}}


def test_who_tries_the_ports_of_routers_and_stores():
    kinds = ("balancer", "router", "etcd", "mooncake_master", "memcache_meta")
    ports = {"api": 1, "metrics": 2, "peer": 3, "client": 4, "rpc": 5, "bootstrap": 6}
    others = [service(f"{kind}-0", kind[:2], **ports) for kind in kinds]
    engines_ = [service("prefill-0", "pr", **ports), service("colocated-0", "co", **ports)]
    clients = [service("frontend-0", "fr", **ports), service("etcd-1", "e2")]
    wanted = planned_connections(plan(*others, *engines_, *clients))[0]
    found = {}
    for source, targets in shown(wanted).items():
        for host, numbers in targets.items():
            for number in numbers:
                found.setdefault(host, {}).setdefault(number, set()).add(source)
    engines_ = {"pr", "co"}
    store = {number: engines_ for number in (1, 3, 4, 5, 6)}
    assert found == {
        "ba": {1: {"fr"}},
        "ro": {1: {"fr", "ba"}},
        "et": {1: {"mo"} | engines_, 2: {"mo"} | engines_, 3: {"e2"}, **{n: {"mo"} | engines_ for n in (4, 5, 6)}},
        "mo": store,
        "me": store,
        "pr": {1: {"ro"}, 6: {"ro"}},
        "co": {1: {"ro"}, 6: {"ro"}},
    }


def test_clients_connect_to_the_foremost_service_as_it_is_named():
    services = [
        service("router-0", "r", metrics=1, api=2),
        service("balancer-0", "b", api=3),
        service("frontend-0", "f", api=4),
    ]
    for count, expected in ((3, ("f", 4)), (2, ("b", 3)), (1, ("r", 2))):
        name = services[count - 1]["name"]
        host, port = expected
        assert entry(plan(*services[:count])) == (host, f"10.0.0.{host}", port, f"{name} api", "api", "http")


def routers(count):
    return [service(f"router-{number}", f"r{number:02}") for number in range(count)]


def engines(count):
    return [service(f"decode-{number}", f"x{number:02}", api=8000) for number in range(count)]


@pytest.mark.parametrize(("count", "tried"), [(31, 31), (32, 32), (33, 32), (64, 32)])
def test_a_host_tries_32_others_at_most(count, tried):
    wanted, total = planned_connections(plan(service("router-0", "r"), *engines(count)))
    assert len(wanted["r"]) == tried and total == count


def test_hosts_share_the_others_that_one_cannot_try_alone():
    wanted = planned_connections(plan(*routers(4), *engines(96)))[0]
    for number in range(4):
        assert sorted(int(name[1:]) for name in wanted[f"r{number:02}"]) == list(range(number % 3, 96, 3))


@pytest.mark.parametrize(("count", "tried"), [(24, range(24)), (48, range(0, 48, 2))])
def test_a_host_tries_24_ports_of_another_one_at_most(count, tried):
    several = [service(f"decode-{number}", "x", api=8000 + number) for number in reversed(range(count))]
    wanted, total = planned_connections(plan(*routers(2), *several))
    assert [target.port - 8000 for target in wanted["r00"]["x"]] == list(tried) and total == 2 * count
    if count > 24:
        assert [target.port - 8000 for target in wanted["r01"]["x"]] == list(range(1, 48, 2))


# ---- listeners ----


def facts(names, **listening):
    """Facts of hosts, with the ports in use."""
    return {
        name: {"host": {"listening": [{"port": port} for port in listening.get(name, [])], "x": 1}} for name in names
    }


def probe(name, listen, peers, sources):
    rows = [{"name": peer, "address": f"10.0.0.{peer}", "ports": ports} for peer, ports in peers.items()]
    return {"address": f"10.0.0.{name}" if name else "", "listen": listen, "peers": rows, "sources": sources}


def test_a_free_port_gets_a_listener_and_each_listener_is_tried_by_its_own_host():
    assert port_probes(plan(*PAIR), facts("pder")) == {
        "d": probe("d", [6000, 7000, 8200], {"d": [6000], "e": [7100, 7101], "p": [5007, 5008]}, ["d", "e", "p", "r"]),
        "e": probe("e", [7100, 7101], {"d": [7000], "e": [7100], "p": [5007, 5008]}, ["d", "e"]),
        "p": probe("p", [5007, 5008, 8100], {"d": [6000], "p": [5007]}, ["d", "e", "p", "r"]),
        "r": probe("r", [8000], {"d": [8200], "p": [8100], "r": [8000]}, ["localhost", "r"]),
        "localhost": probe("", [], {"r": [8000]}, []),
    }


def test_in_mode_connect_nobody_listens():
    found = port_probes(plan(*PAIR), facts("pder"), "connect")
    assert all(item["listen"] == item["sources"] == [] for item in found.values())
    assert found["p"]["peers"] == [{"name": "d", "address": "10.0.0.d", "ports": [6000]}]
    assert set(found) == {"d", "e", "p", "r", "localhost"}


def test_of_a_running_service_only_ports_that_serve_anyone_are_tried():
    found = port_probes(plan(*PAIR), facts("pder", d=[6000, 7000, 8200], e=[7100], p=[5007]))
    assert found["e"] == probe("e", [7101], {"e": [7101], "p": [5007, 5008]}, ["d", "e"])
    assert found["d"] == probe("d", [], {"e": [7101], "p": [5007, 5008]}, [])
    assert found["p"] == probe("p", [5008, 8100], {"d": [6000], "p": [5008]}, ["d", "e", "p", "r"])
    assert found["r"]["peers"][0] == {"name": "d", "address": "10.0.0.d", "ports": [8200]}


def test_who_tries_only_what_is_running_is_not_waited_for():
    found = port_probes(plan(*PAIR), facts("pder", d=[8200], r=[8000]))
    assert (found["d"]["listen"], found["d"]["sources"]) == ([6000, 7000], ["d", "e", "p"])
    assert found["localhost"] == probe("", [], {"r": [8000]}, [])


def test_ports_in_use_that_are_not_known_are_taken_for_free():
    unknown = {name: {"host": {"listening": None, "x": 1}} for name in "pder"}
    assert port_probes(plan(*PAIR), unknown) == port_probes(plan(*PAIR), facts("pder"))


@pytest.mark.parametrize(("name", "tried"), [("kv_scheduler", True), ("bootstrap", True), ("llmdatadist", False)])
def test_ports_of_a_handover_that_is_running(name, tried):
    pair = plan(service("prefill-0", "p", **{name: 5000}), service("decode-0", "d"))
    assert (port_probes(pair, facts("pd", p=[5000])) != {}) == tried


def test_the_master_of_the_store_is_tried_while_it_runs():
    pair = plan(service("mooncake_master-0", "m", rpc=5000, metrics=9000), service("prefill-0", "p"))
    assert port_probes(pair, facts("mp", m=[5000])) == {"p": probe("p", [], {"m": [5000]}, [])}


def test_hosts_without_facts_neither_try_nor_are_tried():
    found = port_probes(plan(*PAIR), facts("pd"))
    assert set(found) == {"p", "d"}
    assert [peer["name"] for peer in found["d"]["peers"]] == ["d", "p"]
    assert found["d"] == probe("d", [6000], {"d": [6000], "p": [5007, 5008]}, ["d", "p"])
    failed = {**facts("pd"), "e": {"host": {"error": "x"}}}
    assert port_probes(plan(*PAIR), failed) == found
    assert set(port_probes(plan(*PAIR), facts("pder"), "listen", ["e", "r"])) == {"p", "d"}


def test_an_address_of_its_own_gets_no_listener():
    apart = service("decode-0", "d", "10.9.9.9", api=8200)
    found = port_probes(plan(apart, service("router-0", "r")), facts("dr"))
    peers = [{"name": "d", "address": "10.9.9.9", "ports": [8200]}]
    assert found == {"r": {"address": "10.0.0.r", "listen": [], "peers": peers, "sources": []}}


def test_nothing_is_tried_where_nobody_wants_it_or_in_a_cluster():
    assert port_probes(plan(*PAIR), facts("pder"), "none") == {}
    assert port_probes(plan(*PAIR, in_cluster=True), facts("pder")) == {}
    with pytest.raises(ValueError, match="^unknown mode 'some'; known modes: listen, connect, none$"):
        port_probes(plan(*PAIR), facts("pder"), "some")


PROBES = {"a": {"sources": ["b", "localhost"]}, "b": {"sources": []}, "c": {"sources": ["a", "b"]}}


def result(listening=(), done=(), controller=()):
    return {
        "listen": {"listening": list(listening)},
        "connect": {"done": list(done)},
        "controller": {"done": list(controller)},
    }


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ({"a": result([1], ["c"], ["a"]), "b": result([], ["a", "c"]), "c": result([2])}, []),
        ({"a": result([1], [], ["a"]), "b": result([], ["a", "c"]), "c": result([2])}, ["c"]),
        ({"a": result([1], ["c"]), "b": result([], ["a", "c"]), "c": result([2])}, ["a"]),  # not the controller
        ({"a": result([1], ["c"]), "b": result([], ["a"]), "c": result([2], [], ["a"])}, ["c"]),
        ({"a": result([1], [], ["a"])}, ["a"]),  # b has no result
        ({"b": result([1])}, ["b"]),  # nobody tells it that it can end
        ({"d": result([1])}, ["d"]),
        ({"b": result([])}, []),
        ({"a": {"listen": None, "connect": None, "controller": None}, "b": {}}, []),
        ({"c": {"listen": {"listening": [1]}}}, ["c"]),
        ({"c": {"listen": {"listening": [1]}}, "a": {"connect": {"done": None}, "controller": {"done": None}}}, ["c"]),
    ],
)
def test_a_listener_that_has_not_heard_from_everybody_has_to_be_stopped(results, expected):
    assert still_listening(PROBES, results) == expected
