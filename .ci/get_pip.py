# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for the script that ansible-test downloads to get pip into the environments it makes.

The package index has no such script, and the site that ansible-test knows is not to be reached from every machine.
ansible-test calls it like the original: pip's version and perhaps options as arguments.
"""

import subprocess
import sys

PYTHON = sys.executable
# ensurepip switches off pip's configuration for its own process, so it gets one to itself.
subprocess.check_call([PYTHON, "-m", "ensurepip"])
requested = [word for word in sys.argv[1:] if word not in ("--no-setuptools", "--no-wheel")]
raise SystemExit(subprocess.call([PYTHON, "-m", "pip", "install", "--upgrade", *requested]))
