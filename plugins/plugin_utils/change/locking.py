# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The script that locks a deployment, and the step that releases it at the end of the next one, whatever became of that."""

from __future__ import annotations

import typing as t

from . import watching
from .script import Script, Step

FREE = "Nothing was changed."


def lock(
    plan: t.Mapping[str, t.Any],
    hosts: t.Collection[str],
    drain_timeout: int,
    join_timeout: int,
    watch: t.Mapping[str, t.Any] | None = None,
    **options: t.Any,
) -> Script:
    """Lock the deployment on its first host and then on the others: of two runs at once, the one that gets the first one goes on.

    ``plan``: the whole plan; ``hosts``: of the play, in order; the timeouts wait for nothing here; ``watch``: of `watching.steps`, if the watchdog
    locks; ``options``: of deployment_run, besides directory and state.
    """
    directory = plan["directory"]
    at = {host: {**options, "directory": directory, "state": "begin"} for host in hosts}
    first, *others = at
    steps = [Step("Lock the deployment on its first host", "run", {first: at[first]}, check=True, brief=True)]
    if others:
        rest = {host: at[host] for host in others}
        steps.append(Step("Lock the deployment on its other hosts", "run", rest, check=True, brief=True))
    steps += watching.steps(watch, hosts, directory, len(steps)) if watch else []
    return Script(steps, [], [], serving=FREE, locks=dict.fromkeys(hosts, directory))


def released(script: Script, locks: t.Mapping[str, str], refused: str) -> Script:
    """``script`` with the release of ``locks``, {host: directory}. It has no other steps if it is ``refused``, for this reason."""
    at = {host: {"directory": directory, "state": "end"} for host, directory in locks.items()}
    release = Step("Release the lock", "run", at, last=True, brief=True)
    return script._replace(steps=[*script.steps, release], refused=refused)
