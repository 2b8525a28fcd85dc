# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the playbook upgrade ends: hosts behind a stage, next step, messages.

Ansible drops a failed or unreachable host and continues with the others. So each host records the stage that it
reached, and no host continues before all have reached it.
"""

from __future__ import annotations

import typing as t

FIX = " Fix: "
UNREACHED = "a host is unreachable"
GENERAL = "correct the reason"  # what it says itself, and a step of a change


def lagging(progress: t.Mapping[str, t.Any], stage: str) -> list[str]:
    """Names of the hosts that have not reached ``stage``; ``progress`` maps host -> {stage, reason} or nothing."""
    return sorted(host for host, state in progress.items() if (state or {}).get("stage") != stage)


def outcome(progress: t.Mapping[str, t.Any], release: str) -> dict[str, t.Any]:
    """The step after the switch: ``next`` is ``done`` or ``go_back``; ``message`` is the reason for ``go_back``, and ``fix`` what to do about it.

    ``fix`` is empty if the reason has several pieces of advice, which stay where they are.
    """
    behind = lagging(progress, "verified")
    if not behind:
        return {"next": "done", "message": "", "fix": ""}
    given = {str((progress[host] or {}).get("reason") or "").rstrip(". ") for host in behind} - {""}
    message = f"Release {release} was not verified: {' | '.join(sorted(given, reverse=True) or [UNREACHED])}"
    found = [reason.partition(FIX)[2] for reason in given if FIX in reason]
    advice = [text for text in found if not text.startswith(GENERAL)]
    if len(advice) > 1 or any(FIX in text for text in found):
        return {"next": "go_back", "message": message, "fix": ""}
    for text in found:
        message = message.replace(FIX + text, "").replace(".. ", ". ")
    return {"next": "go_back", "message": message.rstrip(". "), "fix": advice[0] if advice else GENERAL}


def went_back(ended: t.Mapping[str, str], release: str, failed: str | None = None) -> str:
    """What the run says at its end. ``ended``: of `outcome`; ``release``: the previous one; ``failed``: why it was not started again, if so."""
    why = ended["message"]
    if failed is not None:
        reason = (failed.partition(FIX)[0] or "see above").rstrip(". ")
        return (
            f"{why.partition(FIX)[0].rstrip('. ')}. Release {release}, which ran before, could not be started again: {reason}. "
            f"Fix: correct the reason, which the playbook status finds, then run rollback, which returns to release {release}."
        )
    advice = f"Fix: {ended['fix']}, then run upgrade again." if ended["fix"] else "After that, run upgrade again."
    return f"{why}. Release {release} was started again and is verified. {advice}"
