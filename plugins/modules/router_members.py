#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: router_members
short_description: Add engines to a running router, and remove them from it
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Reads the members of a router, adds and removes engines, and reads back. A router's answer to a change is not taken as proof - vLLM-Ascend's
    proxy answers 200 to everything.
  - Requests that are under way at a removed engine go on. Wait for their end with M(ascend.inference.service_drain).
  - An engine is added without a probe by some routers, so it must answer and be proven before.
extends_documentation_fragment:
  - ascend.inference.attributes.changing
options:
  api:
    description:
      - The plan's C(members.api) of the router.
      - V(workers) is vllm-router. Between prefill and decode it must run with C(--enable-igw).
      - V(instances) is the load balance proxy of vLLM-Ascend 0.21.0rc1 and later.
      - V(restart) is a proxy without such an API. Its engines are those that its start script recorded in O(record). It is not changed - O(away) is,
        and RV(restart) says which routers must restart to have what was asked for.
    type: str
    choices: [workers, instances, restart]
    required: true
  url:
    description: The router's URL.
    type: str
    required: true
  more:
    description:
      - Further routers in front of the same engines, each with files of its own. Each is changed and read back; the results have the engines
        of all of them.
    type: list
    elements: dict
    default: []
    suboptions:
      url:
        description: The router's URL.
        type: str
        required: true
      record:
        description: As O(record).
        type: path
        default: ""
      started:
        description: As O(started).
        type: path
        default: ""
      away:
        description: As O(away).
        type: path
        default: ""
  members:
    description: Engines.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: Name of its service; for messages.
        type: str
        default: ""
      kind:
        description: The pool of the engine.
        type: str
        choices: [prefill, decode, colocated]
        required: true
      url:
        description: URL of the engine's API, without a path.
        type: str
        required: true
  state:
    description:
      - V(present) adds those of O(members) that the router does not have.
      - V(absent) removes those of O(members) that the router has, and members that are the same engine under another URL, such as
        C(http://localhost:7300), through which it would get more requests.
    type: str
    choices: [present, absent]
    default: present
  purge:
    description: With O(state=present), remove all other members.
    type: bool
    default: false
  allow_last:
    description:
      - Whether the last member of a pool may be removed, after which all requests fail.
      - Without it, neither is the last one that answers. Others that have died may be starting, so that O(timeout) is waited for them.
    type: bool
    default: false
  model:
    description: Name of the served model, for V(workers).
    type: str
    default: ""
  token:
    description: Key of the router's API, if it needs one.
    type: str
    default: ""
  record:
    description:
      - With V(restart), the file in which the router's start script records its engines.
      - File for the removals, for V(instances). The proxy keeps listing removed engines while requests are under way, and ignores that they are
        added again.
    type: path
    default: ""
  started:
    description: File that is written when the router starts, such as its digest file. Older removals in O(record) are ignored.
    type: path
    default: ""
  away:
    description:
      - File with the engines that the router must not get back when it starts anew. A removed engine is written there before, and taken from it
        when it is added again; one that is written there counts as missing even if the router lists it.
      - The router's start script and the program that adds its engines read it.
    type: path
    default: ""
  use_timeout:
    description:
      - Send requests through the router, after engines were added, until each of them has finished one. An engine that has not within this
        many seconds is removed again, and the module fails. V(0) sends none.
      - Needs O(model), and O(token) if the service has a key.
    type: int
    default: 0
  timeout:
    description: Timeout in seconds until the router's list is as wanted. The proxies look for new engines every 10 s.
    type: int
    default: 60
"""

EXAMPLES = r"""
- name: Send no more requests to an engine
  ascend.inference.router_members:
    api: workers
    url: http://10.0.0.1:8000
    members:
      - kind: decode
        url: http://10.0.0.3:7300
    state: absent

- name: Have exactly these engines behind the router
  ascend.inference.router_members:
    api: instances
    url: http://10.0.0.1:8000
    members:
      - kind: prefill
        url: http://10.0.0.1:7100
      - kind: decode
        url: http://10.0.0.2:7300
    purge: true
"""

RETURN = r"""
before:
  description: The engines that got requests before, by pool.
  returned: success
  type: dict
  sample: {"prefill": ["http://10.0.0.1:7100"], "decode": ["http://10.0.0.2:7300"]}
after:
  description: The engines that get requests now, read back; in check mode those that would.
  returned: success
  type: dict
  sample: {"prefill": ["http://10.0.0.1:7100"], "decode": ["http://10.0.0.2:7300"]}
added:
  description: URLs that were added.
  returned: success
  type: list
  elements: str
  sample: []
removed:
  description: URLs that were removed.
  returned: success
  type: list
  elements: str
  sample: []
others:
  description: URLs of the engines that get requests now and are not in O(members).
  returned: success
  type: list
  elements: str
  sample: []
silent:
  description: Those of RV(others) that accept no connection, because their process or host ended. Empty without check mode.
  returned: success
  type: list
  elements: str
  sample: []
restart:
  description: URLs of the routers that must restart to have the engines that were asked for. Only with O(api=restart).
  returned: success
  type: list
  elements: str
  sample: []
left:
  description:
    - The removed engines as the option O(ascend.inference.service_drain#module:engines). With O(state=present) without those that are one of
      O(members) under another URL, which goes on to get requests.
  returned: success
  type: list
  elements: dict
  sample: [{"name": "http://10.0.0.2:7300", "kind": "decode", "url": "http://10.0.0.2:7300"}]
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.router.base import Member, MembersProblem
from ..module_utils.router.members import ROUTERS, lines, reconcile, shown, silent
from ..module_utils.router.same_engine import other_names
from ..module_utils.tools.disk import explained
from ..module_utils.tools.engine_kinds import ANSWERING_KINDS
from ..module_utils.tools.text import one_line, visible

MEMBER = {
    "name": {"type": "str", "default": ""},
    "kind": {"type": "str", "choices": list(ANSWERING_KINDS), "required": True},
    "url": {"type": "str", "required": True},
}
PLACE = {
    "url": {"type": "str", "required": True},
    "record": {"type": "path", "default": ""},
    "started": {"type": "path", "default": ""},
    "away": {"type": "path", "default": ""},
}
ARGUMENTS = {
    "api": {"type": "str", "choices": ["workers", "instances", "restart"], "required": True},
    "url": {"type": "str", "required": True},
    "more": {"type": "list", "elements": "dict", "default": [], "options": PLACE},
    "members": {"type": "list", "elements": "dict", "default": [], "options": MEMBER},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "purge": {"type": "bool", "default": False},
    "allow_last": {"type": "bool", "default": False},
    "model": {"type": "str", "default": ""},
    "token": {"type": "str", "default": "", "no_log": True},
    "record": {"type": "path", "default": ""},
    "started": {"type": "path", "default": ""},
    "away": {"type": "path", "default": ""},
    "use_timeout": {"type": "int", "default": 0},
    "timeout": {"type": "int", "default": 60},
}


def router_of(params, place):
    """The API of one router; ``place`` has its url, record, started and away."""
    router = ROUTERS[params["api"]](place["url"].rstrip("/"), params["model"], params["token"])
    router.record, router.started, router.away = (place[key] for key in ("record", "started", "away"))
    return router


def union(lists):
    """Members of all lists, each once, in the order of their first occurrence."""
    return list(dict.fromkeys(member for members in lists for member in members))


def result_of(done, wanted, state, urls, check):
    """The module's result from the outcomes of all routers, which have these URLs; ``check``: whether in check mode."""
    gone = union(outcome.removed for outcome in done)
    stay = other_names(gone, wanted) if state == "present" else []
    before, after, removed = (
        [[plain(member) for member in getattr(outcome, part)] for outcome in done]
        for part in ("before", "after", "removed")
    )
    left = [plain(member) for member in gone if member not in stay]
    others = [member for member in union(after) if member not in wanted]
    return {
        "changed": any(outcome.added or outcome.removed for outcome in done),
        "before": shown(union(before)),
        "after": shown(union(after)),
        "added": [member.url for member in union(outcome.added for outcome in done)],
        "removed": [member.url for member in union(removed)],
        "others": [member.url for member in others],
        "silent": [member.url for member in silent(others)] if check else [],
        "left": [{"name": member.url, "kind": member.kind, "url": member.url} for member in left],
        "restart": [url for url, outcome in zip(urls, done) if outcome.restart],
        "diff": {"before": "".join(map(lines, before)), "after": "".join(map(lines, after))},
    }


def plain(member):
    """A member with a bounded URL in one line: other members are what a router says, which may be any text."""
    return Member(member.kind, one_line(member.url))


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    params = module.params
    wanted = [Member(member["kind"], member["url"].rstrip("/")) for member in params["members"]]
    options = {key: params[key] for key in ("state", "purge", "allow_last", "timeout", "use_timeout")}
    places = [params, *params["more"]]
    try:
        done = [reconcile(router_of(params, place), wanted, check=module.check_mode, **options) for place in places]
    except (MembersProblem, OSError) as error:
        module.fail_json(msg=visible("Members of the router: {}".format(explained(error, params["away"] or "/"))))
    module.exit_json(**result_of(done, wanted, params["state"], [place["url"] for place in places], module.check_mode))


if __name__ == "__main__":
    main()
