# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of names, paths, images and timeouts."""

from __future__ import annotations

import posixpath
import re
import typing as t

from ...description.findings import Finding
from ...releases.matrix import IMAGE_SUFFIX
from ...releases.release import finals
from ..render.container import IMAGE as UPSTREAM
from ..render.container import image as image_of
from .base import Case, Rules
from .folders import models
from .host_values import IMAGE
from .images import images
from .model_source import downloaded

RULES = Rules()
SOCKET = 107  # bytes of a unix socket's path: sun_path of unix(7) without the terminator
ENGINE_SOCKET = "/" + 36 * "x"  # vLLM's sockets between its processes are uuids (vllm/utils/network_utils.py)


def is_deployment_name(name: str) -> bool:
    """Whether units, containers, folders and Kubernetes objects can have the name in theirs."""
    return bool(re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?", name))


def is_root(path: str) -> bool:
    """Whether units and shell files can contain the path without quotes, and it names the same folder everywhere."""
    return bool(re.fullmatch(r"/[A-Za-z0-9._/-]+", path)) and ".." not in path.split("/")


@RULES.rule(
    "DEPLOYMENT-NAME",
    "Use lower-case letters, digits and hyphens, such as inference-2.",
    "systemd.unit(5), docker and Kubernetes names",
)
def deployment(case: Case) -> t.Iterator[Finding]:
    """The deployment's name is invalid.

    It becomes part of the names of units, containers, directories and Kubernetes objects.
    """
    name = case.context.description.deployment
    if not is_deployment_name(name):
        problem = f"'{name}' is not a name of at most 40 lower-case letters, digits and hyphens"
        yield Finding.at("inference_deployment", name, problem)


@RULES.rule(
    "SOCKET-PATH",
    "Choose a shorter path.",
    "unix(7); vllm/envs.py VLLM_RPC_BASE_PATH",
)
def socket_path(case: Case) -> t.Iterator[Finding]:
    """The path of a unix socket is too long.

    The kernel accepts at most 107 bytes; the process cannot bind the socket and fails to start. vLLM's sockets are in
    its temporary folder.
    """
    for view in case.engine_views:
        name = "VLLM_RPC_BASE_PATH" if "VLLM_RPC_BASE_PATH" in view.env else "TMPDIR"
        folder = view.env.get(name, "")
        if _bytes(folder + ENGINE_SOCKET) > SOCKET:
            allowed = SOCKET - _bytes(ENGINE_SOCKET)
            problem = f"{name}, the folder of vLLM's sockets, has {_bytes(folder)} bytes; the maximum is {allowed}"
            yield Finding.at(view.env_path(name), folder, problem)


def _bytes(path: str) -> int:
    return len(path.encode())


@RULES.rule(
    "ROOT-PATH",
    "Set an absolute path without spaces and '..'.",
    "design of the planner: paths in units and shell files",
)
def root(case: Case) -> t.Iterator[Finding]:
    """inference_root is not an absolute path, or has characters that need quoting.

    All files are written below it, and the path appears in units and scripts.
    """
    path = case.context.description.root
    if not is_root(path):
        problem = f"'{path}' is not an absolute path of letters, digits and . _ / -"
        yield Finding.at("inference_root", path, problem)


@RULES.rule(
    "MODEL-PATH",
    "Set the absolute path of the model's folder, or owner/name of a model to download.",
    "vLLM: a path that does not exist is looked up on a hub",
)
def model_path(case: Case) -> t.Iterator[Finding]:
    """The model is neither an absolute path nor owner/name.

    vLLM searches a nonexistent path on a model hub and downloads an unexpected model, or fails to start, or no container gets the folder.
    """
    for place, path in models(case.context.description):
        if re.search(r"\.(json|safetensors|bin|index)/?$", path):
            yield Finding.at(place, path, f"'{path}' is a file of a model, and not its folder")
        elif re.search(r"\.(tar|tar\.\w+|tgz|zip|gguf)/?$", path):
            fix = "Write the folder; with inference_model.source: archive and model_origin the playbook prepare unpacks an archive into it."
            yield Finding.at(place, path, f"'{path}' is an archive or one file, and not a folder with config.json", fix)
        elif found := re.search(r"(^|/)models--([\w.-]+?)--([\w.-]+)/?$", path):
            fix = f"Write the folder below its snapshots, or {found.group(2)}/{found.group(3)}, which is downloaded at start."
            yield Finding.at(
                place, path, f"'{path}' is a folder of the hub's cache, and has the model in snapshots/REVISION", fix
            )
        elif not path.strip("/ ") or re.search(r"\s|^~|(^|/)\.\.(/|$)", path):
            problem = f"'{path}' contains a space, '~' or '..'" if path.strip("/ ") else f"'{path}' names no model"
            yield Finding.at(place, path or "''", problem)
        elif "://" in path:
            problem = f"'{path}' is a URL, which neither vLLM nor a playbook reads as a model"
            yield Finding.at(place, path, problem, downloaded(path))
        elif not posixpath.isabs(path) and not re.fullmatch(r"[A-Za-z0-9][\w.-]*/[\w.-]+", path):
            problem = f"'{path}' is neither an absolute path nor owner/name"
            yield Finding.at(place, path, problem, severity="warning")
        elif case.context.contained and ":" in path:
            yield Finding.at(place, path, f"'{path}' contains ':', which separates the two folders of a mount")


@RULES.rule(
    "MODEL-NAME",
    "Set inference_model.name to letters, digits and any of . / : + - _, such as qwen-3.",
    "vLLM serves the basename of the path; HTTP clients send it",
    "warning",
)
def model_name(case: Case) -> t.Iterator[Finding]:
    """The served model name contains characters that need quoting.

    Clients send it in every request, and not all of them quote it correctly.
    """
    name = case.context.description.model.name
    if name and not re.fullmatch(r"[A-Za-z0-9][\w./:+-]*", name):
        problem = f"'{name}' contains characters that need quoting"
        yield Finding.at("inference_model.name", name, problem)


@RULES.rule(
    "RELEASE-CANDIDATE",
    "Choose a final release, or accept this rule.",
    "vllm-ascend versioning policy",
    "warning",
)
def candidate(case: Case) -> t.Iterator[Finding]:
    """The release is a release candidate or the development branch.

    It is not maintained: bugs are fixed only in the final release.
    """
    name = case.context.release.name
    if "rc" in name or name == "main":
        kind = "the development branch" if name == "main" else "a release candidate"
        hint = f"Final releases: {', '.join(finals()[:4])}."
        yield Finding.at("inference_release", name, f"{name} is {kind}", hint)


def _moving_tag(image: str) -> str:
    """The image's tag if it names other images over time; empty for a digest and for the tag of a release."""
    tag = image.rpartition(":")[2] if ":" in image.rpartition("/")[2] else "latest"
    return tag if "@sha256:" not in image and re.match(r"latest|main|nightly", tag) else ""


@RULES.rule(
    "IMAGE-TAG",
    "Use a release's tag or, better, a digest (image@sha256:...).",
    "vllm-ascend: main and nightly tags move; even release tags were pushed again",
    "warning",
)
def image_tag(case: Case) -> t.Iterator[Finding]:
    """The image has a moving tag.

    A restart may start a different version from the one that was tested.
    """
    for place, image, unused in images(case):
        if image and not unused and _moving_tag(image):
            yield Finding.at(place, image, f"'{_moving_tag(image)}' is a moving tag")


@RULES.rule(
    "IMAGE-DIGEST",
    "Set the variable to the image's digest, NAME@sha256:..., which `docker buildx imagetools inspect NAME:TAG` prints, or accept this rule.",
    "vllm-ascend: even release tags were pushed again",
    "warning",
)
def image_digest(case: Case) -> t.Iterator[Finding]:
    """The image is named by a tag, and not by its digest.

    The registry decides what a tag names: after a new push, or on a compromised registry, hosts that pull later run other software.
    """
    for place, image, unused in images(case):
        wrong = image and (_moving_tag(image) or not IMAGE.fullmatch(image))  # IMAGE-TAG and IMAGE-NAME say so
        if not unused and "@sha256:" not in image and not wrong and case.context.engine.images:
            planned = {image_of(case.context, process.host) for dummy, dummy, process in case.engines}
            names = [image] if image else sorted(planned)
            if names:  # without an engine none is planned
                # The release's own image is what this collection chose: advice, and nothing that the user did.
                severity = "" if image else "remark"
                yield Finding.at(place, image, f"the image {' and '.join(names)} is named by a tag", severity=severity)


@RULES.rule(
    "IMAGE-RELEASE",
    "Set the image of the release and hardware, or remove inference_image.",
    "vllm-ascend #5599: the socversion of bin package does not match; image suffixes by hardware",
)
def image_release(case: Case) -> t.Iterator[Finding]:
    """The image does not belong to the release or to the hosts' hardware.

    The plan's options may not match its vLLM; on other hardware the first operator fails.
    """
    image, release = case.context.description.image, case.context.release.name
    if case.npu and re.search(r"(^|/)vllm/vllm-openai([:@]|$)", image):
        yield Finding.at("inference_image", image, "vllm/vllm-openai has vLLM for GPUs, without vLLM-Ascend")
    if case.npu and re.search(r"(^|/)ascend/cann([:@]|$)", image):
        problem = "this is the image on which those of vLLM-Ascend are built, without vLLM and vLLM-Ascend"
        yield Finding.at("inference_image", image, problem)
    found = re.search(r"vllm-ascend:(?i:v?(\d[\w.]*)((?:-a3|-310p|-a5)?)(-openeuler)?)(@|$)", image)
    if not found:
        return
    tag = found.group().removeprefix("vllm-ascend:").removesuffix("@")
    if image.startswith(UPSTREAM + ":") and not (tag.startswith("v") and tag == tag.lower()):
        problem = f"tags of this image begin with v and have no upper-case letters, unlike '{tag}'"
        yield Finding.at("inference_image", image, problem)
        return
    if found.group(1) != release:
        problem = f"this is the image of release {found.group(1)}, but inference_release is {release}"
        yield Finding.at("inference_image", image, problem)
    for hardware in sorted({process.host.hardware for dummy, dummy, process in case.engines}):
        if IMAGE_SUFFIX.get(hardware, found.group(2)) != found.group(2):
            ending = f"end in '{IMAGE_SUFFIX[hardware]}'" if IMAGE_SUFFIX[hardware] else "have no suffix"
            problem = f"this image has the suffix '{found.group(2)}', but images for {hardware} hosts {ending}"
            yield Finding.at("inference_image", image, problem)


@RULES.rule(
    "IMAGE-UNUSED",
    "Set inference_runtime: docker, and for the balancer's image a balancer, or remove the image.",
    "design of the runtimes",
    "warning",
)
def image_unused(case: Case) -> t.Iterator[Finding]:
    """An image is set, but no container is started from it.

    The setting has no effect.
    """
    for place, image, unused in images(case):
        if image and unused:
            yield Finding.at(place, image, unused)


@RULES.rule(
    "CPU-RUNTIME",
    "Use systemd or supervisor.",
    "design of the runtimes: the CPU engine is installed into an environment, there is no image of it",
)
def cpu_runtime(case: Case) -> t.Iterator[Finding]:
    """The CPU engine is planned in containers.

    It is installed into a virtual environment on the host; no image of it exists.
    """
    runtime, engine = case.context.runtime, case.context.engine
    if runtime.contained and not engine.images and not runtime.in_cluster:  # K8S-ENGINE judges clusters
        problem = f"runtime {runtime.name} needs an image, and {engine.title} has none"
        yield Finding.at("inference_runtime", runtime.name, problem)


@RULES.rule(
    "STOP-TIMEOUT",
    "Raise inference_stop_timeout above shutdown-timeout.",
    "vLLM --shutdown-timeout: requests that still run are cut off by the runtime's SIGKILL",
    "warning",
)
def stop(case: Case) -> t.Iterator[Finding]:
    """The runtime kills an engine before its shutdown timeout expires.

    Running requests are aborted.
    """
    for view in case.engine_views:
        value, limit = view.integer("shutdown-timeout"), view.service.stop.timeout
        if value and view.user_value("shutdown-timeout") and value >= limit:
            problem = f"the engine waits {value} s for its requests, but the runtime kills it after {limit} s"
            yield Finding.at(view.path("shutdown-timeout"), value, problem)


@RULES.rule("ROOT-USER", "Set inference_user to an unprivileged user, or remove it.", "least privilege", "warning")
def user(case: Case) -> t.Iterator[Finding]:
    """Services run as root.

    A vulnerability in a service then gives full control of the host.
    """
    if case.context.description.user == "root":
        yield Finding.at("inference_user", "root", "services would run as root")


@RULES.rule(
    "CONTAINER-ROOT",
    "Set inference_container.user to service, or accept this rule if the image requires root.",
    "docker run --user; least privilege",
    "warning",
)
def container_root(case: Case) -> t.Iterator[Finding]:
    """Processes in containers run as root.

    A process that escapes from its container through a defect of the kernel, the driver or the container engine is root on the host.
    """
    context = case.context
    if context.contained and not case.in_pods and context.description.container.user == "root":
        yield Finding.at("inference_container.user", "root", "processes in containers would run as root")
