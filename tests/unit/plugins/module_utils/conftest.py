# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes that tests of drills kill and pause."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.drill import processes

PARENT = "import subprocess, sys, time; subprocess.Popen(['sleep', '60']); print('up', flush=True); time.sleep(60)"


@pytest.fixture
def family():
    """A process with a child."""
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE)
    parent.stdout.readline()
    yield parent
    for item in processes.tree(parent.pid):
        os.kill(item.pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
