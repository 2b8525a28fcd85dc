# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What others may use and rely on, as lines of text: `docs/docsite/rst/guide_public.rst` says what may change of it and when.

    python tests/unit/docs/public_surface.py           # what has changed since the last release
    python tests/unit/docs/public_surface.py --write   # a release: writes public_surface.txt

It reads files of this checkout only: the pages of variables and findings, which tests hold equal to the code, the documentation of roles, modules
and filters; and it plans the shipped inventories, whose plans have the keys of the plan's JSON.
"""

from __future__ import annotations

import ast
import itertools
import re
import sys
import typing as t
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[3]
RECORD = Path(__file__).with_suffix(".txt")
EMPTY = r"\-"  # an empty cell of the page of variables
PAGES = ROOT / "docs/docsite/rst"
HEAD = "# SPDX-License-Identifier: GPL-3.0-or-later\n# The public surface of the last release, written by: python tests/unit/docs/public_surface.py --write\n"


def surface() -> list[str]:
    """Each public name once, with its type and default where it has them: ``kind name: details``."""
    found = itertools.chain(
        _playbooks(), _variables(), _roles(), _plugins("module"), _plugins("filter"), _plan(), _ids()
    )
    return sorted(set(found))


def _playbooks() -> t.Iterator[str]:
    for path in (ROOT / "playbooks").glob("*.yml"):
        yield f"playbook {path.stem}"


def _variables() -> t.Iterator[str]:
    """Rows of the tables, below the heading that names the mapping or the place of the variables."""
    for section in re.split(r"\n(?=[^\n]+\n-{3,}\n)", (PAGES / "variables.rst").read_text("utf-8"))[1:]:
        place = section.partition("\n")[0]
        for name, kind, default in re.findall(r"^   \* - ``(\w+)``\n     - (.*)\n     - (.*)$", section, re.M):
            whole = name if name.startswith("inference_") else f"{place}.{name}"
            yield f"variable {whole}: {kind.replace('``', '')}, default {'none' if default == EMPTY else default.strip('`')}"


def _options(options: t.Mapping[str, t.Any] | None, prefix: str) -> t.Iterator[str]:
    for name, about in (options or {}).items():
        choices = f" of {'|'.join(map(str, about['choices']))}" if about.get("choices") else ""
        needed = ", required" if about.get("required") else f", default {about.get('default', 'none')}"
        yield f"{prefix}.{name}: {about.get('type', 'str')}{choices}{needed}"
        yield from _options(about.get("options") or about.get("suboptions"), f"{prefix}.{name}")


def _roles() -> t.Iterator[str]:
    for path in (ROOT / "roles").glob("*/meta/argument_specs.yml"):
        for entry, about in yaml.safe_load(path.read_text("utf-8"))["argument_specs"].items():
            name = f"role {path.parents[1].name} {entry}"
            yield name
            yield from _options(about.get("options"), name)


def _documented(path: Path) -> dict[str, t.Any]:
    """The constants DOCUMENTATION and RETURN of a plugin file, empty if it has none."""
    nodes = [node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.Assign)]
    texts = {node.targets[0].id: node.value.value for node in nodes if isinstance(node.value, ast.Constant)}
    return {name: yaml.safe_load(texts[name]) for name in ("DOCUMENTATION", "RETURN") if name in texts}


def _plugins(kind: str) -> t.Iterator[str]:
    """Modules for playbooks of others, which are marked, and filters without an underscore; with options and keys of the result."""
    for path in (ROOT / "plugins" / {"module": "modules", "filter": "filter"}[kind]).glob("*.py"):
        found = _documented(path)
        about = found.get("DOCUMENTATION", {})
        public = (
            str(about.get("short_description", "")).startswith("For your playbooks: ") if kind == "module" else True
        )
        if not about or not public or about.get("name", "").startswith("_"):
            continue
        name = f"{kind} {about.get('module') or about['name']}"
        yield name
        yield from _options(about.get("options"), name)
        yield from (f"{name} returns {key}" for key in found.get("RETURN") or {})


def _plan() -> t.Iterator[str]:
    """Keys of a plan and of a service: names below them are those of services, hosts and options of vLLM."""
    from ansible_collections.ascend.inference.tests.unit.inventories.test_inventories import OURS, plan_of

    for plan in map(plan_of, OURS):
        yield from (f"plan {key}" for key in plan)
        yield from (f"plan services[].{key}" for service in plan["services"] for key in service)


def _ids() -> t.Iterator[str]:
    """Ids of findings: of the pages that explain them, and of the rules, which are made from the code by `make docs`."""
    from ansible_collections.ascend.inference.tests.unit.docs.test_ids_of_findings import explained

    yield from (f"finding {name}" for names in explained().values() for name in names)


def recorded() -> list[str]:
    """The surface of the last release."""
    return [line for line in RECORD.read_text("utf-8").splitlines() if not line.startswith("#")]


def changed(before: list[str], now: list[str]) -> tuple[list[str], list[str]]:
    """What is new or other than before, and what is gone or was other: lines of ``surface``."""
    return sorted(set(now) - set(before)), sorted(set(before) - set(now))


def word(line: str) -> str:
    """The name that a fragment has to say: of an option its last part, of anything else its name."""
    return re.split(r"[ .]", line.partition(":")[0])[-1].removesuffix("[]")


if __name__ == "__main__":
    if "--write" in sys.argv:
        RECORD.write_text(HEAD + "".join(f"{line}\n" for line in surface()), "utf-8")
    new, gone = changed(recorded(), surface())
    print("\n".join([*(f"+ {line}" for line in new), *(f"- {line}" for line in gone)]))
