#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: python_venv
short_description: Create a Python virtual environment atomically
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Installs requirements into a virtual environment with C(uv), or with C(pip) where C(uv) cannot be had, compiles them,
    imports them as proof, and only then writes a stamp.
  - An environment without its stamp, or one whose installation was interrupted, is built again from nothing. With the
    stamp in place and the same requirements nothing is run at all.
  - One process at a time builds below the same folder, also if hosts share it over NFS. The others wait, and find what they need.
  - The package index, extra indexes, folders of wheels and the certificate bundle of C(pip)'s own configuration hold for
    C(uv) too. Keep credentials there or in C(.netrc), not in this module's options.
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying target.
    support: full
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in check_mode), when in diff mode.
    support: full
options:
  path:
    description: Directory of the environment. An existing directory that is not an environment of this module is never changed.
    type: path
    required: true
  layer:
    description: Name of this set of requirements. One environment may have several layers.
    type: str
    default: base
  requirements:
    description: Requirements in the format of C(pip). Pin them; a range is not evaluated again once it is installed.
    type: list
    elements: str
    required: true
  exclude:
    description: Distributions to exclude although others depend on them. Needs C(uv); ignored with C(pip).
    type: list
    elements: str
    default: []
  imports:
    description: Modules that must be importable afterwards.
    type: list
    elements: str
    default: []
  python:
    description: Interpreter for a new environment. By default the one that runs this module.
    type: str
    default: ""
  tools:
    description: Environment with C(uv), created when first needed. Empty means C(pip).
    type: str
    default: ""
  index_url:
    description: Package index instead of the configured one.
    type: str
    default: ""
  extra_index_urls:
    description: Additional indexes.
    type: list
    elements: str
    default: []
  fallback_index_urls:
    description: Indexes that are added only if installation fails without them.
    type: list
    elements: str
    default: []
  find_links:
    description: Additional folders or pages of wheels.
    type: list
    elements: str
    default: []
  no_index:
    description: Install only from O(find_links), without an index.
    type: bool
    default: false
  no_binary:
    description: Distributions to build from source even if there are wheels.
    type: list
    elements: str
    default: []
  build_with_environment:
    description: Build in this environment instead of an isolated one; build requirements must be in an earlier layer.
    type: bool
    default: false
  environment:
    description: Environment variables for the installation, such as those that builds read.
    type: dict
    default: {}
  sources:
    description: Shell files to source before the installation and before the imports, such as CANN's C(set_env.sh).
    type: list
    elements: path
    default: []
  check:
    description: Fail if C(pip check) finds incompatible packages.
    type: bool
    default: false
  lock:
    description: Name of a file in the environment for the list of installed packages with versions.
    type: str
    default: ""
  lock_timeout:
    description: Seconds to wait for another process that builds an environment beside this one.
    type: int
    default: 3600
  advice:
    description: The fix in the error message if a requirement is not available.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Install the router
  ascend.inference.python_venv:
    path: /opt/ascend-inference/venvs/router
    requirements: [vllm-router==0.1.17]
    imports: [vllm_router]
"""

RETURN = r"""
path:
  description: Directory of the environment.
  returned: always
  type: str
  sample: /opt/ascend-inference/venvs/router
python:
  description: Interpreter of the environment.
  returned: always
  type: str
  sample: /opt/ascend-inference/venvs/router/bin/python
"""

import os
import sys

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.install.venv import Builder, VenvError, is_incomplete, read_stamp
from ..module_utils.tools.file_lock import LOCK, Busy, FileLock

ARGUMENTS = {
    "path": {"type": "path", "required": True},
    "layer": {"type": "str", "default": "base"},
    "requirements": {"type": "list", "elements": "str", "required": True},
    "exclude": {"type": "list", "elements": "str", "default": []},
    "imports": {"type": "list", "elements": "str", "default": []},
    "python": {"type": "str", "default": ""},
    "tools": {"type": "str", "default": ""},
    "index_url": {"type": "str", "default": ""},
    "extra_index_urls": {"type": "list", "elements": "str", "default": []},
    "fallback_index_urls": {"type": "list", "elements": "str", "default": []},
    "find_links": {"type": "list", "elements": "str", "default": []},
    "no_index": {"type": "bool", "default": False},
    "no_binary": {"type": "list", "elements": "str", "default": []},
    "build_with_environment": {"type": "bool", "default": False},
    "environment": {"type": "dict", "default": {}},
    "sources": {"type": "list", "elements": "path", "default": []},
    "check": {"type": "bool", "default": False},
    "lock": {"type": "str", "default": ""},
    "lock_timeout": {"type": "int", "default": 3600},
    "advice": {"type": "str", "default": ""},
}
# Options that affect the result are part of the stamp, but only if set, so that older stamps stay valid.
SELDOM = ("no_binary", "build_with_environment", "environment", "check", "lock")


def wanted(params):
    """The expected content of the stamp."""
    wish = {
        "requirements": sorted(params["requirements"]),
        "exclude": sorted(params["exclude"]),
        "imports": params["imports"],
    }
    wish.update((name, params[name]) for name in SELDOM if params[name])
    return wish


def builder(params, inherited):
    """The builder that these parameters ask for; its commands keep the descriptors ``inherited``."""
    options = {
        "index-url": [params["index_url"]] if params["index_url"] else [],
        "extra-index-url": params["extra_index_urls"],
        "find-links": params["find_links"],
    }
    more = {
        "sources": params["sources"],
        "env": {name: str(value) for name, value in params["environment"].items()},
        "advice": params["advice"],
        "no_index": params["no_index"],
        "inherited": inherited,
    }
    return Builder(params["path"], params["python"] or sys.executable, params["tools"], options, **more)


def build(params, wish):
    """Build the layer; false if another process did meanwhile."""
    beside = os.path.dirname(params["path"].rstrip("/"))
    os.makedirs(beside, mode=0o755, exist_ok=True)
    with FileLock(os.path.join(beside, LOCK), params["lock_timeout"]) as lock:
        if read_stamp(params["path"], params["layer"]) == wish:
            return False
        lock.sign()
        builder(params, (lock.descriptor,)).build(params["layer"], wish, params["fallback_index_urls"])
        return True


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    params, wish = module.params, wanted(module.params)
    before = read_stamp(params["path"], params["layer"])
    result = {
        "changed": before != wish,
        "path": params["path"],
        "python": params["path"] + "/bin/python",
        "diff": {
            "before": before or {},
            "after": wish,
            "before_header": params["path"],
            "after_header": params["path"],
        },
    }
    try:
        if result["changed"]:
            is_incomplete(params["path"])
        if result["changed"] and not module.check_mode:
            result["changed"] = build(params, wish)
    except (VenvError, Busy, OSError) as error:
        module.fail_json(msg=str(error), **{**result, "changed": False})
    module.exit_json(**result)


if __name__ == "__main__":
    main()
