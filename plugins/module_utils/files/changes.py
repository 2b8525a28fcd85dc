# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare planned folders, files and links with the existing ones, and apply the differences.

Everything is compared and all errors are collected before the first change.
"""

from __future__ import annotations

import os
import time

from . import manifest, tree


class Owners:
    """User and group ids of the tree (-1: unchanged), and of the service's user, who owns service folders and private files."""

    def __init__(self, uid=-1, gid=-1, service=-1):
        self.uid, self.gid, self.service = uid, gid, service

    def of(self, wanted, base):
        """(uid, gid) of a planned folder or file; the group applies only inside the tree."""
        inside = (wanted["path"] + "/").startswith(base + "/")
        return (self.service if wanted.get("service_owned") else self.uid), (self.gid if inside else -1)


class Update:
    """One run: ``files`` and ``folders`` as in the module's options, below ``base``."""

    def __init__(self, base, name, owners, folders=(), files=(), links=()):
        self.base, self.name, self.owners = base, name, owners
        self.folders, self.files, self.links = list(folders), list(files), list(links)
        self.steps, self.errors = [], []
        self.old = self._manifest(name)

    def _manifest(self, name):
        folder = tree.open_folder(self.base, self.base)
        try:
            return manifest.read(folder, name)
        finally:
            if folder is not None:
                os.close(folder)

    def compare(self):
        """Fill ``steps``: ``{path, action, service, before, after}`` for all differences."""
        for kind, wanted in [("folder", self.folders), ("file", self.files), ("link", self.links)]:
            for item in wanted:
                try:
                    step = getattr(self, "_compare_" + kind)(item)
                except (tree.TreeError, OSError) as error:
                    self.errors.append(str(error))
                    continue
                if step:
                    self.steps.append(
                        dict(step, kind=kind, wanted=item, path=item["path"], service=item.get("service", ""))
                    )
        return self

    def _inside(self, path):
        return (path + "/").startswith(self.base + "/")

    def _entry(self, path):
        folder = tree.open_folder(self.base, os.path.dirname(path))
        if folder is None:
            return None
        try:
            return tree.look(folder, os.path.basename(path))
        finally:
            os.close(folder)

    def _owned(self, entry, wanted):
        """Whether owner and mode are the planned ones."""
        uid, gid = self.owners.of(wanted, self.base)
        mode = int(wanted.get("mode") or "0777", 8)
        return uid in (-1, entry.uid) and gid in (-1, entry.gid) and entry.mode == mode

    def _compare_folder(self, wanted):
        if not self._inside(wanted["path"]):  # shared by deployments; may be a link to a larger disk
            return None if os.path.isdir(wanted["path"]) else {"action": "created"}
        entry = self._entry(wanted["path"])
        if entry is None:
            return {"action": "created"}
        if entry.kind != "folder":
            raise tree.refuse_link(wanted["path"])
        return None if self._owned(entry, wanted) else {"action": "owner or mode"}

    def _compare_file(self, wanted):
        entry, content = self._entry(wanted["path"]), wanted["content"].encode("utf-8")
        if entry is None:
            return {"action": "created"}
        if entry.kind == "folder":
            raise tree.TreeError(f"{wanted['path']} is a folder, but a file is planned. Fix: move the folder away.")
        if entry.kind != "file":
            return {"action": "changed", "before": f"({entry.kind} {entry.target})\n"}
        # A hard link may give another user access to the file: it is replaced by a new file.
        if entry.content == content:
            same = self._owned(entry, wanted) and entry.names == 1
            return None if same else {"action": "owner or mode", "same": True}
        before = entry.content.decode("utf-8", "replace")
        known = self.old["files"].get(wanted["path"], {"digests": []})["digests"]
        ours = manifest.digest(entry.content) in known
        return {"action": "changed", "before": before, "backup": None if ours else entry.content}

    def _compare_link(self, wanted):
        entry = self._entry(wanted["path"])
        if entry is None:
            return {"action": "created"}
        if entry.kind != "link":
            raise tree.TreeError(f"{wanted['path']} is not a symbolic link. Fix: move it away.")
        return None if entry.target == wanted["target"] else {"action": "changed", "before": entry.target + "\n"}

    def written(self):
        """Paths of the files and links that differ, and ``PATH [SECTION]`` for each section that does in a file with ``sections``."""
        found = []
        for step in self.steps:
            if step["kind"] != "folder":
                found.append(step["path"])
            if step["wanted"].get("sections"):
                before, after = sections(step.get("before", "")), sections(step["wanted"]["content"])
                found += [
                    f"{step['path']} {name}"
                    for name in after
                    if before.get(name) != after[name] and not step.get("same")
                ]
        return sorted(found)

    def settled(self):
        """Whether nothing is to be written, the manifest included."""
        return not self.steps and self._following([]) == self.old

    def _following(self, saved):
        """The manifest after this run, in which the files ``saved`` become backups."""
        written = {file["path"]: file["content"].encode("utf-8") for file in self.files}
        made = {
            folder["path"]: bool(folder.get("service_owned")) for folder in self.folders if folder["path"] != self.base
        }
        links = {link["path"]: link["target"] for link in self.links}
        new = manifest.following(self.old, written, made, links, saved)
        for path in (file["path"] for file in self.files if file.get("private")):
            new["files"][path]["private"] = True
        return new

    def apply(self, before=None):
        """Do the steps; the manifest says before the first one what may be there after any of them.

        ``before`` is called before the first file is replaced, with the folders in place, if there is any step.
        """
        for step in self.steps:
            if step.get("backup") is not None and not step["wanted"].get("private"):
                step["saved"] = step["path"] + backup_suffix()
        new = self._following([step["saved"] for step in self.steps if "saved" in step])
        for step in self.steps:
            if step["kind"] == "folder":
                mode = int(step["wanted"]["mode"], 8)
                owners = self.owners.of(step["wanted"], self.base)
                if not self._inside(step["path"]):
                    tree.make_shared(step["path"], mode, *owners, mark=bool(step["wanted"].get("service_owned")))
                    continue
                tree.make_shared(os.path.dirname(self.base), 0o755, -1, -1)
                tree.make_folder(self.base, step["path"], mode, *owners)
        if self.steps and before:
            before()
        self._note(manifest.during(self.old, new))
        for step in self.steps:
            if step["kind"] != "folder":
                self._place(step)
        self._note(new)

    def _note(self, content):
        if not any(content.values()):
            return
        folder = tree.open_folder(self.base, self.base)
        if folder is None:
            raise tree.TreeError(f"{self.base} does not exist. Fix: add it to folders.")
        try:
            manifest.write(folder, self.name, content)
        finally:
            os.close(folder)

    def _place(self, step):
        path, wanted = step["path"], step["wanted"]
        folder, name = tree.open_folder(self.base, os.path.dirname(path)), os.path.basename(path)
        if folder is None:
            raise tree.TreeError(f"{os.path.dirname(path)} does not exist, so {path} cannot be written.")
        try:
            if step["kind"] == "link":
                tree.link(folder, name, wanted["target"])
                return
            if "saved" in step:
                tree.write(folder, os.path.basename(step["saved"]), step["backup"], 0o600, -1, -1)
            uid, gid = self.owners.of(wanted, self.base)
            tree.write(folder, name, wanted["content"].encode("utf-8"), int(wanted["mode"], 8), uid, gid)
        finally:
            os.close(folder)


def sections(text):
    """{header: its lines} of an INI file; what stands before the first header is that of ""."""
    found, header = {"": []}, ""
    for line in text.splitlines():
        if line.startswith("["):
            header = line.strip()
        found.setdefault(header, []).append(line.rstrip())
    return {header: [line for line in lines if line and not line.startswith(";")] for header, lines in found.items()}


def backup_suffix():
    """The suffix of a backup's name: the UTC time."""
    return time.strftime(".%Y-%m-%dT%H%M%SZ~", time.gmtime())


def difference(step):
    """One step in the form of Ansible's ``diff``."""
    wanted, path = step["wanted"], step["path"]
    if wanted.get("private"):
        return {"before": "", "after": "(content not shown)\n", "before_header": path, "after_header": path}
    after = wanted.get("content", wanted.get("target", ""))
    if step["kind"] == "folder" or step.get("same"):
        after = f"{step['kind']} {step['action']}: mode {wanted.get('mode')}\n"
    return {"before": step.get("before", ""), "after": after, "before_header": path, "after_header": path}
