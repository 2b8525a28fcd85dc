# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an entry does with its settings, proven with its twin: routes, shares, refusals, usage, fallbacks and limits, each as a step that passed or failed."""

from __future__ import annotations

import json
import math
import os
import threading
import time
from typing import Any

from .twin import Twin
from .usage import usage

STREAMS = ({"stream": True}, {"stream": True, "stream_options": {"include_usage": True}})
LEAST = 100  # requests that show the shares of a model
LATER = 1  # requests of a router more or fewer than its share: they go in turn
HELD = 20.0  # seconds in which requests arrive, and end
SETTLED = 5.0  # seconds after which usage is written


def proof(given: dict[str, Any]) -> list[dict[str, str]]:
    """All steps: ``[{step, status, detail}]``. ``given``: the twin. Raises OSError."""
    steps = []
    with Twin(given) as twin:
        steps += [*_refusals(twin), *_routes(twin), *_usage(twin), *_fallbacks(twin)]
    limited = {name: team for name, team in given["teams"].items() if _limited(team)}
    if any(team["requests_per_minute"] or team["concurrent"] for team in limited.values()):
        with Twin(given) as twin:
            for name, team in limited.items():
                steps += _limits(twin, name, team)
    if any(_tokens(team) for team in limited.values()):
        with Twin(given) as twin:
            steps += [_spent(twin, name, team) for name, team in limited.items() if _tokens(team)]
    return steps


def _step(step: str, wrong: list[str], detail: str) -> dict[str, str]:
    return {"step": step, "status": "failed" if wrong else "passed", "detail": "; ".join(wrong[:5]) or detail}


def _limited(team: dict[str, Any]) -> bool:
    return bool(team["requests_per_minute"] or team["concurrent"] or _tokens(team))


def _tokens(team: dict[str, Any]) -> int:
    return min(filter(None, (team["tokens_per_day"], team["tokens_per_month"])), default=0)


def _post(twin: Twin, key: str, model: str, **more: Any) -> int:
    return twin.ask("POST", twin.given["path"], key, {**more, "model": model, "messages": []})[0]


def _refusals(twin: Twin) -> list[dict[str, str]]:
    """Each refusal, with each team; none of them reaches a router."""
    given, wrong, models = twin.given, [], sorted(twin.given["models"])
    before = twin.reached()

    def expect(name: str, expected: int, method: str, path: str, key: str, body: Any = None) -> None:
        status = twin.ask(method, path, key, body)[0]
        if status != expected:
            wrong.append(f"{name} got {status}, not {expected:.0f}")

    asked = {"model": models[0], "messages": []}
    expect("a request without a key", 401, "POST", given["path"], "", asked)
    expect("an unknown key", 401, "POST", given["path"], "a-key-that-nobody-has", asked)
    expect("a model that does not exist", 404, "POST", given["path"], given["key"], {"model": "no/such-model"})
    expect("a path that is not served", 404, "POST", "/v1/no-such-path", given["key"], asked)
    expect("a body without a model", 400, "POST", given["path"], given["key"], {"messages": []})
    expect("GET", 405, "GET", given["path"], given["key"])
    for name, team in sorted(given["teams"].items()):
        foreign = [model for model in models if model not in team["models"]]
        for model in foreign[:1]:
            expect(f"{name} with the model {model}", 403, "POST", given["path"], team["key"], {"model": model})
        listed = json.loads(twin.ask("GET", "/v1/models", team["key"])[1]).get("data", [])
        if [each["id"] for each in listed] != team["models"]:
            wrong.append(f"the list of models of {name} is another one")
    if twin.reached() != before:
        wrong.append("a refused request reached a router")
    return [_step("refusals", wrong, f"{len(given['teams'])} teams, and requests without a key, model or path")]


def _routes(twin: Twin) -> list[dict[str, str]]:
    """Each model reaches its routers and no other, with the key of its engines, in the proportion of its shares."""
    steps = []
    for name, model in sorted(twin.given["models"].items()):
        whole = sum(model["ways"].values())
        count = whole * math.ceil(LEAST / whole)
        before = twin.reached()
        seen = {port: len(each.seen) for port, each in twin.routers.items()}
        statuses = [_post(twin, twin.given["key"], name) for dummy in range(count)]
        found = {port: number - before[port] for port, number in twin.reached().items() if number > before[port]}
        wrong = [f"{count - statuses.count(200)} of {count} requests failed"] if set(statuses) != {200} else []
        for port in sorted({*found, *model["ways"]}):
            expected = model["ways"].get(port, 0) * count / whole
            allowed = LATER if expected else 0
            if abs(found.get(port, 0) - expected) > allowed:
                wrong.append(
                    f"{twin.given['routers'].get(port, port)} got {found.get(port, 0)} requests of {count}, not {expected:.0f}"
                )
        carried = {each for port, stand_in in twin.routers.items() for each in stand_in.seen[seen[port] :]}
        if carried - {(name, "Bearer " + model["key"] if model["key"] else "")}:
            wrong.append("a router got another model or another key")
        shares = ", ".join(
            f"{number} to {twin.given['routers'][port]}"
            for port, number in sorted(found.items())
            if port in twin.given["routers"]
        )
        steps.append(_step("route of " + name, wrong, f"of {count} requests {shares}"))
    return steps


def _usage(twin: Twin) -> list[dict[str, str]]:
    """Usage counted is usage sent, of answers at once and of streams."""
    if not twin.given["usage"]:
        return [{"step": "usage", "status": "skipped", "detail": "usage is false"}]
    folder = os.path.join(twin.folder, "usage")

    def counted() -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for row in usage(folder, "0000-01-01", "9999-12-31")[0]:
            if row["team"] == twin.given["team"]:
                counts = found.setdefault(row["model"], [0] * 5)
                counts[:] = [one + two for one, two in zip(counts, row["counts"])]
        return found

    expected = counted()
    ways: list[dict[str, Any]] = [{}, *(STREAMS if twin.given["path"].endswith("/completions") else ())]
    for number, name in enumerate(sorted(twin.given["models"])):
        for more in ways:
            counts = [7 + number, 5, 3]
            _post(twin, twin.given["key"], name, count=counts, **more)
            row = expected.setdefault(name, [0] * 5)
            row[:] = [one + two for one, two in zip(row, [1, 0, *counts])]
    end = time.monotonic() + SETTLED
    while counted() != expected and time.monotonic() < end:
        time.sleep(0.1)
    wrong = [] if counted() == expected else [f"sent {expected}, counted {counted()}"]
    return [_step("usage", wrong, f"{sum(row[0] for row in expected.values()):.0f} requests counted as sent")]


def _fallbacks(twin: Twin) -> list[dict[str, str]]:
    """Without its routers a model has its fallback from the first request on, or is refused. Routers of a fallback end last."""
    steps = []
    for name, model in sorted(
        twin.given["models"].items(), key=lambda each: not (each[1]["spare"] or each[1]["other"])
    ):
        spare = model["spare"] or list(twin.given["models"].get(model["other"], {"ways": {}})["ways"])
        if set(spare) & set(model["ways"]) or any(twin.routers[port].closed for port in spare):
            steps.append(
                {
                    "step": "fallback of " + name,
                    "status": "skipped",
                    "detail": "its routers are those of another model that was tried before",
                }
            )
            continue
        for port in model["ways"]:
            twin.routers[port].close()
        before = twin.reached()
        statuses = [_post(twin, twin.given["key"], name) for dummy in range(5)]
        found = [port for port, number in twin.reached().items() if number > before[port]]
        expected, detail = (200, "requests go to it") if spare else (503, "refused, as it has none")
        wrong = [f"requests got {statuses}, not {expected:.0f}"] if set(statuses) != {expected} else []
        wrong += ["they reached other routers"] if not set(found) <= set(spare) else []
        steps.append(_step("fallback of " + name, wrong, detail))
    return steps


def _limits(twin: Twin, name: str, team: dict[str, Any]) -> list[dict[str, str]]:
    """As many requests at a time as the team may have, and in a minute, and not one more."""
    steps, used = [], 0
    rate, most = team["requests_per_minute"], team["concurrent"]
    if most and rate and rate <= most:
        detail = "requests_per_minute is not more"
        steps.append({"step": "concurrent of " + name, "status": "skipped", "detail": detail})
    elif most:
        wrong = _concurrent(twin, team)
        steps.append(_step("concurrent of " + name, wrong, f"{most} at a time, and one more is refused"))
        used = most
    if rate:
        begin = time.monotonic()
        while used <= rate + 2 and _post(twin, team["key"], team["models"][0]) == 200:
            used += 1
        wrong = [] if abs(used - rate) <= 1 else [f"{used} requests were allowed, not {rate}"]
        detail = f"{used} of {rate} in {time.monotonic() - begin:.0f} s, then 429"
        steps.append(_step("requests_per_minute of " + name, wrong, detail))
    return steps


def _concurrent(twin: Twin, team: dict[str, Any]) -> list[str]:
    """What is wrong with the limit of requests at a time."""
    held: list[int] = []

    def hold() -> None:
        held.append(_post(twin, team["key"], team["models"][0], hold=True))

    stand_ins, limit = list(twin.routers.values()), team["concurrent"]
    for stand_in in stand_ins:
        stand_in.held = 0
        stand_in.release.clear()
    threads = [threading.Thread(target=hold, daemon=True) for dummy in range(limit)]
    for thread in threads:
        thread.start()
    end = time.monotonic() + HELD
    while sum(each.held for each in stand_ins) < limit and time.monotonic() < end:
        time.sleep(0.02)
    more = _post(twin, team["key"], team["models"][0])
    for stand_in in stand_ins:
        stand_in.release.set()
    for thread in threads:
        thread.join(HELD)
    if more == 429 and held == [200] * limit:
        return []
    return [f"{held.count(200)} of {limit} at a time were answered, and one more got {more}"]


def _spent(twin: Twin, name: str, team: dict[str, Any]) -> dict[str, str]:
    """The last token of a period, and the request after it."""
    limit = _tokens(team)
    if team["requests_per_minute"] in (1, 2):
        return {
            "step": "tokens of " + name,
            "status": "skipped",
            "detail": "requests_per_minute allows no three requests",
        }
    statuses = [_post(twin, team["key"], team["models"][0], count=[limit - 1, 0, 0])]
    time.sleep(0.2)
    statuses.append(_post(twin, team["key"], team["models"][0], count=[0, 1, 0]))
    time.sleep(0.2)
    statuses.append(_post(twin, team["key"], team["models"][0]))
    wrong = [] if statuses == [200, 200, 429] else [f"statuses before, at and over the limit: {statuses}"]
    return _step("tokens of " + name, wrong, f"{limit}, then 429")
