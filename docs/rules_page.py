# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the pages of rules, checks, and what verification and logs say, in reStructuredText, from the data themselves.

python docs/rules_page.py [FOLDER]       # default: docs/build/rst; writes rules.rst, checks.rst and diagnosis.rst; - prints them
A name that ends in .rst is the file for the page of the rules; the other pages are written to the same folder.
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
import textwrap
import typing as t
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = map(str, HERE.parents[3:4])  # the folder that contains ansible_collections, in an installed tree

from ansible_collections.ascend.inference.plugins.module_utils.diagnosis.log_causes import CAUSES
from ansible_collections.ascend.inference.plugins.module_utils.verify.faults import FAULTS, name_of
from ansible_collections.ascend.inference.plugins.plugin_utils.hosts.check_plan import RULES as HOST_RULES
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.rules.all import rules_table

RULES_HEAD = """\
.. _ansible_collections.ascend.inference.docsite.rules:

Rules of the plan
=================

For users whose plan was refused. The planner checks every plan with these rules before any host is contacted. An *error* refuses the plan; a
*warning* is listed in the plan's findings. Each entry states what is wrong, why it matters and how to fix it. To accept a
finding, see :ref:`ansible_collections.ascend.inference.docsite.guide_rules`. Conditions that depend on the hosts are checked by
:ref:`ansible_collections.ascend.inference.docsite.checks`.

Rules: {count}
"""
CHECKS_HEAD = """\
.. _ansible_collections.ascend.inference.docsite.checks:

Checks of the hosts
===================

For users whose hosts failed the check. These checks compare the plan with facts of the hosts: devices, drivers, network,
memory, disks. The
playbook ``check`` runs them and changes nothing; an *error* stops a deployment before anything is installed. See also
:ref:`ansible_collections.ascend.inference.docsite.rules`.

Checks: {count}
"""
DIAGNOSIS_HEAD = """\
.. _ansible_collections.ascend.inference.docsite.diagnosis:

What verification and logs say
==============================

For users with a finding of ``verify``, ``deploy``, ``status`` or ``logs``: each id, what it means, its usual cause and what to do. The finding itself
has the names and numbers of the case. Steps of the verification are in :ref:`ansible_collections.ascend.inference.docsite.verification`.

"""
FAULTS_HEAD = "Verification\n------------\n"
CAUSES_HEAD = """\
Causes in logs
--------------

Known texts in the logs of vLLM, vLLM-Ascend, torch-npu, CANN, HCCL and Mooncake. ``LOG-UNKNOWN`` stands for a log without any of them: it shows the first
error of a worker, and CANN's own advice.
"""


REPOSITORIES = {
    "vllm-ascend": "https://github.com/vllm-project/vllm-ascend",
    "vLLM": "https://github.com/vllm-project/vllm",
    "Mooncake": "https://github.com/kvcache-ai/Mooncake",
}
ISSUE = re.compile(rf"({'|'.join(REPOSITORIES)})|#(\d+)")


def paragraph(text: str, indent: str = "", links: bool = False) -> str:
    """Text in lines of at most 120 characters, with reStructuredText markup escaped.

    With ``links`` an issue or pull request ("vllm-ascend #4725, #10019") becomes a link.
    """
    plain = text.replace("\\", "\\\\").replace("*", "\\*").replace("`", "\\`").replace("|", "\\|")
    plain = re.sub(r"_(?!\w)", r"\\_", plain)  # otherwise it would be a link
    plain = linked(plain) if links else plain
    return textwrap.fill(
        plain, 118, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )


def linked(text: str) -> str:
    """Text whose "#4725" are links into the repository that is named before them."""
    repository = ""

    def link(match: re.Match[str]) -> str:
        nonlocal repository
        if match[1]:
            repository = REPOSITORIES[match[1]]
            return match[1]
        return f"`#{match[2]} <{repository}/issues/{match[2]}>`__" if repository else match[0]

    return ISSUE.sub(link, text)


def entry(rule: t.Mapping[str, str], kind: str = "rule") -> str:
    """One rule: id and severity, what is wrong, why, the fix, the source. A check may share its id with a rule."""
    lines = [
        f".. _ansible_collections.ascend.inference.docsite.{kind}.{rule['id'].lower()}:",
        "",
        f"**{rule['id']}** ({rule['severity']})",
        *([paragraph(rule["problem"], "  ")] if rule["problem"] else []),
    ]
    for title, text in (("Why", rule["why"]), ("Fix", rule["fix"]), ("Source", rule["source"])):
        if text:
            lines += ["", paragraph(f"{title}: {text}", "  ", links=title == "Source")]
    return "\n".join([*lines, ""])


def pages() -> dict[str, str]:
    """The text of each page by file name."""
    table = rules_table()
    parts = [RULES_HEAD.format(count=len(table))]
    for theme, rules in itertools.groupby(table, key=lambda rule: rule["theme"]):
        parts.append(f"{theme}\n{'-' * len(theme)}\n")
        parts += [entry(rule) for rule in rules]
    checks = [CHECKS_HEAD.format(count=len(HOST_RULES)), *(entry(rule.as_dict(), "check") for rule in HOST_RULES)]
    return {"rules.rst": "\n".join(parts), "checks.rst": "\n".join(checks), "diagnosis.rst": diagnosis()}


def diagnosis() -> str:
    """The page of what ``verify`` finds and of causes in logs. What verification found in a case is text of that case, so only why and fix are here."""
    parts = [DIAGNOSIS_HEAD, FAULTS_HEAD]
    for key, fault in sorted(FAULTS.items()):
        rule = {"id": name_of(key), "severity": "verification", "problem": "", "why": fault.why, "fix": fault.fix}
        parts.append(entry({**rule, "source": ""}, "diagnosis"))
    parts.append(CAUSES_HEAD)
    for cause in CAUSES:
        problem = cause.problem[:1].upper() + cause.problem[1:] + "."
        rule = {"id": cause.id, "severity": "log", "problem": problem, "why": cause.why, "fix": cause.fix}
        parts.append(entry({**rule, "source": ""}, "diagnosis"))
    return "\n".join(parts)


def main() -> None:
    """Write the pages, or print them."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument(
        "target",
        metavar="FOLDER",
        nargs="?",
        default=str(HERE / "build" / "rst"),
        help="default: docs/build/rst; FOLDER/rules.rst is the same; - prints the pages",
    )
    target = parser.parse_args().target
    if target == "-":
        sys.stdout.write("\n".join(pages().values()))
        return
    folder = Path(target).parent if target.endswith(".rst") else Path(target)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")
        print(folder / name)


if __name__ == "__main__":
    main()
