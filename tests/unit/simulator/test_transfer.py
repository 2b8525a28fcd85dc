# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prefill and decode with MooncakeConnectorV1, as the load balance proxy drives them."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.tests.unit.simulator.conftest import disaggregated, text_of

RELEASES = ["0.11.0", "0.13.0", "0.18.0", "0.20.2rc1", "0.23.0"]


@pytest.mark.parametrize("release", RELEASES)
def test_prefill_and_decode_give_the_text_of_one_engine(cluster, prompt, release):
    hosts = [cluster.host(number, release=release) for number in (1, 2)]
    prefill, decode = cluster.pair(*hosts, tensor=(2, 1))
    params, status, answer = disaggregated(prefill, decode, prompt, tokens=12)
    assert status == 200
    assert ("remote_request_id" in params) == (release in RELEASES[2:])
    assert text_of(answer) == text_of(prefill.complete(prompt, 12))
    assert "Delaying free of" in prefill.text
    assert decode.text.count("KV cache transfer for request cmpl-probe-0 took") == 2
    assert "simulator" in prefill.text.splitlines()[0].lower()
    if release >= "0.16":
        tokens = answer["usage"]["prompt_tokens"]
        assert decode.counter("prompt_tokens_by_source_total", source="external_kv_transfer") == tokens
        assert decode.counter("prompt_tokens_by_source_total", source="local_compute") == 0
    assert prefill.counter("kv_cache_usage_perc") == 0
