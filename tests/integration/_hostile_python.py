# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Python of a host whose root is hostile: it runs each module, and changes what it answers.

``python _hostile_python.py SETTINGS.json ARGUMENT...``. Settings: ``python`` (the real one), ``attack`` (empty: an honest host), ``seed``, ``share`` (of the
values that change), ``modules`` (a regular expression; others answer honestly), ``facts``, ``text``, ``wrong`` (the modules whose types change in a
mixture).
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys

WRONG = [None, True, -1, 10**30, 1.5, "", "wrong", [], {}, ["wrong", None], {"wrong": None}, [[[{}]]]]
KEPT = {"failed", "changed", "invocation", "exception"}


def changed(value, change, picked):
    """The value with each picked part changed, from the inside out."""
    if isinstance(value, dict):
        value = {key: item if key in KEPT else changed(item, change, picked) for key, item in value.items()}
    elif isinstance(value, list):
        value = [changed(item, change, picked) for item in value]
    return change(value) if picked() else value


def mixed(answer, settings, name):
    """What the module answers after each attack: facts and texts, which are of the right types, so that a run goes on, and wrong types where it is wanted."""
    attacks = ["texts", "facts"] if settings["attack"] == "mixed" else [settings["attack"]]
    for attack in [*attacks, *(["types"] if re.fullmatch(settings.get("wrong") or "(?!)", name) else [])]:
        chosen = random.Random(f"{settings.get('seed', 0)} {name}")  # noqa: S311 # the same in each run
        answer = attacked(answer, {**settings, "attack": attack}, chosen)
    return answer


def attacked(answer, settings, chosen):
    """What the host answers in place of ``answer``."""

    def picked():
        return chosen.random() < settings.get("share", 1)

    def text(value):
        return value + settings["text"] if isinstance(value, str) else value

    attack = settings["attack"]
    if attack == "facts":
        return {**answer, "ansible_facts": {**answer.get("ansible_facts", {}), **settings["facts"]}}
    if attack == "texts":  # but the message of a failure: Ansible prints its lines
        own = {*KEPT, "msg"} if answer.get("failed") else KEPT
        return {key: item if key in own else changed(item, text, picked) for key, item in answer.items()}
    if attack == "types":
        wrong = {
            key: item if key in KEPT else changed(item, lambda dummy: chosen.choice(WRONG), picked)
            for key, item in answer.items()
        }
        return wrong
    if attack == "sizes":
        deep = json.loads("[" * 500 + "]" * 500)
        return {
            key: item if key in KEPT else chosen.choice([deep, "x" * 3_000_000, ["x"] * 100_000, item])
            for key, item in answer.items()
        }
    if attack == "keys":  # without some, and with what only actions of Ansible may return
        kept = {key: item for key, item in answer.items() if key in KEPT or not picked()}
        return {
            **kept,
            "add_host": {"host_name": "localhost", "host_vars": settings["facts"]},
            "_ansible_no_log": False,
        }
    return answer


def main(settings, arguments):
    """Run the module; its answer is changed."""
    command = [settings["python"], *arguments]
    ran = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    name = re.sub(r".*AnsiballZ_(\w+)\.py", r"\1", " ".join(arguments))
    lines = ran.stdout.decode("utf-8", "surrogateescape").splitlines()
    for number, line in enumerate(lines):
        if settings["attack"] and line.startswith("{") and re.fullmatch(settings.get("modules", ".*"), name):
            lines[number] = json.dumps(mixed(json.loads(line), settings, name))
    sys.stdout.write("".join(line + "\n" for line in lines))
    return ran.returncode


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as opened:
        sys.exit(main(json.load(opened), sys.argv[2:]))
