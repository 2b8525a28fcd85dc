# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of a host with their old values: set, remembered, set back, and set again at boot by a unit.

All paths are below ``root``, so that tests use a made-up tree. The record is that of tuning_record.py. What the kernel refuses is left out, and
the other settings are set; what it does not set back stays in the record, and is an error.
"""

from __future__ import annotations

import glob
import os

from ..tools.errors import ToolError
from .interrupts import KINDS, affinity_path, npu_interrupts
from .tuning_record import PARTS, drop_folder, load, place, store
from .tuning_services import RESTARTED, Services, dropped_in
from .tuning_unit import unit_text

PAGES = ". The memory is fragmented or in use. The unit sets it again at the next boot"


class Tuning:
    """The wanted settings beside the present ones.

    ``wanted``: ``sysctl`` maps a name to its value, ``sysfs`` a pattern of paths to the value of each matching file, ``interrupts`` an NPU's PCI
    address to the lists of CPUs of its two interrupts, ``files`` a path to its text, ``services`` a unit to what happens to it. What does not
    exist on the host, or cannot have the value, is in ``skipped`` with the reason; after ``apply`` also what the kernel refused.
    """

    def __init__(self, root, record, unit, wanted, systemctl=None):
        self.root, self.record_path, self.unit_path = root.rstrip("/"), record, unit
        self.skipped, self.notes, self.names = {}, [], {}
        self.record = load(self.root, record)
        self.numbers = npu_interrupts(self.root)
        self.wanted = [wanted.get(name, {}) for name in ("sysctl", "sysfs", "interrupts")]
        self.values = self._wanted(*self.wanted)
        self.files = wanted.get("files", {})
        self.steps = self._steps()
        self.file_steps = self._file_steps()
        self.services = Services(systemctl, wanted.get("services", {}), self.record["services"])
        self.skipped.update(self.services.skipped)
        self.notes += self.services.notes
        self.unit_before = self._text(unit) or ""
        self.unit = self._unit()

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
            for file in found:
                path = file[len(self.root) :]
                if self._possible(file, sysfs[pattern]):
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
        self.names[key] = name
        file = self._path(key)
        if not file or not os.path.exists(file):
            self.skipped[name] = missing
        elif _now(file).split() != value.split() and key not in self.record["values"] and not os.access(file, os.W_OK):
            self.skipped[name] = "this user cannot write it, or it is read-only as in a container"
        else:
            wanted[key] = value

    def _possible(self, file, value):
        """Whether a governor is one of those that the driver offers; other files are taken as they are."""
        offered = os.path.join(os.path.dirname(file), "scaling_available_governors")
        return not file.endswith("/scaling_governor") or not os.path.exists(offered) or value in _read(offered).split()

    def _steps(self):
        """``[(key, before, after)]``: settings that are not wanted any more go back first."""
        steps = []
        for key, values in sorted(self.record["values"].items()):
            file = self._path(key)
            if key in self.values or not file or not os.path.exists(file):
                continue
            now = _read(file)
            if _chosen(now).split() in (values["new"].split(), values.get("got", values["new"]).split()):
                if now != values["old"]:
                    steps.append((key, now, values["old"]))
            elif now != values["old"]:
                self.notes.append(
                    f"{file[len(self.root) :]} was changed by others to {now.strip()!r} since, so it is not set back"
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
        return bool(moved) or self._kept() != self.record or self.unit_before != self.unit

    def _kept(self):
        """The record after the change: the oldest value of each wanted setting and file."""
        values, files = {}, {}
        for key, value in self.values.items():
            known = self.record["values"].get(key)
            values[key] = {"old": known["old"] if known else _read(self._path(key)), "new": value}
            if known and "got" in known and known["new"] == value:
                values[key]["got"] = known["got"]
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
        texts = [*self.file_steps, (self.unit_path, self.unit_before, self.unit)]
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
        """Remember, change, read back; whether anything changed. Raises ToolError.

        The record is written first, so that the way back is always known, then the unit: where that cannot be written, no setting is changed.
        """
        kept = self._kept()
        store(self.root, self.record_path, {part: {**self.record[part], **kept[part]} for part in PARTS})
        place(self.root, self.unit_path, self.unit)
        for path, dummy, text in self.file_steps:
            place(self.root, path, text or "")
            if text is None:
                drop_folder(self.root, path)
        self.services.apply([step[0] for step in self.file_steps])
        # After irqbalance was stopped or restarted: it would move interrupts back.
        results = [(key, before, *self._write(self._path(key), value)) for key, before, value in self.steps]
        stuck = self._settle(kept, results)
        unit, self.unit = self.unit, self._unit()
        if unit != self.unit:
            place(self.root, self.unit_path, self.unit)
        store(self.root, self.record_path, kept)
        if stuck:
            raise ToolError(
                f"not set back: {'; '.join(stuck)}. Everything else is as wanted, and the record keeps the old values of these. Fix: run again on "
                "the host itself as root, or after a boot"
            )
        moved = self.steps or self.file_steps or self.services.steps
        return bool(moved) or kept != self.record or self.unit_before != self.unit

    def _settle(self, kept, results):
        """Correct the record, the steps and the settings of the unit by what the kernel took; what was not set back, as texts."""
        stuck = []
        for key, _before, now, reason in results:
            path, known = self._path(key)[len(self.root) :], self.record["values"].get(key)
            if not reason:
                kept["values"].get(key, {}).pop("got", None)
            elif key not in self.values:
                kept["values"][key] = known if now is None else dict(known, got=now)
                stuck.append(f"{path}: {reason}")
            else:
                self.skipped[self.names[key]] = reason + (PAGES if "hugepages" in key and now is not None else "")
                if now is not None:
                    kept["values"][key]["got"] = now
                elif known:
                    kept["values"][key] = known
                else:
                    del self.values[key], kept["values"][key]
        self.steps = [(key, before, _read(self._path(key))) for key, before, _now, _reason in results]
        self.steps = [step for step in self.steps if _chosen(step[1]).split() != _chosen(step[2]).split()]
        return stuck

    def _write(self, path, value):
        """(what the file has then if it is not the value, why); (None, why) if the kernel refuses it, (None, "") if all is well."""
        text = _chosen(value)
        try:
            with open(path, "w", encoding="ascii") as stream:
                stream.write(text + "\n" if text != value.strip() else value)
        except OSError as error:
            return None, f"the kernel refuses {text!r} ({error.strerror})"
        found = _now(path)
        if found.split() == text.split():
            return None, ""
        return found, f"it was set to {text!r}, but it is {found!r}"

    def _unit(self):
        """The unit's text: of what the host has and can set; patterns stay patterns, because CPUs may be added."""
        sysctl, sysfs, interrupts = self.wanted
        values = {"/proc/sys/" + name.replace(".", "/"): value for name, value in sysctl.items()}
        values = {path: value for path, value in values.items() if path in self.values}
        for pattern, value in sysfs.items():
            here = [found[len(self.root) :] for found in glob.glob(self._inside(pattern))]
            if any(path in self.values for path in here):
                values[pattern] = value
        bound = {
            address: cpus
            for address, cpus in interrupts.items()
            if all(f"interrupt {address} {kind}" in self.values for kind in KINDS)
        }
        return unit_text(values, bound)


def _read(path):
    with open(path, encoding="utf-8", errors="surrogateescape") as stream:
        return stream.read()


def _now(path):
    return _chosen(_read(path))


def _chosen(text):
    """``always [madvise] never`` -> ``madvise``; other texts without the end of the line."""
    return next((word[1:-1] for word in text.split() if word[:1] == "[" and word[-1:] == "]"), text.strip())
