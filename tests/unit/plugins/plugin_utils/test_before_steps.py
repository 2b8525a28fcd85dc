# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What runs where before a change: each part by itself, on plans of a few services."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.before import (
    by_host,
    elsewhere,
    engines_as_deployed,
    instances_of,
    known_to_run,
    leftovers,
    moved_entry,
    old_instances,
    orphaned,
    taken_from,
    torn,
    whole,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.lifecycle.recorded import (
    as_begun,
    as_listed,
    as_running,
    left_out,
    listed_by,
)


def service(name, host, kind="decode", instance=0, devices=(), ports=()):
    ports = [{"first": first, "count": count} for first, count in ports]
    unit = f"unit-{name}"
    return {
        "name": name,
        "host": host,
        "kind": kind,
        "instance": instance,
        "unit": unit,
        "devices": devices,
        "ports": ports,
    }


def plan(*services, engines=None, **more):
    hosts = [{"name": host} for host in dict.fromkeys(found["host"] for found in services)]
    found = {"services": list(services), "hosts": hosts, **more}
    return found if engines is None else {**found, "members": {"engines": engines}}


def engine(name, url, kind="decode"):
    return {"name": name, "kind": kind, "url": url}


HERE, THERE = plan(service("d-0", "a"), service("d-1", "a")), plan(service("d-0", "b"), service("d-1", "b"))
MOVED = elsewhere(THERE, HERE, {})
# One instance of two processes, of which the second one moves from b to c.
PARTED = plan(service("d-0-0", "a"), service("d-0-1", "b"))
PLANNED = plan(service("d-0-0", "a"), service("d-0-1", "c"))
AWAY = elsewhere(PLANNED, PARTED, {})


@pytest.mark.parametrize(
    ("pending", "known"),
    [({}, None), ({"a": {}}, None), ({"a": {"other": []}}, False), ({"a": {"other": ["unit-d-0"]}}, True)],
)
def test_a_service_runs_elsewhere_unless_its_host_says_that_it_does_not(pending, known):
    assert known_to_run(HERE["services"][0], pending) is known
    assert ("d-0" in elsewhere(THERE, HERE, pending)) == (known is not False)


def test_what_stays_is_nowhere_else_and_what_is_no_longer_planned_is():
    assert elsewhere(HERE, HERE, {}) == {} == elsewhere(HERE, {}, {})
    assert set(elsewhere(plan(service("d-0", "a")), HERE, {})) == {"d-1"}


def test_services_stop_on_the_hosts_of_the_plan_where_they_run():
    deployed = plan(service("d-0", "a"), service("d-1", "a"), service("d-2", "b"), service("d-3", "c"))
    new = plan(service("d-0", "a"), service("d-1", "a"), service("d-2", "a"), service("x", "b"))
    gone = elsewhere(new, deployed, {})
    names = ["d-0", "d-1", "d-2", "d-3"]
    found = by_host(names, new, {**deployed, "services": deployed["services"][::-1]}, gone, ())
    assert list(found.items()) == [("a", ["d-0", "d-1"]), ("b", ["d-2"])]
    assert by_host(names, new, deployed, gone, ["d-1", "d-2"]) == {"a": ["d-0"], "b": ["d-2"]}, "it does not run here"
    assert by_host(["d-1"], new, deployed, gone, ()) == {"a": ["d-1"]}
    assert by_host(["d-2"], new, deployed, {}, ()) == {}
    assert orphaned(names, new, gone) == {"c": ["d-3"]}
    assert orphaned(["d-2"], new, gone) == {} == orphaned(names, new, {})


@pytest.mark.parametrize(
    ("deployed", "new", "old", "left"),
    [
        (PARTED, PLANNED, (), {"d-0-1"}),
        (PARTED, PLANNED, {("decode", 0)}, set()),  # it serves as a whole until the others have changed
        (HERE, THERE, (), set()),  # all of them run elsewhere
        (HERE, HERE, (), set()),
    ],
)
def test_a_process_is_left_over_if_others_of_its_instance_are_where_they_were(deployed, new, old, left):
    assert leftovers(new, elsewhere(new, deployed, {}), old) == left


def test_an_instance_starts_anew_as_a_whole_if_a_changed_one_has_a_process_elsewhere():
    assert torn(PLANNED, ["d-0-0"], AWAY) == {"d-0-0", "d-0-1"}
    assert torn(PLANNED, [], AWAY) == set() == torn(PLANNED, ["d-0-0"], {})
    assert whole(["d-0-1"], PARTED) == {"d-0-0", "d-0-1"}
    assert whole(["router"], PARTED) == {"router"}


def test_instances_have_engines_only():
    several = plan(service("d-0", "a"), service("d-1", "a", instance=1), service("router", "a", "router"))
    assert instances_of(several["services"]) == {("decode", 0): {"d-0"}, ("decode", 1): {"d-1"}}


@pytest.mark.parametrize(
    ("gone", "down", "serves"),
    [(AWAY, (), True), ({}, (), False), (AWAY, ["d-0-0"], False), (AWAY, ["d-0-1"], True)],
)
def test_an_old_instance_serves_if_each_process_runs_as_deployed(gone, down, serves):
    assert old_instances(PLANNED, PARTED, gone, down) == ({("decode", 0): {"d-0-0", "d-0-1"}} if serves else {})
    assert old_instances(PARTED, PARTED, {}, ()) == {}, "it is planned where it runs"


@pytest.mark.parametrize(
    ("kinds", "entry"),
    [(("router",), "router"), (("router", "balancer"), "balancer"), (("router", "balancer", "frontend"), "frontend")],
)
def test_the_entry_is_the_first_of_those_that_are_planned(kinds, entry):
    deployed, new = (plan(*(service(kind, host, kind) for kind in kinds)) for host in ("a", "b"))
    assert moved_entry(new, deployed, {}) == (entry, None)
    assert moved_entry(new, deployed, {"a": {"other": [f"unit-{entry}"]}}) == (entry, True)
    assert moved_entry(new, deployed, {"a": {"other": []}}) == ("", None)
    assert moved_entry(new, new, {}) == ("", None)
    renamed = plan(*(service(f"{kind}-x", "b", kind) for kind in kinds))
    assert moved_entry(renamed, deployed, {}) == ("", None)
    further = (plan(*(service(kind, host, kind, 1) for kind in kinds)) for host in ("b", "a"))
    assert moved_entry(*further, {}) == ("", None)


@pytest.mark.parametrize(
    ("used", "taker", "found"),
    [
        ({"devices": [0, 1]}, {"devices": [1, 2]}, True),
        ({"devices": [0, 1]}, {"devices": [2, 3]}, False),
        ({"ports": [(7100, 2)]}, {"ports": [(7101, 1)]}, True),
        ({"ports": [(7100, 2)]}, {"ports": [(7102, 1)]}, False),
        ({"ports": [(7100, 2)]}, {"ports": [(7099, 1)]}, False),
        ({"devices": [1]}, {"ports": [(1, 1)]}, False),
    ],
)
@pytest.mark.parametrize("name", ["d-0", "d-1"])
def test_another_service_takes_devices_or_ports_of_one_that_runs(name, used, taker, found):
    """Also of one with the same name that runs on another host than planned."""
    deployed = plan(service("d-0", "a", **used))
    new = plan(service(name, "a", **taker), *([service("d-0", "b")] if name != "d-0" else []))
    taken = {"a": {"d-0": {name}}} if found and name != "d-0" else {}
    assert taken_from(new, deployed, {}, ()) == taken
    assert name == "d-0" or taken_from(new, deployed, {"a": {"other": []}}, ()) == {}, "it does not run there"
    assert taken_from(plan(*(service("x", "b", **taker), service("d-0", "c"))), deployed, {}, ()) == {}


def test_a_service_that_does_not_run_gives_nothing_away():
    deployed = plan(service("d-0", "a", devices=[0]))
    new = plan(service("d-0", "a"), service("d-1", "a", devices=[0]))
    assert taken_from(new, deployed, {}, ()) == {"a": {"d-0": {"d-1"}}}
    assert taken_from(new, deployed, {}, ["d-0"]) == {}


def test_lists_of_routers_are_put_together_by_pool():
    results = [
        None,
        {},
        {"before": {}},
        {"before": {"decode": ["u1"]}},
        {"before": {"decode": ["u2"], "prefill": ["u3"]}},
    ]
    assert listed_by(results) == {"decode": ["u1", "u2"], "prefill": ["u3"]}


ENGINES = [engine("d-1", "http://a:2"), engine("d-0", "http://a:1"), engine("d-2", "http://b:1")]
NEW = [engine("d-1", "http://a:5"), engine("d-0", "http://a:4"), engine("d-2", "http://b:4")]


@pytest.mark.parametrize(
    ("listed", "urls"),
    [
        ({}, ["http://a:2", "http://a:1", "http://b:1"]),
        ({"decode": ["http://a:1", "http://a:2", "http://b:1"]}, ["http://a:2", "http://a:1", "http://b:1"]),
        # by name and by port, not by the order of lists
        ({"decode": ["http://a:20", "http://a:3", "http://b:1"]}, ["http://a:20", "http://a:3", "http://b:1"]),
        ({"decode": ["http://a:3", "http://a:2"]}, ["http://a:2", "http://a:3", "http://b:1"]),
        ({"decode": ["http://a:1", "http://a:3"]}, ["http://a:3", "http://a:1", "http://b:1"]),
        # as it is planned, by a run that was killed
        ({"decode": ["http://a:4", "http://a:3"]}, ["http://a:3", "http://a:4", "http://b:1"]),
        ({"decode": ["http://a:5"]}, ["http://a:5", "http://a:1", "http://b:1"]),
        ({"decode": ["http://a:3", "http://a:5"]}, ["http://a:5", "http://a:3", "http://b:1"]),
        # of another pool, another host, without a port
        ({"prefill": ["http://a:3"], "decode": ["http://c:3", "http://a", "http://a:x"]}, None),
    ],
)
def test_an_engine_has_the_address_that_routers_have_for_it(listed, urls):
    deployed = {"root": "/r", "members": {"api": "x", "engines": ENGINES}}
    rows = [engine(item["name"], url) for item, url in zip(ENGINES, urls, strict=True)] if urls else ENGINES
    found = as_listed(deployed, plan(engines=NEW), listed)
    assert found == {"root": "/r", "members": {"api": "x", "engines": rows}}


def test_an_engine_leaves_the_routers_under_both_urls_that_they_have():
    """It did not run under the one that was deployed, which nobody took out, and a killed run gave it the planned one."""
    deployed = {"members": {"api": "x", "engines": ENGINES}}
    found = as_listed(deployed, plan(engines=NEW), {"decode": ["http://a:2", "http://a:5", "http://a:1"]})
    left = engines_as_deployed(["d-1"], found)
    assert [each["url"] for each in left] == ["http://a:2", "http://a:5"]


def test_plans_without_members_list_no_engine():
    without = plan(members=None)
    assert as_listed(without, without, {"decode": ["http://a:3"]}) == without
    assert left_out(without, without, {"decode": ["http://a:3"]}) == set()
    assert engines_as_deployed(["d-0"], without) == []
    assert engines_as_deployed(["d-0"], plan(engines=ENGINES)) == [ENGINES[1]]


@pytest.mark.parametrize(
    ("listed", "out"),
    [
        ({}, set()),
        ({"decode": []}, set()),
        ({"decode": ["http://a:1"]}, {"d-1", "d-2"}),
        ({"decode": ["http://a:1", "http://a:5"]}, {"d-2"}),  # under its planned address
        ({"decode": ["http://x:1"]}, {"d-0", "d-1", "d-2"}),
    ],
)
def test_engines_that_no_router_has_under_any_of_their_addresses(listed, out):
    assert left_out(plan(engines=ENGINES), plan(engines=NEW), listed) == out


@pytest.mark.parametrize(
    ("down", "asked", "added"),
    [([], ["a"], ["d-9"]), (["d-9"], ["a"], []), ([], ["b"], [])],
    ids=["runs", "is down", "nobody asked its host"],
)
def test_a_planned_service_that_runs_and_that_the_record_lacks_counts_as_deployed(down, asked, added):
    """A run that added it was killed: it leaves the routers and finishes before it changes, like any other."""
    recorded = {
        "services": [{"name": "d-0", "host": "a"}],
        "members": {"engines": [{"name": "d-0", "url": "http://a:1"}]},
    }
    new = {
        "services": [*recorded["services"], {"name": "d-9", "host": "a"}],
        "members": {"engines": [*recorded["members"]["engines"], {"name": "d-9", "url": "http://a:9"}]},
    }
    found = as_running(recorded, new, {host: {"down": down, "outdated": [], "other": []} for host in asked})
    assert [service["name"] for service in found["services"]] == ["d-0", *added]
    assert [engine["name"] for engine in found["members"]["engines"]] == ["d-0", *added]
    assert as_running({}, new, {"a": {"down": []}}) == {}


@pytest.mark.parametrize(
    ("deployed", "revisions", "revision"),
    [
        ({"revision": "new"}, ["new"], "new"),
        ({"revision": "new"}, [], "new"),
        ({"revision": "new"}, ["z", "new", "old"], "old"),
        ({}, ["old"], None),
    ],
)
def test_a_change_that_was_begun_may_have_left_another_revision(deployed, revisions, revision):
    found = as_begun({**deployed, "root": "/r"} if deployed else {}, {"revision": "new"}, revisions)
    assert found == ({"revision": revision, "root": "/r"} if deployed else {})
