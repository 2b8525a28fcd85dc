# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compiles the recipes from the source distributions of SHELF, their tutorials and the deployments of their CI.

``make releases`` compares the shelf with what this compiles, and ``make releases ARGS=--write`` writes it again:
catalogue_data.py, and recipes.json with the facts that a test compares the recipes' plans with.

A recipe holds what ``translate`` makes of a deployment, but for the hosts and the model: sizes of pools, arguments, environment,
connector. What a source gives single hosts is left out, or taken from the first. A guide that the planner refuses gets no recipe,
but a line with the reason. KEPT recipes are of other sources, and are written again from their facts.
"""

from __future__ import annotations

import json
import pathlib
import re
import time
import typing as t

from ansible_collections.ascend.inference.plugins.plugin_utils.description.findings import PlanError
from ansible_collections.ascend.inference.plugins.plugin_utils.engines.registry import DEFAULT
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.recipes.apply import merged
from ansible_collections.ascend.inference.plugins.plugin_utils.recipes.catalogue import RECIPES, Recipe, write
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import ADDITIONAL_SPANS, ORDER
from ansible_collections.ascend.inference.tests.conformance import guides_ci, guides_pages
from ansible_collections.ascend.inference.tests.conformance.compare import Difference
from ansible_collections.ascend.inference.tests.conformance.compare import compare as compare_plan
from ansible_collections.ascend.inference.tests.conformance.documented import Documented
from ansible_collections.ascend.inference.tests.conformance.facts import from_facts, to_facts
from ansible_collections.ascend.inference.tests.conformance.guides_text import OPEN
from ansible_collections.ascend.inference.tests.conformance.read_entry import read_entry
from ansible_collections.ascend.inference.tests.conformance.recipe_names import name_of
from ansible_collections.ascend.inference.tests.conformance.translate import translate
from ansible_collections.ascend.inference.tests.releases import compare

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = ROOT / "plugins" / "plugin_utils" / "recipes" / "catalogue_data.py"
CASES = ROOT / "tests" / "conformance" / "recipes.json"
SHELF = (DEFAULT.release, compare.newest())  # the first release that has a guide has it on the shelf
HARDWARE = ("a2", "a3")  # of the shipped inventories; the readers know the others to keep their commands apart
# Models whose guides without prefill/decode get a recipe, too
MIXED = re.compile(
    r"deepseek-v[34]|glm-[45]|kimi-k\d|minimax-m\d|qwen3(?!-a[23]-|-(asr|omni|embedding|reranker|next|vl-(embedding|reranker)))|hy\d"
)
# Recipes of other sources, for what no guide of SHELF has
KEPT = (
    "deepseek-r1-w8a8-a3",
    "deepseek-v3.2-w8a8-a2",
    "deepseek-v4-flash-w8a8-a3-pool",
    "glm-4.7-w8a8c8-a3-layerwise",
    "glm-5-w4a8-a2",
    "glm-5-w8a8-a3",
    "glm-5.1-w8a8-a3",
    "qwen2.5-vl-7b-a3-encode",
    "qwen3-30b-a3b-a2-llmdatadist",
    "qwen3-8b-a3-layerwise",
    "qwen3.5-397b-w8a8-a3-pool",
)
# Files with both sides of prefill/decode that no recipe can be compiled from
UNREAD = {
    "docs/source/tutorials/features/pd_disaggregation_mooncake_multi_node.md": "it names no model",
    "docs/source/tutorials/features/long_sequence_context_parallel_multi_node.md": "it names no model",
}
# What the configuration code of a page's release refuses, as the judge says, and no rule knows
REFUSED = {
    (
        "docs/source/tutorials/models/Hy3-preview.md",
        "0.23.0.post1",
    ): "this release refuses method mtp for this model when an engine starts; "
    "set inference_args: {speculative-config: null}",
}
LEFT_OUT = (
    "inference_engine",
    "inference_engine_install",
    "inference_model",
    "inference_hardware",
    "inference_release",
)
# What belongs to the source's own scripts, machines and measurements
OWN_ENV = {
    "DISAGGREGATED_PREFILL_PROXY_SCRIPT",
    "DP_SIZE",
    "ENCODE_PORT",
    "IMAGE",
    "IP_ADDRESS",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "MODEL_PATH",
    "NAME",
    "NETWORK_CARD_NAME",
    "PD_PORT",
    "PROXY_PORT",
    "SERVER_PORT",
    "TP_SIZE",
    "VLLM_SERVER_DEV_MODE",
    "VLLM_TORCH_PROFILER_WITH_STACK",
    "VLLM_USE_MODELSCOPE",
}
OWN_VALUE = re.compile(r"<.*>|^x+$|\$|^/models/placeholder|^$")  # stands for a value of the site
HOME = re.compile(r"^/(root|home)/")  # a file of the machine on which the source was written
OWN_ARGS = {"allowed-local-media-path", "profiler-config", "tokenizer"}
OF_NODE = ("headless", "api-server-count")
HEAD = '''# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recipes: settings of documented deployments, by name; written by ``make releases ARGS=--write``.

SHELF: ``release date`` of the source distributions that they are compiled from.
WITHOUT: ``page|section|hardware|release`` of guides that have no recipe, and below it what the planner says against each.
"""

from __future__ import annotations

'''


class Compiled(t.NamedTuple):
    """Recipes by name, the deployments that they are of, and guides without one."""

    recipes: dict[str, Recipe]
    documented: dict[str, Documented]
    without: list[str]


def strip(args: dict[str, t.Any], env: dict[str, t.Any], release: str = DEFAULT.release) -> list[str]:
    """Take away what belongs to the source, what only stands for a value of the site, and keys of --additional-config that no release
    from this one on reads. Returns notes of the last two."""
    for name in [
        name for name in env if name in OWN_ENV or name.lower().endswith("_proxy") or OWN_VALUE.search(str(env[name]))
    ]:
        if name != "ASCEND_RT_VISIBLE_DEVICES":
            del env[name]
    for name in OWN_ARGS & set(args):
        del args[name]
    open_ones = [name for name in args if any(OPEN.search(text) or HOME.search(text) for text in _texts(args[name]))]
    notes = [f"--{name} names something of the site; it is left out" for name in open_ones]
    for name in open_ones:
        del args[name]
    config = args.get("additional-config")
    unread = []
    if isinstance(config, dict):
        unread = [key for key in config if not read_from(release, key)]
        args["additional-config"] = {key: value for key, value in config.items() if key not in unread}
        if not args["additional-config"]:
            del args["additional-config"]
    return notes + [f"no release reads {key} of additional-config from this one on; it is left out" for key in unread]


def _texts(value: t.Any) -> list[str]:
    """The texts inside the value of an option that is a mapping."""
    if isinstance(value, dict):
        return [
            text for inner in value.values() for text in _texts(inner) or ([inner] if isinstance(inner, str) else [])
        ]
    return []


def read_from(release: str, key: str) -> bool:
    """Whether a release or a later one reads a key of --additional-config."""
    start = ORDER[release]
    return any(not last or ORDER[last] >= start for dummy, last in ADDITIONAL_SPANS.get(key, ()))


def recipe(documented: Documented, release: str, source: str) -> Recipe:
    """One recipe; ``strip`` changes the deployment, too."""
    notes = []
    start = documented.release if documented.release in ORDER and documented.release != "main" else DEFAULT.release
    for process in documented.processes:
        found = strip(process.args, process.env, max(start, DEFAULT.release, key=ORDER.__getitem__))
        notes += [f"{process.kind}: {note}" for note in found]
    words = translate(documented, False)[0]
    variables = {key: value for key, value in words.items() if key not in LEFT_OUT and value}
    for kind, pool in variables["inference_pools"].items():
        hosts = list(pool.pop("hosts", {}).values())
        for part in ("args", "env") if hosts else ():
            kept = {key: value for key, value in hosts[0].get(part, {}).items() if key not in OF_NODE}
            pool.setdefault(part, {}).update(kept)
            keys = {key for host in hosts for key in host.get(part, {}) if key not in OF_NODE}
            notes += [f"{kind}: its hosts differ in {key}; here is what the first has" for key in sorted(keys)]
        pool.pop("devices", None)
        if "args" in pool:  # numbers as the text that a command line has
            texts = {key: str(value) for key, value in pool["args"].items() if isinstance(value, (int, float))}
            pool["args"].update({key: text for key, text in texts.items() if not isinstance(pool["args"][key], bool)})
        for empty in [word for word in ("args", "env") if not pool.get(word)]:
            pool.pop(empty, None)
    if variables.get("inference_router") == {"flavour": "none"}:
        del variables["inference_router"]  # the source shows no proxy; a deployment has one
    variables["inference_hardware"] = documented.hardware
    if documented.release != "main":
        variables["inference_release"] = documented.release
    return {
        "model": words["inference_model"]["path"].rstrip("/").rsplit("/", 1)[-1],
        "hardware": documented.hardware,
        "hosts": len(documented.hosts),
        "release": release,
        "source": source,
        "notes": list(dict.fromkeys(notes)),
        "variables": variables,
    }


def described(found: Recipe, documented: Documented) -> tuple[dict[str, t.Any], dict[str, t.Any]]:
    """Variables of a recipe and of its model, and an inventory with hosts like those of its source."""
    words, inventory = translate(documented, False)
    own = {"inference_model": words["inference_model"], "inference_engine_install": "site"}
    if documented.proxy is None:
        own["inference_router"] = {"flavour": "none"}
    return merged(found["variables"], own), inventory


def refused(found: Recipe, documented: Documented) -> list[str]:
    """Why the planner does not take a recipe on hosts like those of its source; empty if it does."""
    try:
        launch_plan(*described(found, documented))
    except PlanError as error:
        return list(dict.fromkeys(f"{item.id}: {item.problem}" for item in error.findings if item.severity == "error"))
    return []


def compiled(folders: t.Mapping[str, pathlib.Path]) -> Compiled:
    """What the unpacked source distributions of SHELF give."""
    found = Compiled({}, {}, [])
    for release in SHELF:
        for entry in (*guides_pages.entries(folders[release], release), *guides_ci.entries(folders[release], release)):
            _compile(found, entry, release)
    return found


def _compile(found: Compiled, entry: t.Mapping[str, t.Any], release: str) -> None:
    documented = read_entry(entry) if entry["roles"] else None
    if documented is None or documented.hardware not in HARDWARE:
        return
    mixed = documented.kinds == ["colocated"] and not any(process.kv for process in documented.processes)
    name = name_of(documented, entry)
    base = name.partition("-mixed")[0]
    from_ci = entry["source"]["path"].startswith(guides_ci.CONFIGS)
    if mixed and guides_pages.PAGES + "/features" in entry["source"]["path"]:
        return  # it shows a feature
    if mixed and (
        not MIXED.match(name) or any(other.startswith(f"{base}-mixed") for other in found.recipes) and from_ci
    ):
        return
    made = recipe(documented, release, f"vllm-ascend {release}: {entry['source']['path']}")
    made["notes"] += [REFUSED[page] for page in [(entry["source"]["path"], release)] if page in REFUSED]
    same = [other for other in found.recipes if other == name or other.startswith(f"{name}-")]
    if any(_alike(made, found.recipes[other]) for other in same):
        return
    reasons = refused(made, documented)
    if reasons:
        page = f"{entry['source']['path']}|{entry.get('section', '')}|{documented.hardware}|{release}"
        found.without.append("\n  ".join((page, *reasons)))
        return
    if name in found.recipes and (mixed or from_ci):
        return  # another load of the same deployment
    if name in found.recipes:
        name = next(f"{name}-{number}" for number in range(2, 99) if f"{name}-{number}" not in found.recipes)
    found.recipes[name], found.documented[name] = made, documented


def _alike(one: Recipe, other: Recipe) -> bool:
    """Whether recipes are of one guide of two releases: the same source, sizes and number of hosts."""

    def shape(item: Recipe) -> t.Any:
        pools = item["variables"]["inference_pools"]
        sizes = {
            kind: {word: pools[kind][word] for word in pools[kind] if word not in ("args", "env", "kv")}
            for kind in pools
        }
        return (
            item["source"].split(": ", 1)[-1],
            item["model"],
            item["hosts"],
            sizes,
            item["variables"].get("inference_kv_transfer"),
        )

    return shape(one) == shape(other) and (one["release"] != other["release"] or one["variables"] == other["variables"])


def kept() -> Compiled:
    """The recipes of KEPT, from their facts."""
    found = Compiled({}, {}, [])
    for facts in json.loads(CASES.read_text(encoding="utf-8")):
        name = facts["recipe"]
        if name in KEPT:
            found.documented[name] = from_facts(facts)
            found.recipes[name] = recipe(from_facts(facts), RECIPES[name]["release"], facts["source"])
    return found


def texts(new: Compiled, folders: t.Mapping[str, pathlib.Path]) -> dict[pathlib.Path, str]:
    """Both files with their text."""
    old = kept()
    recipes = dict(sorted({**old.recipes, **new.recipes}.items()))
    lines = []
    for name, made in old.recipes.items():
        facts = {"recipe": name, "source": made["source"], **to_facts(old.documented[name])}
        lines.append(json.dumps(facts, sort_keys=True, separators=(",", ":")))
    dates = [
        f"{name} {time.strftime('%Y-%m-%d', time.gmtime((folders[name] / 'PKG-INFO').stat().st_mtime))}"
        for name in SHELF
    ]
    tables = {"SHELF": "\n".join(dates), "WITHOUT": "\n".join(new.without), "RECIPES": write(recipes).rstrip("\n")}
    data = HEAD + "\n".join(f'{name} = r"""\n{text}\n"""\n' for name, text in tables.items())
    return {TARGET: data, CASES: "[\n" + ",\n".join(lines) + "\n]\n"}


def unread(folders: t.Mapping[str, pathlib.Path]) -> list[str]:
    """Tutorials and deployments of the CI with both sides of prefill/decode that no reader finds a deployment in."""
    found = []
    for release in SHELF:
        folder = folders[release]
        run = guides_ci.chosen(folder)
        paths = [*folder.glob(f"{guides_pages.PAGES}/*/*.md"), *folder.glob(f"{guides_ci.CONFIGS}/**/*.yaml")]
        read = [*guides_pages.entries(folder, release), *guides_ci.entries(folder, release)]
        sources = {entry["source"]["path"] for entry in read if entry["roles"]}
        for path in paths:
            text, name = path.read_text(encoding="utf-8"), str(path.relative_to(folder))
            both = "kv_producer" in text and "kv_consumer" in text and (path.suffix == ".md" or path.name in run)
            if both and name not in sources and name not in UNREAD:
                found.append(f"{release}: {name} has prefill and decode, and no deployment is found in it")
    return found


def differences(folders: t.Mapping[str, pathlib.Path]) -> list[str]:
    """What is not on the shelf as the source distributions have it, and recipes whose plans are not what they document."""
    new = compiled(folders)
    lines = [
        f"recipe {name}: {item.where} is {item.documented} in its source, {item.planned} in the plan"
        for name, made in new.recipes.items()
        for item in added(made, new.documented[name])
    ]
    return (
        unread(folders)
        + lines
        + [
            f"{path.relative_to(ROOT)} is not what the source distributions of {' and '.join(SHELF)} give: make releases ARGS=--write"
            for path, text in texts(new, folders).items()
            if path.read_text(encoding="utf-8") != text
        ]
    )


def added(recipe_: Recipe, documented: Documented) -> list[Difference]:
    """What the plan of a recipe does otherwise than the deployment that it is of, but for settings of single hosts."""
    words, inventory = described(recipe_, documented)
    found = [item for item in compare_plan(documented, launch_plan(words, inventory), False) if not item.reason]
    own = {note.partition(" differ in ")[2].partition(";")[0] for note in recipe_["notes"]} - {""}
    return [item for item in found if not any(f" --{name}" in item.where or f"${name}" in item.where for name in own)]
