#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: grafana_dashboard
short_description: Write a dashboard of Grafana if its description differs
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Reads the dashboard by its uid, and writes it if the description differs. The description of the collection's dashboards has a digest of
    their content.
  - Redirects are not followed, because the address that they name would get the token, and an answer has a greatest size and a longest time.
attributes:
  diff_mode:
    support: none
extends_documentation_fragment:
  - ascend.inference.attributes.changing
options:
  url:
    description: Grafana's URL, also with a path.
    type: str
    required: true
  token:
    description: Token of a service account that may write dashboards.
    type: str
    required: true
  dashboard:
    description: The dashboard, with at least C(uid) and C(description).
    type: dict
    required: true
  folder:
    description: Uid of its folder. Empty means the general one.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Send a dashboard
  ascend.inference.grafana_dashboard:
    url: https://grafana.example
    token: "{{ grafana_token }}"
    dashboard: {uid: mine, title: Mine, description: "1", panels: []}
"""

RETURN = r"""
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.tools.grafana import Grafana, GrafanaProblem
from ..module_utils.tools.text import visible

ARGUMENTS = {
    "url": {"type": "str", "required": True},
    "token": {"type": "str", "required": True, "no_log": True},
    "dashboard": {"type": "dict", "required": True},
    "folder": {"type": "str", "default": ""},
}


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    params = module.params
    grafana, board = Grafana(params["url"], params["token"]), params["dashboard"]
    if not params["token"].isprintable() or " " in params["token"]:
        text = "The token has a blank, a line feed or another control character. Fix: correct inference_grafana_token; for one in a vault: printf, not echo"
        module.fail_json(msg=text)
    missing = [name for name in ("uid", "description") if not board.get(name)]
    if missing:
        module.fail_json(msg="dashboard has no {}. Fix: give it one".format(" and no ".join(missing)))
    try:
        changed = grafana.dashboard(board["uid"]).get("description") != board["description"]
        if changed and not module.check_mode:
            grafana.send(board, params["folder"])
    except GrafanaProblem as problem:
        module.fail_json(msg=visible(str(problem)))
    module.exit_json(changed=changed)


if __name__ == "__main__":
    main()
