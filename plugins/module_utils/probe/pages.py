# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The results as metrics of Prometheus, and as the page that `status` reads."""

from __future__ import annotations

import json
from typing import Any

from ..tools.how_many import how_many
from ..tools.text import one_line
from .progress import SILENT, UNKNOWN
from .results import CLIENTS
from .rounds import Rounds

MOST_FINDINGS, LONGEST = 8, 380  # `status` reads 4000 characters of a page
HELP = {
    "inference_probe_success": "Whether the last request over the path got the right answer in the right way.",
    "inference_probe_ttft_seconds": "Seconds to the first token of the last request over the path.",
    "inference_probe_cached_tokens": "Prompt tokens of the last request over the path that decode got from outside.",
    "inference_probe_path_timestamp_seconds": "When the path was last probed.",
    "inference_probe_last_run_timestamp_seconds": "When the last round of the probe ended; 0 before the first.",
    "inference_probe_paused_until_timestamp_seconds": "When the last pause ends or ended, in which nothing is probed; 0 without one.",
    "inference_probe_interval_seconds": "Seconds between rounds of the probe.",
    "inference_probe_engine_stalled_seconds": "Seconds for which an engine has had requests, or been silent, without a new token.",
    "inference_probe_engine_failed_rounds": "Rounds in a row in which nothing worked over an engine, though its peers work with other engines.",
}


def metrics_of(rounds: Rounds) -> str:
    """The text format of Prometheus. A path that was not probed yet has no success: neither 0 nor 1 is known."""
    found: dict[str, list[str]] = {name: [] for name in HELP}

    def add(name: str, value: float | None, **labels: str) -> None:
        if value is not None:
            pairs = {"deployment": rounds.settings.deployment, **labels}
            text = ",".join(f'{key}="{_escaped(pairs[key])}"' for key in pairs)
            found[name].append(f"{name}{{{text}}} {value:.15g}")

    for path in rounds.results.paths():
        if path.last:
            add("inference_probe_success", float(bool(path.success)), path=path.name)
            add("inference_probe_ttft_seconds", path.last.ttft, path=path.name)
            add("inference_probe_cached_tokens", path.last.cached, path=path.name)
            add("inference_probe_path_timestamp_seconds", path.last.at, path=path.name)
    for name, state in sorted(rounds.progress.states.items()):
        add("inference_probe_engine_stalled_seconds", None if state.state == UNKNOWN else state.seconds, engine=name)
        add("inference_probe_engine_failed_rounds", rounds.blamed.get(name, 0), engine=name)
    add("inference_probe_last_run_timestamp_seconds", rounds.finished or 0.0)
    add("inference_probe_paused_until_timestamp_seconds", rounds.paused_until)
    add("inference_probe_interval_seconds", rounds.settings.interval)
    lines = []
    for name in HELP:
        if found[name]:
            lines += [f"# HELP {name} {HELP[name]}", f"# TYPE {name} gauge", *found[name]]
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def findings_of(rounds: Rounds) -> list[str]:
    """Engines over which nothing works, failing paths, then engines without progress, as texts."""
    found = [
        f"{name} fails each request that is tried over it, {how_many(number, 'round')} in a row, while its peers work with other engines. Fix: run "
        f"ascend.inference.restart with inference_services: [{name}]"
        for name, number in rounds.blamed.items()
    ]
    for path in rounds.results.paths():
        where = "clients" if path.name == "clients" else f"path {path.name}"
        found += [f"{where}: {problem}" for problem in path.problems]
    for name, state in rounds.stuck().items():
        minutes = f"{state.seconds / 60:.0f} min"
        what = (
            f"has not answered for {minutes}: it hangs, or its host cannot be reached"
            if state.state == SILENT
            else f"has {state.requests:.0f} requests and has computed no token for {minutes}"
        )
        found.append(f"{name} {what}. Fix: run ascend.inference.restart with inference_services: [{name}]")
    return found


def page_of(rounds: Rounds, trouble: str = "") -> dict[str, Any]:
    """What `status` reads: {rounds, finished, paused_until, interval, timeout, paths: {good, failed, unknown}, clients, findings, more, stuck, blamed}.

    finished: end of the last round in seconds since 1970, None before the first. paused_until: the same of a pause, or 0.
    more: number of findings that are left out, because `status` reads 4000 characters. stuck: names of engines.
    clients: whether the last request of a client was answered, None before it. blamed: {engine: rounds in a row} of engines over which nothing works.
    """
    known = rounds.results.paths()
    paths = [path.success for path in known]
    texts = ([trouble] if trouble else []) + findings_of(rounds)
    return {
        "rounds": rounds.count,
        "finished": rounds.finished,
        "paused_until": rounds.paused_until,
        "interval": rounds.settings.interval,
        "timeout": rounds.settings.timeout,
        "paths": {"good": paths.count(True), "failed": paths.count(False), "unknown": paths.count(None)},
        "clients": next((path.success for path in known if path.name == CLIENTS), None),
        "findings": [one_line(text)[:LONGEST] for text in texts[:MOST_FINDINGS]],
        "more": max(0, len(texts) - MOST_FINDINGS),
        "stuck": list(rounds.stuck())[:MOST_FINDINGS],
        "blamed": dict(list(rounds.blamed.items())[:MOST_FINDINGS]),
    }


def page_text(page: dict[str, Any], now: float, since: float) -> str:
    """The page as JSON, with `age`, the seconds since the last round (None before the first), and `paused`, the seconds that a pause lasts."""
    age = None if page["finished"] is None else round(max(0.0, since), 1)
    paused = round(max(0.0, page["paused_until"] - now), 1)
    return json.dumps({**page, "age": age, "paused": paused}, ensure_ascii=False)
