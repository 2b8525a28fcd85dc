# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several routers behind a balancer: their names, ports and hosts, what the balancer forwards, and who asks what."""

from __future__ import annotations

import json
import re

import pytest
from ansible_collections.ascend.inference.plugins.filter.members_of import members_of_filter as members_of
from ansible_collections.ascend.inference.plugins.module_utils.verify.plan import read_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.connections import entry
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.handover import parts
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.placement_kept import read_text, record_hosts
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.routers.registry import FLAVOURS
from ansible_collections.ascend.inference.plugins.plugin_utils.views.plan_page import plan_page
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import family

CPU = {
    "inference_engine": "vllm_cpu",
    "inference_runtime": "supervisor",
    "inference_model": {"path": "/m", "name": "m"},
}
TWO = {"instances": 2, "balancer": "haproxy"}
FRONTED = {"frontend": "haproxy", "certificate": "/c", "certificate_key": "/k"}


def plan(routers=("n1",), router=None, deployed=None, instances=2, **more):
    """Engines on n1; the group of the routers has the hosts ``routers``."""
    groups = {"n1": ["prefill", "decode"]}
    for name in routers:
        groups[name] = [*groups.get(name, []), "router"]
    hosts = {
        name: {"groups": found, "variables": {"ansible_host": f"192.0.2.{name[1:]}"}} for name, found in groups.items()
    }
    variables = {
        **CPU,
        "inference_pools": {"prefill": {"instances": instances}, "decode": {"instances": instances}},
        "inference_router": TWO if router is None else router,
        **more,
    }
    return launch_plan(variables, hosts, (), deployed and deployed["placement"])


def services(found, *kinds):
    return {service["name"]: service for service in found["services"] if service["kind"] in kinds}


def ports(service):
    return [(port["name"], port["first"], port["scope"]) for port in service["ports"]]


def configuration(found):
    return services(found, "balancer")["balancer"]["files"][0]["content"]


def directives(text, section):
    """The lines of a section of haproxy.cfg."""
    return [
        line.strip()
        for line in re.split(r"^(?=\S)", text, flags=re.M)
        if line.startswith(section)
        for line in line.splitlines()[1:]
    ]


def test_routers_have_names_ports_and_files_of_their_own():
    found = plan()
    routers = services(found, "router")
    assert list(routers) == ["router", "router-1"]
    assert ports(routers["router"]) == [("api", 8000, "cluster"), ("metrics", 8010, "cluster")]
    assert ports(routers["router-1"]) == [("api", 8020, "cluster"), ("metrics", 8030, "cluster")]
    own = [json.dumps(service).replace("router-1", "router") for service in routers.values()]
    assert "8020" not in own[0] and "8000" not in own[1].replace('"8000"', "")
    folders = {service["work_directory"] for service in routers.values()}
    assert len(folders) == 2
    paths = [file["path"] for service in routers.values() for file in [*service["files"], *service["members"]["files"]]]
    assert len(paths) == len(set(paths)) == 6
    assert [service["instance"] for service in routers.values()] == [0, 1]


def test_the_first_router_does_not_change_when_another_one_joins_it():
    alone, two = plan(router={}), plan()
    assert "balancer" not in alone and "more" not in alone["members"] and "routers" not in alone["placement"]
    for key in ("digest", "argv", "unit", "host", "files", "members", "health"):
        assert services(alone, "router")["router"][key] == services(two, "router")["router"][key]


@pytest.mark.parametrize(
    ("group", "hosts"),
    [(("n1",), ["n1", "n1"]), (("n2", "n3"), ["n2", "n3"]), ((), ["n1", "n1"]), (("n2", "n3", "n4"), ["n2", "n3"])],
    ids=["one host", "two hosts", "no group", "three hosts"],
)
def test_routers_spread_over_the_hosts_of_their_group(group, hosts):
    found = plan(group)
    assert [service["host"] for service in services(found, "router").values()] == hosts
    assert services(found, "balancer")["balancer"]["host"] == hosts[0]
    warnings = {finding["id"] for finding in found["findings"]}
    assert ("SINGLE-HOST" in warnings) == (len(group) == 3)


def test_routers_keep_their_hosts():
    first = plan(("n3", "n4"))
    record = json.loads(json.dumps(first["placement"]))
    assert record["routers"] == ["n4"] and record["router"] == "n3"
    assert read_text(json.dumps(record)) == (record, "")
    assert record_hosts(record)["n4"] == ["router-1"]
    again = plan(("n2", "n3", "n4"), deployed=first)
    assert [service["host"] for service in services(again, "router").values()] == ["n3", "n4"]
    assert again["placement"] == record
    left = plan(("n2", "n3"), deployed=first)
    assert [service["host"] for service in services(left, "router").values()] == ["n3", "n2"]
    more = plan(("n2", "n3", "n4"), {**TWO, "instances": 3}, deployed=first)
    assert [service["host"] for service in services(more, "router").values()] == ["n3", "n4", "n2"]


@pytest.mark.parametrize("routers", ["n4", 4, [["n4"]], [4], ["n1"] * 300], ids=str)
def test_a_placement_with_other_routers_is_not_used(routers):
    record = {**plan()["placement"], "routers": routers}
    assert read_text(json.dumps(record))[0] is None


def test_clients_use_the_balancer_and_reach_its_paths_alone():
    found = plan(("n2", "n3"))
    balancer = services(found, "balancer")["balancer"]
    assert ports(balancer) == [("api", 8001, "client"), ("metrics", 8012, "cluster")]
    assert found["verify"]["entry"]["url"] == "http://192.0.2.2:8001" and found["verify"]["entry"]["kind"] == "haproxy"
    assert "/add_worker" in found["verify"]["entry"]["refused_paths"]
    assert [router.name for router in read_plan(found["verify"]).routers] == sorted(services(found, "router"))
    assert entry(found).port == 8001
    lines = directives(configuration(found), "frontend clients")
    assert "acl for_clients path /v1/chat/completions /v1/completions /v1/models" in lines
    assert [line.endswith(" unless for_clients") for line in lines if "status 404" in line] == [True]
    assert "bind 192.0.2.2:8001" in lines
    (removed,) = [line.split()[2] for line in lines if "del-header" in line]
    headers = ("accept", "content-type", "host", "x-data-parallel-rank", "x-session-id", "x-request-id", "hosts")
    assert [name for name in headers if not re.search(removed, name)] == ["accept", "content-type", "host"]
    assert "http-request set-header X-Request-Id %[uuid()]" in lines
    assert "HAProxy" in plan_page(found) and "nginx" not in plan_page(found)


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "::0", "0:0:0:0:0:0:0:0", "::ffff:0.0.0.0"])
def test_all_addresses_of_a_host_are_reached_at_its_own(address):
    """However they are spelt; elsewhere they would be those of another host."""
    found = plan(("n1", "n2"), {**TWO, "bind": address, "balancer_bind": address})
    assert found["verify"]["entry"]["url"] == "http://192.0.2.1:8001"
    servers = [line.split()[2] for line in configuration(found).splitlines() if line.startswith("    server ")]
    assert [server.rpartition(":")[0] for server in servers] == ["192.0.2.1", "192.0.2.2"]


def test_the_frontend_forwards_to_the_balancer():
    found = plan(router={**TWO, **FRONTED}, inference_secrets={"client_keys": "k"})
    front = services(found, "frontend")["frontend"]
    (text,) = (file["content"] for file in front["files"] if file["path"].endswith("haproxy.cfg"))
    assert "    server balancer 192.0.2.1:8001 weight 1\n" in text and ":8000" not in text
    assert "    http-check send meth GET uri /v1/models\n" in text
    assert front["start"]["needs"] == ["balancer"]
    assert ports(services(found, "balancer")["balancer"])[0] == ("api", 8001, "cluster")
    assert found["verify"]["entry"]["name"] == "frontend"
    assert "X-Request-Id" not in configuration(found), "the frontend has chosen it"
    assert entry(found).port == 8443


def test_the_balancer_checks_each_router_and_repeats_no_request_that_was_sent():
    found = plan(("n2", "n3"))
    lines = directives(configuration(found), "backend routers")
    assert lines[-2:] == ["server router 192.0.2.2:8000", "server router-1 192.0.2.3:8020"]
    assert "http-check send meth GET uri /v1/models" in lines, "/health is 200 before the router has engines"
    single = directives(configuration(plan(instances=1)), "backend routers")
    assert "http-check send meth GET uri /health" in single, "engines of the command line"
    assert "default-server check inter 1s fall 2 rise 2 weight 100" in lines
    assert [line for line in lines if line.startswith("retry-on")] == ["retry-on conn-failure"]
    assert "option redispatch 1" in lines
    assert "timeout server 3600s" in configuration(found)


@pytest.mark.parametrize(
    "name", [name for name in FLAVOURS if FLAVOURS[name].pools and name in ("load_balance", "layerwise")]
)
def test_the_health_path_is_the_flavour_s(name):
    changes = {"inference_router.instances": 2, "inference_router.balancer": "haproxy"}
    found = launch_plan(*family("layerwise" if name == "layerwise" else "p2p", changes))
    assert f"uri {FLAVOURS[name].health_path}\n" in configuration(found)
    hosts = {service["host"] for service in services(found, "router").values()}
    assert len(hosts) == 2, "without a group, hosts of engines"


def test_its_administration_is_a_socket_of_the_user_alone():
    found = plan()
    text = configuration(found)
    assert [line.strip() for line in text.splitlines() if "stats" in line] == [
        f"stats socket {found['balancer']['socket']} mode 600 level admin"
    ]
    assert found["balancer"]["socket"] == f"{found['directory']}/run/balancer.sock"
    assert found["balancer"]["servers"] == ["router", "router-1"]


def test_states_are_kept_for_the_same_routers_only():
    """HAProxy takes also the ports of routers from the file, so a file of other ones would send requests to where nobody listens."""
    one, same, other = plan(), plan(), plan(router={**TWO, "port": 8500})
    files = [found["balancer"]["state_file"] for found in (one, same, other)]
    assert files[0] == files[1] != files[2] and files[0].startswith(f"{one['directory']}/run/balancer-")
    assert f"    server-state-file {files[0]}\n" in configuration(one)


def test_members_are_changed_at_each_router():
    found = plan(("n2", "n3"), {**TWO, "instances": 3})
    assert [router["router"] for router in found["members"]["more"]] == ["router-1", "router-2"]
    by_host = {host: members_of(part, host) for host, part in parts(found)}
    assert by_host["n1"] == {}
    assert by_host["n2"]["routers"] == ["router", "router-2"] and by_host["n3"]["routers"] == ["router-1"]
    assert [place["url"] for place in by_host["n2"]["more"]] == ["http://192.0.2.2:8040"]
    assert by_host["n3"]["url"] == "http://192.0.2.3:8020" and by_host["n3"]["more"] == []
    assert by_host["n3"]["record"].endswith("/run/router-1.removed")
    assert len(by_host["n3"]["engines"]) == 4
    assert members_of(found, "n2", ["router-2"])["routers"] == ["router-2"]
    assert members_of(found, "n2", ["router-1"]) == {}
    assert [host for host, part in parts(found) if "balancer" in part] == ["n2"]


def test_the_software_names_the_balancer_where_there_is_one():
    assert plan()["software"]["router"]["balancer"] == "haproxy"
    assert "balancer" not in plan(router={})["software"]["router"]
