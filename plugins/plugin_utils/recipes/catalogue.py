# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shelf of recipes: the lines of catalogue_data.py, and what they mean.

Each recipe has its model, hardware, hosts, the release that its source is about, the source, ``notes`` (what of the source it leaves
out, and why), and ``variables``: what it brings.
"""

from __future__ import annotations

import json
import re
import shlex
import textwrap
import typing as t

from ..releases.release import RELEASES
from . import catalogue_data

FACTS = ("hardware", "hosts", "model", "release", "source")
# Words as shlex.quote writes them. shlex.split takes three times as long, at each start of ansible-playbook.
WORD = re.compile(r"""(?:[^\s'"]|'[^']*'|"[^"]*")+""")
QUOTED = re.compile(r"""'([^']*)'|"([^"]*)\"""")
COMPACT = (",", ":")
WIDTH = 150
Recipe = dict[str, t.Any]


def read(text: str) -> dict[str, Recipe]:
    """Recipes from lines: a name, then indented lines that begin with from, deployment, note, all, or a pool; deeper ones go on."""
    found: dict[str, Recipe] = {}
    recipe: Recipe = {}
    for line in text.replace("\n      ", " ").splitlines():
        if line.startswith("  "):
            kind, *words = (QUOTED.sub(r"\1\2", word) for word in WORD.findall(line))
            _add(recipe, kind, words)
        elif line:
            recipe = found[line] = {"notes": [], "variables": {"inference_pools": {}}}
    return found


def _add(recipe: Recipe, kind: str, words: list[str]) -> None:
    variables = recipe["variables"]
    if kind == "from":
        recipe.update(zip(FACTS, words, strict=True), hosts=int(words[1]))
        variables["inference_hardware"] = recipe["hardware"]
        if recipe["release"] in RELEASES:
            variables["inference_release"] = recipe["release"]
    elif kind == "note":
        recipe["notes"].append(words[0])
    elif kind == "deployment":
        variables.update((name, _value(value)) for name, value in (word.split("=", 1) for word in words))
    elif kind == "pools":
        variables["inference_pools"] = {name: {} for name in words}
    else:
        pools = variables["inference_pools"]
        for pool in pools.values() if kind == "all" else [pools[kind]]:
            for word in words:
                name, given, value = word.partition("=")
                if name.startswith("--"):
                    pool.setdefault("args", {})[name[2:]] = _value(value) if given else True
                elif name.isupper():
                    pool.setdefault("env", {})[name] = value
                else:
                    pool[name] = int(value) if value.isdigit() else _value(value)


def _value(text: str) -> t.Any:
    """A value from a word: true, false and JSON containers are what they mean."""
    return json.loads(text) if text in ("true", "false") or text[:1] in ("{", "[") else text


def write(recipes: t.Mapping[str, Recipe]) -> str:
    """The lines of recipes, which ``read`` reads."""
    return "".join(f"{name}\n{''.join(map(_folded, _lines(recipe)))}" for name, recipe in recipes.items())


def _folded(words: list[str]) -> str:
    folded = textwrap.wrap(" ".join(map(shlex.quote, words)), WIDTH, break_long_words=False, break_on_hyphens=False)
    return "  " + "\n      ".join(folded) + "\n"


def _lines(recipe: Recipe) -> t.Iterator[list[str]]:
    variables = recipe["variables"]
    pools = variables["inference_pools"]
    yield ["from", *(str(recipe[fact]) for fact in FACTS)]
    yield from (["note", note] for note in recipe["notes"])
    own = {"inference_pools", "inference_hardware", "inference_release"}
    words = [_word(name, variables[name]) for name in sorted(variables) if name not in own]
    if words:
        yield ["deployment", *words]
    yield ["pools", *pools]
    said = {name: _pool(pool) for name, pool in pools.items()}
    first, *_others = said.values()
    shared = [word for word in first if len(said) > 1 and all(word in words for words in said.values())]
    if shared:
        yield ["all", *shared]
    for name, words in said.items():
        yield [name, *(word for word in words if word not in shared)]


def _pool(pool: t.Mapping[str, t.Any]) -> list[str]:
    words = [_word(name, pool[name]) for name in sorted(pool) if name not in ("args", "env")]
    args = pool.get("args", {})
    words += [f"--{name}" if args[name] is True else _word(f"--{name}", args[name]) for name in sorted(args)]
    return words + [f"{name}={pool['env'][name]}" for name in sorted(pool.get("env", {}))]


def _word(name: str, value: t.Any) -> str:
    return f"{name}={value if isinstance(value, str) else json.dumps(value, sort_keys=True, separators=COMPACT)}"


RECIPES: dict[str, Recipe] = read(catalogue_data.RECIPES)
