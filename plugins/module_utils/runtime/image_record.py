# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which image each name meant when a deployment last created containers from it, for the time after the containers are gone."""

from __future__ import annotations

from ..files import journal


class ImageRecord:
    """``{name: id}`` in a file of the deployment's folder, which belongs to root; without a folder nothing is known or kept."""

    def __init__(self, directory):
        self._directory = directory

    def known(self):
        """The recorded ids; a damaged file is an empty one."""
        if not self._directory:
            return {}
        with journal.Folder(self._directory) as folder:
            found = folder.read(journal.IMAGES)
        return {name: value for name, value in found.items() if isinstance(value, str)}

    def note(self, found):
        """Record ``{name: id}`` beside what is known."""
        known = self.known()
        if not self._directory or {**known, **found} == known:
            return
        with journal.Folder(self._directory) as folder:
            if folder.descriptor is not None:
                folder.write(journal.IMAGES, {**known, **found})
