# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes docs/docsite/rst/variables.rst, the reference of all planner variables, from the records that define them.

python docs/variables_page.py           # prints the page
python docs/variables_page.py --write   # writes it
"""

from __future__ import annotations

import argparse
import dataclasses
import re
import sys
import types
import typing as t
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = map(str, HERE.parents[3:4])  # the folder that contains ansible_collections, in an installed tree

from ansible_collections.ascend.inference.plugins.plugin_utils.acceptance.settings import Acceptance
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.settings import Bench, Slo
from ansible_collections.ascend.inference.plugins.plugin_utils.description import variables
from ansible_collections.ascend.inference.plugins.plugin_utils.description.fabric import Fabric
from ansible_collections.ascend.inference.plugins.plugin_utils.description.tune import Tune
from ansible_collections.ascend.inference.plugins.plugin_utils.drill.settings import Drill, DrillLimits, Fault
from ansible_collections.ascend.inference.plugins.plugin_utils.entry.settings import Deployment, Entry, Model, Team
from ansible_collections.ascend.inference.plugins.plugin_utils.monitoring.settings import AlertSettings, Monitoring

PAGE = HERE / "docsite" / "rst" / "variables.rst"
HEAD = """\
.. Copyright (c) 2026 the ascend.inference contributors
.. GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
.. SPDX-License-Identifier: GPL-3.0-or-later
.. Written by docs/variables_page.py from plugins/plugin_utils/description/. Do not edit.

.. _ansible_collections.ascend.inference.docsite.variables:

All variables
=============

For everyone who writes an inventory: all variables that the planner and the playbooks read. The `inventory guide
<guide_inventory.rst>`__ explains the usual ones with examples. The variables of a role are
documented with the role: ``ansible-doc --type role ascend.inference.NAME``.

An unknown variable or key is an error that names the nearest known one. A variable of the deployment has one value for all its hosts.

.. contents::
   :local:
   :depth: 1
"""
HOSTS = "Set for one host, for a group, or for all hosts."
RUN = "Set on the command line with ``-e``. They are not part of the description of a deployment."


def section(title: str, intro: str, rows: t.Iterable[tuple[str, str, str, str]]) -> str:
    """A heading with a table: name, type, default, meaning."""
    lines = [title, "-" * len(title), "", intro, ""]
    lines += [".. list-table::", "   :header-rows: 1", "   :widths: 25 20 15 40", ""]
    for number, row in enumerate([("Variable", "Type", "Default", "Meaning"), *rows]):
        cells = row if number == 0 else (f"``{row[0]}``", row[1], row[2], marked(row[3]))
        lines += [
            f"   {'*' if index == 0 else ' '} - {cell or '-'}".replace("- -", r"- \-")
            for index, cell in enumerate(cells)
        ]
    return "\n".join([*lines, ""])


def marked(text: str) -> str:
    """A documentation text in which names are literals."""
    text = re.sub(r"(?<![\w/.-])(--[a-z][a-z-]+|inference_[a-z_.]+[a-z]|[A-Z]+_[A-Z_]+)", r"``\1``", text)
    return text.replace("*", r"\*")


def kind(hint: t.Any, field: dataclasses.Field[t.Any]) -> str:
    """The type of a field in terms of YAML, with its choices or limits."""
    if field.metadata.get("choices"):
        return ", ".join(f"``{value or '(empty)'}``" for value in field.metadata["choices"])
    origin, arguments = t.get_origin(hint), t.get_args(hint)
    if origin in (t.Union, types.UnionType):
        return kind(next(item for item in arguments if item is not types.NoneType), field)
    if dataclasses.is_dataclass(hint):
        return "mapping, see below"
    if origin is dict:
        return "mapping of mappings, see below" if dataclasses.is_dataclass(arguments[1]) else "mapping"
    if origin is tuple:
        return {int: "number or list of numbers", str: "list of strings"}.get(
            arguments[0], "list of mappings, see below"
        )
    if hint is int:
        least, most = field.metadata.get("least"), field.metadata.get("most")
        return f"number, {least} to {most}" if most is not None else f"number, {least} or more"
    return {bool: "boolean", str: "string"}[hint]


def default(hint: t.Any, field: dataclasses.Field[t.Any]) -> str:
    """The default of a field as YAML shows it."""
    if field.default is dataclasses.MISSING:
        return "" if field.default_factory is not dataclasses.MISSING else "(required)"
    if field.default in ("", (), None):
        return ""
    return f"``{str(field.default).lower() if hint is bool else field.default}``"


def rows(record: type, prefix: str = "") -> t.Iterator[tuple[str, str, str, str]]:
    """One row for each field of a record."""
    hints = t.get_type_hints(record)
    for field in dataclasses.fields(record):
        hint = hints[field.name]
        yield prefix + field.name, kind(hint, field), default(hint, field), field.metadata.get("doc", "")


def records() -> dict[type, str]:
    """Every record below the description, with the place where it is written, in the order of the page."""
    found: dict[type, str] = {}

    def visit(record: type, place: str) -> None:
        for name, hint in t.get_type_hints(record).items():
            for item in (hint, *t.get_args(hint)):
                if dataclasses.is_dataclass(item) and isinstance(item, type) and item not in found:
                    own = f"inference_{name}" if record is variables.Description else f"{place}.{name}"
                    if record is variables.Pools:
                        own = "inference_pools.POOL"
                    if t.get_origin(hint) is dict:
                        own += ".NAME"
                    found[item] = own + ("[]" if t.get_origin(hint) is tuple else "")
                    visit(item, found[item])

    visit(variables.Description, "")
    return found


def page() -> str:
    """The whole page."""
    plain = [(variables.PREFIX + name, "", "", text) for name, text in variables.HOST_VARIABLES.items()]
    run = [(variables.PREFIX + name, "", "", text) for name, text in variables.RUN_VARIABLES.items() if name != "plan"]
    parts = [
        HEAD,
        section("The deployment", "Set for all hosts.", rows(variables.Description, variables.PREFIX)),
        section("Hosts", HOSTS, plain),
    ]
    for record, place in {Fabric: "inference_fabric", Tune: "inference_tune", **records()}.items():
        intro = (record.__doc__ or "").partition("\n\n")[0].replace("\n", " ").strip()
        parts.append(section(place, re.sub(r" {2,}", " ", intro), rows(record)))
    parts.append(section("One run", RUN, run))
    for record, place in (
        (Acceptance, "inference_acceptance"),
        (Bench, "inference_bench"),
        (Slo, "inference_bench.slo"),
        (Drill, "inference_drill"),
        (Fault, "inference_drill.faults[]"),
        (DrillLimits, "inference_drill.limits"),
        (Entry, "inference_entry"),
        (Deployment, "inference_entry.deployments.NAME"),
        (Model, "inference_entry.models.NAME"),
        (Team, "inference_entry.teams.NAME"),
        (Monitoring, "inference_monitoring"),
        (AlertSettings, "inference_monitoring.alerts.NAME"),
    ):
        parts.append(section(place, (record.__doc__ or "").partition("\n\n")[0].replace("\n", " "), rows(record)))
    return "\n".join(parts)


def main() -> None:
    """Print the page, or write it."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the page instead of printing it")
    if parser.parse_args().write:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        sys.stdout.write(page())


if __name__ == "__main__":
    main()
