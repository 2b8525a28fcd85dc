# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Containers of Docker, over its command line.

Settings: ``deployment``, the label of all its containers; ``records``, the deployment's folder; from the role ``pull``, ``log_size``,
``log_copies``, ``user``, the user of the processes, and ``group``, the group of the devices.
"""

from __future__ import annotations

import datetime
import json
import re

from ..tools.image_name import loaded_name
from . import accounts
from .base import Runtime, RuntimeProblem, state, stop_time
from .docker_create import LABEL, creation, fingerprint, host_user
from .image_record import ImageRecord

SPEC = LABEL + "container"  # the label with the digest of the command that created the container
MISSING = re.compile(
    r"(?i)no such (?:image|object)|image not known"
)  # the words of Docker, and of podman under its name
TEMPLATE = "[{{json .Name}},{{json .State}},{{json .RestartCount}},{{json .Config.Labels}},{{json .Image}},{{json .Config.Image}}]"


class Docker(Runtime):
    """A container is replaced if it was created with a different command or image than planned.

    A tag that names another image than before is not planned: such a container is started as it is, and a change is refused, unless
    the setting ``pull`` says that tags move. "Before" is the image of the container, or the recorded one if the container is gone.
    """

    log_kind = "docker"

    def states(self, services):
        return {name: container["state"] for name, container in self._containers(services).items()}

    def pids(self, services):
        found = {}
        for service in services:
            value = self._docker("inspect", "--type=container", "--format={{.State.Pid}}", service["unit"]).strip()
            if value.isdigit() and int(value):
                found[service["unit"]] = int(value)
        return found

    def log(self, service, lines):
        return self.run(self.log_commands({"unit": service["unit"]}, lines, 0)[0])[1]

    @staticmethod
    def log_commands(log, lines, since):
        return ["docker", "logs", f"--tail={lines}", log["unit"]], ["docker", "logs", f"--since={since}", log["unit"]]

    @staticmethod
    def inside(unit, environment):
        names = [argument for name in environment for argument in ("--env", name)]
        return ["docker", "exec", "--interactive", *names, unit]

    def outdated(self, service, found):
        """Whether it was created with another command or image."""
        return not self._as_planned(service, self._containers([service]).get(service["unit"]))

    def apply(self, services, check, remove=True, keep=()):
        planned, found = [service["unit"] for service in services], self._containers(services)
        self._refuse(services, found)
        old = [name for name in found if name not in planned]
        gone = [name for name in old if remove and name not in keep]
        if not check:
            self._note(found)  # a run may have been killed before it did
            self._remove(gone, services)
            self.refresh(services)
            self._write_accounts(services)
        return bool(gone), [], old

    def refresh(self, services):
        """Pull the images, where tags may move."""
        if self.settings.get("pull") == "always":
            for image in sorted({service["container"]["image"] for service in services}):
                self._docker("pull", "--quiet", image, timeout=3600)

    def _write_accounts(self, services):
        """The files with the user of containers; a missing image is pulled for them, if it may be."""
        wanted = any((service["container"] or {}).get("accounts") for service in services)
        mark = f"{LABEL}deployment={self._deployment}"  # one that is left behind is removed by the next run
        files = accounts.Accounts(self.settings.get("records", ""), self._docker, mark)
        files.write(services, host_user(self.settings["user"]) if wanted else None, self._pulled)

    def _pulled(self, image):
        """The name under which the engine has an image, which is pulled if it is missing; empty if it must not be pulled."""
        name = self._present(image)
        if not self._id(name):
            if self.settings.get("pull") == "never":
                return ""
            self._docker("pull", "--quiet", name, timeout=3600)
        return name

    def start(self, services):
        found = self._containers(services)
        self._refuse_foreign(services, found)
        # Docker's restart delay may be a minute, and a start command does not shorten it.
        self.stop(
            [service for service in services if service["unit"] in found and found[service["unit"]]["state"]["pending"]]
        )
        missing = [item for item in services if not self._as_planned(item, found.get(item["unit"]))]
        for service in missing:
            self._fetch(service)
        self._refuse(missing, found)
        for service in missing:
            if service["unit"] in found:
                self._remove([service["unit"]], [service])
            self._create(service)
        if missing:
            self._note(self._containers(missing))
        if services:
            self._docker("start", *[service["unit"] for service in services])

    def _fetch(self, service):
        """Pull a missing image whose former id is known, to compare it before a container is created."""
        image = self._present(service["container"]["image"])
        if self.settings.get("pull") != "never" and image in self._record.known() and not self._id(image):
            self._docker("pull", "--quiet", image, timeout=3600)

    def _create(self, service):
        argv = creation(service, self.settings)
        image = service["container"]["image"]
        command = [self._present(word) if word == image else word for word in argv]
        pull = "--pull=" + ("never" if self.settings.get("pull") == "never" else "missing")
        self._docker("create", pull, f"--label={SPEC}={fingerprint(argv)}", *command, timeout=3600)

    def restart(self, services):
        self._refuse_foreign(services, self._containers(services))
        super().restart(services)

    def stop(self, services):
        if services:
            self._refuse_foreign(services, self._containers(services))
            self._docker("stop", *[service["unit"] for service in services], timeout=stop_time(services))

    def remove(self, services, check):
        names = list(self._containers([]))
        if not check:
            self._remove(names, services)
        return names

    def _remove(self, names, services):
        if names:
            self._docker("stop", *names, timeout=stop_time(services))
            self._docker("rm", "--force", *names)

    def _containers(self, services):
        """{name: {state, spec, image, named, ours}} of the deployment's containers, and of others that have a planned name."""
        names = self._docker(
            "ps", "--all", "--format={{.Names}}", f"--filter=label={LABEL}deployment={self._deployment}"
        ).split()
        planned = [service["unit"] for service in services if service["unit"] not in names]
        if planned:
            everything = self._docker("ps", "--all", "--format={{.Names}}").split()
            names += [name for name in planned if name in everything]
        if not names:
            return {}
        lines = self._docker("inspect", "--type=container", "--format=" + TEMPLATE, *names).splitlines()
        return dict(_container(self._deployment, *json.loads(line)) for line in lines if line.startswith("["))

    @property
    def _deployment(self):
        return self.settings["deployment"]

    def _as_planned(self, service, container):
        if not container or container["spec"] != fingerprint(creation(service, self.settings)):
            return False
        name = self._present(service["container"]["image"])
        image = self._id(name)
        # A missing image is pulled when it is needed.
        return not image or image == container["image"] or self._moved(name, container)

    def _refuse(self, services, found):
        """Raise RuntimeProblem if a container is not this deployment's, or the planned name of its image names another image by now."""
        self._refuse_foreign(services, found)
        for service in services:
            image, container = self._present(service["container"]["image"]), found.get(service["unit"])
            former, by = self._record.known().get(image, ""), "this deployment last created containers from"
            if container and container["named"] == image:
                former, by = container["image"], "{} was created from".format(service["unit"])
            if self._another(image, former):
                raise RuntimeProblem(
                    f"{image} is another image now ({self._id(image)}) than the one that {by} ({former}): other software would run under the "
                    "same plan. No container was changed. Fix: set inference_image to the digest of the image that is wanted "
                    f'(NAME@sha256:...); or give the former image its name again ("docker tag {former} {image}"); or, if tags may move, set '
                    "service_docker_pull to always"
                )

    @staticmethod
    def _refuse_foreign(services, found):
        for service in services:
            if not found.get(service["unit"], {"ours": True})["ours"]:
                raise RuntimeProblem(
                    "there is a container {} that this deployment did not create. It would have to be removed. Nothing was changed "
                    'here. Fix: rename it ("docker rename"), or set inference_deployment to another name'.format(
                        service["unit"]
                    )
                )

    def _moved(self, image, container):
        """Whether the name of a container's image names another one by now, which nobody asked for."""
        return container["named"] == image and self._another(image, container["image"])

    def _another(self, image, former):
        """Whether a name means another image than the one with the id ``former``, if that is known, and tags may not move."""
        return bool(former) and self.settings.get("pull") != "always" and self._told_id(image) not in ("", former)

    @property
    def _record(self):
        return ImageRecord(self.settings.get("records", ""))

    def _note(self, found):
        """Record the images of the deployment's containers."""
        self._record.note({item["named"]: item["image"] for item in found.values() if item["ours"]})

    def _id(self, image):
        """The id of an image; empty if it is missing, or if the engine does not tell."""
        return self._inspected(image)[0]

    def _told_id(self, image):
        """The id of an image; empty if it is missing. Raises RuntimeProblem if the engine does not tell."""
        found, problem = self._inspected(image)
        if problem and not MISSING.search(problem):
            raise RuntimeProblem(
                f"docker does not tell which image {image} is, and other software could run under the same plan: {problem[-300:]}. "
                'Fix: look why the engine does not answer ("docker info"), then run again'
            )
        return found

    def _inspected(self, image):
        """(the id of an image or empty, what the engine says instead or empty)."""
        code, text = self.run(["docker", "image", "inspect", "--format={{.Id}}", image])
        if code:
            return "", text.strip() or f"exit status {code}"
        return (text.split() or [""])[-1], ""  # warnings come before it

    def _present(self, image):
        """The name under which the engine has an image: one that is planned by digest and was loaded from a bundle has a tag instead."""
        local = loaded_name(image)
        return local if local != image and not self._id(image) and self._id(local) else image

    def _docker(self, *arguments, timeout=60):
        code, text = self.run(["docker", *arguments], timeout)
        if code:
            raise RuntimeProblem(f"docker {arguments[0]} exited with {code}: {text.strip()}")
        return text


def _container(deployment, name, now, restarts, labels, image, named):
    """``image`` is the id of its image, ``named`` the name by which it was created, ``ours`` whether it is of this deployment."""
    status, labels = now.get("Status", "unknown"), labels or {}
    up = status == "running"
    detail = "" if up else "exit code {} {}".format(now.get("ExitCode"), now.get("Error", "")).strip()
    since = seconds(now.get("StartedAt", "")) if up else None
    found = state(
        status, up, status == "restarting", restarts, since, restarts, detail, labels.get(LABEL + "digest", "")
    )
    ours = labels.get(LABEL + "deployment") == deployment
    return name.lstrip("/"), {
        "state": found,
        "spec": labels.get(SPEC, ""),
        "image": image,
        "named": named,
        "ours": ours,
    }


def seconds(stamp):
    """Docker's time (RFC 3339 with nanoseconds, UTC) in seconds since 1970; None if it is invalid."""
    try:
        moment = datetime.datetime.strptime(stamp[:19], "%Y-%m-%dT%H:%M:%S")
    except ValueError:
        return None
    return moment.replace(tzinfo=datetime.timezone.utc).timestamp()
