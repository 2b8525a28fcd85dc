# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action bundle: list, make or verify a bundle for hosts without internet, on the controller."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import typing as t

from ansible import constants
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase
from ansible.release import __version__ as ansible_version
from ansible.utils.display import Display

from ..module_utils.install.bundle_files import host as this_machine
from ..module_utils.install.venv import Builder, VenvError, run_command
from ..module_utils.install.venv_options import ARGUMENTS as VENV
from ..module_utils.tools.how_many import how_many
from ..module_utils.tools.text import visible
from ..plugin_utils.bundle import controller, signature
from ..plugin_utils.bundle.apt import Apt
from ..plugin_utils.bundle.archives import Given
from ..plugin_utils.bundle.contents import Contents, contents
from ..plugin_utils.bundle.distribution import DEBIAN, RED_HAT
from ..plugin_utils.bundle.dnf_program import Dnf
from ..plugin_utils.bundle.git import Git
from ..plugin_utils.bundle.images import Registry
from ..plugin_utils.bundle.images import items as items_of_images
from ..plugin_utils.bundle.make import (
    distributions,
    fetched,
    fetched_images,
    fetched_packages,
    fetched_sources,
    for_controller,
    listed,
    locks,
)
from ..plugin_utils.bundle.manifest import SUMS, BundleError, manifest, read, read_with_digest, verify, write
from ..plugin_utils.bundle.models import held
from ..plugin_utils.bundle.models import items as items_of_models
from ..plugin_utils.bundle.packages import Resolution
from ..plugin_utils.bundle.platform import Platform, platform_of
from ..plugin_utils.bundle.sources import Fetcher
from ..plugin_utils.bundle.store import FetchError, Store
from ..plugin_utils.bundle.text import size_text, table
from ..plugin_utils.description.findings import Finding, finding_lines
from ..plugin_utils.description.loader import plain

ARGUMENTS = {
    "path": {"type": "path", "required": True},
    "state": {"type": "str", "choices": ["listed", "present", "verified"], "default": "present"},
    "plan": {"type": "dict"},
    "hosts": {"type": "dict"},
    "head": {"type": "dict", "default": {}},
    "base": {"type": "path"},
    "sign": {"type": "str", "default": ""},
    "keyring": {"type": "path"},
    "minisign_key": {"type": "path"},
    "minisign_public_key": {"type": "str"},
    "ansible": {"type": "bool", "default": True},
    "controller": {"type": "dict", "default": {}},
    "models": {"type": "list", "elements": "str", "default": []},
    "archives": {"type": "str", "default": ""},
    "archive_checksums": {"type": "dict", "default": {}},
}


class ActionModule(ActionBase):
    """Adapter: variables of the planned hosts in, a folder on the controller out."""

    _requires_connection = False

    def run(self, tmp: t.Any = None, task_vars: t.Any = None) -> dict[str, t.Any]:
        """The result; findings fail the task, all at once."""
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        _unused, options = self.validate_argument_spec(argument_spec=ARGUMENTS)
        options = plain(options)
        try:
            if options["state"] == "verified":
                return {**result, "changed": False, **verified(options)}
            return {**result, **make(options, self._task.check_mode or options["state"] == "listed")}
        except (BundleError, FetchError, VenvError, OSError) as error:
            return {**result, "failed": True, "changed": False, "msg": visible(str(error))}


def failed(findings: t.Sequence[Finding], title: str) -> dict[str, t.Any]:
    """The result of a refused task."""
    lines = [title, *finding_lines(sorted(findings))]
    return {"failed": True, "changed": False, "msg": "\n".join(lines)}


def verified(options: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Whether the bundle is what its manifest says, and who signed it."""
    path = options["path"]
    sums = signature.verify(path, options["keyring"]) if options["keyring"] else None
    if options["minisign_public_key"]:
        other = signature.verify_minisign(path, options["minisign_public_key"])
        if sums not in (None, other):
            raise BundleError(
                f"{SUMS} in {path} changed while its signatures were verified. Fix: find out who can write there"
            )
        sums = other
    data, digest = read_with_digest(path)
    findings = verify(path, data, digest, sums)
    if findings:
        return failed(findings, f"The bundle {path} is damaged. Nothing was copied to a host.")
    found = {"files": len(data["items"]), "platforms": data["platforms"], "signed": sums is not None}
    return {**found, "path": os.path.abspath(path), "manifest_sha256": digest, "models": held(path, data)}


def validated(hosts: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The variables of hosts with the defaults of python_venv in their environments."""
    found = {}
    for host, known in hosts.items():
        environments = []
        for given in known.get("environments") or []:
            checked = ArgumentSpecValidator(VENV).validate(given)
            if checked.error_messages:
                raise BundleError(f"{host}: {'; '.join(checked.error_messages)}")
            environments.append(checked.validated_parameters)
        found[host] = {**known, "environments": environments}
    return found


def make(options: t.Mapping[str, t.Any], only_list: bool) -> dict[str, t.Any]:
    """Print the list, and unless only that is asked, fetch its files and write the manifest."""
    wanted = contents(options["plan"], validated(options["hosts"]), options["models"])
    if wanted.findings:
        return failed(wanted.findings, "The list of the bundle cannot be made. Nothing was fetched.")
    base = read_with_digest(options["base"])[1] if options["base"] else ""  # refuses a folder that is no bundle
    known = known_items(options["path"], options["base"] or "")
    with tempfile.TemporaryDirectory() as folder:
        own, archives = with_ansible(options, wanted, folder)
        uv, listing_of_pip = installed_uv() if wanted.environments else ("", "")
        resolution, registry = Resolution(uv, run_command, folder, listing_of_pip), Registry()
        fetchers: dict[str, Fetcher] = {DEBIAN: Apt(folder), RED_HAT: Dnf(folder)}
        git = Git(folder, given=Given(options["archives"], options["archive_checksums"]))
        listing = listed(wanted, resolution, registry, fetchers, git)
        Display().display(visible(table(listing.rows(), wanted.missing)))
        if listing.findings:
            return failed(listing.findings, "The list of the bundle is not complete. Nothing was fetched.")
        if only_list:
            return {"changed": False, "files": listing.rows(), "missing": wanted.missing}
        os.makedirs(options["path"], exist_ok=True)
        store = Store(options["path"], options["base"] or "")
        before = len(wanted.missing)
        sources, problems = fetched_sources(listing, resolution, git, store, known)
        items, findings = fetched(listing, resolution, store)
        items, findings = sources + items, problems + findings
        findings += fetched_images(listing, registry, store)
        packages, more = fetched_packages(listing, fetchers, store)
        items, findings = items + packages, findings + more
        items += for_controller(own, archives, store) if own and not findings else []
    if findings:
        return failed(findings, "The bundle is not complete. What was fetched is kept; the next run goes on.")
    for line in wanted.missing[before:]:
        Display().display(visible(f"Not in the bundle, perhaps needed on the hosts: {line}"))
    platforms = {each.platform for each, _files in listing.environments if not each.controller}
    items += locks(listing, options["path"]) + items_of_images(listing.images, options["path"])
    items += items_of_models(options["path"], options["models"])
    named = {"images": [image.as_dict() for image in listing.images], "distributions": distributions(listing)}
    head = {**options["head"], "missing": wanted.missing, **named, **({"base": base} if base else {})}
    changed = write(options["path"], manifest(head, items, platforms))
    if options["sign"] and (changed or not signature.exists(options["path"])):
        signature.sign(options["path"], options["sign"])
    if options["minisign_key"] and (changed or not signature.exists(options["path"], signature.MINISIGN)):
        signature.sign_minisign(options["path"], options["minisign_key"])
    with contextlib.suppress(OSError):
        os.rmdir(os.path.join(options["path"], "incomplete"))
    sizes = size_text(sum(each["size"] for each in items))
    now = f"{how_many(len(store.fetched), 'file')}, {size_text(store.fetched_bytes)}"
    Display().display(visible(f"{options['path']}: {how_many(len(items), 'file')}, {sizes}; fetched now: {now}"))
    return {
        "changed": changed or bool(store.fetched),
        "files": items,
        "missing": wanted.missing,
        "fetched": sorted(store.fetched),
        "fetched_bytes": store.fetched_bytes,
        "sums": os.path.join(options["path"], SUMS),
    }


def known_items(*folders: str) -> list[dict[str, t.Any]]:
    """The items of earlier bundles in these folders; none of a folder that has no bundle yet."""
    found: list[dict[str, t.Any]] = []
    for folder in filter(None, folders):
        with contextlib.suppress(BundleError):
            found += read(folder)["items"]
    return found


def with_ansible(options: t.Mapping[str, t.Any], wanted: Contents, folder: str) -> tuple[Platform | None, list[str]]:
    """Add the controller's Ansible to the contents; its platform and the archives of the collections. What cannot be added is missing."""
    if not options["ansible"]:
        return None, []
    platform, findings = platform_of(options["controller"] or this_machine(), "localhost")
    if not platform:
        wanted.missing.append(f"Ansible for the controller: {findings[0].problem}")
        return None, []
    archives, unpacked = controller.collections([controller.OWN], folder)
    wanted.missing += [
        f"collection {name}: it is not installed on this machine, or only as a clone" for name in unpacked
    ]
    wanted.environments.append(controller.environment(platform, ansible_version))
    return platform, archives


def installed_uv() -> tuple[str, str]:
    """uv in an environment that is kept on the controller, and what pip is configured with; raises ``VenvError``."""
    tools = os.path.join(
        os.path.expanduser(constants.config.get_config_value("ANSIBLE_HOME")), "ascend-inference-tools"
    )
    uv = Builder("", sys.executable, tools).uv()
    if not uv:
        raise VenvError("uv is unavailable on the controller. Fix: let pip reach a package index that has it")
    listing = run_command([os.path.join(tools, "bin", "python"), "-m", "pip", "config", "list"], {})[1]
    return uv, listing
