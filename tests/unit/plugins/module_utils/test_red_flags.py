# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each message about lost, late or wrong KV cache is one red flag, and the nearest message about success is none."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.verify.red_flags import RED_FLAGS, flags_of

LINES = {
    "transfer_failed": "Mooncake transfer failed for request r1",
    "transfer_status_1039": "status: 103902",
    "transfer_batch_timeout": "Sync batch data transfer timeout",
    "kv_freed_by_force": "Force freed request: r1",
    "transfer_load_failed": "Failing 2 request(s) due to KV load failure",
    "recomputed": "Recovered from KV load failure: 1 request",
    "transfer_skipped": "Skipping KV cache transfer for request r1",
    "engine_id_conflict": "Conflict engine id 0",
    "thread_not_started": "KV Cache receiving thread failed to start",
    "device_ip_wrong": "'device ip' is not set correctly",
    "store_lease_expired": "lease_expired_before_data_transfer_completed key=k",
    "store_no_handle": "NO_AVAILABLE_HANDLE",
    "store_segment_not_found": "SEGMENT_NOT_FOUND",
    "store_client_expired": "action=client_expired",
    "store_get_failed": "Failed to get key k",
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
    "status: 103901",
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
