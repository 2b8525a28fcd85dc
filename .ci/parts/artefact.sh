#!/usr/bin/env bash
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Make what a release consists of, see .ci/artefact.py; SIGN=KEY signs it with a secret key of gpg. The part build tests it.
. "$(dirname "$0")/../lib.sh"
use galaxy
copy=$(environment copy .cache/artefact.source)
python .ci/artefact.py "$copy" .cache/artefact ${SIGN:+--sign "$SIGN"}
say "done: .cache/artefact"
