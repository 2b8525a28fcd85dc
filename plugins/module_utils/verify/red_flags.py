# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What lines of a log say about KV cache: that some was lost, late or wrong, and how long a transfer took. Only the standard library.

One table for `verify`, which refuses such lines, and for the counters of monitoring.
"""

from __future__ import annotations

import re

# Messages about lost, late or wrong KV, of vLLM-Ascend 0.9-0.30, vLLM 0.18-0.32, Mooncake 0.3.7-0.3.13: the name of the flag and its pattern.
# Names that begin with transfer_ are transfers between engines that failed; those with store_ are failures of the store. Every warning and error of
# the releases' KV code has a flag, a cause or a reason why it is harmless: tests/simulator/vllm_ascend/messages.json.
RED_FLAGS = (
    (
        "transfer_failed",
        r"Mooncake (?:transfer (?:task )?failed|pull failed for|D receive failed)|Failed to transfer KV cache|MooncakeLayerwiseConnector transfer fail"
        r"|KV transfer task failed|Got FAILED_SENDING_MSG|P received READ_FAILED|MembPull (?:batch read|send task|DSpark draft KV read) failed"
        r"|MembPull _do_read: |Could not quarantine failed|batch_transfer_sync_read failed|Fail(?:ed)? to receive (?:all KVs|kv cache)"
        r"|Query to port and kv base addr for request.{0,200}fail|Try to remove remote client .*failed",
    ),
    (
        "transfer_status_1039",
        r"status: (?:10390[0124]|503900)\b|(?:Connect|Transfer) timeout to: |Transfer failed to: ",
    ),
    ("transfer_batch_timeout", r"Sync batch data transfer timeout"),
    ("kv_freed_by_force", r"Force freed (?:expired )?(?:Mooncake )?request"),
    ("transfer_load_failed", r"Failing .*request\(s\) due to KV load failure"),
    ("recomputed", r"Recovered from KV load failure"),
    ("transfer_skipped", r"Skipping KV cache transfer for request|Got invalid KVTransferParams"),
    ("engine_id_conflict", r"Conflict engine id"),
    (
        "thread_not_started",
        r"KV Cache sending/receiving thread failed to start|Mooncake pull receiving thread failed to start"
        r"|Timed out starting Mooncake pull receiving thread"
        r"|MembPull (?:read thread failed to start|send thread failed to initialize)|Failed to initialize D2RH listener",
    ),
    (
        "thread_ended",
        r"Mooncake KVCacheSendingThread (?:encountered )?exception|Mooncake scheduler sending thread failed|MembPull send thread crashed"
        r"|D2RH (?:ZMQ listener crashed|request processing failed)|Error in KVCacheTransferThread|Error handling KV cache transfer request"
        r"|Failed to handle (?:D2RH START_PULL|Mooncake scheduler control)",
    ),
    (
        "kv_wrong",
        r"KV load failed for hybrid request|Ignoring Mooncake transfer failure for hybrid|Failed to reformat KV cache after all pulls"
        r"|Remote kv_group2layeridx is inconsistent|hash alignment mismatch|object_checksum_mismatch",
    ),
    (
        "kv_not_confirmed",
        r"Failed to receive ACK|Timeout waiting ACK for request|(?:Send|Receive) failed (?:from \S+ )?after all retries"
        r"|Failed to send Mooncake scheduler completion|Failed to send reqest_id"
        r"|Sending (?:done sending )?signal (?:\S+ )?(?:for .*)?fail|Access metaserver fail|Metaserver transport failed|Post metaserver failed"
        r"|finish req not in reqs to process|Some requests in prefill node fail to receive",
    ),
    (
        "message_refused",
        r"Invalid (?:message format|payload count|D2RH message|Mooncake scheduler control)|Unexpected (?:message type|Mooncake scheduler control)"
        r"|Connection listener (?:encountered|got|received)|D2RH listener (?:exception|got unexpected)|Failed to decode message"
        r"|MembPull (?:exception|got unexpected message|final read-reply|read-reply drain error)",
    ),
    ("device_ip_wrong", r"'device ip' is not set correctly"),
    ("store_lease_expired", r"lease_expired_before_data_transfer_completed"),
    ("store_no_handle", r"NO_AVAILABLE_HANDLE"),
    ("store_segment_not_found", r"SEGMENT_NOT_FOUND"),
    ("store_client_expired", r"action=client_expired"),
    (
        "store_get_failed",
        r"Failed to get (?:\S+ )?keys?\b(?!.*Store is not initialized)|Failed to load blocks|Layerwise \S+ load batch_copy failed|load_gvas: "
        r"|KV pool (?:async recv|batch_get_key_info)|\[KVPOOL\] (?:build_|batch_copy)|alloc_gvas"
        r"|(?:Mooncake|Layerwise) batch_get_(?:start|end) (?:failed|raised)",
    ),
    (
        "store_put_failed",
        r"Failed to put (?:\S+ )?keys?\b|Failed to store KV cache|Layerwise \S+ save batch_copy failed|(?:Mooncake|Layerwise) batch_put_start failed"
        r"|hybrid put_start rejected|(?:Mooncake layerwise|Layerwise backend) revoke (?:failed|raised)|Failed to queue (?:Mooncake|layerwise) revoke",
    ),
    (
        "store_lookup_failed",
        r"Remote connection failed in |Failed to check keys|existence check failed|call metadata sever error|metadata execute error|Metadata server error: ",
    ),
    ("store_master_silent", r"Failed to ping master"),
    ("engine_not_added", r"Instance .* was not added to the proxy"),
    ("counter_negative", r"Counters can only be incremented by non-negative amounts"),
    ("kv_not_fetched", r"timed out after \d+ seconds without being sent"),
    ("transfer_metadata_failed", r"MooncakeXferMetadata transfer failed"),
    ("transfer_pull_failed", r"pulling kv_caches for .* failed"),
    ("transfer_counted", r"Num failed (transfers|recvs)=[1-9]"),
    ("kv_expired", r"Num KV expired reqs=[1-9]"),
)
EXPECTED = "irst DSV4(compress) request"  # the first one fails, which two wordings say is expected
ANY_RED_FLAG = "|".join(pattern for _name, pattern in RED_FLAGS)  # compiled when a line is judged
# KV cache that nobody fetched in time: such a line ends a request that began that many seconds earlier.
ENDS = frozenset(("kv_freed_by_force", "kv_not_fetched"))
SUMMED = frozenset(("kv_expired",))  # counts such requests, without a time
HELD = re.compile(r"(?<![0-9.])([0-9]{1,9}(?:\.[0-9]{1,9})?) seconds")
STAMP = re.compile(r"(?<![0-9])([0-9]{2}-[0-9]{2})[ T-]([0-9]{2}):([0-9]{2}):([0-9]{2})")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
TOOK = re.compile(r"\btook ([0-9]{1,12}(?:\.[0-9]{1,12})?) ?ms")
# vLLM's own Mooncake connector, every 10 s, on prefill
AVERAGE = re.compile(r"Avg xfer time \(ms\)=([0-9]{1,12}(?:\.[0-9]{1,12})?)(?![0-9.])")
_SUCCESSFUL = re.compile(r"Num successful transfers=([0-9]{1,12})(?![0-9])")


def flags_of(line):
    """Names of the red flags in a line."""
    return [name for name, pattern in RED_FLAGS if re.search(pattern, line)] if re.search(ANY_RED_FLAG, line) else []


def flagged(texts):
    """Numbers of the lines with a red flag. The first put of a process with lazy initialisation fails by design, and the next line says so."""
    found, excused = [], set()
    for number, text in enumerate(texts):
        if not re.search(ANY_RED_FLAG, text):
            continue
        process = text.partition(")")[0]
        follows = any(EXPECTED in line and line.startswith(process) for line in texts[number + 1 : number + 100])
        if follows and process not in excused and flags_of(text) == ["store_put_failed"]:
            excused.add(process)
        else:
            found.append(number)
    return found


def began_before(texts, seconds, last=""):
    """Numbers of those lines with a red flag that are the end of requests which began before the window did.

    ``seconds``: since the window began; None if that is not known, less than 0 if a clock was set meanwhile, so that nothing is known. ``last``: a line
    at the end of the window, which says how long ago the others are at least. A line that only counts such ends is one of them if another line here is,
    and none is a younger one.
    """
    if seconds is None or seconds < 0:
        return []
    end = stamp_of(last)
    ends = {number: _held(text) for number, text in enumerate(texts) if set(flags_of(text)) & ENDS}
    old = [
        number
        for number, held in ends.items()
        if set(flags_of(texts[number])) <= ENDS and held > seconds - _ago(texts[number], end) + 1
    ]
    if old and len(old) == len(ends):
        old += [number for number, text in enumerate(texts) if text and set(flags_of(text)) == SUMMED]
    return sorted(old)


def stamp_of(text):
    """(date, seconds of the day) of a line; None without a time."""
    found = STAMP.search(text)
    if not found:
        return None
    hours, minutes, seconds = map(int, found.group(2, 3, 4))
    return found.group(1), (hours * 60 + minutes) * 60 + seconds


def _ago(text, end):
    """At least so many seconds passed between a line and the time ``end``; 0 if that is not known, and on another day."""
    begin = stamp_of(text)
    return max(0, end[1] - begin[1]) if begin and end and begin[0] == end[0] else 0


def _held(text):
    """For how many seconds KV was held; 0 if the line does not say it."""
    return max([float(found) for found in HELD.findall(text)], default=0.0)


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
