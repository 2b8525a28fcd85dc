# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All rules, in the order of their ids."""

from __future__ import annotations

from ansible_collections.ascend.inference.plugins.plugin_utils._rules import ports, topology
from ansible_collections.ascend.inference.plugins.plugin_utils._rules._base import Rule

RULES: tuple[Rule, ...] = tuple(sorted((*ports.RULES, *topology.RULES), key=lambda rule: rule.id))
