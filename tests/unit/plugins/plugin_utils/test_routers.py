# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Router flavours: one record each, and nothing but the registry knows their names."""

from __future__ import annotations

import ast
import dataclasses
import pathlib
import re
import types

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.verify.plan import read_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring.metrics import exported
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.render.client_paths import refused_path
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.routers import registry
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.routers.base import (
    ANSWERED,
    CALLED_BACK,
    DISAGGREGATED,
    EITHER,
    Flavour,
    Package,
    Place,
    url,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.routers.registry import FLAVOURS
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import RELEASES
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import family, hosts

MADE_UP = Flavour(
    name="made_up",
    pools=(DISAGGREGATED,),
    package=Package("made_up-router==7", "made_up", "made_up", frozenset({"listen", "behind", "policy"})),
    flags=lambda flavour, place: {
        "listen": f"{place.address}:{place.port}",
        "behind": [url(engine) for kind in ("prefill", "decode") for engine in place.answering(kind)],
    },
    health_path="/alive",
    metrics_port=9999,
    metrics={frozenset(): ("made_up_requests_total",)},
    membership=("/workers/add",),
    admin=("/cache/drop",),
    sends_key=lambda place: False,
    passes_key=True,
)


@pytest.fixture
def made_up(monkeypatch):
    """A router flavour that does not exist, registered."""
    monkeypatch.setitem(FLAVOURS, MADE_UP.name, MADE_UP)


PLUGINS = pathlib.Path(__file__).resolve().parents[4] / "plugins" / "plugin_utils"
NAMES = set(FLAVOURS) - {"none", "dp"}  # "none" is a word of other variables, "dp" of parallel sizes


def compared_in(text):
    """Lines of Python that compare with a flavour's name, or have it as a key of a dict."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Dict):
            parts = [key for key in node.keys if key]
        elif isinstance(node, ast.Compare):
            parts = [node]
        else:
            parts = [node.value] if isinstance(node, ast.MatchValue) else []
        words = {item.value for part in parts for item in ast.walk(part) if isinstance(item, ast.Constant)}
        if words & NAMES:
            yield node.lineno


def test_nothing_else_tests_a_flavour_s_name():
    paths = [path for path in sorted(PLUGINS.rglob("*.py")) if path.parent.name not in ("routers", "releases")]
    found = {str(path.relative_to(PLUGINS)): list(compared_in(path.read_text(encoding="utf-8"))) for path in paths}
    assert {name: lines for name, lines in found.items() if lines} == {}, "let the record Flavour state the fact"


@pytest.mark.parametrize(
    "text",
    [
        "a = x.flavour == 'vllm_router'",
        "a = x in ('layerwise', 'b')",
        "K = {'epd': 1}",
        "match x:\n    case 'hybrid':\n        pass",
    ],
)
def test_the_search_for_a_flavour_s_name_sees_it(text):
    assert list(compared_in(text))


def router(plan):
    return next(service for service in plan["services"] if service["kind"] == "router")


def configuration(plan):
    """What the frontend's program reads."""
    (frontend,) = (service for service in plan["services"] if service["kind"] == "frontend")
    return next(file["content"] for file in frontend["files"] if file["path"].endswith(".cfg"))


def refused(name, changes):
    with pytest.raises(PlanError) as caught:
        launch_plan(*family(name, changes))
    return [(finding.id, finding.path) for finding in caught.value.findings]


def test_a_new_flavour_is_a_record_and_an_entry_of_the_registry(made_up):
    words = {
        "flavour": "made_up",
        "args": {"policy": "low"},
        "frontend": "haproxy",
        "certificate": "/c.pem",
        "certificate_key": "/k.pem",
    }
    changes = {
        "inference_router": words,
        "inference_secrets": {"api_key": "x", "client_keys": "y"},
    }
    plan = launch_plan(*family("p2p", changes))
    service = router(plan)
    assert service["argv"] == [
        "/opt/ascend-inference/venvs/router-made_up-0.23.0/bin/made_up",
        "--listen",
        "10.1.0.1:8000",
        "--behind",
        "http://10.1.0.1:7100",
        "http://10.1.0.2:7100",
        "http://10.1.0.3:7300",
        "--policy",
        "low",
    ]
    assert service["health"]["url"] == "http://10.1.0.1:8000/alive"
    assert [(port["name"], port["first"]) for port in service["ports"]] == [("api", 8000), ("metrics", 9999)]
    assert service["secret_env"] == {}
    software = plan["software"]["router"]
    assert (software["flavour"], software["requirements"], software["imports"], software["script"]) == (
        "made_up",
        ["made_up-router==7"],
        ["made_up"],
        "",
    )
    assert plan["verify"]["entry"]["kind"] == "frontend"  # where clients go
    read_plan(plan["verify"])
    frontend = configuration(plan)
    assert "/workers/add" not in frontend and "/cache/drop" not in frontend
    assert "GET uri /alive\n" in frontend and "    server router 10.1.0.1:8000 " in frontend
    assert plan["findings"] == []
    watched = {name for name in exported(plan) if "router" in name or "made_up" in name}
    assert watched == {"made_up_requests_total"}


def test_the_rules_judge_a_new_flavour_by_its_record(made_up):
    chosen = {"inference_router.flavour": "made_up"}
    assert ("CONNECTOR-PROXY", "inference_router.flavour") in refused("layerwise", chosen)
    assert ("ROUTER-POOLS", "inference_router.flavour") in refused("pooled", chosen)
    assert ("ROUTER-FLAG", "inference_router.args.polciy") in refused(
        "p2p", {**chosen, "inference_router.args.polciy": 1}
    )


def test_a_new_flavour_may_be_preferred(monkeypatch):
    preferred = dataclasses.replace(MADE_UP, preferred=lambda context: True)
    monkeypatch.setattr(registry, "FLAVOURS", {"made_up": preferred, **FLAVOURS})
    assert launch_plan(*family("p2p", {}))["software"]["router"]["flavour"] == "made_up"


def policy_of(name, router):
    """The policy on the command line, once."""
    changes = (
        {"inference_router": router, "inference_pools.decode.args.additional-config": {}}
        if name == "both"
        else {"inference_router": router}
    )
    argv = next(item["argv"] for item in launch_plan(*family(name, changes))["services"] if item["kind"] == "router")
    (place,) = [number for number, word in enumerate(argv) if word == "--policy"]
    return argv[place + 1]


@pytest.mark.parametrize(
    ("name", "router", "policy"),
    [
        ("both", {"flavour": "vllm_router", "policy": "cache_aware"}, "cache_aware"),
        ("both", {"flavour": "vllm_router"}, "round_robin"),
        ("pooled", {"policy": "power_of_two"}, "power_of_two"),
        ("pooled", {"policy": "random", "args": {"policy": "consistent_hash"}}, "consistent_hash"),
    ],
)
def test_a_policy_is_an_option_of_the_router(name, router, policy):
    assert policy_of(name, router) == policy


@pytest.mark.parametrize(
    ("name", "policy", "words"),
    [
        ("pooled", "best", r"inference_router\.policy = best: --policy takes one of random, .*ROUTER-VALUE"),
        (
            "p2p",
            "cache_aware",
            r"inference_router\.policy: the load_balance router .* has no option --policy.*ROUTER-FLAG",
        ),
    ],
)
def test_a_policy_that_the_router_does_not_have_is_refused(name, policy, words):
    with pytest.raises(PlanError, match=words):
        policy_of(name, {"policy": policy})


def test_an_unknown_flavour_is_refused_with_the_nearest_name():
    with pytest.raises(PlanError, match="load_balance") as caught:
        launch_plan(*family("p2p", {"inference_router.flavour": "load_balanse"}))
    assert [(finding.id, finding.path) for finding in caught.value.findings] == [
        ("VARIABLE-CHOICE", "inference_router.flavour")
    ]


ENCODED = {
    "inventory": hosts(5, {"encode": (5,), "prefill": (1, 2), "decode": (3, 4)}),
    "inference_pools.encode": {"tensor_parallel_size": 4},
}


@pytest.mark.parametrize(
    ("name", "flavour"), [("p2p", "epd"), ("layerwise", "epd_layerwise")], ids=["mooncake", "mooncake_layerwise"]
)
def test_encoders_get_the_proxy_that_drives_the_connector(name, flavour):
    assert launch_plan(*family(name, ENCODED))["software"]["router"]["flavour"] == flavour


@pytest.mark.parametrize("flavour", ["epd", "epd_layerwise"])
def test_encoders_and_colocated_engines_have_both_proxies(flavour):
    """Upstream's script of the layerwise proxy has such an example: encoders, and --pd-hosts."""
    changes = {
        "inventory": hosts(3, {"encode": (3,), "colocated": (1, 2)}),
        "inference_pools": {
            "encode": {"tensor_parallel_size": 4},
            "colocated": {"tensor_parallel_size": 16, "instances": 2},
        },
        "inference_kv_transfer": "",
        "inference_router": {"flavour": flavour},
    }
    plan = launch_plan(*family("p2p", changes))
    router = next(service for service in plan["services"] if service["kind"] == "router")
    given = " ".join(router["argv"])
    assert plan["software"]["router"]["flavour"] == flavour and "--prefiller" not in given and "--decoder" not in given
    assert ("--pd-hosts 10.1.0.1 10.1.0.2 --pd-ports" in given) == (flavour == "epd_layerwise")
    assert not [finding for finding in plan["findings"] if finding["id"].startswith("ROUTER")]


@pytest.mark.parametrize("prefill", [True, False], ids=["disaggregated", "colocated"])
@pytest.mark.parametrize("connector", sorted(ANSWERED | CALLED_BACK | EITHER))
def test_exactly_one_proxy_for_encoders_is_preferred(connector, prefill):
    pools = types.SimpleNamespace(encode=True, prefill=prefill)
    context = types.SimpleNamespace(description=types.SimpleNamespace(pools=pools), p2p=connector)
    found = [name for name in ("epd", "epd_layerwise") if FLAVOURS[name].preferred(context)]
    assert found == ["epd_layerwise" if prefill and connector not in ANSWERED else "epd"]
    pools.encode = False
    assert not any(FLAVOURS[name].preferred(context) for name in ("epd", "epd_layerwise"))


def test_every_connector_between_prefill_and_decode_has_a_proxy():
    for word in ANSWERED | CALLED_BACK | EITHER:
        assert [
            flavour.name
            for flavour in FLAVOURS.values()
            if word in flavour.connectors and DISAGGREGATED in flavour.pools
        ], word


@pytest.mark.parametrize("flavour", FLAVOURS.values(), ids=lambda item: item.name)
def test_a_record_agrees_with_itself(flavour):
    assert FLAVOURS[flavour.name] is flavour
    assert set(flavour.membership).isdisjoint(flavour.admin)
    assert all(path.startswith("/") for path in (*flavour.private, flavour.health_path))
    listed = set().union(*flavour.pools)
    assert {*flavour.pairs.values(), *flavour.urls.values()} <= listed


def engine(kind, number):
    """As much of an engine's service as a flavour looks at."""
    port = types.SimpleNamespace(first=7100)
    return types.SimpleNamespace(kind=kind, health=True, address=f"10.9.8.{number}", port=lambda name: port)


@pytest.mark.parametrize(
    "flavour", [flavour for flavour in FLAVOURS.values() if flavour.pools], ids=lambda item: item.name
)
def test_the_command_line_of_a_flavour_names_every_engine_and_known_options_only(flavour):
    for pools in flavour.pools:
        engines = tuple(engine(kind, number) for number, kind in enumerate(sorted(pools)))
        place = Place("10.9.8.7", 8000, 8010, engines)
        flags, tail = flavour.flags(flavour, place), flavour.tail(place)
        text = repr((list(flags.values()), tail))
        assert [item.kind for item in engines if item.address not in text] == [], (
            "engines that the router does not know"
        )
        releases = [release for release in RELEASES.values() if flavour.exists(release)]
        assert releases, "no release has this proxy: a package, or a line in PROXIES of matrix.py"
        given = set(flags) | {word[2:] for word in tail if word.startswith("--")}
        assert given <= flavour.options(releases[-1]), "options that the program does not have"


def test_every_packaged_router_has_a_judge():
    """``make parsers`` passes command lines to the function of that name."""
    path = PLUGINS.parents[1] / "tests" / "parsers" / "judges.py"
    judges = {
        node.name for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)
    }
    packaged = {flavour.name for flavour in FLAVOURS.values() if flavour.package}
    assert packaged - judges == set(), "write a function of this name in tests/parsers/judges.py"


FRONTED = {
    "inference_router": {"frontend": "haproxy", "certificate": "/c", "certificate_key": "/k"},
    "inference_secrets": {"client_keys": "y"},
}


def doors(name, changes):
    """The paths of the planned frontend that reach the router."""
    plan = launch_plan(*family(name, {**FRONTED, **changes}))
    return sorted(" ".join(re.findall(r"acl (?:listed|served) path (.*)", configuration(plan))).split())


COMPLETIONS = ["/v1/chat/completions", "/v1/completions"]


@pytest.mark.parametrize(
    ("changes", "paths"),
    [
        ({}, [*COMPLETIONS, "/v1/models"]),
        ({"inference_args.task": "embed"}, ["/v1/embeddings", "/v1/models"]),
        ({"inference_args.convert": "embed"}, ["/v1/embeddings", "/v1/models"]),
        ({"inference_args.runner": "pooling"}, ["/v1/embeddings", "/v1/models", "/v1/rerank", "/v1/score"]),
        (
            {"inference_router.frontend_paths": ["/v1/messages"]},
            [*COMPLETIONS, "/v1/messages", "/v1/models"],
        ),
    ],
    ids=["generate", "task", "convert", "runner", "more"],
)
def test_clients_of_the_frontend_reach_what_the_engines_task_answers(changes, paths):
    name = "p2p-0.11" if "inference_args.task" in changes else "pooled"  # colocated: only it serves other tasks
    assert doors(name, changes) == paths


@pytest.mark.parametrize(
    ("instances", "router_path"),
    [
        (1, "/health"),
        (2, "/v1/models"),  # engines are added after the start: the router runs before it has one
    ],
)
def test_the_frontend_is_healthy_only_with_engines_behind_the_router(instances, router_path):
    plan = launch_plan(*family("cpu", {**FRONTED, "inference_pools.decode.instances": instances}))
    assert router(plan)["health"]["url"].endswith(router_path)
    assert "GET uri /health\n" in configuration(plan) and "    server router 10.1.0.1:8000 " in configuration(plan)


@pytest.mark.parametrize("flavour", FLAVOURS.values(), ids=lambda item: item.name)
def test_no_path_that_changes_a_router_can_be_given_to_clients(flavour):
    for path in (*flavour.private, "/metrics", "/invocations", "/workers/1", "/v1/load_lora_adapter"):
        assert refused_path(path, flavour), path


def test_the_router_s_own_port_is_for_the_cluster_where_clients_ask_the_frontend():
    open_, fronted = (launch_plan(*family("p2p", changes)) for changes in ({}, FRONTED))
    assert [port["scope"] for port in router(open_)["ports"]] == ["client"]
    assert [port["scope"] for port in router(fronted)["ports"]] == ["cluster"]


@pytest.mark.parametrize("flavour", FLAVOURS.values(), ids=FLAVOURS)
def test_no_router_has_options_for_tls(flavour):
    """A flavour that gets some is to be offered to the frontend with them; docs/docsite/rst/guide_security.rst says that there is none."""
    known = {option for release in RELEASES.values() for option in flavour.options(release)}
    assert not {option for option in known if re.search(r"(^|-)(ssl|tls|https|cert|certfile|keyfile)(-|$)", option)}


@pytest.mark.parametrize("bind", ["", "127.0.0.1", "0.0.0.0", "8.8.8.8"])
def test_the_plain_http_between_frontend_and_router_does_not_leave_the_host(bind):
    changes = {**FRONTED, "inference_router.group": "decode"}
    plan = launch_plan(*family("p2p", {**changes, **({"inference_router.bind": bind} if bind else {})}))
    (frontend,) = (service for service in plan["services"] if service["kind"] == "frontend")
    routed = router(plan)
    assert frontend["host"] == routed["host"] != "node1"
    assert f"    server router {routed['address']}:8000 " in configuration(plan)


@pytest.mark.parametrize(
    ("changes", "address"),
    [
        ({}, ""),
        ({"inference_router.bind": "0.0.0.0"}, "0.0.0.0:8000"),
        ({"inference_router.bind": "::"}, "[::]:8000"),
        ({"inference_router.args.host": "0.0.0.0"}, "0.0.0.0:8000"),
        ({"inference_router.bind": "127.0.0.1"}, ""),
        ({"inference_router.bind": "fd00::1"}, ""),
        ({"inference_router.args.host": "localhost", "inference_rules_ignore": ["ROUTER-ADDRESS"]}, ""),
        ({"inference_router.bind": "8.8.8.8"}, "8.8.8.8:8000"),
        ({"inference_router.bind": "8.8.8.8", "inference_secrets.api_key": "x"}, "8.8.8.8:8000"),
        (FRONTED, ""),
        ({**FRONTED, "inference_router.bind": "0.0.0.0"}, "0.0.0.0:8000"),
        ({**FRONTED, "inference_router.bind": "8.8.8.8"}, "8.8.8.8:8000"),
    ],
)
def test_a_router_without_a_key_on_a_public_address_is_reported(changes, address):
    findings = [found for found in launch_plan(*family("p2p", changes))["findings"] if found["id"] == "ROUTER-OPEN"]
    assert len(findings) == bool(address)
    for found in findings:
        assert f"without a key on {address}," in found["problem"] and "/instances/add" in found["problem"]


@pytest.mark.parametrize(
    ("path", "effect"),
    [
        ("/abort_requests", "ends requests of others"),
        ("/collective_rpc", "runs a function of the workers"),
        ("/fault_tolerance/apply", "restarts workers"),
        ("/init_weight_transfer_engine", "connects to an address for weights"),
        ("/shutdown_weight_transfer_engine", "ends an update of weights"),
        ("/start_weight_update", "begins an update of weights"),
        ("/start_draft_weight_update", "begins an update of weights"),
        ("/update_weights", "changes the model"),
        ("/update_weight_version", "changes the name of the weights"),
        ("/finish_weight_update", "ends an update of weights"),
        ("/weight_checker", "reads and changes weights"),
        ("/release_kv_cache_memory", "gives the memory away"),
        ("/reset_encoder_cache", "makes all pictures slow"),
        ("/invocations", "generates without the engines' key"),
        ("/load_lora_adapter", "loads files of the host"),
        ("/v1/load_lora_adapter", "loads files of the host"),
        ("/unload_lora_adapter", "ends requests of others"),
        ("/v1/unload_lora_adapter", "ends requests of others"),
        ("/pause", "stops all requests"),
        ("/resume", "ends a pause of the operator"),
        ("/sleep", "gives the memory away"),
        ("/wake_up", "takes the memory back"),
        ("/reset_prefix_cache", "makes all prompts slow"),
        ("/reset_mm_cache", "makes all pictures slow"),
        ("/scale_elastic_ep", "restarts workers"),
        ("/start_profile", "makes everything slow"),
        ("/stop_profile", "ends a measurement"),
        ("/server_info", "shows settings"),
        ("/metrics", "shows the use by others"),
        ("/workers", "adds engines to the router"),
    ],
)
def test_clients_never_get_what_concerns_all_of_them(path, effect):
    """Of every flavour, also below the path; and a path that only begins alike is another one."""
    for flavour in FLAVOURS.values():
        assert refused_path(path, flavour) and refused_path(f"{path}/x", flavour), effect
        assert not refused_path(f"/v2{path}s", flavour)


# Paths of each proxy that change it or its engines, besides those that add and remove engines: clients must not reach them.
ADMIN = {
    "dp": (),
    "epd": ("/start_profile", "/stop_profile"),
    "epd_layerwise": ("/start_profile", "/stop_profile", "/v1/metaserver"),
    "hybrid": (),
    "layerwise": ("/reset_prefix_cache", "/v1/metaserver"),
    "load_balance": ("/reset_prefix_cache",),
    "none": (),
    "vllm_router": ("/flush_cache", "/get_loads", "/list_workers", "/workers"),
}


def test_paths_that_clients_must_not_reach():
    found = {name: tuple(sorted(flavour.admin)) for name, flavour in registry.FLAVOURS.items()}
    assert found == ADMIN, "read the paths in the program itself, and write them into ADMIN of this file"
