# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of a rehearsed run as text that a person reads in a review: a line for each task, then what its modules were called with."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import typing as t

Record = t.Mapping[str, t.Any]
LONGEST = 300  # characters of a value that is shown; a longer one is shown by its beginning and its hash
MOST = 2500  # characters of an argument that are shown
OF_THE_PLAN = (
    "verify",
    "planned",
    "metadata",
)  # arguments that are sections of the plan, of which other tests keep the text
OF_ONE_RUN = ("run", "reference", "date")  # arguments that differ for each run
DRAWN = ("__model_run", "__model_token")  # facts that are drawn at random
USUAL = ("gather_facts", False)  # of a play
MINUTE = re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d UTC\b")  # of a report
ARGUMENT = " " * 8
CALL = re.compile(r" {4}\w+\.\w+\.\w+")
STEP = re.compile(r' {8}step: .*|"state": "(?:done|begun|open)", ')  # what differs where a script is noted again
MOMENT = re.compile(r"\bcompare-\d{8}-\d{6}\b")  # a folder of compare


def case_text(name: str, calls: list[Record], paths: t.Mapping[str, str]) -> str:
    """The text of one case: what happens. ``paths`` are texts of this machine, and what stands for them.

    Plays without hosts and skipped tasks are left out; test_rehearsal.py asks of each condition that it is false in a case. A call that was made in the
    case before is named with the task that made it first, and of a script that is noted again the step.
    """
    lines = [f"=== {name}"]
    stable: list[Record] = json.loads(_stable(json.dumps(calls), paths))
    for _task, group in itertools.groupby(stable, key=lambda call: (call["task"], call["path"])):
        by_text: dict[str, list[str]] = {}
        for call in group:
            if "play" in call:
                lines += [_play(call)] if call["hosts"] else []
            elif call["status"] != "skipped":
                by_text.setdefault("\n".join(_lines(call)), []).append(call["host"])
        for text, hosts in by_text.items():
            lines.append(text if hosts == [name.split("/")[1]] else f"{','.join(hosts)}: {text}")
    return "\n".join(_once("\n".join(lines).split("\n"))) + "\n"


def _once(lines: t.Iterable[str]) -> t.Iterator[str]:
    """The lines without the arguments of calls that are there already."""
    first: dict[tuple[str, ...], str] = {}
    task, call = "", list[str]()
    for line in [*lines, ""]:
        if call and line.startswith(ARGUMENT):
            call.append(line)
            continue
        if call:
            known = first.setdefault(tuple(STEP.sub("", each) for each in call), task)
            steps = [each.strip() for each in call if STEP.match(each)]
            before = known is not task and len(call) > 2
            yield from [f"{call[0]}: {' '.join([*steps, 'as at', known])}"] if before else call
        call = [line] if CALL.fullmatch(line) else []
        task = line.split(" (")[0] if line and not line.startswith(" ") else task
        if line and not call:
            yield line


def _stable(text: str, paths: t.Mapping[str, str]) -> str:
    for path, name in paths.items():
        text = text.replace(path, name)
    return MOMENT.sub("compare-MOMENT", MINUTE.sub("MINUTE", text))


def _play(call: Record) -> str:
    """The line of a play: its keywords, and its hosts, with a bar between those that follow each other."""
    written = {"gather_facts": True, **call["keywords"]}
    keywords = ", ".join(f"{name}={value}" for name, value in sorted(written.items()) if (name, value) != USUAL)
    hosts = " | ".join(" ".join(batch) for batch in call["hosts"])
    return f"--- {call['play']}{f' ({keywords})' if keywords else ''}: {hosts}"


def _lines(call: Record) -> t.Iterator[str]:
    keywords = [name if value is True else f"{name}={value}" for name, value in call.get("keywords", {}).items()]
    keywords += [f"on {call['delegate']}"] if call.get("delegate") else []
    more = f" ({', '.join(keywords)})" if keywords else ""
    items = f" {_counted(call['items'])}" if call["items"] else ""
    yield f"{call['status']}: {call['task']}{items}{more}"
    if call.get("message"):
        yield f"    message: {_value(_first_lines(call['message']))}"
    if call.get("text"):
        yield f"    text: {_value(call['text'])}"
    for module, arguments in call.get("calls", ()):
        yield f"    {module}"
        for name in sorted(arguments):
            if name not in OF_ONE_RUN:
                value = arguments[name]
                yield f"        {name}: {_hashed(value) if name in OF_THE_PLAN else _value(value)}"
    facts = call.get("facts") or {}
    for item in facts if isinstance(facts, list) else [facts]:
        for name in sorted(item):
            yield f"    {name} = {'ANOTHER IN EACH RUN' if name in DRAWN else _value(item[name])}"


def _first_lines(message: str) -> str:
    """What ansible-core says of an error, without the excerpts of files that differ with its versions."""
    return re.split(r"\n(?:Origin|<<< caused by)", message)[0].strip()


def _counted(items: t.Sequence[str]) -> str:
    return ", ".join(f"{len(list(group))} {name}" for name, group in itertools.groupby(items))


def _value(value: t.Any) -> str:
    text = json.dumps(_short(value), ensure_ascii=False, sort_keys=True)
    return text if len(text) <= MOST else _hashed(text)


def _short(value: t.Any, depth: int = 0) -> t.Any:
    """Without what other tests keep as text, and without what is too long to read."""
    if isinstance(value, dict):
        if {"services", "hosts", "digest"} <= set(value):
            return f"<plan of {_names(value['hosts'])}: {_names(value['services'])}>"
        return (
            {key: _short(value[key], depth + 1) for key in sorted(value) if key not in OF_ONE_RUN}
            if depth < 4
            else _hashed(value)
        )
    if isinstance(value, list):
        if value and all(
            isinstance(item, dict) and "name" in item and {"script", "scripts", "argv"} & set(item) for item in value
        ):
            return f"<services {_names(value)}>"
        return [_short(item, depth + 1) for item in value]
    if isinstance(value, str) and len(value) > LONGEST:
        return _hashed(value)
    return value


def _names(items: t.Iterable[Record]) -> str:
    return " ".join(str(item["name"]) for item in items)


def _hashed(value: t.Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
    if text.startswith("<!doctype"):  # pages have the time and random ids
        return f"<{len(text)} characters: {text[:60]!r}>"
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"<{len(text)} characters {digest}: {text[:60]!r}>"
