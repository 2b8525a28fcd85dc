# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Attributes shared by the modules of this collection."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Can run in check mode and return what it would change.
  diff_mode:
    description: Returns what changed, or in check mode would change.
  idempotent:
    description: A second run with the same options changes nothing.
"""

    INFO_MODULE = r"""
options: {}
attributes:
  check_mode:
    support: full
    details: This module changes nothing.
  diff_mode:
    support: N/A
    details: This module changes nothing.
  idempotent:
    support: full
    details: This module changes nothing.
"""

    CHANGING = r"""
options: {}
attributes:
  check_mode:
    description: Can run in check mode and return what it would change.
    support: full
  diff_mode:
    description: Returns what changed, or in check mode would change.
    support: full
"""

    WITH_ACTION = r"""
options: {}
attributes:
  action:
    description: Has an action plugin, which does a part of it on the controller.
    support: full
"""

    CONTROLLER_ACTION = r"""
options: {}
attributes:
  action:
    description: Has an action plugin, which does all of it on the controller.
    support: full
  async:
    description: Can be used with C(async).
    support: none
  become:
    description: Can be used with C(become).
    support: none
  bypass_host_loop:
    description: Runs once for all hosts.
    support: none
  check_mode:
    description: Can run in check mode and return what it would return otherwise.
    support: full
  connection:
    description: Uses the connection to the host.
    support: none
  delegation:
    description: Can be used with C(delegate_to).
    support: none
  diff_mode:
    description: Returns what changed, or in check mode would change.
    support: none
  platform:
    description: Operating systems that can be its target.
    platforms: all
    support: full
"""
