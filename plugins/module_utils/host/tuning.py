# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of the running kernel with their old values: set, remembered, set back, and set again at boot by a unit.

All paths are below ``root``, so that tests use a made-up tree. The record has the form ``{"version": 1, "values": {PATH: {"old": text,
"new": text}}}``, with the text of each file as it was, so that the way back is byte for byte.
"""

from __future__ import annotations

import glob
import json
import os

from ..files import tree
from ..tools.errors import ToolError

VERSION = 1
UNIT = """\
# Written by the Ansible collection ascend.inference (module host_tuning). Removed when the settings are set back.
[Unit]
Description=Kernel settings for inference
After=systemd-sysctl.service systemd-modules-load.service
Before=multi-user.target

[Service]
Type=oneshot
RemainAfterExit=yes
{lines}

[Install]
WantedBy=multi-user.target
"""


class Tuning:
    """The wanted settings beside the present ones.

    ``sysctl`` maps a name to its value, ``sysfs`` a pattern of paths to the value of each matching file; what does not exist on the
    host, or cannot have the value, is in ``skipped`` with the reason.
    """

    def __init__(self, root, record, unit, sysctl, sysfs):
        self.root, self.record_path, self.unit_path = root.rstrip("/"), record, unit
        self.skipped, self.notes = {}, []
        self.record = self._load()
        self.unit = self._unit(sysctl, sysfs)
        self.wanted = self._wanted(sysctl, sysfs)
        self.steps = self._steps()

    def _inside(self, path):
        return self.root + path

    def _wanted(self, sysctl, sysfs):
        wanted = {}
        for name in sorted(sysctl):
            path = "/proc/sys/" + name.replace(".", "/")
            if os.path.exists(self._inside(path)):
                wanted[path] = sysctl[name]
            else:
                self.skipped[name] = "the kernel has no such setting"
        for pattern in sorted(sysfs):
            found = sorted(glob.glob(self._inside(pattern)))
            if not found:
                self.skipped[pattern] = "the host has no such file"
            for place in found:
                path = place[len(self.root) :]
                if self._possible(place, sysfs[pattern]):
                    wanted[path] = sysfs[pattern]
                else:
                    self.skipped[path] = f"the driver does not offer {sysfs[pattern]}"
        return wanted

    def _possible(self, place, value):
        """Whether a governor is one of those that the driver offers; other files are taken as they are."""
        offered = os.path.join(os.path.dirname(place), "scaling_available_governors")
        return not place.endswith("/scaling_governor") or not os.path.exists(offered) or value in _read(offered).split()

    def _steps(self):
        """``[(path, before, after)]``: settings that are not wanted any more go back first."""
        steps = []
        for path, values in sorted(self.record.items()):
            if path in self.wanted or not os.path.exists(self._inside(path)):
                continue
            now = _read(self._inside(path))
            if now.split() == values["new"].split():
                steps.append((path, now, values["old"]))
            elif now != values["old"]:
                self.notes.append(f"{path} was changed by others to {now.strip()!r} since, so it is not set back")
        for path, value in sorted(self.wanted.items()):
            now = _read(self._inside(path))
            if now.split() != value.split():
                steps.append((path, now, value + "\n"))
        return steps

    @property
    def changed(self):
        """Whether anything differs: a setting, the record or the unit."""
        return bool(self.steps) or self._kept() != self.record or self._present_unit() != self.unit

    def _kept(self):
        """The record after the change: the oldest value of each wanted setting."""
        kept = {}
        for path, value in self.wanted.items():
            old = self.record[path]["old"] if path in self.record else _read(self._inside(path))
            kept[path] = {"old": old, "new": value}
        return kept

    @property
    def difference(self):
        """Before and after of the diff: {path: value}, and the text of the unit."""
        before = {path: old.strip() for path, old, _new in self.steps}
        after = {path: new.strip() for path, _old, new in self.steps}
        return {"before": dict(before, unit=self._present_unit()), "after": dict(after, unit=self.unit)}

    def apply(self):
        """Remember, change, read back. Raises ToolError; the record is written first, so that the way back is always known."""
        kept = self._kept()
        self._store({**self.record, **kept})
        for path, dummy, value in self.steps:
            self._write(path, value)
        self._place_unit()
        self._store(kept)

    def _write(self, path, value):
        place = self._inside(path)
        try:
            with open(place, "w", encoding="ascii") as stream:
                stream.write(value)
        except OSError as error:
            raise ToolError(
                f"{path} cannot be set to {value.strip()!r}: {error.strerror}. In a container the host's settings are read-only. "
                "Fix: run on the host as root, or leave the setting out"
            ) from error
        found = _read(place)
        if found.split() != value.split():
            raise ToolError(f"{path} was set to {value.strip()!r}, but it is {found.strip()!r}")

    def _unit(self, sysctl, sysfs):
        paths = ["/proc/sys/" + name.replace(".", "/") for name in sorted(sysctl)] + sorted(sysfs)
        values = [sysctl[name] for name in sorted(sysctl)] + [sysfs[pattern] for pattern in sorted(sysfs)]
        lines = [
            'ExecStart=-/bin/sh -c \'for file in {}; do [ ! -w "$$file" ] || echo {} > "$$file"; done\''.format(*pair)
            for pair in zip(paths, values)
        ]
        return UNIT.format(lines="\n".join(lines)) if lines else ""

    def _present_unit(self):
        place = self._inside(self.unit_path)
        return _read(place) if os.path.exists(place) else ""

    def _place_unit(self):
        self._place(self.unit_path, self.unit, 0o644)

    def _load(self):
        place = self._inside(self.record_path)
        if not os.path.exists(place):
            return {}
        try:
            found = json.loads(_read(place))
            if found["version"] != VERSION:
                raise ValueError("unknown version")
            return {
                str(path): {"old": str(item["old"]), "new": str(item["new"])} for path, item in found["values"].items()
            }
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ToolError(
                f"{self.record_path} is damaged ({error}), so the old values are not known. "
                "Fix: remove it; the settings that are active now count as the old ones then"
            ) from error

    def _store(self, values):
        text = json.dumps({"version": VERSION, "values": values}, indent=1, sort_keys=True) + "\n" if values else ""
        self._place(self.record_path, text, 0o600)

    def _place(self, path, text, mode):
        """Write a file in one step, or remove it if there is no text."""
        folder, name = os.path.split(self._inside(path))
        if not text and not os.path.isdir(folder):
            return
        tree.make_shared(folder, 0o755, -1, -1)
        descriptor = os.open(folder, tree.FLAGS)
        try:
            if text:
                tree.write(descriptor, name, text.encode("ascii"), mode, -1, -1)
            else:
                tree.discard(descriptor, name)
        finally:
            os.close(descriptor)


def _read(path):
    with open(path, encoding="ascii", errors="surrogateescape") as stream:
        return stream.read()
