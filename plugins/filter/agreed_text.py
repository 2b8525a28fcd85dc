# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _agreed_text: the recorded plan that most hosts have."""

from __future__ import annotations

DOCUMENTATION = """
name: _agreed_text
short_description: The recorded plan that most hosts have
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ansible.utils.display import Display
from ansible.utils.unsafe_proxy import wrap_var

from ..plugin_utils.plan.agreed import text_of_most


def agreed_text(texts: t.Iterable[t.Any]) -> t.Any:
    """Adapter: the texts of plan.json of several hosts on the left."""
    return wrap_var(text_of_most([str(text or "") for text in texts], Display().warning))


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filter of this file."""
        return {"_agreed_text": agreed_text}
