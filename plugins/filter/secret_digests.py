# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _secret_digests: digests of the secrets of services."""

from __future__ import annotations

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.views.secret_digests import secret_digests


def secret_digests_filter(services: t.Any, plan: t.Any, secrets: t.Any) -> dict[str, str]:
    """Adapter: services on the left; their plan and ``inference_secrets`` as arguments."""
    return secret_digests(plan, services, plain(secrets))


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_secret_digests": secret_digests_filter}
