# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of root's own that belong to a deployment, as its filter of ports and its virtual address have them: marked, compared, written, removed."""

from __future__ import annotations

import os

from ..files import tree
from .kernel_settings import read, write

MARK = "Written by ascend.inference"  # in each file but address sets of firewalld, which our policy names, and the firewall's record


class Files:
    """Texts of files as they are and as they should be; an empty text means no file, unless somebody else wrote it: ``kept`` has those.

    ``ours(path, text)`` says whether this collection wrote a file.
    """

    def __init__(self, wanted, ours=lambda path, text: MARK in text):
        self.before = {path: read(path) for path in wanted}
        self.proven = [path for path, text in self.before.items() if text and ours(path, text)]
        self.kept = [path for path in wanted if self.before[path] and not wanted[path] and path not in self.proven]
        self.after = {path: self.before[path] if path in self.kept else text for path, text in wanted.items()}

    @property
    def differing(self):
        """Paths whose texts differ."""
        return [path for path in self.after if self.before[path] != self.after[path]]

    def diff(self):
        """The differences for Ansible."""
        return [shown(path, self.before[path], self.after[path]) for path in self.differing]

    def apply(self):
        """Write or remove the files."""
        for path in self.differing:
            if self.after[path]:
                # Not os.makedirs: it makes the folders above with root's umask alone, so under some everybody could replace this one.
                tree.make_shared(os.path.dirname(path), 0o755, -1, -1)
            write(path, self.after[path])


def shown(header, before, after):
    """One entry of Ansible's diff."""
    return {"before": before, "after": after, "before_header": header, "after_header": header}
