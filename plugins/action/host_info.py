# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action of each module that needs no other one (``meta/runtime.yml``): Ansible's usual one, with the host's answer checked.

An action has the name of a module; this one has that of the first module that used it.
"""

from __future__ import annotations

from ansible.plugins.action.normal import ActionModule as Normal

from ..plugin_utils.hosts.asked import Asked


class ActionModule(Asked, Normal):
    """Adapter: as for a module without an action."""
