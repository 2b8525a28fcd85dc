# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of the role service that reach units, supervisord.conf, command lines and containers: other text could add lines or options there."""

from __future__ import annotations

import re
import typing as t

NUMBER, SIZE, NAME = r"[0-9]+([.][0-9]+)?", r"-1|[0-9]+([kmgKMG][bB]?)?", r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}"
FORMATS = {
    "service_systemd_restart_delay": NUMBER,
    "service_systemd_restart_delay_max": NUMBER,
    "service_systemd_steady": NUMBER,
    "service_supervisor_log_copies": NUMBER,
    "service_docker_log_copies": NUMBER,
    "service_timeout": NUMBER,
    "service_drain_timeout": NUMBER,
    "service_join_timeout": NUMBER,
    "service_supervisor_log_size": SIZE,
    "service_docker_log_size": SIZE,
    "service_user": NAME,
    "service_driver_group": NAME,
    "service_docker_pull": NAME,
}
FIXES = {
    NUMBER: "set a number in",
    SIZE: "set a size such as 50m in",
    NAME: "use letters, digits and . _ - in",
}
EMPTY = ("service_driver_group",)  # those that may be
UNUSABLE = "{names} {have} a value that could add lines to a unit or options to a command. Fix: {fixes}."
SHRINKING = (
    "service_systemd_restart_delay_max is {most}, and service_systemd_restart_delay is {least}. systemd and the units' script would take the smaller "
    "one, so a service that ends at each start would start more often than asked, without a growing pause. "
    "Fix: set service_systemd_restart_delay_max to {least} or more."
)


def unusable(values: t.Mapping[str, t.Any]) -> str:
    """Why the values cannot be used, as a sentence; empty if they can. ``values``: {a name of FORMATS: number or text}."""
    wrong = [
        name
        for name, form in FORMATS.items()
        if not re.fullmatch(form, str(values[name])) and not (name in EMPTY and not values[name])
    ]
    if wrong:
        listed = [(advice, [name for name in wrong if FORMATS[name] == form]) for form, advice in FIXES.items()]
        fixes = "; ".join(f"{advice} {', '.join(names)}" for advice, names in listed if names)
        return UNUSABLE.format(names=", ".join(sorted(wrong)), have="has" if len(wrong) == 1 else "have", fixes=fixes)
    least, most = values["service_systemd_restart_delay"], values["service_systemd_restart_delay_max"]
    return SHRINKING.format(least=least, most=most) if float(most) < float(least) else ""
