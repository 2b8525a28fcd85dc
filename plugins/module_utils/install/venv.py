# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Virtual environments that are whole or absent.

An environment holds layers (sets of requirements), each with a stamp that is written when its installation has been proved.
A mark lies beside the stamps from before the environment itself is made until its installation is proved; an environment that still
has it, or has no stamp at all, is half-made and is built again from nothing. What is half-made loses its mark last.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import tempfile

from ..tools.runner import MOST_LOG, execute

STAMPS = ".ascend-inference"
MARK = "installing"
TIMEOUT = 4 * 3600  # seconds of one command; the engine's wheels may be built from source
PIP_SETTINGS = {
    "index-url": ("PIP_INDEX_URL", "UV_DEFAULT_INDEX"),
    "extra-index-url": ("PIP_EXTRA_INDEX_URL", "UV_EXTRA_INDEX_URL"),
    "find-links": ("PIP_FIND_LINKS", "UV_FIND_LINKS"),
    "cert": ("PIP_CERT", "SSL_CERT_FILE"),
}


class VenvError(Exception):
    """Installation failed; the text says what was run, what it said and the way out."""


def stamp_path(path, layer):
    """File that says: this layer is complete."""
    return os.path.join(path, STAMPS, layer + ".json")


def read_stamp(path, layer):
    """What is installed as ``layer``: its wish as a dict, or None if it is not there or was interrupted."""
    if os.path.exists(os.path.join(path, STAMPS, MARK)):
        return None
    try:
        with open(stamp_path(path, layer)) as stream:
            return json.load(stream)
    except (OSError, ValueError):
        return None


def half_made(path):
    """Whether ``path`` is an environment that was never finished or is being worked on by a run that died.

    Raises ``VenvError`` when something else lies there: nothing is deleted that is not an environment.
    """
    if not os.path.isdir(path) or not os.listdir(path):
        return True
    stamps = os.path.join(path, STAMPS)
    if os.path.isdir(stamps):
        names = os.listdir(stamps)
        return MARK in names or not names
    if os.path.exists(os.path.join(path, "pyvenv.cfg")):
        raise VenvError(f"{path} is a virtual environment that this collection did not make. Name another path.")
    raise VenvError(f"{path} exists and is no virtual environment. Name another path or move it away.")


def set_mark(path, layer):
    """Note in an environment, or in the empty folder that becomes one, that it is being worked on; on the disk before the work begins."""
    stamps = os.path.join(path, STAMPS)
    os.makedirs(stamps, exist_ok=True)
    with open(os.path.join(stamps, MARK), "w") as stream:
        stream.write(layer + "\n")
        stream.flush()
        os.fsync(stream.fileno())


def discard(path):
    """Remove what ``half_made`` is true of; its mark goes last, so that what an interruption leaves is still known as half-made."""
    if not os.path.isdir(path) or not os.listdir(path):
        return
    set_mark(path, "removal")
    for name in sorted(os.listdir(path)):
        inside = os.path.join(path, name)
        if name == STAMPS:
            continue
        if os.path.isdir(inside) and not os.path.islink(inside):
            shutil.rmtree(inside)
        else:
            os.unlink(inside)
    for name in os.listdir(os.path.join(path, STAMPS)):
        if name != MARK:
            os.unlink(os.path.join(path, STAMPS, name))
    shutil.rmtree(path)


def settings(listing, words):
    """Environment for pip and uv alike, from ``pip config list`` and the module's own words (which win).

    uv does not read pip's configuration; without this an index or a folder of wheels that pip knows would be lost.
    ``words`` maps index-url, extra-index-url and find-links to lists of URLs.
    """
    found = {}
    for line in listing.splitlines():
        match = re.match(r"([\w:]+)\.([\w-]+)='(.*)'$", line.strip())
        if match and match.group(2) in PIP_SETTINGS and match.group(1) in ("global", "install", ":env:"):
            found[match.group(2)] = match.group(3).replace("\\n", " ").split()
    found.update((key, list(value)) for key, value in words.items() if value)
    result = {}
    for key, values in found.items():
        pip_name, uv_name = PIP_SETTINGS[key]
        result[pip_name] = " ".join(values)
        result[uv_name] = (",".join if key == "find-links" else " ".join)(values)
    return result


def missing_library(text):
    """Name of the shared library that an import did not find, or an empty string."""
    match = re.search(r"(lib[\w.+-]+\.so[\w.]*): cannot open shared object file", text)
    return match.group(1) if match else ""


def missing_package(text):
    """The requirement that no index could fulfil, from pip's or uv's words; an empty string if it was something else.

    >>> missing_package("ERROR: No matching distribution found for torch-npu==2.9.0 (from vllm-ascend)")
    'torch-npu==2.9.0'
    """
    flat = " ".join(text.split())
    for pattern in (
        r"No matching distribution found for ([\w.-]+(?:\[[\w,-]+\])?[=<>!~\w.+,-]*)",
        r"there (?:is|are) no versions? of ([\w.-]+[=<>!~\w.+,-]*)",
        r"[Bb]ecause ([\w.-]+) was not found in the",
    ):
        found = re.search(pattern, flat)
        if found:
            return found.group(1).rstrip(".,")
    return ""


def contradiction(text):
    """Whether pip or uv say that requirements exclude each other."""
    words = ("ResolutionImpossible", "conflicting dependencies", "are incompatible", "requirements are unsatisfiable")
    return any(word in text for word in words)


class Builder:
    """Builds layers of one environment. ``run(argv, env) -> (rc, output)`` can be replaced in tests.

    Commands inherit the descriptors ``inherited``: of a lock that they keep if this process is killed and they live on.
    ``sources`` are shell files read before anything runs in the environment; ``env`` is added to what builds see;
    ``advice`` ends the message when something cannot be had.
    """

    def __init__(
        self,
        path,
        python,
        tools="",
        words=None,
        run=None,
        sources=(),
        env=None,
        advice="",
        no_index=False,
        inherited=(),
    ):
        self.path, self.python, self.tools, self.words = path, python, tools, words or {}
        self.sources, self.env, self.advice, self.no_index = list(sources), dict(env or {}), advice, no_index
        self.run = run or functools.partial(run_command, inherited=inherited)
        self.own_python = os.path.join(path, "bin", "python")

    def build(self, layer, wish, fallback=()):
        """Install ``wish`` ({requirements, exclude, imports}) as ``layer``; raises ``VenvError``.

        ``fallback`` are indexes that are looked into as well if installation fails without them.
        """
        if half_made(self.path):
            discard(self.path)
            set_mark(self.path, layer)
            self.must([self.python, "-m", "venv", self.path])
        set_mark(self.path, layer)
        self._install(wish, list(fallback))
        self._prove(wish["imports"])
        if wish.get("check"):
            self._agree()
        if wish.get("lock"):
            self._lock(wish["lock"])
        write_atomically(stamp_path(self.path, layer), json.dumps(wish, indent=1, sort_keys=True) + "\n")
        os.unlink(os.path.join(self.path, STAMPS, MARK))

    def must(self, argv, env=None):
        """Run a command; its output's end is the error."""
        code, output = self.run(argv, env or {})
        if code:
            raise VenvError("{} ended with {}:\n{}".format(" ".join(argv), code, tail(output)))
        return output

    def uv(self):
        """Path of uv, installed into the tools environment on first need; empty if it cannot be had."""
        found = os.path.join(self.tools, "bin", "uv")
        marked = os.path.exists(os.path.join(self.tools, STAMPS, MARK))
        if not self.tools or (os.access(found, os.X_OK) and not marked):
            return found if self.tools else ""
        if marked or not os.path.exists(os.path.join(self.tools, "bin", "python")):
            half_made(self.tools)
            discard(self.tools)
            set_mark(self.tools, "uv")
            self.must([self.python, "-m", "venv", self.tools])
        code, _output = self.run([os.path.join(self.tools, "bin", "python"), "-m", "pip", "install", "-q", "uv"], {})
        if not code and os.path.exists(os.path.join(self.tools, STAMPS)):
            write_atomically(stamp_path(self.tools, "uv"), "{}\n")
            os.unlink(os.path.join(self.tools, STAMPS, MARK))
        return "" if code else found

    def _install(self, wish, fallback):
        listing = self.must([self.own_python, "-m", "pip", "config", "list"])
        env = dict(settings(listing, self.words), **self.env)
        command = self._sourced(self._command(wish))
        code, output = self.run(command, env)
        if code and fallback:
            more = " ".join([env.get("UV_EXTRA_INDEX_URL", "")] + fallback).strip()
            env.update(PIP_EXTRA_INDEX_URL=more, UV_EXTRA_INDEX_URL=more)
            second, more_output = self.run(command, env)
            output = output + "\nAgain, with the index {}:\n{}".format(" ".join(fallback), more_output)
            code = second
        if code:
            raise VenvError(self._failure(wish, output))

    def _failure(self, wish, output):
        """What an installation that failed has to say: which package, and what to do."""
        said, lacking = tail(output, 40), missing_package(output)
        begin = "installing {} failed".format(", ".join(wish["requirements"]))
        if lacking:
            begin += f": no index or folder of wheels has {lacking}"
        elif contradiction(output):
            begin += ": the requirements exclude each other"
        advice = f"\nFix: {self.advice}" if self.advice else ""
        return f"{begin}.{advice}\n{said}"

    def _sourced(self, argv):
        """The command, run by a shell that has read the files first."""
        if not self.sources:
            return argv
        # A sourced file sees the script's own words unless it gets others: CANN's ask for their own options.
        script = '__all=("$@"); __n=$1; for __one in "${__all[@]:1:__n}"; do set --; . "$__one"; done; '
        script += 'exec "${__all[@]:__n+1}"'
        return ["bash", "-c", script, "bash", str(len(self.sources))] + self.sources + argv

    def _agree(self):
        """``pip check``: whatever was installed agrees with each other."""
        code, output = self.run([self.own_python, "-m", "pip", "check"], {})
        if code:
            advice = f"\nFix: {self.advice}" if self.advice else ""
            raise VenvError(f"what is installed in {self.path} contradicts itself.{advice}\n{tail(output, 40)}")

    def _lock(self, path):
        """Write down what is installed, as ``pip install --requirement`` takes it."""
        text = self.must([self.own_python, "-m", "pip", "freeze", "--all"])
        write_atomically(os.path.join(self.path, path), text.rstrip("\n") + "\n")

    def _command(self, wish):
        uv, more = self.uv(), []
        if self.no_index:
            more.append("--no-index")
        if wish.get("build_with_environment"):
            more.append("--no-build-isolation")
        for name in wish.get("no_binary", []):
            more += ["--no-binary", name]
        if not uv:
            # pip has no way to leave a dependency out: everything is installed, which costs disk, not correctness.
            return [self.own_python, "-m", "pip", "install", "--compile"] + more + wish["requirements"]
        command = [uv, "pip", "install", "--python", self.own_python, "--compile-bytecode"]
        command += ["--index-strategy", "unsafe-best-match"]
        if wish["exclude"]:
            listed = os.path.join(self.path, STAMPS, "exclude.txt")
            write_atomically(listed, "\n".join(wish["exclude"]) + "\n")
            command += ["--excludes", listed]
        return command + more + wish["requirements"]

    def _prove(self, modules):
        """Import what was installed: a wheel without its system libraries is not an installation."""
        if not modules:
            return
        code, output = self.run(self._sourced([self.own_python, "-c", "import " + ", ".join(modules)]), {})
        if code:
            library = missing_library(output)
            hint = f"\nInstall the system package that has {library}, then run again." if library else ""
            raise VenvError(f"{modules} cannot be imported in {self.path}:\n{tail(output)}{hint}")


def run_command(argv, env, inherited=()):
    """Run ``argv`` with ``env`` added to the environment; returns the exit code and all output. OSError if it hangs.

    ``inherited``: descriptors that the command keeps open.
    """
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment.update(env)
    environment["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    done = execute(argv, TIMEOUT, environment, cwd="/", merged=True, most=MOST_LOG, inherited=inherited)
    if done.timed_out:
        raise TimeoutError("{} did not end within {} s:\n{}".format(" ".join(argv), TIMEOUT, tail(done.stdout)))
    return done.rc, done.stdout


def write_atomically(path, text, mode=0o644):
    """Write a file so that it is never seen half-written."""
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path))
    with os.fdopen(handle, "w") as stream:
        stream.write(text)
    os.chmod(temporary, mode)
    os.replace(temporary, path)


def tail(text, lines=15):
    """The last lines of a text."""
    return "\n".join(text.strip().splitlines()[-lines:])
