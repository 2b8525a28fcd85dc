# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of every module that gathers facts of a host."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  models:
    description: Folders of models whose configuration, size and fingerprint are wanted.
    type: list
    elements: path
    default: []
  every_byte:
    description:
      - Hash the weights whole. Otherwise only both ends of each large file count, which takes seconds instead of
        minutes and finds another model, but not a flipped bit.
    type: bool
    default: false
  disks:
    description: Paths on whose file systems free space is wanted. They need not exist.
    type: list
    elements: path
    default: []
  user:
    description:
      - User of the services. Its access to O(models) and O(disks) is tested, which needs root. By default that of the connected user, who
        must also be able to write to O(disks).
    type: str
    default: ""
  driver_group:
    description:
      - Group of the NPU driver, which O(user) has in addition to its own groups. By default C(UserGroup) of C(/etc/ascend_install.info), else
        the group of C(/dev/davinci*), else C(HwHiAiUser); never C(root).
    type: str
    default: ""
  reference:
    description: Seconds since 1970 on the controller when the task was sent. The clock's C(offset) is relative to it.
    type: float
attributes:
  check_mode:
    description: Can run in check mode and return what it would return otherwise.
    support: full
  diff_mode:
    description: Changes nothing, so there is no difference to show.
    support: none
"""
