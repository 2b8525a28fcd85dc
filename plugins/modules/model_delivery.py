#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: model_delivery
short_description: Bring a model to its path, whole and compared
version_added: 0.1.0
description:
  - Fetches each file beside the path, from the hub through the hub's own client or from a host that has it, and compares size and digest. When all
    files are there, one rename brings them to the path, with a record of their digests. Nothing else is ever at the path.
  - A run that was killed is continued with the first file that is not whole. What an earlier run left at work is ended first.
  - Takes hours; run it with C(async) and wait with M(ascend.inference.model_wait).
options:
  path:
    description: Folder of the model. It must not exist.
    type: path
    required: true
  source:
    description: As for M(ascend.inference.model_listing). It is kept in the record.
    type: str
    default: ""
  revision:
    description: As M(ascend.inference.model_listing) returned it.
    type: str
    default: ""
  files:
    description: The files, as M(ascend.inference.model_listing) returned them, or from the record of another host.
    type: list
    elements: dict
    default: []
  peer:
    description: Address of the host that M(ascend.inference.model_share) runs on. Empty means the source itself.
    type: str
    default: ""
  endpoint:
    description: As for M(ascend.inference.model_listing).
    type: str
    default: ""
  token:
    description: As for M(ascend.inference.model_listing); with O(peer) that of M(ascend.inference.model_share).
    type: str
    default: ""
  authority:
    description: As for M(ascend.inference.model_listing).
    type: str
    default: ""
  rate:
    description: Most bytes a second that come; 0 means no limit. With it the client of Hugging Face uses no Xet, which takes what it gets.
    type: int
    default: 0
  run:
    description: A name for this run, by which M(ascend.inference.model_wait) knows it.
    type: str
    default: ""
extends_documentation_fragment:
  - ascend.inference.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  idempotent:
    support: full
author:
  - The ascend.inference contributors (@ascend-inference)
seealso:
  - module: ascend.inference.model_listing
  - module: ascend.inference.model_share
"""

EXAMPLES = r"""
- name: Fetch the model
  ascend.inference.model_delivery:
    path: /models/Qwen3-30B-A3B
    source: modelscope:Qwen/Qwen3-30B-A3B@v1.0
    revision: "{{ listed.revision }}"
    files: "{{ listed.files }}"
  async: 86400
  poll: 0
"""

RETURN = r"""
record:
  description: The record in the model's folder, with the digest of all files.
  returned: success and not in check mode
  type: dict
"""

import errno
import os

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.files import listing, own_folder
from ..module_utils.model import delivery, hub, pace
from ..module_utils.model.web import Peer
from ..module_utils.tools.disk import explained
from ..module_utils.tools.text import visible

TEXT = dict(type="str", default="")
ARGUMENTS = dict(
    path=dict(type="path", required=True),
    files=dict(type="list", elements="dict", default=[]),
    rate=dict(type="int", default=0),
    token=dict(type="str", default="", no_log=True),
    source=TEXT,
    revision=TEXT,
    peer=TEXT,
    endpoint=TEXT,
    authority=TEXT,
    run=TEXT,
)


def bring(params):
    """The record of a model that is complete, or was completed now; whether anything changed."""
    wanted = {each["name"]: each["sha256"] for each in params["files"] if each.get("sha256")}
    known = listing.read(params["path"])
    if (
        known
        and known["source"] == params["source"]
        and wanted.items() <= {f["name"]: f["sha256"] for f in known["files"]}.items()
    ):
        return known, False
    wrong = listing.problems(params["files"])
    if wrong:
        raise hub.Refused("the listing is not followed: " + "; ".join(wrong[:5]))
    brought = delivery.Delivery(params["path"], params["files"], params["run"])
    if params["peer"]:
        client = Peer(params["peer"], params["token"], rate=params["rate"])
    else:
        home = os.path.join(delivery.beside(params["path"]), "home")
        source = hub.Source(params["source"])
        if params["rate"]:
            os.environ["HF_HUB_DISABLE_XET"] = "1"
            pace.limit(pace.Pace(params["rate"]))
        client = hub.client(source, params["endpoint"], params["token"], home, params["authority"])
        if params["revision"]:  # the commit that the listing is about
            client.revision = params["revision"]
    brought.bring(client, params["source"], params["revision"])
    return listing.read(params["path"]), True


def reason(error, path):
    """The text of an error with its fix. A controller's user cannot write to all folders that root of a host can."""
    if isinstance(error, OSError) and error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        fix = "let this user write there, or choose another folder: model_origin on the controller, inference_model.path on hosts"
        return f"{path} cannot be written: {error}. Fix: {fix}"
    return explained(error, path)


def main():
    """Bring it, or say whether it would be brought."""
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    params = module.params
    try:
        if module.check_mode:
            module.exit_json(changed=not listing.read(params["path"]))
        record, changed = bring(params)
    except ImportError as error:
        module.fail_json(
            msg=f"the hub's client is missing: {error}. Fix: let the role model install it, and do not set ansible_python_interpreter with -e"
        )
    except (hub.Refused, own_folder.Foreign, OSError, ValueError) as error:
        module.fail_json(msg=visible(reason(error, params["path"])))
    module.exit_json(changed=changed, record=record)


if __name__ == "__main__":
    main()
