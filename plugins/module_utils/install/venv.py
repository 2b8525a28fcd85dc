# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Virtual environments that are complete or absent.

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
from . import index_credentials, package_lock, unprivileged

STAMPS = ".ascend-inference"
MARK = "installing"
MOST_BUILT = 50  # packages without a wheel for the host
TIMEOUT = 4 * 3600  # seconds of one command; the engine's wheels may be built from source
PIP_SETTINGS = {
    "index-url": ("PIP_INDEX_URL", "UV_DEFAULT_INDEX"),
    "extra-index-url": ("PIP_EXTRA_INDEX_URL", "UV_EXTRA_INDEX_URL"),
    "find-links": ("PIP_FIND_LINKS", "UV_FIND_LINKS"),
    "cert": ("PIP_CERT", "SSL_CERT_FILE"),
}
# Sections of pip's configuration that count for an installation. Each wins over those before it, and empty values count for nothing,
# as in pip's ConfigOptionParser.
PIP_SECTIONS = ("global", "install", ":env:")


class VenvError(Exception):
    """Installation failed; the text contains the command, its output and the fix."""


def stamp_path(path, layer):
    """Path of the stamp of a complete layer."""
    return os.path.join(path, STAMPS, layer + ".json")


def read_stamp(path, layer):
    """The specification of the installed ``layer`` as a dict, or None if it is missing or incomplete."""
    if os.path.exists(os.path.join(path, STAMPS, MARK)):
        return None
    try:
        with open(stamp_path(path, layer)) as stream:
            return json.load(stream)
    except (OSError, ValueError):
        return None


def is_incomplete(path):
    """Whether ``path`` is an incomplete environment of an interrupted run.

    Raises ``VenvError`` if it is something else: only environments of this collection are deleted.
    """
    if not os.path.isdir(path) or not os.listdir(path):
        return True
    stamps = os.path.join(path, STAMPS)
    if os.path.isdir(stamps):
        names = os.listdir(stamps)
        return MARK in names or not names
    if os.path.exists(os.path.join(path, "pyvenv.cfg")):
        raise VenvError(f"{path} is a virtual environment that this collection did not create. Set another path.")
    raise VenvError(f"{path} exists and is not a virtual environment. Set another path or move it away.")


def set_mark(path, layer):
    """Note in an environment, or in the empty folder that becomes one, that it is being worked on; on the disk before the work begins."""
    stamps = os.path.join(path, STAMPS)
    os.makedirs(stamps, exist_ok=True)
    with open(os.path.join(stamps, MARK), "w") as stream:
        stream.write(layer + "\n")
        stream.flush()
        os.fsync(stream.fileno())


def discard(path):
    """Remove what ``is_incomplete`` is true of; its mark goes last, so that what an interruption leaves is still known as half-made."""
    if not os.path.isdir(path) or not os.listdir(path):
        return
    set_mark(path, "removal")
    stamps = os.path.join(path, STAMPS)  # has folders, too: of a resolution, of built wheels
    inside = [os.path.join(path, name) for name in sorted(os.listdir(path)) if name != STAMPS]
    inside += [os.path.join(stamps, name) for name in os.listdir(stamps) if name != MARK]
    for name in inside:
        if os.path.isdir(name) and not os.path.islink(name):
            shutil.rmtree(name)
        else:
            os.unlink(name)
    shutil.rmtree(path)


def settings(listing, options):
    """Environment for pip and uv alike, from ``pip config list`` and the module's own words (which win).

    uv does not read pip's configuration; without this it would not use the indexes and folders of wheels of pip.
    ``options`` maps index-url, extra-index-url and find-links to lists of URLs. The list is sorted by name, so its order says nothing.
    """
    sections = {section: {} for section in PIP_SECTIONS}
    for line in listing.splitlines():
        match = re.match(r"([\w:]+)\.([\w-]+)='(.+)'$", line.strip())
        if match and match.group(2) in PIP_SETTINGS and match.group(1) in sections:
            sections[match.group(1)][match.group(2)] = match.group(3).replace("\\n", " ").split()
    found = {}
    for section in PIP_SECTIONS:
        found.update(sections[section])
    found.update((key, list(value)) for key, value in options.items() if value)
    result = {}
    for key, values in found.items():
        pip_name, uv_name = PIP_SETTINGS[key]
        result[pip_name] = " ".join(values)
        result[uv_name] = (",".join if key == "find-links" else " ".join)(values)
    return result


def missing_library(text):
    """Name of the shared library that is missing for an import, or an empty string."""
    match = re.search(r"(lib[\w.+-]+\.so[\w.]*): cannot open shared object file", text)
    return match.group(1) if match else ""


def missing_package(text):
    """The requirement that is on no index, from the output of pip or uv; an empty string for other errors.

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
    """Whether pip or uv report conflicting requirements."""
    errors = ("ResolutionImpossible", "conflicting dependencies", "are incompatible", "requirements are unsatisfiable")
    return any(error in text for error in errors)


def overridden(line, overrides):
    """Whether a line of ``pip check`` is about a requirement that ``overrides`` (requirements) replace.

    >>> overridden("vllm 0.18.0 has requirement fastapi[standard]>=0.133, but you have fastapi 0.123.", ["fastapi<0.124"])
    True
    """
    names = {re.split(r"[\s\[=<>!~;]", requirement, maxsplit=1)[0] for requirement in overrides}
    match = re.search(r" has requirement ([\w.-]+)", line)
    return bool(match) and re.sub(r"[-_.]+", "-", match.group(1)).lower() in names


class Builder:
    """Builds layers of one environment. ``run(argv, env) -> (rc, output)`` can be replaced in tests.

    Commands inherit the descriptors ``inherited``: of a lock that they keep if this process is killed and they live on.
    ``sources`` are shell files read before anything runs in the environment; ``env`` is added to what builds see;
    ``advice`` ends the message when something is unavailable. ``build_user`` builds what has no wheel, if root runs this.
    ``sdists``: SHA-256 by 'name==version' of source distributions; what is built of others is refused.
    ``confirm``: ``given_lock`` may come from another host, so it is used only if this host resolves the same versions, and if it was resolved by
    one host alone, only its versions are preferred.
    """

    def __init__(
        self,
        path,
        python,
        tools="",
        options=None,
        run=None,
        sources=(),
        env=None,
        advice="",
        no_index=False,
        inherited=(),
        given_lock="",
        choose=None,
        build_user="",
        sdists=None,
        confirm=False,
    ):
        self.path, self.python, self.tools, self.options = path, python, tools, options or {}
        self.sources, self.env, self.advice, self.no_index = list(sources), dict(env or {}), advice, no_index
        self.run = run or functools.partial(run_command, inherited=inherited)
        self.own_python = os.path.join(path, "bin", "python")
        self.given_lock, self.confirm = given_lock, confirm
        self.choose, self.chosen_indexes = choose, []
        self.known_sdists = sdists or {}
        self.build_user, self.worker = build_user if os.geteuid() == 0 else "", None
        self.built = set()  # normalised names of the distributions that are built

    def lock_path(self, layer):
        """Path of the layer's lock: versions and hashes of all packages that uv installed."""
        return os.path.join(self.path, STAMPS, layer + ".lock")

    def build(self, layer, wish, fallback=()):
        """Install ``wish`` ({requirements, exclude, imports}) as ``layer``; raises ``VenvError``.

        ``fallback`` are additional indexes for a second attempt if the installation fails.
        """
        if not package_lock.belongs(self.given_lock, wish):
            self.given_lock, self.confirm = read_text(self.lock_path(layer)), False  # of an interrupted installation
        if is_incomplete(self.path):
            discard(self.path)
            set_mark(self.path, layer)
            self.must([self.python, "-m", "venv", self.path])
        set_mark(self.path, layer)
        self._install(layer, wish, list(fallback))
        self._prove(wish["imports"])
        if wish.get("check"):
            self._agree(wish.get("overrides", []))
        if wish.get("lock"):
            self._lock(wish["lock"])
        write_atomically(stamp_path(self.path, layer), json.dumps(wish, indent=1, sort_keys=True) + "\n")
        os.unlink(os.path.join(self.path, STAMPS, MARK))

    def must(self, argv, env=None):
        """Run a command; raises an error with the end of its output."""
        code, output = self.run(argv, env or {})
        if code:
            raise VenvError("{} ended with {}:\n{}".format(" ".join(argv), code, tail(output)))
        return output

    def uv(self):
        """Path of uv, installed into the tools environment when first needed; empty if it is not available."""
        found = os.path.join(self.tools, "bin", "uv")
        marked = os.path.exists(os.path.join(self.tools, STAMPS, MARK))
        if not self.tools or (os.access(found, os.X_OK) and not marked):
            return found if self.tools else ""
        if marked or not os.path.exists(os.path.join(self.tools, "bin", "python")):
            is_incomplete(self.tools)
            discard(self.tools)
            set_mark(self.tools, "uv")
            self.must([self.python, "-m", "venv", self.tools])
        code, output = self._install_uv()
        if package_lock.tampered(output):
            raise VenvError(
                f"uv does not have the hash of its release:\n{tail(output)}\nFix: check the package index or mirror"
            )
        if not code and os.path.exists(os.path.join(self.tools, STAMPS)):
            write_atomically(stamp_path(self.tools, "uv"), "{}\n")
            os.unlink(os.path.join(self.tools, STAMPS, MARK))
        return "" if code else found

    def _install_uv(self):
        handle, path = tempfile.mkstemp(prefix="ascend-inference-", suffix=".txt")
        with os.fdopen(handle, "w") as stream:
            stream.write(package_lock.UV)
        try:
            options = ["-q", "--only-binary", ":all:", "--require-hashes", "--requirement", path]
            return self.run([os.path.join(self.tools, "bin", "python"), "-m", "pip", "install"] + options, {})
        finally:
            os.unlink(path)

    def _install(self, layer, wish, fallback):
        listing = self.must([self.own_python, "-m", "pip", "config", "list"])
        env = dict(settings(listing, self.options), **self.env)
        code, output = self._attempt(layer, wish, env)
        if code and fallback and not package_lock.tampered(output):
            more = " ".join([env.get("UV_EXTRA_INDEX_URL", "")] + fallback).strip()
            env.update(PIP_EXTRA_INDEX_URL=more, UV_EXTRA_INDEX_URL=more)
            code, more_output = self._attempt(layer, wish, env)
            output = output + "\nAgain, with the index {}:\n{}".format(" ".join(fallback), more_output)
        if code:
            raise VenvError(self._failure(wish, output))

    def _attempt(self, layer, wish, env):
        """Exit code and output of the installation. What runs code of packages to build them is run by the worker."""
        self.built = unprivileged.built_names(wish)
        if not self.build_user:
            return self._attempt_with(layer, wish, env)
        if not self.built:
            try:
                code, output = self._attempt_with(layer, wish, env)
            except VenvError as error:  # of the resolution
                if not unprivileged.without_wheel(str(error)):
                    raise
                code, output = 1, str(error)
            missing = unprivileged.without_wheel(output) if code else ""
            if not missing:
                return code, output
            self.built = {unprivileged.normal(re.split("[=<>!~]", missing)[0])}
        if not self.uv():
            raise VenvError(
                f"uv is not available, and without it {', '.join(sorted(self.built))} would be built by root. "
                "Fix: provide uv on the package index, or set the user who builds to an empty text"
            )
        try:
            with unprivileged.Worker(self.build_user, self.path) as self.worker:
                for folder in unprivileged.source_folders(wish):
                    self.must(self.worker.copying(folder))
                return self._attempt_with(layer, wish, env)
        except unprivileged.Refused as error:
            raise VenvError(str(error)) from error
        finally:
            self.worker = None

    def only_wheels(self):
        """The option of uv that keeps root from building a package, which runs its code; empty where the worker runs uv."""
        return ["--no-build"] if self.build_user and not self.worker else []

    def run_by_worker(self, argv, env):
        """As ``run``, by the worker if there is one."""
        worker = self.worker
        return self.run(worker.command(argv), worker.environment(env)) if worker else self.run(argv, env)

    def _attempt_with(self, layer, wish, env):
        """Write or take the lock and install it; without uv let pip install the requirements. Exit code and output."""
        uv, more = self.uv(), self._build_options(wish)
        if not uv:
            # pip cannot exclude a dependency: all are installed, which only costs disk space.
            wheels = ["--only-binary", ":all:"] if self.build_user else []
            command = [self.own_python, "-m", "pip", "install", "--compile"] + wheels + more + wish["requirements"]
            return self.run(self._sourced(command), env)
        lock = self.lock_path(layer)
        given = self.given_lock if package_lock.belongs(self.given_lock, wish) else ""
        if self.confirm or not given:
            code, output = self._compile(uv, wish, more, env, lock)
            if code:
                return code, output
        if given and not (
            self.confirm and package_lock.alone(given)
        ):  # of one of these, only the versions are preferred
            if self.confirm:
                self._confirm(given, lock)
            write_atomically(lock, given)
        if self.worker:
            self._find_built(uv, env, lock)
        self._compare_sdists(wish, lock)
        code, output = self._install_built(uv, more, env, lock) if self.worker else (0, "")
        if not code:
            rest = self._without_built(lock) if self.worker else lock
            code, output = self._install_lock(uv, [] if self.build_user else more, env, rest)
            if rest != lock:
                os.unlink(rest)
        if code and not package_lock.tampered(output):
            os.unlink(lock)  # the next run may find other versions
        return code, output

    def _confirm(self, given, lock):
        """Raise unless ``given`` has the packages, versions and files that this host just resolved with the versions of ``given`` as preferred ones."""
        theirs, own = package_lock.pins(given), package_lock.pins(read_text(lock))
        others = package_lock.other_files(given, read_text(lock))
        if theirs != own or others:
            os.unlink(lock)
            differ = (
                f"only the lock has {listed(theirs - own)}, and only this host has {listed(own - theirs)}"
                if theirs != own
                else ""
            )
            differ = differ or f"the lock has other SHA-256 of {listed(others)}"
            raise VenvError(
                "this host resolves the same requirements to other packages than the lock of inference_lock_directory: "
                f"{differ}. Nothing of it was installed, because another host may"
                " have written the lock. Fix: if this host has another processor, Python or index, set another inference_lock_directory for such"
                " hosts; otherwise find out who wrote the lock, and remove it"
            )

    def _find_built(self, uv, env, lock):
        """Add to ``built`` what has no wheel for this host, one package after the other, as uv names one at a time."""
        for _package in range(MOST_BUILT):
            rest = self._without_built(lock)
            code, output = self._install_lock(uv, ["--dry-run"], env, rest)
            os.unlink(rest)
            missing = unprivileged.without_wheel(output) if code else ""
            if not missing:
                return
            self.built.add(unprivileged.normal(re.split("[=<>!~]", missing)[0]))

    def _compare_sdists(self, wish, lock):
        """Leave only the known source distributions in the lock. Before a build: it runs any code of the distribution."""
        folders = unprivileged.built_names(dict(wish, no_binary=[]))
        text, problems = package_lock.narrowed(read_text(lock), self.built - folders, self.known_sdists)
        if problems:
            os.unlink(lock)  # another index may have the right file
            raise VenvError(
                "the package index or the lock has another source distribution than was published: {}. Its build would run code that nobody"
                " compared. Nothing of it was installed. Fix: use an index with the published file, or, if you replaced it, leave it out of"
                " the option sdists (in the role vllm_ascend: set vllm_ascend_unverified)".format("; ".join(problems))
            )
        write_atomically(lock, text)

    def _install_lock(self, uv, more, env, lock):
        command = [uv, "pip", "install", "--python", self.own_python, "--compile-bytecode", "--no-deps"]
        command += ["--require-hashes"] if package_lock.fully_hashed(read_text(lock)) else []
        if self.build_user:  # root runs it, also where a worker built the others
            command += ["--no-build"] + (["--no-index"] if self.no_index else [])
        if self.chosen_indexes:  # the lock has the versions and hashes, so that no index can replace a package
            command += ["--index-strategy", "unsafe-best-match"]
            env = dict(env, UV_INDEX=" ".join(self.chosen_indexes))  # no argument: their URLs may have a password
        return self.run(self._sourced(command + more + ["--requirement", lock]), env)

    def _without_built(self, lock):
        """A file with the rest of the lock."""
        path = lock + ".rest"
        write_atomically(
            path, "".join(text for name, text in unprivileged.blocks(read_text(lock)) if name not in self.built)
        )
        return path

    def _install_built(self, uv, more, env, lock):
        """Let the worker build wheels of the lock's packages, and install copies of them."""
        worker, names = self.worker, self.built
        text = "".join(block for name, block in unprivileged.blocks(read_text(lock)) if name in names)
        asked = worker.write("asked.txt", worker.moved(text))
        command = [uv, "pip", "install", "--python", self.own_python, "--target", worker.inside("unused"), "--no-deps"]
        command += ["--require-hashes"] if package_lock.fully_hashed(text) else []
        for name in names:  # also where the index has another wheel by now
            command += ["--no-binary", name]
        code, output = self.run_by_worker(self._sourced(command + more + ["--requirement", asked]), env)
        if code:
            return code, output
        wheels, asked = os.path.join(self.path, STAMPS, "wheels"), lock + ".built"
        write_atomically(asked, worker.take(names, wheels))
        command = [uv, "pip", "install", "--python", self.own_python, "--compile-bytecode", "--no-deps", "--no-index"]
        command += ["--require-hashes", "--find-links", wheels, "--requirement", asked]
        code, output = self.run(self._sourced(command), {name: env[name] for name in env if name != "UV_FIND_LINKS"})
        shutil.rmtree(wheels)
        os.unlink(asked)
        return code, output

    def _compile(self, uv, wish, more, env, lock):
        """Resolve the requirements; versions that an earlier layer installed are preferred."""
        asked, found = lock + ".in", lock + ".new"
        write_atomically(asked, "\n".join(wish["requirements"]) + "\n")
        project, self.chosen_indexes = self.choose(self, wish, env) if self.choose else ("", [])
        env = dict(env, **index_credentials.environment(self.chosen_indexes))
        earlier = [name for name in os.listdir(os.path.join(self.path, STAMPS)) if name.endswith(".json")]
        freeze = self.must([self.own_python, "-m", "pip", "freeze", "--all"]) if earlier else ""
        given = self.given_lock if self.confirm else ""
        write_atomically(found, package_lock.preferred(given, freeze))
        command = [
            uv,
            "pip",
            "compile",
            "--quiet",
            "--generate-hashes",
            "--no-header",
            "--no-annotate",
            "--python",
            self.own_python,
        ]
        if wish["exclude"]:
            listed = os.path.join(self.path, STAMPS, "exclude.txt")
            write_atomically(listed, "\n".join(wish["exclude"]) + "\n")
            command += ["--excludes", listed]
        if wish.get("overrides"):
            listed = os.path.join(self.path, STAMPS, "overrides.txt")
            write_atomically(listed, "\n".join(wish["overrides"]) + "\n")
            command += ["--overrides", listed]
        if self.worker:  # a package without static metadata is asked for it by running its build
            worker = self.worker
            given = worker.write("pyproject.toml" if project else "asked.in", worker.moved(read_text(project or asked)))
            own = worker.write("lock.txt", read_text(found))
            code, output = self.run_by_worker(self._sourced(command + more + ["--output-file", own, given]), env)
            resolved = "" if code else worker.moved_back(worker.read(own).decode("utf-8"))
        else:
            command += self.only_wheels()
            code, output = self.run(self._sourced(command + more + ["--output-file", found, project or asked]), env)
            resolved = "" if code else read_text(found)
        if not code:
            write_atomically(lock, package_lock.signed(resolved, wish))
            os.unlink(found)
            os.unlink(asked)
        return code, output

    def _failure(self, wish, output):
        """The message of a failed installation: package and fix."""
        end, missing = tail(output, 40), missing_package(output)
        begin = "installing {} failed".format(", ".join(wish["requirements"]))
        if missing and "subsequent index" not in output:
            begin += f": no index or folder of wheels has {missing}"
        elif package_lock.tampered(output):
            begin += ": a file differs from the hash in the lock. The index may have been changed; if the file was replaced on purpose, remove the lock"
        elif "subsequent index" in output:
            begin += (
                ": the first index with a package does not have its version. If all indexes are trusted, set inference_index_strategy"
                " to unsafe-first-match"
            )
        elif contradiction(output):
            begin += ": the requirements conflict with each other"
        advice = f"\nFix: {self.advice}" if self.advice else ""
        if self.build_user and "Permission denied" in output:
            advice = f"\nFix: let the user {self.build_user} read Python, the folders of wheels and CANN, or name another user to build.{advice}"
        return f"{begin}.{advice}\n{end}"

    def _sourced(self, argv):
        """The command, run by a shell after sourcing the files."""
        if not self.sources:
            return argv
        # A sourced file gets the script's arguments unless they are cleared: CANN's files parse them as options.
        script = '__all=("$@"); __n=$1; for __one in "${__all[@]:1:__n}"; do set --; . "$__one"; done; '
        script += 'exec "${__all[@]:__n+1}"'
        return ["bash", "-c", script, "bash", str(len(self.sources))] + self.sources + argv

    def _agree(self, overrides):
        """``pip check``: verify that the installed packages are compatible, but for those that overrides replace on purpose."""
        code, output = self.run([self.own_python, "-m", "pip", "check"], {})
        meant = overrides and all(overridden(line, overrides) for line in output.strip().splitlines())
        if code and not meant:
            advice = f"\nFix: {self.advice}" if self.advice else ""
            raise VenvError(f"the packages in {self.path} are not compatible.{advice}\n{tail(output, 40)}")

    def _lock(self, path):
        """Write a lock file of the installed packages, for ``pip install --requirement``."""
        text = self.must([self.own_python, "-m", "pip", "freeze", "--all"])
        write_atomically(os.path.join(self.path, path), text.rstrip("\n") + "\n")

    def _build_options(self, wish):
        """Options of pip and uv alike."""
        more = ["--no-index"] if self.no_index else []
        if wish.get("build_with_environment"):
            more.append("--no-build-isolation")
        for name in wish.get("no_binary", []):
            more += ["--no-binary", name]
        return more

    def _prove(self, modules):
        """Import the installed modules, which fails if system libraries are missing."""
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
    """Write a file atomically; if it cannot be written, nothing of it stays to fill the disk."""
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path))
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def read_text(path):
    """A file's text; empty if it does not exist."""
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read()
    except OSError:
        return ""


def listed(names, most=8):
    """Names for a message."""
    return ", ".join(sorted(names)[:most]) + (" ..." if len(names) > most else "") or "nothing else"


def tail(text, lines=15):
    """The last lines of a text."""
    return "\n".join(text.strip().splitlines()[-lines:])
