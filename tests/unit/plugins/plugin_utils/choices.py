# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modes of changes, chosen by what some hosts are known to have."""

from __future__ import annotations

from ansible_collections.ascend.inference.plugins.plugin_utils.change import choice


def known(found, content=""):
    """What `choice` knows of hosts, of each of which ``found`` has a part."""
    nothing = {"locked": {}, "previous": {}, "content": content, "runs": {}, "variables": {}}
    return {host: {**nothing, **here} for host, here in found.items()}


def upgrade_mode(found, plan, asked=""):
    """The mode of an upgrade to ``plan``."""
    return choice.upgrade_mode(known(found), plan, {"asked": asked, "cann": False})


def rollback_mode(found, content, allow_pause=False, asked=""):
    """The mode of a rollback of hosts that recorded a plan with the text ``content``."""
    return choice.rollback_mode(known(found, content), {"asked": asked, "allow_pause": allow_pause}, [].append)
