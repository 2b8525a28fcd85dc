# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action print_text: print text unchanged on the controller, so that it can be copied and piped."""

from __future__ import annotations

import typing as t

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display
from ansible_collections.ascend.inference.plugins.module_utils.tools.text import bounded, visible


class ActionModule(ActionBase):
    """Adapter: the text is printed through Ansible's display, with control characters as escapes, and bounded."""

    _requires_connection = False

    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> dict[str, t.Any]:
        """Print; never changes anything."""
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        _unused, arguments = self.validate_argument_spec(argument_spec={"text": {"type": "str", "required": True}})
        Display().display(bounded(visible(arguments["text"].rstrip("\n"))))
        result["changed"] = False
        return result
