# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replaces the script that ansible-test downloads to install pip into its environments.

The package index has no such script, and not every machine can reach the site that ansible-test uses.
ansible-test calls it like the original: with pip's version and options as arguments.
"""

import subprocess
import sys

PYTHON = sys.executable
# ensurepip disables pip's configuration in its process, so it runs in a separate process.
subprocess.check_call([PYTHON, "-m", "ensurepip"])
requested = [argument for argument in sys.argv[1:] if argument not in ("--no-setuptools", "--no-wheel")]
raise SystemExit(subprocess.call([PYTHON, "-m", "pip", "install", "--upgrade", *requested]))
