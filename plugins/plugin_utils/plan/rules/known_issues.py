# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rule of issues that upstream's notes list as known in a release."""

from __future__ import annotations

import typing as t

from ...description.findings import Finding
from ...releases.known_issues import ISSUES, RULE
from .base import Case, Rules
from .engine_view import EngineView
from .start_checks import CONFIG

RULES = Rules()


def _mtp(view: EngineView) -> bool:
    return bool(view.speculative_tokens)


def _sparse(view: EngineView) -> bool:
    return view.mapping(CONFIG).get("enable_sparse_sfa_c8") is True


CONDITIONS: dict[str, t.Callable[[Case, EngineView], bool]] = {
    "always": lambda case, view: True,
    "colocated": lambda case, view: not case.disaggregated,
    "disaggregated": lambda case, view: case.disaggregated,
    "disaggregated_with_mtp": lambda case, view: case.disaggregated and _mtp(view),
    "disaggregated_without_mtp": lambda case, view: case.disaggregated and not _mtp(view),
    "with_mtp": lambda case, view: _mtp(view),
    "store": lambda case, view: case.context.store,
    "sleep": lambda case, view: bool(view.truth("enable-sleep-mode")),
    "sparse_c8": lambda case, view: case.disaggregated and _sparse(view),
    "sparse_c8_context": lambda case, view: _sparse(view) and view.instance.pool.decode_context_parallel_size > 1,
    "decode_tp16_dp2": lambda case, view: (
        view.kind == "decode"
        and (view.instance.pool.tensor_parallel_size, view.instance.pool.data_parallel_size) == (16, 2)
    ),
}


@RULES.rule(
    RULE,
    "Accept this rule if it does not concern you.",
    "vllm-ascend docs/source/user_guide/release_notes.md, Known Issues",
    "warning",
)
def known_issue(case: Case) -> t.Iterator[Finding]:
    """The notes of the release list a known issue of this model or these settings.

    Engines answer wrongly, hang or end, and upstream knows it.
    """
    release = case.context.release
    for issue in ISSUES if case.npu else ():
        if not issue.in_release(release):
            continue
        for view in case.engine_views:
            model = view.instance.pool.model or case.context.description.model.path
            if issue.concerns(model, view.process.host.hardware) and CONDITIONS[issue.when](case, view):
                yield Finding.at("inference_release", release.name, issue.text(release.name), issue.fix)
                break
