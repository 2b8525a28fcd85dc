#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: model_listing
short_description: List the files of a model on its hub, and read the small ones
version_added: 0.1.0
description:
  - Asks the hub through its own client, C(modelscope-hub) or C(huggingface_hub), which the interpreter of this module must have, or reads the file
    C(SHA256SUMS) of a folder on a web server.
  - Refuses a listing with names that lead out of the model's folder. Fetches the configuration, no weights.
options:
  source:
    description: C(modelscope:OWNER/NAME@REVISION), C(huggingface:OWNER/NAME@REVISION), the address of a folder, or C(folder:PATH) on this host.
    type: str
    required: true
  endpoint:
    description: Address of the hub, such as that of a mirror. Empty means the hub's own.
    type: str
    default: ""
  token:
    description: Token of an account of the hub, or of the web server.
    type: str
    default: ""
  authority:
    description: File with the certificates that the hub's certificate is compared with. Empty means the system's.
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
  - module: ascend.inference.model_delivery
"""

EXAMPLES = r"""
- name: List the files
  ascend.inference.model_listing:
    source: modelscope:Qwen/Qwen3-30B-A3B@v1.0
  vars:
    ansible_python_interpreter: /opt/ascend-inference/venvs/hubs/bin/python
"""

RETURN = r"""
revision:
  description: The commit that the revision means now; of a hub that names none, the revision itself.
  returned: success
  type: str
  sample: 0123456789abcdef0123456789abcdef01234567
pinned:
  description: Whether the revision in the source is a commit, which always means the same files.
  returned: success
  type: bool
files:
  description: Names, sizes in bytes, and digests as far as the hub has them. C(git) is git's id of a small file.
  returned: success
  type: list
  elements: dict
  sample: [{name: config.json, size: 663, sha256: "", git: 8f1b7b1c3f1f1d3b4a0e5b8b6a0e5b8b6a0e5b8b}]
digest:
  description: Digest of all files, as a record has it; empty where the hub does not list the SHA-256 of each.
  returned: success
  type: str
bytes:
  description: Bytes of all files.
  returned: success
  type: int
model:
  description: >-
    What the small files say, as M(ascend.inference.host_info) returns it of a model. C(missing) is compared with the names of the listing;
    C(weight_bytes) are the bytes of all safetensors files.
  returned: success
  type: dict
"""

import os
import shutil
import tempfile

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.files import listing
from ..module_utils.host.model_facts import TOKENIZERS, missing_files, model_facts, shards_of
from ..module_utils.model import hub
from ..module_utils.tools.text import visible

ARGUMENTS = dict(
    source=dict(type="str", required=True),
    endpoint=dict(type="str", default=""),
    token=dict(type="str", default="", no_log=True),
    authority=dict(type="str", default=""),
)
SMALL = 64 * 2**20  # bytes
FACTS = (
    *("config", "config_error", "quantized", "tokenizer", "chat_template", "tool_parsers", "missing", "size_mib"),
    "weight_bytes",
    "schemes",
)


def small_facts(client, files, home):
    """Facts of the model's folder from its small files, with the names and sizes of the others."""
    os.mkdir(home)
    for each in files:
        if hub.is_small(each["name"]) and each["size"] <= SMALL:
            client.fetch(each, home)
    names = {each["name"] for each in files}
    found = model_facts(home)
    top = {name for name in names if "/" not in name}
    found["quantized"] = any(name.startswith("quant_model_description") for name in top)
    found["tokenizer"] = any(name in TOKENIZERS or name.endswith(".tiktoken") for name in top)
    found["chat_template"] = found["chat_template"] or bool(top & {"tekken.json"})
    shards = shards_of(home)
    found["missing"] = [visible(name) for name in missing_files(home, names & (top | shards))]
    found["size_mib"] = sum(each["size"] for each in files) // 2**20
    # Those of the index, because some folders have the weights a second time, as Mistral's consolidated.safetensors
    weights = shards & names or {name for name in top if name.endswith(".safetensors")}
    found["weight_bytes"] = sum(each["size"] for each in files if each["name"] in weights)
    return {name: found[name] for name in FACTS}


def summed(files):
    """The files, their bytes and, where each has a SHA-256, their digest."""
    digest = listing.digest(files) if all(each["sha256"] for each in files) else ""
    return {"files": files, "bytes": sum(each["size"] for each in files), "digest": digest}


def main():
    """List, compare names, read."""
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    params, home = module.params, tempfile.mkdtemp(dir=module.tmpdir)
    try:
        source = hub.Source(params["source"])
        client = hub.client(source, params["endpoint"], params["token"], home + "/home", params["authority"])
        revision, files = client.files()
        wrong = listing.problems(files)
        if wrong:
            raise hub.Refused(
                f"{source.text} has a listing that is not followed: {'; '.join(wrong[:5])}. Fix: check the name and the revision; if "
                "they are right, do not use this model, and tell its owner"
            )
        model = small_facts(client, files, home + "/model")
    except ImportError as error:
        module.fail_json(
            msg=f"the hub's client is missing: {error}. Fix: let the role model install it, and do not set ansible_python_interpreter with -e"
        )
    except (hub.Refused, OSError, ValueError) as error:
        module.fail_json(msg=visible(str(error)))
    finally:
        shutil.rmtree(home, ignore_errors=True)
    module.exit_json(changed=False, revision=revision, pinned=source.pinned, model=model, **summed(files))


if __name__ == "__main__":
    main()
