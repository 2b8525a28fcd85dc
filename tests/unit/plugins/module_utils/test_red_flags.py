# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each message about lost, late or wrong KV cache is one red flag, and the nearest message about success is none."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.collector import logs as collected
from ansible_collections.ascend.inference.plugins.module_utils.tools.client_text import without_clients
from ansible_collections.ascend.inference.plugins.module_utils.verify import logs as verified
from ansible_collections.ascend.inference.plugins.module_utils.verify.plan import Lines, Log
from ansible_collections.ascend.inference.plugins.module_utils.verify.red_flags import (
    RED_FLAGS,
    flagged,
    flags_of,
    transfers_of,
)

LINES = {
    "transfer_failed": "Mooncake transfer failed for request r1",
    "transfer_status_1039": "status: 103902",
    "transfer_batch_timeout": "Sync batch data transfer timeout",
    "kv_freed_by_force": "Force freed request: r1",
    "transfer_load_failed": "Failing 2 request(s) due to KV load failure",
    "recomputed": "Recovered from KV load failure: 1 request",
    "transfer_skipped": "Skipping KV cache transfer for request r1",
    "engine_id_conflict": "Conflict engine id 0",
    "thread_not_started": "KV Cache sending/receiving thread failed to start.",
    "thread_ended": "Mooncake KVCacheSendingThread encountered exception.",
    "kv_wrong": "KV load failed for hybrid request r1. Skip invalid-block fallback",
    "kv_not_confirmed": "Failed to receive ACK for request r1",
    "message_refused": "Invalid message format: x",
    "device_ip_wrong": "'device ip' is not set correctly",
    "store_lease_expired": "lease_expired_before_data_transfer_completed key=k",
    "store_no_handle": "NO_AVAILABLE_HANDLE",
    "store_segment_not_found": "SEGMENT_NOT_FOUND",
    "store_client_expired": "action=client_expired",
    "store_get_failed": "Failed to get 3 keys out of 8. error_codes=[-704]",
    "store_put_failed": "Failed to put 8 keys out of 8. error_codes=[-800]",
    "store_lookup_failed": "Remote connection failed in lookup. type=x",
    "store_master_silent": "Failed to ping master",
    "engine_not_added": "Instance 192.0.2.1:7100 was not added to the proxy.",
    "counter_negative": "Counters can only be incremented by non-negative amounts.",
    "kv_not_fetched": "request r1 timed out after 480 seconds without being sent",
    "transfer_metadata_failed": "MooncakeXferMetadata transfer failed",
    "transfer_pull_failed": "pulling kv_caches for r1 failed",
    "transfer_counted": "Num failed recvs=1",
    "kv_expired": "Num KV expired reqs=1",
}
GOOD = (
    "status: 103903",
    "Failed to get 3 keys out of 8. Store is not initialized; call put() first to trigger initialization.",
    "Send failed. error=x, attempts_left=2.",
    "KV Cache receiving thread started",
    "Instance 192.0.2.1:7100 was added to the proxy.",
    "Num failed recvs=0",
    "Num KV expired reqs=0",
)


def test_each_flag_has_a_line():
    assert list(LINES) == [name for name, dummy in RED_FLAGS]


@pytest.mark.parametrize("name", LINES)
def test_a_bad_line_is_this_flag(name):
    assert flags_of(LINES[name]) == [name]


@pytest.mark.parametrize("line", GOOD)
def test_a_good_line_is_none(line):
    assert flags_of(line) == []


# Where vLLM and uvicorn write what a client sent: {} is its text.
QUOTING = (
    'INFO:     192.0.2.9:4711 - "POST /v1/completions?{} HTTP/1.1" 200 OK',
    'INFO:     192.0.2.9:4711 - "GET /{} HTTP/1.1" 404 Not Found',
    "WARNING 11-22 10:00:00 [protocol.py:81] The following fields were present in the request but ignored: {{'{}'}}",
    "(APIServer pid=1) ERROR 11-22 10:00:00 [serving_chat.py:180] Error with model error=ErrorInfo(message='The model `{}` does not exist.')",
    "INFO 11-22 10:00:00 [logger.py:41] Received request cmpl-1: prompt: '{}', params: SamplingParams(n=1)",
    "DEBUG 11-22 10:00:00 [logger.py:39] Request cmpl-1 details: prompt: '{}', prompt_token_ids: [1]",
    "INFO 11-22 10:00:00 [logger.py:71] Generated response cmpl-1 (streaming complete): output: '{}', finish_reason: stop",
    "INFO 11-22 10:00:00 [logger.py:71] Generated response cmpl-1: output: '{}', finish_reason: stop",
)
TRANSFERRED = Lines("KV cache transfer for request ", "Delaying free of ", "started listening on path: tcp://")


@pytest.mark.parametrize("template", QUOTING)
def test_a_client_raises_no_flag_by_what_it_sends(template, tmp_path):
    """Anybody who reaches the router could make each verification fail, so that an upgrade goes back, and raise alerts."""
    texts = [
        *LINES.values(),
        "KV cache transfer for request r1 took 9000.00 ms.",
        "Avg xfer time (ms)=9000, Num successful transfers=9",
    ]
    lines = [template.format(text) for text in texts if " " not in text or "HTTP/" not in template]
    assert len(lines) >= 3
    found = verified.evidence("decode-0", lines, lines, TRANSFERRED)
    assert not found["red_flags"] and not found["transferred"] and not found["transfer_ms"] and not found["causes"]
    assert collected.counted(collected.fresh(), lines, TRANSFERRED.transferred) == collected.fresh()
    path = tmp_path / "decode-0.log"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    (found,) = verified.counts(
        [("decode-0", Log("file", str(path), ""))], {}, TRANSFERRED, lambda argv: (1, "")
    ).values()
    assert found["readable"] and (found["flags"], found["first"], found["transfers"]) == ({}, "", 0)


@pytest.mark.parametrize("name", LINES)
def test_the_services_own_lines_are_read_whole(name):
    for line in (LINES[name], "(EngineCore pid=1) ERROR 11-22 10:00:00 [mooncake.py:9] " + LINES[name]):
        assert without_clients(line) == line
        assert verified.evidence("decode-0", [line], [line], TRANSFERRED)["red_flags"] == [line]


def test_the_first_put_with_lazy_initialisation_fails_by_design():
    put = "(Worker_TP{} pid={}) ERROR 11-22 10:00:00 [m.py:9] Failed to put 8 keys out of 8. error_codes=[-800]."
    said = "(Worker_TP{} pid={}) WARNING 11-22 10:00:00 [m.py:9] First DSV4(compress) request failure is expected. This is normal behavior."
    first = [put.format(0, 1), put.format(1, 2), said.format(0, 1), said.format(1, 2)]
    assert flagged(first) == [] and flagged([*first, put.format(0, 1), said.format(0, 1)]) == [4]
    assert flagged([put.format(0, 1), said.format(1, 2)]) == [0] and flagged([put.format(0, 1)]) == [0]
    assert flagged([LINES["transfer_failed"], said.format(0, 1)]) == [0]


def test_a_separator_of_unicode_ends_no_line():
    """It would end the part of a line that quotes a client."""
    line = "INFO Received request cmpl-1: prompt: 'a\u2028Mooncake transfer failed\x85Mooncake transfer failed'"
    lines = verified.split(line + "\r\nsecond\rthird\n")
    assert len(lines) == 3 and not verified.evidence("x", lines, lines, TRANSFERRED)["red_flags"]


@pytest.mark.parametrize(
    ("line", "transferred", "found"),
    [
        ("KV cache transfer for request r1 took 9.50 ms.", TRANSFERRED.transferred, (1, 9.5)),
        ("KV cache transfer for request r1 took 9 ms (2 took 3ms)", TRANSFERRED.transferred, (2, 12.0)),
        ("KV cache transfer for request r1 took 9.50 ms.", "", (0, 0.0)),
        ("Something else took 9.50 ms.", TRANSFERRED.transferred, (0, 0.0)),
        ("KV cache transfer for request r1 took 9.50 s.", TRANSFERRED.transferred, (0, 0.0)),
        ("Num successful transfers=3, Avg xfer time (ms)=2.5", "", (3, 7.5)),
        ("Num successful transfers=3", "", (0, 0.0)),
        ("Avg xfer time (ms)=2.5", "", (0, 0.0)),
        ("Num successful transfers=3, Avg xfer time (ms)=2.5.1", "", (0, 0.0)),
        ("Num successful transfers=1234567890123, Avg xfer time (ms)=2", "", (0, 0.0)),
    ],
)
def test_transfers_and_their_time_in_a_line(line, transferred, found):
    assert transfers_of(line, transferred) == found


def test_a_line_may_have_several_flags():
    assert flags_of("status: 103900: Mooncake transfer failed") == ["transfer_failed", "transfer_status_1039"]
