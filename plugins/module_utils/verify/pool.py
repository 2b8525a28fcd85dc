# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Step pool: one instance writes KV to the Mooncake store, another one reads and uses it."""

from __future__ import annotations

from typing import Any

from ..tools.http_client import Target
from .answers import excerpt, same_text
from .faults import Problem
from .master import leader_target
from .metrics import Samples, served, store_gets, store_puts
from .plan import Engine
from .probe import Probe
from .records import Record, failed, passed, skipped


def check_pool(probe: Probe) -> list[Record]:
    """Each reader gets a prompt that another engine has processed. Requests go directly to engines, not through the router."""
    links = _links(probe)
    if not links:
        return [skipped("pool", "only one engine: reading by another one cannot be tested")]
    broken, tokens = [], 0.0
    for writer, reader in links:
        hop, problem, hits = _one_link(probe, writer, reader)
        tokens += hits
        if problem:
            broken.append(failed("pool", hop, problem._replace(text=probe.hide(problem.text))))
    if broken:
        return broken
    message = "{0} readers loaded {1:.0f} prompt tokens that another engine had computed, texts equal"
    return [passed("pool", "", message.format(len(links), tokens), links=[f"{w.name} -> {r.name}" for w, r in links])]


def _links(probe: Probe) -> list[tuple[Engine, Engine]]:
    """Each reader with a writer that is another engine, writers in rotation."""
    store = probe.plan.store
    members = probe.plan.role("colocated") or probe.plan.role("prefill")
    writers = [probe.plan.engine(name) for name in store.writers] or list(members)
    readers = [probe.plan.engine(name) for name in store.readers] or list(members)
    links = []
    for number, reader in enumerate(readers):
        turn = [writers[(number + shift + 1) % len(writers)] for shift in range(len(writers))]
        other = [writer for writer in turn if writer.name != reader.name]
        if other:
            links.append((other[0], reader))
    return links


def _one_link(probe: Probe, writer: Engine, reader: Engine) -> tuple[str, Problem | None, float]:
    """(hop, error or None, tokens read). The writer computes first and gives the reference text; the reader must return the same."""
    store, prompt = probe.plan.store, probe.new_prompt()
    put_hop, get_hop = f"{writer.name} -> {store.name}", f"{store.name} -> {reader.name}"
    master = leader_target(probe)
    start = probe.metrics(master)
    first = probe.complete(probe.target(writer), prompt)
    if not first.whole:
        return writer.name, Problem("the writer did not answer: " + first.detail, first.fault), 0.0
    stored = probe.settle(lambda: probe.metrics(master), lambda now: _grown(store_puts, start, now) > 0)
    if _grown(store_puts, start, stored) <= 0:
        return put_hop, Problem(f"the master got no new key from {writer.name}", "pool_not_written"), 0.0
    # The last blocks may still be in transfer: wait until the count of keys is stable.
    stored = _quiet(probe, master, stored)
    before = probe.metrics(probe.target(reader))
    second = probe.complete(probe.target(reader), prompt)
    if not second.whole:
        return get_hop, Problem("the reader did not answer: " + second.detail, "pool_not_read"), 0.0
    hits = _hits(probe, reader, before)
    gets = probe.settle(lambda: _grown(store_gets, stored, probe.metrics(master)), lambda grown: grown != 0)
    if hits is not None and hits < probe.plan.block_size:
        text = "{0} took {1:.0f} of {2} prompt tokens from the pool, although {3} had stored them"
        values = (reader.name, hits, second.prompt_tokens, writer.name)
        return get_hop, Problem(text.format(*values), "pool_not_read"), 0.0
    if gets == 0 or (hits is None and gets < 0):
        return get_hop, Problem(f"the master saw no successful get by {reader.name}", "pool_not_read"), 0.0
    if not same_text(second.text, first.text, True) and not _begins_alike(probe, second.text, prompt, writer):
        text = "{0} returns {1!r} with KV from the store, {2} returns {3!r}"
        values = (reader.name, excerpt(second.text, 60), writer.name, excerpt(first.text, 60))
        return get_hop, Problem(text.format(*values), "garbage"), 0.0
    return get_hop, None, hits or 0.0


def _grown(count: Any, before: Samples | None, after: Samples | None) -> float:
    """Increase of a counter of the master; -1 without the counter (which proves nothing)."""
    grown = count(before or {}, after or {})
    return -1.0 if grown is None else grown


def _quiet(probe: Probe, master: Target, last: Samples | None) -> Samples | None:
    seen = [last]

    def read() -> Samples | None:
        seen.append(probe.metrics(master))
        return seen[-1]

    return probe.settle(read, lambda now: len(seen) > 3 and _grown(store_puts, seen[-3], now) == 0)


def _hits(probe: Probe, reader: Engine, before: Samples | None) -> float | None:
    """Tokens that the reader loaded, by the better of its counters; None without counters."""

    def read() -> Any:
        return served(before or {}, probe.metrics(probe.target(reader)) or {})

    done = probe.settle(read, lambda now: now.requests > 0)
    return done.external if done.external is not None else done.promised


def _begins_alike(probe: Probe, text: str, prompt: str, writer: Engine) -> bool:
    """With match prefix:N only the first N tokens are compared."""
    if probe.plan.match == "exact":
        return False
    reference = probe.reference(prompt, writer)
    return reference.whole and same_text(text, reference.text, False)
