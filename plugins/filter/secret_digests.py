# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters _secret_digests, _own_secrets: digests and values of the secrets of services."""

from __future__ import annotations

DOCUMENTATION = """
name: _secret_digests
short_description: Digest the secrets of services
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ..plugin_utils.description.loader import plain
from ..plugin_utils.views.secret_digests import own_secrets, secret_digests


def secret_digests_filter(services: t.Any, plan: t.Any, secrets: t.Any) -> dict[str, str]:
    """Adapter: services on the left; their plan and ``inference_secrets`` as arguments."""
    return secret_digests(plan, services, plain(secrets))


def own_secrets_filter(services: t.Any, secrets: t.Any) -> list[str]:
    """Adapter: services on the left; ``inference_secrets`` as argument."""
    return own_secrets(services, plain(secrets))


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_secret_digests": secret_digests_filter, "_own_secrets": own_secrets_filter}
