# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which host gets a model from which one: rounds of a tree, and the digests that all of them are compared with.

What a host answers is foreign: its record counts only if it has the digest that was decided before.
"""

from __future__ import annotations

import collections
import math
import typing as t

from ...module_utils.files import listing
from ...module_utils.model.delivery import OTHER_CONTENT
from ...module_utils.model.hub import REVISION

Record = dict[str, t.Any]
OTHER = "its model has another content than that of most hosts that have it, or than model_digest says"
REFUSED = "This host gives nothing to others. Fix: look at it, remove the model there, and run again"
SPARE_ROUNDS = 3  # for hosts that fail in a round
WITNESSES = 2  # so many hosts have to find other files at a host that gives: one of them may lie itself


def manifest(listed: Record, records: t.Sequence[Record], digest: str = "") -> list[Record]:
    """The files with SHA-256, ``[{name, size, sha256}]``: those of the hub's listing, where it has them, else those that most hosts have.

    ``listed`` is the result of model_listing, empty if nothing was fetched in this run; ``records`` are those of the hosts that have the model, in
    order: of equally frequent ones the first counts. ``digest`` is what the administrator expects, or empty.
    Raises ``ValueError`` if the host that fetched has something else than the hub lists, or than is expected.
    """
    whole, files = _of_most(records, digest)
    if listed.get("files") and listing.problems(listed["files"]):
        raise ValueError("the host that fetched the model answered with a listing that is none")
    found = {each["name"]: each for each in files}
    for each in listed.get("files") or []:
        mine = found.get(each["name"], {})
        if mine.get("size") != each["size"] or mine.get("sha256") != (each["sha256"] or mine.get("sha256")):
            raise ValueError(f"the hub lists another {each['name']} than the host that fetched the model has")
    if listed.get("files") and len(found) != len(listed["files"]):
        raise ValueError("the host that fetched the model has other files than the hub lists")
    if digest and whole != digest:
        raise ValueError(f"the model has the digest {whole}, and model_digest is {digest}")
    return [{name: each[name] for name in ("name", "size", "sha256")} for each in found.values()]


def _of_most(records: t.Sequence[Record], wanted: str) -> tuple[str, list[Record]]:
    """(digest, files) of the model that is wanted, else of the one that most hosts have: one of them alone gives nothing to the others."""
    sound: dict[str, list[Record]] = {}
    digests = []
    for record in records:
        found = _digest_of(record)
        if found:
            digests.append(found)
            sound.setdefault(found, record["files"])
    if not sound:
        raise ValueError("the host that has the model answered with a record that is none")
    whole = wanted if wanted in sound else collections.Counter(digests).most_common(1)[0][0]
    return whole, sound[whole]


def _digest_of(record: Record) -> str:
    """The digest of the files of a record; empty if it is no record, or says another digest."""
    files = record.get("files")
    if listing.problems(files) or not all(each.get("sha256") for each in t.cast("list[Record]", files)):
        return ""
    found = listing.digest(t.cast("list[Record]", files))
    return found if record.get("digest") == found else ""


def next_round(
    states: dict[str, Record],
    source: str,
    files: list[Record],
    copies: int = 1,
    number: int = 0,
    before: t.Mapping[str, t.Any] | None = None,
) -> Record:
    """``{pairs: {host: host it copies from}, sources, revision, lacking, problems: {host: what is wrong}, distrusted, found}``.

    ``states``: results of model_delivery_info by host, in order.
    Each source serves ``copies`` hosts at the same time. ``number`` counts rounds: a host that failed gets another source in the next one, and where
    there is none, another host tries. ``before`` is the last round: ``found`` are the hosts that found other files than those decided at a source, and
    a source at which some of them did is ``distrusted``.
    """
    digest = listing.digest(files)
    have, lacking, problems = [], [], {}
    for host, state in states.items():
        record = state.get("record") or {}
        if _digest_of(record) == digest and record.get("source") == source and not state.get("differences"):
            have.append(host)
        elif record or state.get("exists"):
            problems[host] = f"{host}: {difference(state, source) or OTHER}"
        else:
            lacking.append(host)
    found = _found_other(before or {}, states, lacking)
    distrusted = [host for host in have if len(found.get(host, [])) >= WITNESSES]
    offers = [host for _copy in range(copies) for host in have if host not in distrusted]
    pairs = dict(zip(_turned(lacking, number // max(len(offers), 1)), _turned(offers, number), strict=False))
    sources = [host for host in have if host in pairs.values()]
    return {
        "pairs": pairs,
        "sources": sources,
        "revision": _revision([states[host]["record"].get("revision") for host in have]),
        "lacking": lacking,
        "problems": problems,
        "distrusted": distrusted,
        "found": found,
    }


def _revision(said: list[t.Any]) -> str:
    """The revision that most hosts with the model say it is of; empty if it is none. Receivers keep it, so one host alone does not choose its text."""
    sound = [text for text in said if isinstance(text, str) and REVISION.fullmatch(text)]
    return collections.Counter(sound).most_common(1)[0][0] if sound else ""


def _turned(hosts: list[str], number: int) -> list[str]:
    shift = number % len(hosts) if hosts else 0
    return hosts[shift:] + hosts[:shift]


def _found_other(before: t.Mapping[str, t.Any], states: dict[str, Record], lacking: list[str]) -> dict[str, list[str]]:
    """Who found another content at which source, in all rounds until now."""
    found = {source: list(hosts) for source, hosts in before.get("found", {}).items()}
    for host, source in before.get("pairs", {}).items():
        said = (states.get(host, {}).get("progress") or {}).get("error")
        if host in lacking and OTHER_CONTENT in str(said) and host not in found.get(source, []):
            found.setdefault(source, []).append(host)
    return found


def difference(state: Record, source: str) -> str:
    """What is wrong with a model that is at the path; empty if it may be used, or if there is none."""
    record, found = state.get("record") or {}, [str(text) for text in state.get("differences") or []]
    if not record:
        return "something is at the path that this collection did not bring" if state.get("exists") else ""
    if record.get("source") != source:
        return f"the model at the path is {record.get('source')}"
    if found:
        more = f", and {len(found) - 5} more" if len(found) > 5 else ""
        return "; ".join(found[:5]) + more
    return ""


def most_rounds(hosts: int, copies: int = 1) -> int:
    """Rounds that a tree of this many hosts needs, and spare ones."""
    return math.ceil(math.log(max(hosts, 1), copies + 1)) + SPARE_ROUNDS
