# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of names, paths, images and time-outs."""

from __future__ import annotations

import posixpath
import re
import typing as t

from ...releases.matrix import IMAGE_SUFFIX
from .base import Case, Found, Rules

RULES = Rules()
SOCKET = 107  # bytes of a unix socket's path: sun_path of unix(7) less its end
SUPERVISOR_SOCKET = "run/supervisor.sock"  # below the deployment's directory, as role service lays it out
BEFORE_LINK = ".4194304"  # supervisor binds to a name with its process id and links it (supervisor/http.py)
ENGINE_SOCKET = "/" + 36 * "x"  # vLLM's sockets between its processes are uuids (vllm/utils/network_utils.py)


@RULES.rule(
    "DEPLOYMENT-NAME",
    "Use lower-case letters, digits and hyphens, such as inference-2.",
    "systemd.unit(5), docker and Kubernetes names",
)
def deployment(case: Case) -> t.Iterator[Found]:
    """The deployment's name becomes part of units, containers and directories."""
    name = case.context.description.deployment
    if not re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?", name):
        yield Found("inference_deployment", name)


@RULES.rule(
    "SOCKET-PATH",
    "Choose a shorter path.",
    "unix(7); supervisor/http.py; vllm/envs.py VLLM_RPC_BASE_PATH",
)
def socket_path(case: Case) -> t.Iterator[Found]:
    """A unix socket's path has at most 107 bytes: supervisor's below inference_root, vLLM's in its temporary folder."""
    context = case.context
    socket = posixpath.join(context.directory, SUPERVISOR_SOCKET)
    if context.description.runtime == "supervisor" and _bytes(socket + BEFORE_LINK) > SOCKET:
        allowed = SOCKET - _bytes(BEFORE_LINK)
        message = f"{socket} has {_bytes(socket)} bytes, and supervisor's socket can have {allowed}"
        yield Found("inference_root", context.description.root, message)
    for words in case.words:
        name = "VLLM_RPC_BASE_PATH" if "VLLM_RPC_BASE_PATH" in words.env else "TMPDIR"
        folder = words.env.get(name, "")
        if _bytes(folder + ENGINE_SOCKET) > SOCKET:
            allowed = SOCKET - _bytes(ENGINE_SOCKET)
            message = f"it has {_bytes(folder)} bytes, and the folder of vLLM's sockets can have {allowed}"
            yield Found(words.env_path(name), folder, message)


def _bytes(path: str) -> int:
    return len(path.encode())


@RULES.rule(
    "ROOT-PATH", "Write an absolute path without blanks and '..'.", "the planner: paths in units and shell files"
)
def root(case: Case) -> t.Iterator[Found]:
    """Everything is written below an absolute path that no program has to quote."""
    path = case.context.description.root
    if not re.fullmatch(r"/[A-Za-z0-9._/-]+", path) or ".." in path.split("/"):
        yield Found("inference_root", path)


@RULES.rule(
    "MODEL-PATH",
    "Write the absolute path of the model's folder, or owner/name of a model that is downloaded.",
    "vLLM: a path that does not exist is looked up on a hub",
)
def model_path(case: Case) -> t.Iterator[Found]:
    """The model is an absolute path or owner/name; anything else is looked up somewhere unexpected."""
    words = [("inference_model.path", case.context.description.model.path)]
    pools = case.context.description.pools.present()
    words += [(f"inference_pools.{name}.model", pool.model) for name, pool in pools.items() if pool.model]
    for place, path in words:
        if not path.strip("/ ") or re.search(r"\s|^~|(^|/)\.\.(/|$)", path):
            yield Found(place, path or "''")
        elif not posixpath.isabs(path) and not re.fullmatch(r"[A-Za-z0-9][\w.-]*/[\w.-]+", path):
            yield Found(place, path, severity="warning")


@RULES.rule(
    "MODEL-NAME", "Set inference_model.name.", "vLLM serves the basename of the path; HTTP clients send it", "warning"
)
def model_name(case: Case) -> t.Iterator[Found]:
    """The served name is a word that clients can send without thinking."""
    name = case.context.description.model.name
    if name and not re.fullmatch(r"[A-Za-z0-9][\w./:+-]*", name):
        yield Found("inference_model.name", name)


@RULES.rule(
    "RELEASE-CANDIDATE",
    "Choose a final release (0.23.0, 0.18.0, 0.13.0, 0.11.0), or accept this rule.",
    "vllm-ascend versioning policy",
    "warning",
)
def candidate(case: Case) -> t.Iterator[Found]:
    """Release candidates and the development branch are not maintained."""
    name = case.context.release.name
    if "rc" in name or name == "main":
        yield Found("inference_release", name)


@RULES.rule(
    "IMAGE-TAG",
    "Name a release's tag or, better, a digest (image@sha256:...).",
    "vllm-ascend: main and nightly tags move; even release tags were pushed again",
    "warning",
)
def image_tag(case: Case) -> t.Iterator[Found]:
    """An image has a tag that stays, so that a restart runs what was tested."""
    image = case.context.description.image
    tag = image.rpartition(":")[2] if ":" in image.rpartition("/")[2] else ""
    if image and "@sha256:" not in image and (not tag or re.match(r"latest|main|nightly", tag)):
        yield Found("inference_image", image)


@RULES.rule(
    "IMAGE-RELEASE",
    "Name the image of the release and hardware, or leave inference_image out.",
    "vllm-ascend #5599: the socversion of bin package does not match; image suffixes by hardware",
)
def image_release(case: Case) -> t.Iterator[Found]:
    """An image of vLLM-Ascend is the one of the release and of the hosts' hardware."""
    image, release = case.context.description.image, case.context.release.name
    found = re.search(r"vllm-ascend:v?(\d[\w.]*)((?:-a3|-310p|-a5)?)(-openeuler)?(@|$)", image)
    if not found:
        return
    if found.group(1) != release:
        yield Found("inference_image", image, f"inference_release is {release}")
    for hardware in sorted({process.host.hardware for dummy, dummy, process in case.engines}):
        if IMAGE_SUFFIX.get(hardware, found.group(2)) != found.group(2):
            yield Found(
                "inference_image", image, f"the hosts are {hardware}, whose images end in '{IMAGE_SUFFIX[hardware]}'"
            )


@RULES.rule("IMAGE-UNUSED", "Set inference_runtime: docker, or remove the image.", "the planner", "warning")
def image_unused(case: Case) -> t.Iterator[Found]:
    """An image does something only where the runtime has containers."""
    words = case.context.description
    if words.image and words.runtime not in ("docker", "kubernetes"):
        yield Found("inference_image", words.image, f"inference_runtime is {words.runtime}")


@RULES.rule(
    "CPU-RUNTIME",
    "Use systemd or supervisor.",
    "the collection: the CPU engine is installed into an environment, there is no image of it",
)
def cpu_runtime(case: Case) -> t.Iterator[Found]:
    """The CPU engine runs without containers."""
    if not case.npu and case.context.description.runtime == "docker":  # K8S-ENGINE speaks of kubernetes
        yield Found("inference_runtime", case.context.description.runtime)


@RULES.rule(
    "STOP-TIMEOUT",
    "Raise inference_stop_timeout above shutdown-timeout.",
    "vLLM --shutdown-timeout: requests that still run are cut off by the runtime's SIGKILL",
    "warning",
)
def stop(case: Case) -> t.Iterator[Found]:
    """The runtime waits longer for an engine to stop than the engine waits for its requests."""
    for words in case.words:
        told = words.integer("shutdown-timeout")
        if told and words.said("shutdown-timeout") and told >= words.service.stop.timeout:
            yield Found(words.path("shutdown-timeout"), told, f"the runtime kills after {words.service.stop.timeout} s")


@RULES.rule(
    "ROOT-USER", "Name an unprivileged user with inference_user, or leave it out.", "least privilege", "warning"
)
def user(case: Case) -> t.Iterator[Found]:
    """Services do not run as root."""
    if case.context.description.user == "root":
        yield Found("inference_user", "root")
