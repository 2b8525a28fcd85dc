# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What lines of a log say about KV cache: that some was lost, late or wrong, and how long a transfer took. Only the standard library.

One table for `verify`, which refuses such lines, and for the counters of monitoring.
"""

from __future__ import annotations

import re

# Messages about lost, late or wrong KV, of vLLM-Ascend 0.11-0.23, vLLM 0.18-0.32, Mooncake 0.3.7-0.3.13: the name of the flag and its pattern.
# Names that begin with transfer_ are transfers between engines that failed; those with store_ are failures of the store.
RED_FLAGS = (
    ("transfer_failed", r"Mooncake transfer failed"),
    ("transfer_status_1039", r"status: 10390[02]"),
    ("transfer_batch_timeout", r"Sync batch data transfer timeout"),
    ("kv_freed_by_force", r"Force freed (expired )?request"),
    ("transfer_load_failed", r"Failing .*request\(s\) due to KV load failure"),
    ("recomputed", r"Recovered from KV load failure"),
    ("transfer_skipped", r"Skipping KV cache transfer for request"),
    ("engine_id_conflict", r"Conflict engine id"),
    ("thread_not_started", r"KV Cache (sending|receiving) thread failed to start"),
    ("device_ip_wrong", r"'device ip' is not set correctly"),
    ("store_lease_expired", r"lease_expired_before_data_transfer_completed"),
    ("store_no_handle", r"NO_AVAILABLE_HANDLE"),
    ("store_segment_not_found", r"SEGMENT_NOT_FOUND"),
    ("store_client_expired", r"action=client_expired"),
    ("store_get_failed", r"Failed to get key"),
    ("store_master_silent", r"Failed to ping master"),
    ("engine_not_added", r"Instance .* was not added to the proxy"),
    ("counter_negative", r"Counters can only be incremented by non-negative amounts"),
    ("kv_not_fetched", r"timed out after \d+ seconds without being sent"),
    ("transfer_metadata_failed", r"MooncakeXferMetadata transfer failed"),
    ("transfer_pull_failed", r"pulling kv_caches for .* failed"),
    ("transfer_counted", r"Num failed (transfers|recvs)=[1-9]"),
    ("kv_expired", r"Num KV expired reqs=[1-9]"),
)
ANY_RED_FLAG = re.compile("|".join(pattern for _name, pattern in RED_FLAGS))
_EACH = tuple((name, re.compile(pattern)) for name, pattern in RED_FLAGS)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
TOOK = re.compile(r"\btook ([0-9]{1,12}(?:\.[0-9]{1,12})?) ?ms")
# vLLM's own Mooncake connector, every 10 s, on prefill
AVERAGE = re.compile(r"Avg xfer time \(ms\)=([0-9]{1,12}(?:\.[0-9]{1,12})?)(?![0-9.])")
_SUCCESSFUL = re.compile(r"Num successful transfers=([0-9]{1,12})(?![0-9])")


def flags_of(line):
    """Names of the red flags in a line."""
    return [name for name, pattern in _EACH if pattern.search(line)] if ANY_RED_FLAG.search(line) else []


def transfers_of(line, transferred):
    """(number of transfers, sum of their milliseconds) that a line reports; ``transferred``: the release's fixed part of such lines, or empty."""
    took = TOOK.findall(line) if transferred and transferred in line else []
    if took:
        return len(took), sum(map(float, took))
    averages = AVERAGE.findall(line)
    number = _SUCCESSFUL.search(line)
    if averages and number:
        return int(number.group(1)), int(number.group(1)) * float(averages[0])
    return 0, 0.0
