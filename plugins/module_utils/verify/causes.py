# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where an observed fault usually comes from: one clause per fault, from upstream's issue threads and our measurements."""

from __future__ import annotations

CAUSES = {
    "dead": "the process is not running or listens elsewhere; its log's last lines say why",
    "hangs": "it accepts the connection and does not answer: look for a stuck engine core or a blocked API server in its log; "
    "an engine core that outlived its killed API server also keeps the port open",
    "unready": "it is up but not ready: weights still load, or its engine core died",
    "wrong_model": "it was started with another --served-model-name or --model than the plan says; restart it from the plan",
    "unauthorized": "the API key given here is not the one the service was started with",
    "master_standby": "this master is a standby of an HA pair: give the leader's address, or look why none was elected",
    "master_clients": "an engine did not register: wrong master_server_address, MOONCAKE_CONFIG_PATH unset, or its mount "
    "of the segment failed (RPC_FAIL: too few master RPC threads)",
    "master_capacity": "a segment is missing or smaller than planned: compare global_segment_size in each mooncake.json",
    "different_engine": "the weights, tokenizer, quantisation or dtype differ between the engines (compare the hash of the "
    "model folder on each host)",
    "entry_down": "the router is not running or listens elsewhere",
    "no_engine_served": "the router sends to engines that are not in this plan: compare its backend list with the plan",
    "prefill_not_asked": "the router's prefill list is empty or wrong, or its flavour does not drive this connector",
    "decode_not_asked": "the router's decode list is wrong (it may name prefill engines), so a prefill engine answered alone",
    "some_lost": "a backend of the router is dead or wrong, so only part of the requests takes the planned way",
    "empty_200": "the proxy swallowed the decode engine's error and still answered 200: look at decode's log",
    "cut": "the decode engine or the proxy broke off in the middle of the answer",
    "decode_hangs": "prefill answered and decode waits for KV that does not come: unreachable kv_port, a pinned engine_id that "
    "is stale after a restart, or a device network fault (hccn link, TLS switch, ASCEND_CONNECT_TIMEOUT)",
    "prefill_hangs": "the router waits for prefill, which does not answer",
    "recomputed": "decode did not get or not use kv_transfer_params: kv_connector or kv_role is wrong on one side, the router "
    "does not pass the parameters on, or loading failed and kv_load_failure_policy is recompute",
    "garbage": "the KV that decode used is not what prefill computed: failed pull that was not surfaced (Mooncake transfer "
    "failed), /etc/hccn.conf missing in the container, blocks freed before the pull (Force freed), or unlike "
    "block size, dtype or TP layout",
    "garbled_on_the_way": "the engines agree with each other, so something between them and the client changed the prompt "
    "or the answer: the router's rewriting, or an engine outside this plan",
    "no_kv_params": "prefill has no KV connector or the wrong kv_role, so it answers like a plain engine",
    "pool_not_written": "nothing was put into the pool: kv_role without producing, AscendStore/MooncakeStore connector not "
    "loaded, prefix caching off, or no room (NO_AVAILABLE_HANDLE)",
    "pool_not_read": "the keys do not match or the transfer fails: PYTHONHASHSEED differs between the processes, block size or "
    "model folder name differ, lookup port shared by two instances, or the store's transport is broken",
    "silent_overflow": "a prompt longer than max_model_len has to be refused; the proxy swallowed the engine's error",
    "not_refused": "something cut the prompt instead of refusing it, or the engine's max_model_len is not what it reports",
    "listeners": "a rank did not open its KV port: port taken by another instance, or the rank failed to start",
    "red_flag": "see the line itself and the log around it",
    "no_line": "decode never pulled for these requests, or logs to another place than the plan says",
}


def cause(fault: str) -> str:
    """ "; likely: …" for a fault of the table. KeyError for another: a fault without its cause is a defect."""
    return "; likely: " + CAUSES[fault]
