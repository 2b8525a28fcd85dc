# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of a host with their old values: set, remembered, set back, and set again at boot by a unit.

All paths are below ``root``, so that tests use a made-up tree. The record has the form ``{"version": 1, "values": {KEY: {"old": text,
"new": text}}, "files": {PATH: {"old": text or null, "new": text}}, "services": {UNIT: {"active": bool, "enabled": bool}}}``, with the text of
each file as it was, so that the way back is byte for byte. A key is a path, or names an interrupt (``interrupt ADDRESS send``), whose number may
differ after a boot.
"""

from __future__ import annotations

import glob
import json
import os

from ..files import tree
from ..tools.errors import ToolError
from .interrupts import KINDS, affinity_path, npu_interrupts
from .tuning_services import RESTARTED, Services, dropped_in
from .tuning_unit import unit_text

VERSION = 1
PARTS = ("values", "files", "services")


class Tuning:
    """The wanted settings beside the present ones.

    ``wanted``: ``sysctl`` maps a name to its value, ``sysfs`` a pattern of paths to the value of each matching file, ``interrupts`` an NPU's PCI
    address to the lists of CPUs of its two interrupts, ``files`` a path to its text, ``services`` a unit to what happens to it. What does not
    exist on the host, or cannot have the value, is in ``skipped`` with the reason.
    """

    def __init__(self, root, record, unit, wanted, systemctl=None):
        self.root, self.record_path, self.unit_path = root.rstrip("/"), record, unit
        self.skipped, self.notes = {}, []
        self.record = self._load()
        self.numbers = npu_interrupts(self.root)
        sysctl, sysfs = wanted.get("sysctl", {}), wanted.get("sysfs", {})
        self.values = self._wanted(sysctl, sysfs, wanted.get("interrupts", {}))
        self.files = wanted.get("files", {})
        self.steps = self._steps()
        self.file_steps = self._file_steps()
        self.services = Services(systemctl, wanted.get("services", {}), self.record["services"])
        self.skipped.update(self.services.skipped)
        self.notes += self.services.notes
        self.unit = self._unit(sysctl, sysfs, wanted.get("interrupts", {}))

    def _inside(self, path):
        return self.root + path

    def _path(self, key):
        """The file of a key below ``root``; empty if the host does not have it now."""
        if key.startswith("interrupt "):
            _word, address, kind = key.split(" ")
            numbers = self.numbers.get(address)
            return self._inside(affinity_path(numbers[kind])) if numbers else ""
        return self._inside(key) if os.path.exists(self._inside(key)) else ""

    def _wanted(self, sysctl, sysfs, interrupts):
        wanted = {}
        for name in sorted(sysctl):
            path = "/proc/sys/" + name.replace(".", "/")
            self._want(wanted, path, sysctl[name], name, "the kernel has no such setting")
        for pattern in sorted(sysfs):
            found = sorted(glob.glob(self._inside(pattern)))
            if not found:
                self.skipped[pattern] = "the host has no such file"
            for place in found:
                path = place[len(self.root) :]
                if self._possible(place, sysfs[pattern]):
                    self._want(wanted, path, sysfs[pattern], path, "")
                else:
                    self.skipped[path] = f"the driver does not offer {sysfs[pattern]}"
        for address in sorted(interrupts):
            for kind, cpus in zip(KINDS, interrupts[address]):
                key = f"interrupt {address} {kind}"
                self._want(wanted, key, cpus, key, "the NPU's driver has no such interrupt")
        return wanted

    def _want(self, wanted, key, value, name, missing):
        """Add a setting that the host has, and that has the value, can get it, or is remembered."""
        place = self._path(key)
        if not place or not os.path.exists(place):
            self.skipped[name] = missing
        elif (
            _now(place).split() != value.split() and key not in self.record["values"] and not os.access(place, os.W_OK)
        ):
            self.skipped[name] = "this user cannot write it, or it is read-only as in a container"
        else:
            wanted[key] = value

    def _possible(self, place, value):
        """Whether a governor is one of those that the driver offers; other files are taken as they are."""
        offered = os.path.join(os.path.dirname(place), "scaling_available_governors")
        return not place.endswith("/scaling_governor") or not os.path.exists(offered) or value in _read(offered).split()

    def _steps(self):
        """``[(key, before, after)]``: settings that are not wanted any more go back first."""
        steps = []
        for key, values in sorted(self.record["values"].items()):
            place = self._path(key)
            if key in self.values or not place or not os.path.exists(place):
                continue
            now = _read(place)
            if _chosen(now).split() == values["new"].split():
                if now != values["old"]:
                    steps.append((key, now, values["old"]))
            elif now != values["old"]:
                self.notes.append(
                    f"{place[len(self.root) :]} was changed by others to {now.strip()!r} since, so it is not set back"
                )
        for key, value in sorted(self.values.items()):
            now = _read(self._path(key))
            if _chosen(now).split() != value.split():
                steps.append((key, now, value + "\n"))
        return steps

    def _file_steps(self):
        """``[(path, before, after)]`` of whole files; None is no file."""
        steps = []
        for path, texts in sorted(self.record["files"].items()):
            now = self._text(path)
            if path not in self.files and now == texts["new"]:
                steps.append((path, now, texts["old"]))
            elif path not in self.files and now != texts["old"]:
                self.notes.append(f"{path} was changed by others since, so it is left as it is")
        steps += [
            (path, self._text(path), text) for path, text in sorted(self.files.items()) if self._text(path) != text
        ]
        return steps

    def _text(self, path):
        return _read(self._inside(path)) if os.path.exists(self._inside(path)) else None

    @property
    def changed(self):
        """Whether anything differs: a setting, a file, a service, the record or the unit."""
        moved = self.steps or self.file_steps or self.services.steps
        return bool(moved) or self._kept() != self.record or self._present_unit() != self.unit

    def _kept(self):
        """The record after the change: the oldest value of each wanted setting and file."""
        values, files = {}, {}
        for key, value in self.values.items():
            known = self.record["values"].get(key)
            values[key] = {"old": known["old"] if known else _read(self._path(key)), "new": value}
        for path, text in self.files.items():
            known = self.record["files"].get(path)
            files[path] = {"old": known["old"] if known else self._text(path), "new": text}
        return {"values": values, "files": files, "services": self.services.kept}

    @property
    def shown(self):
        """All steps as ``[(what, before, after)]``, each in one line, for people."""
        values = [(self._path(key)[len(self.root) :], _chosen(old), _chosen(new)) for key, old, new in self.steps]
        files = [(path, old or "", new or "") for path, old, new in self.file_steps]
        return values + files + [step[:3] for step in self.services.steps]

    @property
    def restart(self):
        """Units whose drop-in changes and that are not restarted here: services of deployments, which other playbooks restart."""
        return sorted({dropped_in(path) for path, _old, _new in self.file_steps} - set(RESTARTED))

    @property
    def difference(self):
        """Changes in the format of Ansible's ``diff``: one line for each setting and service, whole texts of files and of the unit."""
        texts = [*self.file_steps, (self.unit_path, self._present_unit(), self.unit)]
        lines = [step for step in self.shown if step[0] not in self.files and step[0] not in self.record["files"]]
        before, after = ("".join(f"{step[0]} = {step[side]}\n" for step in lines) for side in (1, 2))
        found = (
            [{"before": before, "after": after, "before_header": "settings", "after_header": "settings"}]
            if lines
            else []
        )
        return found + [
            {"before": old or "", "after": new or "", "before_header": path, "after_header": path}
            for path, old, new in texts
            if (old or "") != (new or "")
        ]

    def apply(self):
        """Remember, change, read back. Raises ToolError; the record is written first, so that the way back is always known."""
        kept = self._kept()
        self._store({part: {**self.record[part], **kept[part]} for part in PARTS})
        for path, dummy, text in self.file_steps:
            self._place(path, text or "", 0o644)
            if text is None:
                self._drop_folder(path)
        self.services.apply([step[0] for step in self.file_steps])
        for key, dummy, value in self.steps:  # after irqbalance was stopped or restarted: it would move interrupts back
            self._write(self._path(key), _chosen(value) + "\n" if _chosen(value) != value.strip() else value)
        self._place(self.unit_path, self.unit, 0o644)
        self._store(kept)

    def _write(self, place, value):
        path = place[len(self.root) :]
        try:
            with open(place, "w", encoding="ascii") as stream:
                stream.write(value)
        except OSError as error:
            raise ToolError(
                f"{path} cannot be set to {value.strip()!r}: {error.strerror}. In a container the host's settings are read-only. "
                "Fix: run on the host as root, or leave the setting out"
            ) from error
        found = _now(place)
        if found.split() != value.split():
            more = ". The memory is fragmented or in use: set it again soon after a boot" if "hugepages" in path else ""
            raise ToolError(f"{path} was set to {value.strip()!r}, but it is {found.strip()!r}{more}")

    def _unit(self, sysctl, sysfs, interrupts):
        """The unit's text: of what the host has and can set; patterns stay patterns, because CPUs may be added."""
        values = {
            "/proc/sys/" + name.replace(".", "/"): value for name, value in sysctl.items() if name not in self.skipped
        }
        for pattern, value in sysfs.items():
            here = [place[len(self.root) :] for place in glob.glob(self._inside(pattern))]
            if any(path in self.values for path in here):
                values[pattern] = value
        bound = {
            address: cpus for address, cpus in interrupts.items() if f"interrupt {address} {KINDS[0]}" in self.values
        }
        return unit_text(values, bound)

    def _present_unit(self):
        return self._text(self.unit_path) or ""

    def _load(self):
        place = self._inside(self.record_path)
        if not os.path.exists(place):
            return {part: {} for part in PARTS}
        self._require_trust(place)
        try:
            found = json.loads(_read(place))
            if found["version"] != VERSION:
                raise ValueError("unknown version")
            return {part: dict(_checked(part, found.get(part, {}))) for part in PARTS}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ToolError(
                f"{self.record_path} is damaged ({error}), so the old values are not known. "
                "Fix: remove it; the settings that are active now count as the old ones then"
            ) from error

    def _require_trust(self, place):
        """Root writes what the record says to the paths that it names, so nobody else may write it or its folder."""
        descriptor = os.open(os.path.dirname(place), tree.FLAGS)
        try:
            folder, entry = os.fstat(descriptor), tree.look(descriptor, os.path.basename(place))
        finally:
            os.close(descriptor)
        if not tree.trusted(entry) or folder.st_uid not in (0, os.geteuid()) or folder.st_mode & 0o022:
            raise ToolError(
                f"{self.record_path} or its folder can be written by others than root, so its old values are not trusted. "
                "Nothing was changed. Fix: compare it with the host, then correct its owner and mode (root, 0600), or remove it"
            )

    def _store(self, record):
        text = (
            json.dumps(dict(record, version=VERSION), indent=1, sort_keys=True) + "\n" if any(record.values()) else ""
        )
        self._place(self.record_path, text, 0o600)
        if not text:
            self._drop_folder(self.record_path)

    def _place(self, path, text, mode):
        """Write a file in one step, or remove it if there is no text."""
        folder, name = os.path.split(self._inside(path))
        if not text and not os.path.isdir(folder):
            return
        tree.make_shared(folder, 0o755, -1, -1, mark=folder.endswith(".d") or path == self.record_path)
        descriptor = os.open(folder, tree.FLAGS)
        try:
            if text:
                tree.write(descriptor, name, text.encode("utf-8"), mode, -1, -1)
            else:
                tree.discard(descriptor, name)
        finally:
            os.close(descriptor)

    def _drop_folder(self, path):
        """Remove the folder of a drop-in or record that is gone, if this collection made it and nothing else is in it."""
        folder = os.path.dirname(self._inside(path))
        if os.path.isdir(folder) and os.listdir(folder) == [tree.MADE]:
            os.unlink(os.path.join(folder, tree.MADE))
            os.rmdir(folder)


def _checked(part, entries):
    """The entries of a part of the record, with the types that it promises."""
    for name, item in entries.items():
        if part == "services":
            yield str(name), {"active": bool(item["active"]), "enabled": bool(item["enabled"])}
        else:
            old = item["old"]
            yield str(name), {"old": old if old is None and part == "files" else str(old), "new": str(item["new"])}


def _read(path):
    with open(path, encoding="utf-8", errors="surrogateescape") as stream:
        return stream.read()


def _now(path):
    return _chosen(_read(path))


def _chosen(text):
    """``always [madvise] never`` -> ``madvise``; other texts without the end of the line."""
    return next((word[1:-1] for word in text.split() if word[:1] == "[" and word[-1:] == "]"), text.strip())
