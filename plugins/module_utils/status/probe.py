# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the page of the probe says: whether clients get answers, over which paths, and which engine fails all requests."""

from __future__ import annotations

from ..probe.answer import blamed_of, counts_of, is_late, numbers_of


def findings(answers, page):
    """Findings of the probe; a result that is missing or old says nothing about the service, which is a finding too."""
    if not answers:
        return
    found, numbers = page.get("findings"), numbers_of(page)
    if not isinstance(found, list) or counts_of(page) is None or numbers is None:
        yield "gives no page of results, so whether clients get answers is unknown. Fix: run ascend.inference.deploy"
        return
    age, interval = numbers["age"], numbers["interval"]
    if numbers["paused"]:
        yield (
            "is paused for {:.0f} s, so whether clients get answers is unknown. Fix: wait until bench or drill has ended; if neither runs, "
            "remove the file pause beside its probe.json"
        ).format(numbers["paused"])
    elif age is None:
        yield "has no result yet, so whether clients get answers is unknown. Fix: run status again after the first round"
    elif is_late(numbers):
        yield (
            f"has no result for {age:.0f} s, although it has a round every {interval:.0f} s: whether clients get answers is unknown. Fix: "
            "read its log, then run ascend.inference.restart with inference_services: [probe]"
        )
    yield from (str(text) for text in found)
    if numbers["more"]:
        yield "has {:.0f} more findings; its page /metrics shows all paths".format(numbers["more"])


def results_of(page):
    """``{paths, good, failed, unknown}``: how many paths there are, with which last results; {} if a number is missing.

    What is known of now is added: ``clients``, whether the last request through the entry was answered, and ``blamed``, names of the engines over
    which nothing works, if there are any.
    """
    counts, numbers = counts_of(page), numbers_of(page)
    if not counts:
        return {}
    known = numbers is not None and not is_late(numbers) and not numbers["paused"]
    clients = {"clients": page["clients"]} if known and isinstance(page.get("clients"), bool) else {}
    blamed = sorted(blamed_of(page)) if known else []
    return dict(counts, paths=sum(counts.values()), **clients, **({"blamed": blamed} if blamed else {}))
