# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action bundle_files: compare a host with the bundle on the controller, and send what it lacks in archives or let it fetch that."""

from __future__ import annotations

import os
import tarfile
import tempfile
import typing as t

from ansible import constants

from ..module_utils.tools.text import visible
from ..plugin_utils.bundle.checkouts import checkouts
from ..plugin_utils.bundle.distribution import DEBIAN, KINDS, RED_HAT, distribution_of, of_runtime
from ..plugin_utils.bundle.distribution import names as names_of_packages
from ..plugin_utils.bundle.manifest import BundleError, read
from ..plugin_utils.bundle.placing import (
    archives,
    checksums_of_cann,
    fetching_builds,
    files_of_host,
    has_packages,
    images_of_host,
    keys_of_packages,
    lacking_of_cann,
    lacking_space,
    packages_of_host,
    parts_of_images,
    prove_digests,
    refused_of_dnf,
    require_cann,
    require_sources,
)
from ..plugin_utils.hosts.asked import Asked

MODULE = "ascend.inference.bundle_files"
ARGUMENTS = {
    "path": {"type": "path", "required": True},
    "manifest_sha256": {"type": "str", "required": True},
    "directory": {"type": "path", "default": "/var/cache/ascend-inference/bundle"},
    "state": {"type": "str", "choices": ["compared", "present"], "default": "present"},
    "images": {"type": "list", "elements": "str", "default": []},
    "engine": {"type": "str", "default": "docker"},
    "url": {"type": "str", "default": ""},
    "plan": {"type": "dict", "default": {}},
    "variables": {"type": "dict", "default": {}},
    "installed": {"type": "dict", "default": {}},
}


class Needed(t.NamedTuple):
    """What a host takes from the bundle."""

    platform: str
    images: list[dict[str, t.Any]]  # where images run, nothing else is installed
    files: dict[str, t.Any]
    sources: list[t.Any]
    lacking: list[str]  # names of packages of its distribution
    packages: dict[str, t.Any]
    repository: str  # kind of repository of these packages, "" without any

    def _named(self) -> list[dict[str, t.Any]]:
        return [{key: image[key] for key in ("name", "digest", "config")} for image in self.images]

    def asked(self, data: dict[str, t.Any], engine: str) -> dict[str, t.Any]:
        """Options of the module for images."""
        parts = {image["name"]: sorted(parts_of_images(data, [image])) for image in self.images}
        return {"images": self._named(), "parts": parts, "engine": engine} if self.images else {}

    def facts(self, data: dict[str, t.Any], directory: str) -> dict[str, t.Any]:
        """What later tasks read."""
        return {
            "platform": self.platform,
            "cann_checksums": checksums_of_cann(data, self.files),
            "directory": directory,
            "images": self._named(),
            "packages": self.lacking,
            "repository": bool(self.packages),
            "repository_keys": keys_of_packages(data, self.packages),
            "repository_type": self.repository,
            "sources": {each.folder: os.path.join(directory, each.archive) for each in self.sources},
        }


class ActionModule(Asked):
    """Adapter: the module compares and unpacks; the archive is made on the controller."""

    TRANSFERS_FILES = True

    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> dict[str, t.Any]:
        """The module's result, with the platform of the bundle that serves the host."""
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        _unused, options = self.validate_argument_spec(argument_spec=ARGUMENTS)
        host = task_vars["inventory_hostname"]
        names = names_of_packages(options["plan"], host, DEBIAN, options["variables"]) if options["plan"] else []
        first = self._module(task_vars, directory=options["directory"], packages=names)
        if first.get("failed") or "host" not in first:
            return {**result, **first}
        try:
            data = read(options["path"], options["manifest_sha256"])
            needed = self._needed(data, options, host, first, task_vars)
            return {**result, **self._placed(data, options, host, needed, task_vars)}
        except (BundleError, OSError) as error:
            return {**result, "failed": True, "changed": False, "msg": visible(str(error))}

    def _needed(
        self, data: dict[str, t.Any], options: dict[str, t.Any], host: str, first: dict[str, t.Any], task_vars: t.Any
    ) -> Needed:
        """What the host takes from the bundle. Raises BundleError for what the bundle lacks."""
        machine, plan, variables = first["host"]["machine"], options["plan"], options["variables"]
        images = images_of_host(data, options["images"], machine, host)
        prove_digests(options["path"], images)
        platform, files = (machine, {}) if images else files_of_host(data, first["host"], host)
        if plan and not images and "cann" in options["installed"]:
            require_cann(data, files, lacking_of_cann(plan, host, machine, variables, options["installed"]), host)
        sources = checkouts(plan, host, variables) if plan and not images else []
        require_sources(data, sources, host)
        own = distribution_of(first["host"]["distribution"], machine)
        lacking = first["packages"]
        if own and own.family == RED_HAT:
            lacking = self._lacking_of_dnf(options, host, task_vars, offered=not has_packages(data, own))
            if not has_packages(data, own):
                refused_of_dnf(own, lacking, host)
        packages = packages_of_host(data, own, lacking, host)
        kind = KINDS[own.family] if own and packages else ""
        return Needed(platform, images, files, sources, lacking, packages, kind)

    def _placed(
        self, data: dict[str, t.Any], options: dict[str, t.Any], host: str, needed: Needed, task_vars: t.Any
    ) -> dict[str, t.Any]:
        """Compare the host with the bundle, and in state present bring what is missing."""
        directory, images = options["directory"], needed.images
        wanted = {**needed.files, **needed.packages, **parts_of_images(data, images)}
        compared = self._module(task_vars, directory=directory, files=wanted, **needed.asked(data, options["engine"]))
        if compared.get("failed"):
            return compared
        found = needed.facts(data, directory)
        if options["state"] == "compared":
            found["warnings"] = [*compared.get("warnings", []), *fetching_builds(data, needed.sources, host)]
        names = compared["missing"]
        lacking_space(wanted, names, compared["free"], directory, host, archived=not options["url"])
        if options["url"] and names:
            fetched = self._fetch(options, {name: wanted[name] for name in names}, task_vars)
            if fetched.get("failed"):
                return {**fetched, **found}
        diff = {"before": "", "after": "".join(name + "\n" for name in names), "after_header": directory}
        if options["state"] == "compared" or self._task.check_mode or not names:
            changed = bool(names) and options["state"] == "present"
            return {**compared, **found, "changed": changed, "diff": diff if changed else {}}
        for group in [] if options["url"] else archives(wanted, names):
            sent = self._send(options["path"], wanted, group, directory, task_vars)
            if sent.get("failed"):
                return {**sent, **found, "diff": diff}
        return {**compared, **found, "missing": names, "changed": True, "diff": diff}

    def _module(self, task_vars: t.Any, **options: t.Any) -> dict[str, t.Any]:
        found: dict[str, t.Any] = self._execute_module(MODULE, module_args=options, task_vars=task_vars)
        return found

    def _lacking_of_dnf(self, options: dict[str, t.Any], host: str, task_vars: t.Any, offered: bool) -> list[str]:
        """Packages that a host with dnf lacks; if ``offered``, those that it cannot install from its own sources."""
        names = names_of_packages(options["plan"], host, RED_HAT, options["variables"]) if options["plan"] else []
        if not names:
            return []
        programs = dict.fromkeys(of_runtime(options["plan"], RED_HAT, options["variables"]), options["engine"])
        asked = {"packages_of_dnf": names, "offered": offered, "programs": programs}
        return list(self._module(task_vars, directory=options["directory"], **asked).get("packages_of_dnf", names))

    def _fetch(self, options: dict[str, t.Any], files: dict[str, t.Any], task_vars: t.Any) -> dict[str, t.Any]:
        """Compare the server of the rack with the verified manifest, and in state present let the host fetch the files."""
        asked = {key: options[key] for key in ("url", "manifest_sha256", "directory", "state")}
        return self._module(task_vars, files=files, **asked)

    def _send(
        self, bundle: str, files: dict[str, t.Any], names: list[str], directory: str, task_vars: t.Any
    ) -> dict[str, t.Any]:
        """Send one archive of the missing files, and let the module unpack it. Its files are compressed already."""
        with tempfile.TemporaryDirectory(dir=constants.DEFAULT_LOCAL_TMP) as folder:
            archive = os.path.join(folder, "bundle.tar")
            with tarfile.open(archive, "w", dereference=True) as opened:
                for name in names:
                    opened.add(os.path.join(bundle, files[name]["path"]), arcname=name, filter=without_owner)
            remote = self._connection._shell.join_path(
                self._connection._shell.tmpdir or self._make_tmp_path(), "bundle.tar"
            )
            self._transfer_file(archive, remote)
            self._fixup_perms2((self._connection._shell.tmpdir, remote))
        wanted = {name: files[name] for name in names}
        return self._module(task_vars, directory=directory, files=wanted, archive=remote)


def without_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """The member without names of the controller's users."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member
