#!/usr/bin/python
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: bundle_images
short_description: Load the images of a bundle into the container engine
version_added: 0.1.0
description:
  - Loads images whose id differs from that in the bundle's manifest, with C(docker load), from the files that M(ascend.inference.bundle_files)
    copied. Nothing is pulled. The ids are compared again afterwards, so that exactly the images of the bundle run.
  - An image of the same name that has another id stays in the engine without a name.
author:
  - The ascend.inference contributors (@ascend-inference)
extends_documentation_fragment:
  - ascend.inference.attributes.changing
options:
  directory:
    description: The folder on the host with the files of the bundle.
    type: path
    required: true
  images:
    description: C(name), C(digest) of the manifest and C(config), the digest of the configuration, of each image.
    type: list
    elements: dict
    required: true
  engine:
    description: The engine's command line program.
    type: str
    default: docker
  timeout:
    description: Seconds after which loading fails.
    type: int
    default: 7200
seealso:
  - module: ascend.inference.bundle_files
"""

EXAMPLES = r"""
- name: Load the images of the bundle
  ascend.inference.bundle_images:
    directory: /var/cache/ascend-inference/bundle
    images: "{{ container_runtime_bundle.images }}"
"""

RETURN = r"""
names:
  description:
    - Names under which the engine has O(images), in their order.
    - That of an image that is planned by digest is a tag instead, because Docker records digests only of images that it pulled.
  returned: success
  type: list
  elements: str
  sample: ["quay.io/ascend/vllm-ascend:v0.23.0-a3"]
loaded:
  description: Names of the images that were loaded.
  returned: success
  type: list
  elements: str
  sample: ["quay.io/ascend/vllm-ascend:v0.23.0-a3"]
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.install.bundle_images import ImagesError, load, loaded
from ..module_utils.tools.disk import explained
from ..module_utils.tools.image_name import loaded_name

ARGUMENTS = {
    "directory": {"type": "path", "required": True},
    "images": {"type": "list", "elements": "dict", "required": True},
    "engine": {"type": "str", "default": "docker"},
    "timeout": {"type": "int", "default": 7200},
}


def main():
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    params = module.params
    have = loaded(params["engine"], params["images"])
    lacking = [image for image in params["images"] if image["name"] not in have]
    found = {"loaded": [image["name"] for image in lacking]}
    found["names"] = [loaded_name(image["name"]) for image in params["images"]]
    if lacking and not module.check_mode:
        try:
            load(params["engine"], params["directory"], lacking, params["timeout"])
        except (ImagesError, OSError, ValueError, KeyError) as error:
            module.fail_json(msg=explained(error, params["directory"]), changed=False)
    diff = {"before": "", "after": "".join(name + "\n" for name in found["loaded"]), "after_header": "images"}
    module.exit_json(changed=bool(lacking), diff=diff if lacking else {}, **found)


if __name__ == "__main__":
    main()
