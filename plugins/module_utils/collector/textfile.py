# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file for node_exporter's textfile collector."""

from __future__ import annotations

import os
import tempfile


def write(folder, name, text):
    """Replace the file in one step: node_exporter never reads half of it.

    Services may write to the folder as well (the probe). So the mode is set by the descriptor: the name may be a link to a file of root by then.
    """
    descriptor, new = tempfile.mkstemp(dir=folder, prefix=".ascend_inference")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
            os.fchmod(descriptor, 0o644)
        os.replace(new, os.path.join(folder, name))
    except OSError:
        os.unlink(new)
        raise
