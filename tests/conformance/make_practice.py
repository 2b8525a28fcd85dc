# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes what documented deployments of a model have in common, from a corpus, for the advice of the planner.

    python tests/conformance/make_practice.py CORPUS

Only what most deployments of a model's family set for a kind of pool is kept, with the number and one source.
"""

from __future__ import annotations

import collections
import json
import pathlib
import pprint
import sys
import typing as t

import yaml
from ansible_collections.ascend.inference.plugins.plugin_utils.recipes.advice import family_of
from ansible_collections.ascend.inference.tests.conformance import make_recipes
from ansible_collections.ascend.inference.tests.conformance.read_entry import read_entry

TARGET = make_recipes.TARGET.with_name("practice_data.py")
FEWEST = 3  # deployments of a family
HEAD = '''# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What most documented deployments of a model's family set; written by tests/conformance/make_practice.py.

PRACTICE: family -> kind of pool -> (deployments, {name: (how many set it, most usual value, index of a source)}). Environment variables
are in capitals, arguments have dashes. An empty value means that values differ.
"""

from __future__ import annotations

Practice = dict[str, dict[str, tuple[int, dict[str, tuple[int, str, int]]]]]

'''
# Sizes, lengths and names follow from the site's hardware and requests, not from the model
OF_THE_SITE = {"max-model-len", "max-num-seqs", "max-num-batched-tokens", "seed", "served-model-name", "port", "host"}
OF_THE_SITE |= {"chat-template", "tool-call-parser", "load-format", "HCCL_SOCKET_IFNAME", "HCCL_IF_IP"}


def source_of(entry: t.Mapping[str, t.Any]) -> str:
    """Where a deployment is documented: owner/name@commit:path."""
    source = entry["source"]
    at = source.get("commit") or source.get("ref") or source.get("tag") or ""
    return f"{source['repo']}{f'@{at[:12]}' if at else ''}:{source['path']}"


def pools(corpus: t.Mapping[str, t.Any]) -> t.Iterator[tuple[str, str, dict[str, str], str]]:
    """(family, kind, settings, source) of each pool of each deployment that can be read."""
    for entry in corpus["entries"]:
        try:
            documented = read_entry(entry)
            found = make_recipes.recipe(documented, documented.release, source_of(entry))
        except (KeyError, ValueError, IndexError):
            continue  # some entries document no complete deployment
        family = family_of(found["model"])
        for kind, pool in found["variables"]["inference_pools"].items():
            if family and "args" in pool:
                settings = {**pool["args"], **pool.get("env", {})}
                texts = {
                    name: value if isinstance(value, str) else json.dumps(value) for name, value in settings.items()
                }
                yield (
                    family,
                    kind,
                    {name: text for name, text in texts.items() if name not in OF_THE_SITE},
                    found["source"],
                )


def practice(corpus: t.Mapping[str, t.Any]) -> dict[str, dict[str, t.Any]]:
    """The data of the module that is written."""
    groups: dict[tuple[str, str], list[tuple[dict[str, str], str]]] = collections.defaultdict(list)
    for family, kind, settings, source in pools(corpus):
        groups[family, kind].append((settings, source))
    result: dict[str, dict[str, t.Any]] = {}
    for (family, kind), members in sorted(groups.items()):
        found = {}
        for name in sorted({name for settings, _source in members for name in settings}):
            values = collections.Counter(settings[name] for settings, _source in members if name in settings)
            count, (value, times) = sum(values.values()), values.most_common(1)[0]
            if 2 * count > len(members):
                source = next(source for settings, source in members if settings.get(name) == value)
                found[name] = (
                    count,
                    value if 2 * times > count and "/" not in value and len(value) < 80 else "",
                    source,
                )
        if len(members) >= FEWEST:
            result.setdefault(family, {})[kind] = (len(members), found)
    return result


def main() -> None:
    """Write the data."""
    corpus = yaml.safe_load(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    found = practice(corpus)
    if not found:
        raise SystemExit(f"{sys.argv[1]}: no family has {FEWEST} deployments that can be read; nothing was written")
    settings = [pool[1] for kinds in found.values() for pool in kinds.values()]
    sources = sorted({source for names in settings for _count, _value, source in names.values()})
    for names in settings:
        names.update({name: (*entry[:2], sources.index(entry[2])) for name, entry in names.items()})
    lines = "".join(f"    {json.dumps(source)},\n" for source in sources)
    text = pprint.pformat(found, width=110, sort_dicts=True)
    TARGET.write_text(f"{HEAD}SOURCES = (\n{lines})\nPRACTICE: Practice = {text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
