# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module that locks a deployment, as playbooks call it; needs nothing of a controller."""

from __future__ import annotations

from ansible_collections.ascend.inference.plugins.modules import deployment_run

RUN = {"id": "ansible-local-1a", "owner": "deploy", "controller": "bastion", "since": "2026-11-22T02:00:00Z"}


def begin(base, **params):
    """The module, as the playbooks lock the deployment."""
    given = {"previous": "", "accept_half": True, "make": True, "replace": "", "verified": "", "hosts": []}
    given["placement"] = None
    return deployment_run.work({**given, "directory": str(base), "state": "begin", "run": RUN, **params}, False)
