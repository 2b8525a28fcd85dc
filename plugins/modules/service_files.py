#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Module service_files."""

from __future__ import annotations

DOCUMENTATION = r"""
module: service_files
short_description: Write all files of a host's services in one call
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Brings folders, files and links of one deployment into the planned state. Everything is compared first, so that errors are reported
    together before the first change; each file is then replaced atomically.
  - Nothing below O(directory) is reached through a symbolic link, and owners are set on open files only. A service's user with write
    access to some folders of the tree cannot cause changes elsewhere.
  - Written files are recorded in a manifest for each set. A file that was changed otherwise is backed up before it is replaced;
    only files in a manifest are ever removed.
extends_documentation_fragment:
  - ascend.inference.attributes.changing
  - ascend.inference.attributes.with_action
options:
  directory:
    description: The deployment's folder. Its parent must not be writable by the service's user.
    type: path
    required: true
  name:
    description: Name of the set of files that this call writes. Each set has its own manifest.
    type: str
    required: true
  state:
    description:
      - V(present) writes what the call describes.
      - V(absent) removes what all calls for O(directory) wrote below it, the links that they made and O(directory) itself. What others
        put there stays and is returned as RV(kept). Files elsewhere, such as units, stay without O(elsewhere).
    type: str
    choices: [present, absent]
    default: present
  elsewhere:
    description:
      - With V(absent), remove the files that the calls wrote outside of O(directory), too. One with another content than they wrote stays and
        is returned as RV(kept).
    type: bool
    default: false
  outputs:
    description:
      - With V(absent), files of this user, and empty folders, that also go, because only programs of O(directory) write them. Without a
        manifest in O(directory) they stay.
    type: list
    elements: path
    default: []
  owner:
    description: Owner of folders and files. Empty means that new ones belong to the connected user.
    type: str
    default: ""
  group:
    description: Group of folders and files; empty means the group of O(service_owner), or unchanged without it.
    type: str
    default: ""
  service_owner:
    description:
      - The service's user, who owns entries with O(folders[].service_owned) or O(files[].service_owned).
      - A user who does not exist is an error, except in check mode.
    type: str
    default: ""
  folders:
    description: Folders, parents first.
    type: list
    elements: dict
    default: []
    suboptions:
      path:
        description: The folder.
        type: path
        required: true
      mode:
        description: Its mode, in octal.
        type: str
        default: "0750"
      service_owned:
        description: Whether it belongs to the service's user, for logs and files that the service writes.
        type: bool
        default: false
  files:
    description: Files; those outside of O(directory), such as units, are written there but never removed by this module.
    type: list
    elements: dict
    default: []
    suboptions:
      path:
        description: The file.
        type: path
        required: true
      content:
        description: Its content.
        type: str
        required: true
      mode:
        description: Its mode, in octal.
        type: str
        default: "0640"
      service:
        description: The service to restart when it changes.
        type: str
        default: ""
      service_owned:
        description: Whether it belongs to the service's user.
        type: bool
        default: false
      private:
        description: Whether its content is secret, and appears neither in the diff nor in a backup.
        type: bool
        default: false
      sections:
        description: Whether it is an INI file, of which RV(written) also names the sections.
        type: bool
        default: false
  links:
    description: Symbolic links.
    type: list
    elements: dict
    default: []
    suboptions:
      path:
        description: The link.
        type: path
        required: true
      target:
        description: The target of the link.
        type: str
        required: true
  services:
    description: Services for which O(templates) are rendered, each as the variable C(item). Used on the controller only.
    type: list
    elements: raw
  templates:
    description: Templates that the action plugin renders into O(files), for each of O(services). Used on the controller only.
    type: list
    elements: raw
  sets:
    description:
      - If set, files of earlier runs in these sets that are no longer planned are removed, and so are all files in
        other sets. Set it in the last call of a deployment.
    type: list
    elements: str
  phase:
    description:
      - The phase that begins, for the deployment's journal. V(changing) is noted before the first change, and only if there is one.
        V(deployed) is noted after the last one, and if something was V(changing) before. Empty notes nothing.
    type: str
    choices: ["", changing, deployed]
    default: ""
  plan:
    description: The C(digest), C(release) and C(revision) of the plan that O(phase) is about; C(half) of its instances if an upgrade changes one half first.
    type: dict
    default: {}
  unlock:
    description: Whether the call ends with the release of the deployment's lock, if this run holds it.
    type: bool
    default: false
  run:
    description: This run, as M(ascend.inference.deployment_run) records it. The action plugin fills it in.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Remove what all calls wrote
  ascend.inference.service_files:
    directory: /opt/ascend-inference/deployments/inference
    name: services
    state: absent

- name: Write what the services read
  ascend.inference.service_files:
    directory: /opt/ascend-inference/deployments/inference
    name: services
    owner: root
    group: ascend-inference
    service_owner: ascend-inference
    folders:
      - path: /opt/ascend-inference/deployments/inference
      - {path: /opt/ascend-inference/deployments/inference/logs, service_owned: true}
    files:
      - {path: /opt/ascend-inference/deployments/inference/ranks.json, content: "{}"}
    services: "{{ services_of_this_host }}"
    templates:
      - {src: run.sh.j2, script: run, mode: "0750"}
      - {src: systemd/unit.service.j2, folder: /etc/systemd/system, key: unit, mode: "0644"}
"""

RETURN = r"""
services:
  description: Services with changed files.
  returned: success
  type: list
  elements: str
  sample: [prefill-0]
written:
  description: Files and links that were written, or in check mode would be, and C(PATH [SECTION]) for sections of a file with O(files[].sections).
  returned: with O(state=present)
  type: list
  elements: str
  sample: [/etc/systemd/system/inference-prefill-0.service]
settled:
  description: Whether there was nothing to write, not even to note.
  returned: with O(state=present)
  type: bool
  sample: false
files:
  description: Changes made, or in check mode those that would be made.
  returned: success
  type: list
  elements: dict
  sample: [{path: /opt/ascend-inference/deployments/inference/services/prefill-0/run.sh, action: changed, backup: ""}]
kept:
  description: Paths that stay, because no call made them or because they were changed.
  returned: with O(state=absent)
  type: list
  elements: str
  sample: []
"""

import grp
import os
import pwd

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.files import begun, deployment_lock, journal, removal, system_folders, tree, trust
from ..module_utils.files.changes import Owners, Update, difference
from ..module_utils.files.whole_removal import remove_deployment
from ..module_utils.tools.disk import explained
from ..module_utils.tools.driver_group import driver_group
from ..module_utils.tools.file_lock import Busy
from ..module_utils.tools.text import one_line, visible

FOLDER = {
    "path": {"type": "path", "required": True},
    "mode": {"type": "str", "default": "0750"},
    "service_owned": {"type": "bool", "default": False},
}
FILE = {
    "path": {"type": "path", "required": True},
    "content": {"type": "str", "required": True},
    "mode": {"type": "str", "default": "0640"},
    "service": {"type": "str", "default": ""},
    "service_owned": {"type": "bool", "default": False},
    "private": {"type": "bool", "default": False},
    "sections": {"type": "bool", "default": False},
}
LINK = {"path": {"type": "path", "required": True}, "target": {"type": "str", "required": True}}
ARGUMENTS = {
    "directory": {"type": "path", "required": True},
    "name": {"type": "str", "required": True},
    "state": {"type": "str", "default": "present", "choices": ["present", "absent"]},
    "elsewhere": {"type": "bool", "default": False},
    "outputs": {"type": "list", "elements": "path", "default": []},
    "owner": {"type": "str", "default": ""},
    "group": {"type": "str", "default": ""},
    "service_owner": {"type": "str", "default": ""},
    "folders": {"type": "list", "elements": "dict", "default": [], "options": FOLDER},
    "files": {"type": "list", "elements": "dict", "default": [], "options": FILE},
    "links": {"type": "list", "elements": "dict", "default": [], "options": LINK},
    "services": {"type": "list", "elements": "raw"},
    "templates": {"type": "list", "elements": "raw"},
    "sets": {"type": "list", "elements": "str"},
    "phase": {"type": "str", "default": "", "choices": ["", "changing", "deployed"]},
    "plan": {"type": "dict", "default": {}},
    "unlock": {"type": "bool", "default": False},
    "run": {"type": "dict", "default": {}},
}


def identity(name, database, check):
    """The id of a user or group; -1 for none, and for one that is missing in check mode."""
    if not name:
        return -1
    try:
        return database(name)
    except KeyError as error:
        if check:
            return -1
        raise tree.TreeError(f"the user or group {name} does not exist. Fix: create it first.") from error


def owners_of(params, check):
    """The ids of owners and groups, -1 for unchanged."""
    group = identity(params["group"], lambda name: grp.getgrnam(name).gr_gid, check)
    if not params["group"]:
        group = identity(params["service_owner"], lambda name: pwd.getpwnam(name).pw_gid, check)
    return Owners(
        identity(params["owner"], lambda name: pwd.getpwnam(name).pw_uid, check),
        group,
        identity(params["service_owner"], lambda name: pwd.getpwnam(name).pw_uid, check),
    )


def unsafe(base, owners):
    """The reason why root must not write below ``base``, if any."""
    if os.geteuid() != 0 or owners.service in (-1, 0):
        return []
    return [
        f"{path} belongs to the service's user, or this user, one of its groups or everybody can write to it, so {base} could be replaced. "
        "Fix: make root its owner and group (mode 0755, no access control list), or set inference_root to a folder that only root can write to."
        for path in trust.distrusted(base, owners.service, groups_of(owners.service))
    ]


def groups_of(uid):
    """The ids of all groups of a user, and of the devices' group, which units and containers of engines get besides."""
    name = driver_group()
    devices = [grp.getgrnam(name).gr_gid] if name else []
    try:
        user = pwd.getpwuid(uid)
    except KeyError:
        return devices
    return [*os.getgrouplist(user.pw_name, user.pw_gid), *devices]


def removed(base, params, check):
    """The result of the state absent."""
    steps, kept = remove_deployment(base, check, params["elsewhere"], params["outputs"])
    return {"changed": bool(steps), "services": [], "kept": [one_line(path) for path in kept], **_removals(steps)}


def _removals(steps):
    done = [{"path": step["path"], "action": "removed", "backup": step["saved"]} for step in steps]
    return {
        "files": done,
        "diff": [{"before": "removed\n", "after": "", "before_header": step["path"]} for step in steps],
    }


def ended(params, base, changed, noted):
    """After the last change of a call: note that the plan is deployed, release the lock, as far as the call asks for it."""
    interrupted = journal.read(base).get("phase") == journal.CHANGING or journal.damage(base)
    if params["phase"] == journal.DEPLOYED and (changed or interrupted):
        journal.note(*noted)
    if params["phase"] == journal.DEPLOYED:
        begun.forget(base)
    if params["unlock"]:
        deployment_lock.release(base, params["run"].get("id"))


def work(params, check):
    """The result of one call."""
    base = params["directory"].rstrip("/")
    problem = system_folders.refusal(os.path.dirname(os.path.dirname(base)) or "/")
    problem = problem or system_folders.refusal(base or "/")
    if problem:
        raise tree.TreeError(problem)
    if params["state"] == "absent":
        return removed(base, params, check)
    owners = owners_of(params, check)
    errors = unsafe(base, owners)
    if errors:
        raise tree.TreeError("\n".join(errors))
    update = Update(base, params["name"], owners, params["folders"], params["files"], params["links"]).compare()
    if update.errors:
        raise tree.TreeError("\n".join(update.errors))
    named = [(params["owner"], owners.uid), (params["service_owner"], owners.service)]
    unknown = any(name and number == -1 for name, number in named)  # in check mode, before that user is made
    written, settled = update.written(), update.settled() and not unknown
    if not check:
        noted = (base, params["phase"], params["plan"], params["run"])
        update.apply(before=lambda: journal.note(*noted) if params["phase"] == journal.CHANGING else None)
    outdated = [] if params["sets"] is None else removal.remove(base, params["sets"], check)
    if not check:
        ended(params, base, bool(update.steps), noted)
    done = [{"path": step["path"], "action": step["action"], "backup": step.get("saved", "")} for step in update.steps]
    gone = _removals(outdated)
    done += gone["files"]
    return {
        "changed": bool(done),
        "services": sorted({step["service"] for step in update.steps if step["service"]}),
        "written": written,
        "settled": settled,
        "files": done,
        "diff": [difference(step) for step in update.steps] + gone["diff"],
    }


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    try:
        module.exit_json(**work(module.params, module.check_mode))
    except (tree.TreeError, Busy, OSError) as error:
        module.fail_json(
            msg=visible(
                "Files of {}: {}".format(module.params["directory"], explained(error, module.params["directory"]))
            )
        )


if __name__ == "__main__":
    main()
