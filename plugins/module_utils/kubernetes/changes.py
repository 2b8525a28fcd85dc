# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run changed, and how it is shown: by object, as JSON, without what the server counts and without any secret."""

from __future__ import annotations

import copy
import json

from .names import address

SERVERS_OWN = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink")


def content(thing):
    """An object without its status and what the server alone writes."""
    if thing is None:
        return None
    result = {key: copy.deepcopy(thing[key]) for key in thing if key != "status"}
    result["metadata"] = {key: value for key, value in result["metadata"].items() if key not in SERVERS_OWN}
    return result


def _text(thing):
    return json.dumps(thing, indent=2, sort_keys=True).replace("\\n", "\n") + "\n" if thing else ""


class Changes:
    """Objects that were created, changed and removed."""

    def __init__(self):
        self.created, self.updated, self.removed, self.differences = [], [], [], []

    def add(self, before, after):
        """Take note of an object before and after; None where there is none. Returns whether they differ."""
        place, old, new = address(after or before), content(before), content(after)
        if old == new:
            return False
        kept = self.created if before is None else self.removed if after is None else self.updated
        kept.append(place)
        if not place.startswith("Secret/"):
            self.differences.append(
                {"before_header": place, "after_header": place, "before": _text(old), "after": _text(new)}
            )
        return True

    def result(self):
        """As a module returns it."""
        return {
            "changed": bool(self.created or self.updated or self.removed),
            "created": self.created,
            "updated": self.updated,
            "removed": self.removed,
            "diff": self.differences,
        }
