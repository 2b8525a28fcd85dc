# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a verification whose evidence is a little different: one reply, one line of metrics, one line of a log, one word of the plan.

Each line of test_replayed_evidence.txt has a digest of the whole report for each change; the number ``verified`` is how many
changes still end with a verified service, which a person reads.
"""

from __future__ import annotations

import json
import zlib

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.verify.plan import PlanError, read_plan
from ansible_collections.ascend.inference.tests.simulator import pd_cluster
from ansible_collections.ascend.inference.tests.unit.digests import expect
from ansible_collections.ascend.inference.tests.unit.plugins.module_utils.replayed import Network, replay

SHAPES = {
    "split": {"prefill": 2, "decode": 1, "ranks": 2},
    "stored": {"prefill": 1, "decode": 2, "pool": True, "api_key": "planted-engine-key"},
    "pool": {"colocated": 2, "pool": True},
    "ranked": {"prefill": 1, "decode": 1, "data_parallel": 2, "bootstrap": True},
    "fronted": {"prefill": 1, "decode": 1, "routers": 2, "front_key": "planted-client-key"},
}
FAULTS = {
    "engine": (
        "dead unhealthy wrong_name other_weights recompute garbage_kv hang_pull hang no_kv_params failed_pull_flag no_transfer_line no_pool_put "
        "no_pool_get pool_garbage no_source_metrics no_external_metrics no_metrics truncate fails_completions one_listener fine_tune quantised "
        "noise last_block drops_tenth fails_tenth no_chat_template no_logprobs ignores_rank no_registry recomputes_long resets rank1:garbage_kv"
    ),
    "router": (
        "two_prefills skips_prefill drops_params empty_200 swallows_errors no_done cut_stream rewrites strangers dead no_finish no_chat "
        "rewrites_chat cuts_long busy_once wrong_usage no_usage one_decode"
    ),
    "frontend": "open open_chat key_begins forwards_all dead",
    "mooncake_master": "standby no_clients dead no_gets",
}
STATUS = {
    "404": lambda reply: reply._replace(status=404, body="{}"),
    "500": lambda reply: reply._replace(status=500, body='{"error": {"message": "EngineCore died"}}'),
    "timeout": lambda reply: reply._replace(status=0, body="", error="timeout", detail="no complete answer", events=()),
    "refused": lambda reply: reply._replace(status=0, body="", error="refused", detail="refused", events=()),
    "cut": lambda reply: reply._replace(error="cut", detail="cut", body=reply.body[: len(reply.body) // 2]),
    "empty": lambda reply: reply._replace(body="", events=()),
    "text": lambda reply: reply._replace(body="<html>", events=()),
}
PLANNED = {
    "match": ("exact", "prefix:1", "prefix:16"),
    "near_tie": (0.0, 0.6, 0.995),
    "prompts": (0, 1, 9),
    "burst": (0, 1, 9),
    "long_prompt_tokens": (1, 100),
    "chunk_tokens": (1, 150),
    "max_pairs": (1, 2, 9),
    "min_prompt_tokens": (1, 63, 190),
    "max_tokens": (2, 16),
    "agreement": (1, 99),
    "logprob_difference": (0.001, 1.0),
    "block_size": (1, 64),
    "engine_api_key": ("api_key",),
    "changed": (["burst"],),
    "reason": ("a test",),
}
INNER = {
    "transfer": {
        "listeners_per_prefill": (1, 3),
        "lines_per_request": (2,),
        "protocol": ("none", "prefill_answers", "bootstrap"),
    },
    "release": {"has_prompt_tokens_by_source": (False,), "has_rank_header": (False,), "known_limits": (["empty_200"],)},
    "store": {"clients": (1, 9), "capacity_bytes": (1, 2047, 2049, 10**9)},
}


def in_json(change):
    """A change of a reply's JSON; other replies stay."""

    def changed(reply):
        try:
            data = json.loads(reply.body)
            change(data)
        except (ValueError, LookupError, TypeError):
            return reply
        return reply._replace(body=json.dumps(data))

    return changed


def set_(*path):
    """A change that puts the last of ``path`` at the place of the others."""

    def change(data):
        for step in path[:-2]:
            data = data[step]
        data[path[-2]] = path[-1]

    return in_json(change)


ANSWER = {
    "other": set_("choices", 0, "text", " ka lo mi nu pe ra si to"),
    "shorter": in_json(lambda data: data["choices"][0].update(text=data["choices"][0]["text"][:-3])),
    "blank": set_("choices", 0, "text", ""),
    "unfinished": set_("choices", 0, "finish_reason", None),
    "stopped": set_("choices", 0, "finish_reason", "stop"),
    "nothing": set_("choices", []),
    "usage-none": set_("usage", None),
    "usage-1": set_("usage", "prompt_tokens", 1),
    "usage-text": set_("usage", "prompt_tokens", "NA"),
    "id-none": set_("id", None),
    "params-none": set_("kv_transfer_params", None),
}
MODELS = {
    "length-none": set_("data", 0, "max_model_len", None),
    "length-short": set_("data", 0, "max_model_len", 20),
    "several": in_json(lambda data: data["data"].append({"id": "second"})),
    "none": set_("data", []),
}


def lines(path, change):
    """A change of the lines of metrics that contain a text."""
    return lambda reply: reply._replace(
        body="".join(change(line) if path in line else line for line in reply.body.splitlines(keepends=True))
    )


def with_value(text):
    return lambda line: line.rpartition(" ")[0] + " " + text + "\n"


def metrics(names):
    """Each line left out, not a number, 0, and ten more."""
    found = {}
    for name in names:
        found[name + "-gone"] = lines(name, lambda line: "")
        found[name + "-NaN"] = lines(name, with_value("NaN"))
        found[name + "-0"] = lines(name, with_value("0"))
        found[name + "-more"] = lines(name, lambda line: line.rpartition(" ")[0] + f" {float(line.split()[-1]) + 10}\n")
    return found


ENGINE = (
    'request_success_total{engine="0"',
    "request_success_total",
    "prompt_tokens_total{",
    "local_compute",
    "local_cache_hit",
    "external_kv_transfer",
    "external_prefix_cache_hits",
    "first_token_seconds_sum",
    "first_token_seconds_count",
)
STORE = ("master_active_clients", "master_total_capacity", "master_key_count", "valid_get_nums_")


def changes_of(server, path):
    if path == "/metrics":
        return {**STATUS, **metrics(STORE if server.startswith("mooncake") else ENGINE)}
    if path == "/v1/models":
        return {**STATUS, **MODELS}
    return {**STATUS, **(ANSWER if path.endswith("completions") else {})}


def thinned(items, key, share):
    """One in ``share`` of the items, by their names and the key."""
    return [item for item in items if zlib.crc32(f"{key} {item}".encode()) % share == 0]


SERVERS = {}
for _shape, _words in SHAPES.items():
    _engines = [f"{kind}-0" for kind in ("prefill", "decode", "colocated") if kind in _words]
    for _server in _engines:
        for _path in ("/health", "/v1/models", "/tokenize", "/v1/completions", "/v1/chat/completions", "/metrics"):
            SERVERS[f"{_shape} {_server} {_path}"] = (_shape, _server, _path)
    for _server in ["frontend"] if "front_key" in _words else ["router-0"]:
        for _path in ("/v1/completions", "/v1/chat/completions"):
            SERVERS[f"{_shape} {_server} {_path}"] = (_shape, _server, _path)
    if "pool" in _words:
        SERVERS[f"{_shape} mooncake_master-0 /metrics"] = (_shape, "mooncake_master-0", "/metrics")
        SERVERS[f"{_shape} mooncake_master-0 /health"] = (_shape, "mooncake_master-0", "/health")
SERVERS["ranked prefill-0 /query"] = ("ranked", "prefill-0", "/query")


def reports(found):
    """The parts of a line: each report, and how many of them are verified."""
    return {**found, "verified": sum(report["verified"] for report in found.values())}


@pytest.mark.parametrize(
    "key",
    [pytest.param(key, marks=pytest.mark.long) if number % 2 else key for number, key in enumerate(sorted(SERVERS))],
)
def test_a_reply_is_different(key, monkeypatch, tmp_path):
    shape, server, path = SERVERS[key]
    network = replay(monkeypatch, tmp_path, SHAPES[shape])[1]
    asked, found = max(network.counts.get((server, path), 0), 1), {}
    for name in thinned(changes_of(server, path), key, 6):
        change = changes_of(server, path)[name]
        at = zlib.crc32(f"{name} {key}".encode()) % (asked + 1)  # 0: all of them

        def changed(named, asked_path, reply, number, at=at, change=change):
            return change(reply) if (named, asked_path) == (server, path) and at in (0, number) else reply

        found[f"{name}@{at}".replace("=", ":").replace(" ", "")] = replay(
            monkeypatch, tmp_path, SHAPES[shape], changed
        )[0]
    expect(__file__, key, reports(found))


@pytest.mark.parametrize("kind", sorted(FAULTS))
@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_a_fault(shape, kind, monkeypatch, tmp_path):
    found = {}
    for number, fault in enumerate(thinned(FAULTS[kind].split(), shape, 3)):
        engines = [
            f"{role}-{n}" for role in ("prefill", "decode", "colocated") for n in range(SHAPES[shape].get(role, 0))
        ]
        name = engines[number % len(engines)] if kind == "engine" else {"frontend": kind}.get(kind, f"{kind}-0")
        words = dict(SHAPES[shape], faults={name: [fault]})
        if (kind == "frontend") == ("front_key" in words) and (kind != "mooncake_master" or "pool" in words):
            found[f"{name}:{fault}"] = replay(monkeypatch, tmp_path, words)[0]
    if found:
        expect(__file__, f"fault {shape} {kind}", reports(found))


def edits(service):
    """Changes of what was read of one service's log."""

    def update(**more):
        return lambda part: {**part, service: {**part[service], **more}}

    def cut(name, count):
        return lambda part: {**part, service: {**part[service], name: part[service][name][count:]}}

    return {
        "unread": update(readable=False, problem="journalctl ended with 1"),
        "flag": update(red_flags=["Mooncake transfer failed, ret: -1"]),
        "transferred-1": cut("transferred", 1),
        "transferred-0": update(transferred=[]),
        "transferred-once": lambda part: {
            **part,
            service: {**part[service], "transferred": part[service]["transferred"][:1] * 99},
        },
        "listening-0": update(listening=0),
        "listening-1": update(listening=1),
        "listening-3": update(listening=3),
        "ms-0": update(transfer_ms=[]),
        "gone": lambda part: {name: part[name] for name in part if name != service},
    }


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_a_log_is_different(shape, monkeypatch, tmp_path):
    found = {}
    for service in [f"{role}-0" for role in ("prefill", "decode", "colocated") if role in SHAPES[shape]]:
        for name, edit in edits(service).items():
            found[f"{service}:{name}"] = replay(monkeypatch, tmp_path, SHAPES[shape], logged=edit)[0]
    expect(__file__, f"log {shape}", reports(found))


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_the_plan_is_different(shape, monkeypatch, tmp_path):
    report, network = replay(monkeypatch, tmp_path, SHAPES[shape])
    found = {"as-it-is": report}
    for name, values in PLANNED.items():
        for value in thinned(values, shape + name, 2):
            words = replay(monkeypatch, tmp_path, SHAPES[shape], planned={name: value})[0]
            found[f"{name}:{value}".replace(" ", "")] = words
    for name, inner in INNER.items():
        usual = whole(shape, monkeypatch, tmp_path)[name]
        for key, values in inner.items() if usual else ():
            for value in values:
                planned = {name: {**usual, key: value}}
                found[f"{name}.{key}:{value}".replace(" ", "")] = replay(
                    monkeypatch, tmp_path, SHAPES[shape], planned=planned
                )[0]
    expect(__file__, f"plan {shape}", {**reports(found), "asked": network.asked})


WRONG = ("x7", -1, 0, 0.5, 10**9, True, None, [], ["x7"], {}, {"x7": 1})


def test_a_plan_that_cannot_be_read(monkeypatch, tmp_path):
    """What is said about each value of a wrong type or size, and what is read of a right one."""
    for shape in ("stored", "fronted"):
        usual, found = whole(shape, monkeypatch, tmp_path), {}
        for name, value in sorted(usual.items()):
            places = [(name,), *((name, key) for key in value)] if isinstance(value, dict) else [(name,)]
            places += (
                [(name, key) for key in value[0]]
                if isinstance(value, list) and value and isinstance(value[0], dict)
                else []
            )
            for place in places:
                found[".".join(place)] = [read_with(usual, place, wrong) for wrong in WRONG]
        expect(__file__, f"unreadable {shape}", found)


def read_with(usual, place, wrong):
    plan = json.loads(json.dumps(usual))
    inner = plan
    for step in place[:-1]:
        inner = inner[step][0] if isinstance(inner[step], list) else inner[step]
    inner[place[-1]] = wrong
    try:
        return repr(read_plan(plan))
    except PlanError as error:
        return str(error)


def whole(shape, monkeypatch, tmp_path):
    """The section verify of the plan of a shape."""
    with monkeypatch.context() as patch:
        Network(patch)
        patch.setattr(pd_cluster.Engine, "log", lambda engine, line: None)
        with pd_cluster.Cluster("/logs", **SHAPES[shape]) as cluster:
            return cluster.plan()
