# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts the program of a rehearsal in the engine's own environment: a virtual environment, or its image. Runs on Python 3.7.

The program runs as the services' user, or as nobody where that user is not made yet: a model's own code may run in it. It gets no device, and
a container of it no network and nothing to write to but its memory.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import shutil
import tempfile
import uuid

from ..files import tree
from ..tools.runner import execute
from . import programs, stand_ins

NOBODY = "nobody"
INSIDE = "/ascend-inference-rehearsal"  # where a container has the programs
MOST_SECONDS = 60  # for a question to the container engine
# Folders of the service that is to run: the rehearsal has its own. The mark is that by which a service's script finds leftovers to kill.
NOT_TAKEN = frozenset(
    ["ASCEND_INFERENCE_SERVICE", "HF_HOME", "HOME", "LOGNAME", "TMPDIR", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"]
    + ["USER", "VLLM_CACHE_ROOT", "VLLM_CONFIG_ROOT", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"]
)
# The Python that the image's program vllm names in its first line, else the image's own.
START = """\
cd /tmp
python=$(command -v vllm || true)
[ -z "$python" ] || python=$(sed -n '1s/^#! *\\([^ ]*\\).*/\\1/p' "$python" || true)
[ -x "$python" ] || python=$(command -v python3)
export PYTHONPATH="$1${PYTHONPATH:+:$PYTHONPATH}"
exec "$python" "$1/$2"
"""


class Unavailable(Exception):
    """The engine's software is not on this host, or cannot be asked; the text says why."""


def settings_of(engines):
    """The environments of engines without what is not taken; and what all of them have in common."""
    own = [{name: text for name, text in item["env"].items() if name not in NOT_TAKEN} for item in engines]
    common = {name: text for name, text in own[0].items() if all(other.get(name) == text for other in own)}
    return own, common


def started(wish, engines, timeout):
    """Pass the engines to the release: (answers by the engine's place in the list, what the program printed to its errors).

    ``wish``: the options of the module engine_rehearsal. ``engines``: those of ``wish`` to try, one of each shape.
    """
    own, common = settings_of(engines)
    cases = [{"argv": engine["argv"], "env": env} for engine, env in zip(engines, own)]
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    folder = tempfile.mkdtemp(prefix="ascend-inference-rehearsal-")
    try:
        user = identity(wish["user"])
        state = _filled(folder, bool(wish["stand_ins"]), user)
        env = dict(common, **_fixed(wish["stand_ins"]))
        if engines[0].get("container"):
            done = _in_container(wish, engines, folder, user, env, lines, timeout)
        else:
            done = _in_venv(wish, folder, state, user, env, lines, timeout)
    finally:
        tree.remove_all(folder, quiet=True)
    return _answers(done.stdout, len(cases)), done


def identity(name):
    """The record of the user who runs the program, None for the one who runs this module: not root's choice if it is not root."""
    if os.geteuid() != 0 or not name:
        return None
    for candidate in (name, NOBODY):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(candidate)
    raise Unavailable(f"this host has neither the user {name} nor {NOBODY}")


def _fixed(facts):
    """Variables of each rehearsal: nothing is asked of a hub, sent, or printed."""
    found = {
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "VLLM_LOGGING_LEVEL": "CRITICAL",
        "VLLM_NO_USAGE_STATS": "1",
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return dict(found, **{stand_ins.VARIABLE: json.dumps(facts)}) if facts else found


def _filled(folder, stood_in, user):
    """Write the programs; returns the folder that the user may write to."""
    os.chmod(folder, 0o755)
    for name, text in programs.texts(stood_in).items():
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.chmod(path, 0o644)
    state = os.path.join(folder, "state")
    os.mkdir(state, 0o700)
    if user:
        os.chown(state, user.pw_uid, user.pw_gid)
    return state


def _in_venv(wish, folder, state, user, env, lines, timeout):
    python = wish["python"]
    if not os.access(python, os.X_OK):
        raise Unavailable(f"{python} is not installed")
    path = [folder] + [item for item in [env.get("PYTHONPATH")] if item]
    env = dict(env, HOME=state, TMPDIR=state, VLLM_CACHE_ROOT=state, XDG_CACHE_HOME=state, PYTHONPATH=":".join(path))
    env["PATH"] = os.path.dirname(python) + ":/usr/local/bin:/usr/bin:/bin"
    argv = [python, os.path.join(folder, programs.PROGRAM)]
    if user:
        drop = shutil.which("setpriv")
        if not drop:
            raise Unavailable(
                "setpriv is missing, without which root would run a model's code. Fix: install util-linux"
            )
        ids = ["--reuid", str(user.pw_uid), "--regid", str(user.pw_gid), "--clear-groups"]
        argv = [drop, *ids, "--no-new-privs", "--", *argv]
    return execute(argv, timeout, env, lines, cwd=state)


def docker(*arguments):
    """Ask the container engine."""
    try:
        return execute(["docker", *arguments], MOST_SECONDS, dict(os.environ))
    except OSError as error:
        raise Unavailable(str(error)) from error


def image_id(image):
    """The id of an image that is here."""
    done = docker("image", "inspect", "--format={{.Id}}", image)
    if done.rc != 0:
        raise Unavailable(f"the image {image} is not on this host")
    return done.stdout.strip()


def mounts(containers, words):
    """``--mount`` options, read-only: of what the engines' containers mount, the folders that their commands name, if they exist."""
    found = {}
    for container in containers:
        for mount in [*container.get("mounts", []), *container.get("mounts_of_paths", [])]:
            source, target = (mount.split(":") + [""])[:2]
            named = any(word == target or word.startswith(target.rstrip("/") + "/") for word in words)
            if target.startswith("/") and named and os.path.exists(source):
                found[target] = source
    return [f"--mount=type=bind,source={source},target={target},readonly" for target, source in sorted(found.items())]


def container_command(wish, engines, folder, user, env, name):
    """The command that runs the program in a throw-away container of the engines' image."""
    words = [word for engine in engines for word in [*engine["argv"], *engine["env"].values()]]
    argv = ["docker", "run", "--rm", "--interactive", f"--name={name}", "--pull=never", "--network=none", "--read-only"]
    argv += ["--tmpfs=/tmp:rw,exec,nosuid,nodev,mode=1777", "--cap-drop=ALL", "--security-opt=no-new-privileges"]
    argv += ["--pids-limit=4096", "--log-driver=none"]
    argv += [f"--user={user.pw_uid}:{user.pw_gid}" if user else f"--user={os.getuid()}:{os.getgid()}"]
    argv += [f"--mount=type=bind,source={folder},target={INSIDE},readonly"]
    argv += mounts([engine["container"] for engine in engines], words)
    own = {"HOME": "/tmp", "TMPDIR": "/tmp", "VLLM_CACHE_ROOT": "/tmp", "XDG_CACHE_HOME": "/tmp"}
    # Not those of the engine that the image has its own of.
    given = {key: text for key, text in dict(env, **own).items() if key not in ("PATH", "LD_LIBRARY_PATH")}
    argv += [f"--env={key}={text}" for key, text in sorted(given.items())]
    return [
        *argv,
        "--entrypoint=/bin/sh",
        engines[0]["container"]["image"],
        "-c",
        START,
        "sh",
        INSIDE,
        programs.PROGRAM,
    ]


def _in_container(wish, engines, folder, user, env, lines, timeout):
    image_id(engines[0]["container"]["image"])
    name = f"ascend-inference-rehearsal-{uuid.uuid4().hex[:12]}"
    try:
        return execute(container_command(wish, engines, folder, user, env, name), timeout, dict(os.environ), lines)
    except OSError as error:
        raise Unavailable(str(error)) from error
    finally:
        with contextlib.suppress(Unavailable):  # a client that was killed leaves it
            docker("rm", "--force", name)


def _answers(printed, count):
    """``{place: {kind, text, refused}}`` of well-formed lines; the program, and the model's code in it, may print anything."""
    found = {}
    for line in printed.splitlines():
        try:
            answer = json.loads(line)
            index, kind, text = answer["index"], answer["kind"], answer["text"]
            usable = isinstance(index, int) and isinstance(kind, str) and isinstance(text, str)
        except (ValueError, LookupError, TypeError, RecursionError):
            continue
        if usable and 0 <= index < count:
            found[index] = {"kind": kind[:80], "text": text[:2000], "refused": answer.get("refused") is True}
    return found
