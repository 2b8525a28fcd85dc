# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can go wrong with a cluster."""

from __future__ import annotations


class KubernetesProblem(Exception):
    """A message for the user; ``result`` is what a module returns with it, ``wait`` the seconds that a server asks for."""

    result, wait = {}, 0


class Unreachable(KubernetesProblem):
    """No answer came from the server."""


class Refused(KubernetesProblem):
    """The server's answer to a request that it did not accept: HTTP status, reason and message."""

    def __init__(self, code, reason, message, wait=0):
        super().__init__(message)
        self.code, self.reason, self.wait = code, reason, wait

    def is_passing(self):
        """Whether the same request may be accepted a little later. An apply with an unknown field is answered with 500 too."""
        is_unknown = "failed to create typed patch object" in str(self)  # structured-merge-diff's words
        return self.code in (408, 429, 500, 502, 503, 504) and not is_unknown

    def is_over_quota(self):
        """Whether a ResourceQuota has no room."""
        return self.code == 403 and "exceeded quota" in str(self)

    def is_missing_right(self):
        """Whether RBAC refused it. Admission answers with 403 too, but about an object and not about a user."""
        return self.code == 403 and " cannot " in str(self) and " resource " in str(self)
