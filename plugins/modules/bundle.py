# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: bundle
short_description: List, make or verify a bundle for hosts without internet
version_added: 0.1.0
description:
  - Computes from the plan which files the hosts need, resolves their Python environments for their platforms with C(uv), prints the list with
    sizes, and fetches the files into a folder of the controller. There each file is stored by its SHA-256.
  - Container images are fetched with C(skopeo), which has to be installed if the services run in containers, into one layout of OCI. Their manifests and
    configurations keep the digests that they have in the registry.
  - Packages of Debian and Ubuntu are resolved and fetched with C(apt) of this machine, those of openEuler and others with C(dnf), for the
    distribution and machine of the hosts.
  - What was fetched is not fetched again, and an interrupted file goes on where it stopped. All problems are reported together.
  - C(manifest.json) has the origin, SHA-256 and size of each file, C(SHA256SUMS) the checksums for C(sha256sum --check).
author:
  - The ascend.inference contributors (@ascend-inference)
extends_documentation_fragment:
  - ascend.inference.attributes.controller_action
options:
  path:
    description: The folder of the bundle on the controller.
    type: path
    required: true
  state:
    description:
      - V(listed) prints the list and fetches nothing, as check mode does.
      - V(present) fetches what is missing and writes the manifest.
      - V(verified) compares every file with the manifest; of large files of models only the size, because hosts compare them.
    type: str
    choices: [listed, present, verified]
    default: present
  plan:
    description: The plan. Required unless O(state=verified).
    type: dict
  hosts:
    description:
      - For each planned host C(platform), C(environments) (options of M(ascend.inference.python_venv)), C(sources) (files of package sources of its
        distribution), and the variables of roles that name packages. Required unless O(state=verified).
    type: dict
  head:
    description: What the manifest says of the deployment.
    type: dict
    default: {}
  base:
    description: Folder of an older bundle. Files that its manifest has are left out. Copy the new bundle over the older one to use it.
    type: path
  sign:
    description: Id of the GnuPG key that signs C(SHA256SUMS). Empty means no signature.
    type: str
    default: ""
  keyring:
    description: A file of C(gpg --export). With O(state=verified) the signature has to be of one of its keys.
    type: path
  minisign_key:
    description: File of a secret key of C(minisign) without a password, which signs C(SHA256SUMS). Without it there is no such signature.
    type: path
  minisign_public_key:
    description: Public key of C(minisign), as its file or its text. With O(state=verified) the signature has to be of this key.
    type: str
  models:
    description: Names of folders in C(models) of the bundle, into which the role model fetched models; their files become a part of the manifest.
    type: list
    elements: str
    default: []
  archives:
    description:
      - Folder on the controller, or address of a mirror, with archives that builds of vLLM-Ascend fetch while they compile, by their names.
        Without it they are fetched from the addresses in the sources.
    type: str
    default: ""
  archive_checksums:
    description:
      - 'Their digests, as C({NAME: "sha256:..."}). An archive with another one is refused.'
    type: dict
    default: {}
  ansible:
    description:
      - Whether the bundle has ansible-core in the version of this run, the installed collection with those that it requires, and the script
        C(install.sh) that installs them on a controller without internet.
    type: bool
    default: true
  controller:
    description: Platform of that controller (C(machine), C(python), C(glibc)). By default that of this machine.
    type: dict
    default: {}
seealso:
  - module: ascend.inference.bundle_files
"""

EXAMPLES = r"""
- name: Verify a bundle
  ascend.inference.bundle:
    path: /media/bundle
    state: verified
"""

RETURN = r"""
files:
  description: The entries of the list or the manifest; with O(state=verified) their number.
  returned: success
  type: raw
manifest_sha256:
  description: SHA-256 of the manifest that was verified, for M(ascend.inference.bundle_files), which reads it again.
  returned: O(state=verified)
  type: str
  sample: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
path:
  description: The folder of the bundle.
  returned: O(state=verified)
  type: str
  sample: /media/bundle
models:
  description: The models that the bundle has, by folder, with C(source), C(revision) and C(digest).
  returned: O(state=verified)
  type: dict
  sample: {m: {source: "modelscope:o/m@v1", revision: v1, digest: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08}}
missing:
  description: What hosts need and the bundle does not hold.
  returned: success and O(state) is not V(verified)
  type: list
  elements: str
  sample: [driver and firmware of the NPUs]
fetched:
  description: Names of the files that were fetched now.
  returned: O(state=present)
  type: list
  elements: str
  sample: [httpx-0.28.1-py3-none-any.whl]
fetched_bytes:
  description: Bytes that were fetched now.
  returned: O(state=present)
  type: int
  sample: 73517
"""
