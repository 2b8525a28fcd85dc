#!/usr/bin/env bash
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# What can be known in a minute about what is changed: see .ci/check.py.
. "$(dirname "$0")/../lib.sh"
use dev
with_collections
PYTHONPATH=$(environment tree)
export PYTHONPATH
exec python .ci/check.py
