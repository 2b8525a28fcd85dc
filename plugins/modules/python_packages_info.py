#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: python_packages_info
short_description: Check that the packages of Python environments are available
version_added: 0.1.0
description:
  - Resolves the requirements of environments for this host's platform and Python with C(uv), from the indexes that an installation
    would use. Names what is unavailable, and from where. Nothing is installed, and no environment is created or changed.
  - Fails once, with the problems of all environments.
extends_documentation_fragment:
  - ascend.inference.attributes
  - ascend.inference.attributes.info_module
  - ascend.inference.attributes.with_action
options:
  environments:
    description:
      - The environments, each a mapping of options of M(ascend.inference.python_venv).
      - The key C(advice) ends the error message.
    type: list
    elements: dict
    required: true
  tools:
    description: Environment with C(uv). If it does not exist, C(uv) is installed into a temporary folder.
    type: str
    default: ""
  installed:
    description:
      - The result of M(ascend.inference.installed_info) for this host earlier in the same run. Environments that it has are left out;
        if none remains, no module runs on the host. Used on the controller only.
    type: dict
    default: {}
author:
  - The ascend.inference contributors (@ascend-inference)
seealso:
  - module: ascend.inference.python_venv
"""

EXAMPLES = r"""
- name: Check that the router's packages are available
  ascend.inference.python_packages_info:
    environments:
      - path: /opt/ascend-inference/venvs/router
        requirements: [vllm-router==0.1.17]
    tools: /opt/ascend-inference/venvs/tools
"""

RETURN = r"""
resolved:
  description: One entry for each environment, in the order of O(environments).
  returned: success
  type: list
  elements: dict
  contains:
    path:
      description: Directory of the environment.
      type: str
    packages:
      description: Version of each package.
      type: dict
    indexes:
      description: Packages that are only on an index of their own, with this index.
      type: dict
  sample: [{path: /opt/ascend-inference/venvs/router, packages: {vllm-router: 0.1.17}, indexes: {}}]
problems:
  description: What is unavailable, one text for each environment with a problem.
  returned: always
  type: list
  elements: str
  sample: []
skipped_reason:
  description: Why nothing was checked, such as a package index without C(uv); empty if it was.
  returned: always
  type: str
  sample: ""
"""

import os
import sys
import tempfile

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ..module_utils.install.resolution import Resolver, Unresolved, environment_of
from ..module_utils.install.venv import Builder, VenvError, run_command
from ..module_utils.install.venv_options import ARGUMENTS
from ..module_utils.tools.credentials import hide_passwords
from ..module_utils.tools.text import visible


def interpreter(options, environments):
    """The Python of an environment: its own if it exists, else the one that is given for its path, else this one."""
    own = os.path.join(options["path"], "bin", "python")
    given = [other["python"] for other in environments if other["path"] == options["path"] and other["python"]]
    return own if os.access(own, os.X_OK) else (given + [sys.executable])[0]


def resolve(options, python, uv, folder):
    """One environment's packages and indexes; raises ``Unresolved``."""
    # The pip beside uv: the interpreter of a new environment may have none.
    listing = run_command([os.path.join(os.path.dirname(uv), "python"), "-m", "pip", "config", "list"], {})[1]
    env = environment_of(options, listing)
    target = ["--python", python]
    try:
        return Resolver(uv, run_command, folder, target, env).resolve(
            options, options["package_indexes"], options["metadata"]
        )
    except Unresolved as error:
        if not options["fallback_index_urls"]:
            raise
        first = error
    env["UV_EXTRA_INDEX_URL"] = " ".join([env.get("UV_EXTRA_INDEX_URL", "")] + options["fallback_index_urls"]).strip()
    try:
        return Resolver(uv, run_command, folder, target, env).resolve(
            options, options["package_indexes"], options["metadata"]
        )
    except Unresolved as error:
        more = " ".join(options["fallback_index_urls"])
        raise Unresolved(f"{first}\nAgain, with the index {more}: {error}") from error


def checked(environments, tools):
    """The module's result, without ``changed``."""
    result = {"resolved": [], "problems": [], "skipped_reason": ""}
    with tempfile.TemporaryDirectory() as folder:
        existing = os.access(os.path.join(tools, "bin", "uv"), os.X_OK)
        try:
            uv = Builder("", sys.executable, tools if existing else os.path.join(folder, "tools")).uv()
        except (VenvError, OSError) as error:
            uv, result["skipped_reason"] = "", str(error)
        if not uv:
            result["skipped_reason"] = (
                result["skipped_reason"] or "the package index has no uv, which resolves without installing"
            )
            return result
        for options in environments:
            try:
                packages, indexes = resolve(options, interpreter(options, environments), uv, folder)
                result["resolved"].append({"path": options["path"], "packages": packages, "indexes": indexes})
            except Unresolved as error:
                fix = "\nFix: " + options["advice"] if options["advice"] else ""
                result["problems"].append(f"{options['path']}, layer {options['layer']}: {error}{fix}")
    return result


def main():
    module = AnsibleModule(
        {
            "environments": {"type": "list", "elements": "dict", "required": True},
            "tools": {"type": "str", "default": ""},
            "installed": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    hide_passwords(module)
    validated = [ArgumentSpecValidator(ARGUMENTS).validate(given) for given in module.params["environments"]]
    errors = [message for result in validated for message in result.error_messages]
    if errors:
        module.fail_json(msg="; ".join(errors))
    result = checked([found.validated_parameters for found in validated], module.params["tools"])
    if result["problems"]:
        start = f"Python packages are unavailable for this host (machine {os.uname().machine}); nothing was changed."
        module.fail_json(msg=visible("\n\n".join([start] + result["problems"])), changed=False, **result)
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
