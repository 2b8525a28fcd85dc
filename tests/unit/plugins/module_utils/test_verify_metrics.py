# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counters of one window."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.verify.leader import serves
from ansible_collections.ascend.inference.plugins.module_utils.verify.metrics import (
    labels_of,
    ranks_served,
    read_metrics,
    served,
    store_gets,
    store_puts,
)

TEXT = """\
# HELP vllm:prompt_tokens_total Number of prefill tokens processed.
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total{engine="0",model_name="a,b} c"} 100.0
vllm:prompt_tokens_total{engine="1",model_name="a,b} c"} 20.0
vllm:prompt_tokens_by_source_total{engine="0",model_name="m",source="external_kv_transfer"} 96.0
vllm:prompt_tokens_by_source_total{engine="0",model_name="m",source="local_compute"} 4.0
vllm:request_success_total{engine="0",finished_reason="stop",model_name="m"} 2.0
vllm:request_success_total{engine="0",finished_reason="length",model_name="m"} 3.0
vllm:time_to_first_token_seconds_sum{engine="0"} 1.5
vllm:time_to_first_token_seconds_count{engine="0"} 5.0
vllm:kv_cache_usage_perc{engine="0"} NaN
master_key_count 12
broken line without a number x
vllm:big 1.2e+09 1700000000
"""


def test_labels_are_summed_and_sources_kept_apart():
    samples = read_metrics(TEXT)
    assert samples["vllm:prompt_tokens_total"] == 120.0
    assert samples["vllm:prompt_tokens_by_source_total"] == 100.0
    assert samples["vllm:prompt_tokens_by_source_total{source=external_kv_transfer}"] == 96.0
    assert samples["vllm:request_success_total"] == 5.0
    assert samples["master_key_count"] == 12.0
    assert samples["vllm:big"] == 1.2e9
    assert "vllm:kv_cache_usage_perc" not in samples


def test_a_window_is_a_difference():
    before = {"vllm:request_success_total": 2.0, "vllm:prompt_tokens_total": 100.0}
    done = served(before, read_metrics(TEXT))
    assert (done.requests, done.prompt_tokens, done.external, done.local_compute, done.local_cache) == (
        3.0,
        20.0,
        96.0,
        4.0,
        0.0,
    )
    assert done.ttft_seconds == 0.3
    assert done.promised is None


def test_without_the_family_there_is_no_count_instead_of_zero():
    done = served({}, {"vllm:request_success_total": 1.0})
    assert (done.external, done.local_compute, done.promised) == (None, None, None)


def test_a_restarted_engine_counts_from_zero():
    assert served({"vllm:request_success_total": 50.0}, {"vllm:request_success_total": 2.0}).requests == 2.0


def test_the_stores_counters_by_version():
    assert store_gets({"valid_get_nums_": 4.0}, {"valid_get_nums_": 6.0}) == 2.0
    asked, missed = "master_batch_get_replica_list_items_total", "master_batch_get_replica_list_failed_items_total"
    assert store_gets({asked: 1.0}, {asked: 9.0, missed: 8.0}) == 0.0
    assert store_gets({}, {}) is None
    assert (
        store_puts({"master_key_count": 4.0}, {"master_key_count": 4.0, "master_put_start_requests_total": 1.0}) == 1.0
    )
    assert store_puts({}, {}) is None


def test_what_is_no_usable_number_counts_as_absent():
    found = read_metrics("a +Inf\nb -Inf\nc 1e400\nd NaN\ne 1" + "0" * 400 + "\nf 2\n")
    assert found == {"f": 2.0}


def test_a_sum_is_unknown_if_one_of_its_parts_is():
    text = 'u{engine="0"} 0.2\nu{engine="1"} +Inf\np{source="local_compute"} 1\np{source="external_kv_transfer"} x\n'
    assert read_metrics(text) == {"p{source=local_compute}": 1.0}


DONE = "vllm:request_success_total"


def test_ranks_that_finished_requests():
    text = f'{DONE}{{engine="0"}} 2\n{DONE}{{engine="11",finished_reason="stop"}} 3\n{DONE}{{engine="11",finished_reason="length"}} 1\n'
    after = read_metrics(f'{text}{DONE}{{engine="2"}} 7\nother{{engine="3"}} 9\n')
    assert after[DONE] == 13.0 and "other{engine=3}" not in after
    assert ranks_served({f"{DONE}{{engine=2}}": 7.0, f"{DONE}{{engine=0}}": 1.5}, after) == {0: 0.5, 11: 4.0}
    assert ranks_served({}, read_metrics(f"{DONE} 5\n")) == {}


def test_a_name_with_one_unknown_value_is_unknown():
    text = 'a{source="x"} 1\na{source="y"} NaN\nb 1\nb +Inf\nc 1 \n# d 1\n'
    assert read_metrics(text) == {"a{source=x}": 1.0, "c": 1.0}


def test_labels_of_each_sample():
    text = '# a{x="1"} 1\na{x="1",y="b\\"c"} 1\na 2\nab{x="3"} 1\n'
    assert labels_of(text, "a") == [{"x": "1", "y": 'b\\"c'}, {}]


@pytest.mark.parametrize(
    ("before", "after", "ttft"),
    [
        ({"sum": 1.0, "count": 1.0}, {"sum": 4.0, "count": 3.0}, 1.5),
        ({"sum": 1.0, "count": 3.0}, {"sum": 1.0, "count": 3.0}, None),
        ({}, {"count": 3.0}, None),
        ({}, {"sum": 0.0, "count": 4.0}, 0.0),
    ],
)
def test_the_mean_time_to_the_first_token(before, after, ttft):
    name = "vllm:time_to_first_token_seconds_"
    values = ({name + key: value for key, value in part.items()} for part in (before, after))
    assert served(*values).ttft_seconds == ttft


def test_each_counter_of_an_engine_has_its_field():
    source = "vllm:prompt_tokens_by_source_total{{source={}}}"
    names = (
        DONE,
        "vllm:prompt_tokens_total",
        *map(source.format, ("external_kv_transfer", "local_compute", "local_cache_hit")),
    )
    after = {name: float(number) for number, name in enumerate((*names, "vllm:external_prefix_cache_hits_total"), 1)}
    assert tuple(served({}, after)) == (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, None)
    assert served(dict.fromkeys(after, 1.0), after)[:6] == (0.0, 1.0, 2.0, 3.0, 4.0, 5.0)


def test_the_larger_of_the_stores_counters_counts():
    names = ("valid_get_nums_", "mem_cache_hit_nums_", "file_cache_hit_nums_")
    for name in names:
        assert store_gets(dict.fromkeys(names, 1.0), {**dict.fromkeys(names, 1.0), name: 4.0}) == 3.0
    for name in ("master_key_count", "master_put_start_requests_total", "master_batch_put_start_items_total"):
        assert store_puts({name: 1.0}, {name: 3.0}) == 2.0
    assert store_gets({}, {"master_batch_get_replica_list_items_total": 2.0}) == 2.0


@pytest.mark.parametrize(
    ("body", "leads"),
    [
        ("OK", True),
        (" OK\n", True),
        ("ok", False),
        ("", False),
        ('{"service_ready": true}', True),
        ('{"service_ready": false}', False),
        ('{"service_ready": 1}', False),
        ("{}", False),
        ("[]", False),
    ],
)
def test_which_answer_is_that_of_a_serving_master(body, leads):
    assert serves(body) is leads
