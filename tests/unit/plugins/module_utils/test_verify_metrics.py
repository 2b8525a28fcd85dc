# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counters of one window."""

from __future__ import annotations

from ansible_collections.ascend.inference.plugins.module_utils.verify.metrics import (
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
