# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Callback built_once: all runs of one part of the tests share the modules that Ansible has put together with what they import.

Ansible keeps them in a folder of its own for one run only, and reads and analyses the sources of each module again in the next one, which takes
longer than the fork of the task. This makes that folder a link to one below PYTEST_DEBUG_TEMPROOT, which .ci/test.py makes for each part and
removes. Its name is a digest of ansible-core's version and of the dates and sizes of this collection's sources: other sources are built anew.

It also saves processor time of the controller, without another effect: the main process imports this collection's filters before it forks, as the
product's playbooks do (playbooks/shared/controller.yml) and a test's own playbook need not, and asks for results a hundred times in a second and
not a thousand times.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pathlib
import typing as t

from ansible import constants
from ansible.plugins.callback import CallbackBase
from ansible.plugins.loader import filter_loader
from ansible.release import __version__ as core

DOCUMENTATION = """
name: built_once
type: aggregate
short_description: Share built modules between runs
description: The folder of built modules is one of all runs with the same sources.
"""
SOURCES = ("modules", "module_utils")
INTERVAL = 0.01  # s; no variable of the environment sets it


def sources() -> t.Iterator[tuple[str, int, int]]:
    """(path in the collection, date in ns, size in bytes) of each source of a module."""
    roots = [pathlib.Path(path, "ansible_collections/ascend/inference/plugins") for path in constants.COLLECTIONS_PATHS]
    plugins = next((root for root in roots if root.is_dir()), None)
    for folder in SOURCES if plugins else ():
        for path in sorted(pathlib.Path(plugins, folder).rglob("*.py")):
            status = path.stat()
            yield str(path.relative_to(plugins)), status.st_mtime_ns, status.st_size


class CallbackModule(CallbackBase):
    """Makes the link when Ansible loads its callbacks, before the first worker starts."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "built_once"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self, *positional, **named):
        super().__init__(*positional, **named)
        root = os.environ.get("PYTEST_DEBUG_TEMPROOT")
        if root:
            key = hashlib.sha256(repr([core, *sources()]).encode()).hexdigest()[:16]
            shared = pathlib.Path(root, "built", key)
            shared.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                os.symlink(shared, os.path.join(constants.DEFAULT_LOCAL_TMP, "ansiballz_cache"))
        constants.DEFAULT_INTERNAL_POLL_INTERVAL = INTERVAL
        self.imported = False

    def v2_playbook_on_task_start(self, task, is_conditional):
        """Before the first fork. What cannot be imported is left to the task that needs it, which says so."""
        if not self.imported:
            self.imported = True
            with contextlib.suppress(Exception):
                filter_loader.get("ascend.inference._visible")
