# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The findings of an entry before it is there: of its files on the controller, and of its hosts."""

from __future__ import annotations

import typing as t

from ..description.findings import Finding, finding_lines
from ..description.values import natural
from ..hosts.check_plan import SEVERITIES
from ..hosts.readable import judged
from ..hosts.report_text import verdict
from ..plan.rules.base import judge
from .checks import RULES as OF_HOSTS
from .checks import Answers
from .checks_of_files import RULES as OF_FILES
from .checks_of_files import Files
from .reading import read_entry

Findings = list[dict[str, str]]


def files_checked(
    settings: t.Any,
    hosts: t.Mapping[str, str],
    texts: t.Mapping[str, str],
    paths: t.Mapping[str, str],
    now: float,
    ignored: t.Sequence[str] = (),
) -> Findings:
    """Findings of the files on the controller, see Files. Raises PlanError."""
    case = Files(read_entry(settings, hosts), texts, paths, now)
    return [finding.as_dict() for finding in judge(case, OF_FILES, ignored)]


def entry_checked(
    questions: t.Mapping[str, t.Any],
    facts: t.Mapping[str, t.Mapping[str, t.Any]],
    files: Findings,
    ignored: t.Sequence[str] = (),
) -> dict[str, t.Any]:
    """``{lines, findings, errors}``. ``facts``: results of the module entry_check_info; ``files``: what ``files_checked`` returned."""

    def of_hosts(known: t.Mapping[str, t.Mapping[str, t.Any]]) -> list[Finding]:
        return judge(Answers(questions, known), OF_HOSTS, ignored)

    found = judged(of_hosts, facts, lambda _host, problem: {"failed": True, "msg": problem})
    found += [Finding.from_dict(each) for each in files]
    found.sort(key=lambda finding: (SEVERITIES.index(finding.severity), natural(finding.path), finding))
    findings = [finding.as_dict() for finding in found]
    head = f"The entry on {', '.join(facts) or 'no host'}: {verdict(findings)}."
    errors = sum(finding.severity == "error" for finding in found)
    return {"lines": [head, *finding_lines(found, severity=True)], "findings": findings, "errors": errors}
