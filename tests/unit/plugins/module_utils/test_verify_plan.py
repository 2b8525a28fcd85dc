# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section's shape: every violation at once, each with its place and the way out."""

from __future__ import annotations

import types

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.verify import pool
from ansible_collections.ascend.inference.plugins.module_utils.verify.logs import services_of
from ansible_collections.ascend.inference.plugins.module_utils.verify.plan import PlanError, argument_spec, read_plan


def section(**changes):
    base = {
        "mode": "disaggregated",
        "model": "tiny",
        "entry": {"url": "http://10.1.1.1:8000/", "kind": "vllm_router"},
        "prefill": [{"name": "prefill-0", "url": "http://10.1.1.1:7100"}],
        "decode": [{"name": "decode-0", "url": "http://10.1.1.2:7100"}],
        "release": {"name": "0.23.0", "has_prompt_tokens_by_source": True},
        "block_size": 128,
    }
    return dict(base, **changes)


def problems(value):
    with pytest.raises(PlanError) as raised:
        read_plan(value)
    return raised.value.problems


def test_defaults_and_normal_forms():
    plan = read_plan(section())
    assert plan.entry.url == "http://10.1.1.1:8000"
    assert (plan.match, plan.max_tokens, plan.compared_tokens, plan.store) == ("exact", 16, 16, None)
    assert [engine.role for engine in plan.engines] == ["prefill", "decode"]
    assert plan.engines[0].log.kind == "none"
    assert read_plan(section(match="prefix:4")).compared_tokens == 4
    assert read_plan(section(match="prefix:400")).compared_tokens == 16


def test_every_violation_is_told_at_once():
    found = problems(
        section(
            mode="dissagregated",
            modle="x",
            block_size="128",
            entry={"url": "10.1.1.1:8000", "kind": "frontend"},
            prefill=[{"name": "prefill-0", "url": "http://10.1.1.1:7100", "log": {"kind": "file"}}],
            release={"name": "0.23.0", "known_limits": ["slow"]},
        )
    )
    text = "\n".join(found)
    assert len(found) == 7
    for word in (
        "verify.modle: unknown key",
        "verify.mode is 'dissagregated', but must be one of: disaggregated, pool",
        "verify.block_size is '128', but must be a int",
        "verify.entry.url is '10.1.1.1:8000', but must start with http://",
        "verify.prefill[0].log.path is missing",
        "verify.release.has_prompt_tokens_by_source is missing",
        "verify.release.known_limits has 'slow'; known: empty_200",
    ):
        assert word in text


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"decode": []}, "verify.decode is empty"),
        ({"mode": "pool", "colocated": []}, "verify.colocated is empty"),
        ({"mode": "disaggregated+pool"}, "verify.store is missing"),
        ({"decode": [{"name": "prefill-0", "url": "http://10.1.1.2:7100"}]}, "two services 'prefill-0'"),
        (
            {"store": {"master_url": "http://10.1.1.1:9003", "readers": ["decode-7"]}},
            "'decode-7', which is not an engine",
        ),
        ({"block_size": 0}, "verify.block_size is 0"),
        ({"max_tokens": 1}, "verify.max_tokens is 1"),
        ({"match": "prefix:0"}, "verify.match is 'prefix:0'"),
        ({"match": "roughly"}, "verify.match is 'roughly'"),
        ({"max_pairs": -1}, "verify.max_pairs is -1"),
        ({"block_size": True}, "verify.block_size is True"),
    ],
)
def test_contradictions(changes, word):
    assert any(word in problem for problem in problems(section(**changes)))


@pytest.mark.parametrize("value", [None, [], "verify"])
def test_something_else_than_a_mapping(value):
    assert "must be a mapping" in problems(value)[0]


def test_the_argument_spec_has_all_keys_and_hides_no_secret_name():
    spec = argument_spec()
    assert spec["entry"]["options"]["api_key"]["no_log"] is False
    assert spec["prefill"]["elements"] == "dict"
    assert spec["store"]["options"]["writers"]["elements"] == "str"
    assert "default" not in spec["store"]
    assert spec["mode"]["required"] is True


def stored(engines, writers=(), readers=(), **changes):
    """The section of a store with such engines on one host."""
    logs = {"log": {"kind": "file", "path": "/x.log"}, "host": "n1"}
    store = {
        "master_url": "http://10.1.1.3:9003",
        "writers": list(writers),
        "readers": list(readers),
        **logs,
        **changes,
    }
    listed = [{"name": name, "url": f"http://10.1.1.1:710{name}", **logs} for name in engines]
    return section(mode="pool", prefill=[], decode=[], colocated=listed, store=store)


@pytest.mark.parametrize(
    ("engines", "writers", "readers", "pairs"),
    [
        ("ab", "", "", ["ba", "ab"]),
        ("abc", "", "", ["ba", "cb", "ac"]),
        ("ab", "a", "ab", ["ab"]),
        ("abc", "ac", "abc", ["ca", "ab", "ac"]),
        ("a", "", "", []),
    ],
)
def test_no_reader_is_given_what_it_wrote_itself(engines, writers, readers, pairs):
    """It would find the prompt in its own memory, and prove nothing of the store."""
    probe = types.SimpleNamespace(plan=read_plan(stored(engines, writers, readers)))
    assert [writer.name + reader.name for writer, reader in pool._links(probe)] == pairs


def test_the_logs_of_all_masters_are_read():
    log = {"kind": "file", "path": "/m.log"}
    masters = [
        {"name": name, "host": host, "url": "http://10.1.1.3:9003", "log": log}
        for name, host in (("m", "n1"), ("m-1", "n2"))
    ]
    plan = read_plan(stored("a", name="m", masters=masters))
    assert [name for name, _log in services_of(plan, "n1")] == ["a", "m"]
    assert [name for name, _log in services_of(plan, "n2")] == ["m-1"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("prompts", 5),
        ("near_tie", 0.25),
        ("agreement", 71),
        ("logprob_difference", 0.75),
        ("burst", 7),
        ("chunk_tokens", 4096),
        ("long_prompt_tokens", 777),
        ("reason", "two quantisations"),
    ],
)
def test_what_an_operator_sets_reaches_the_plan(name, value):
    found, without = getattr(read_plan(section(**{name: value})), name), getattr(read_plan(section()), name)
    assert found == value != without
