# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Environments of this checkout; writes only inside the checkout.

    python3 .ci/env.py venv NAME [3.N]    the environment of .ci/requirements/NAME.txt; prints its folder
    python3 .ci/env.py core VERSION 3.N   the environment of .ci/requirements/cores.txt with this ansible-core; prints its folder
    python3 .ci/env.py newest-core [3.N]  the newest final ansible-core of the package index, or the newest one that this Python can run
    python3 .ci/env.py collections [3.N]  required collections, from the `ansible` bundle of the package index; prints their path
    python3 .ci/env.py tree               a path on which this checkout is ansible_collections/ascend/inference (a link); prints it
    python3 .ci/env.py copy FOLDER        copies the files known to git to FOLDER/ansible_collections/ascend/inference; prints the path
    python3 .ci/env.py lock               renews .ci/requirements/locks with the newest versions that the requirements allow
    python3 .ci/env.py target-core        ansible.module_utils of the oldest supported core, to import without installing; prints its path
    python3 .ci/env.py pythons            "3.N PATH" of every Python on this machine, oldest first
    python3 .ci/env.py main               the version of the Python that tooling runs on
    python3 .ci/env.py exports            shell exports for manual work: eval "$(make -s env)"

Each result is built once and marked as complete with a hash of its inputs. Incomplete results, and results of other inputs, are
built again. Needs only a Python >= 3.10 with venv.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import locked

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
CACHE = ROOT / ".cache"
REQUIREMENTS = HERE / "requirements"
MARK = ".ascend-inference-ci"
COMPILED = HERE / "compiled_once.py"
OLDEST, NEWEST = (3, 10), (3, 14)
TARGET_CORE = "2.17.14"  # the newest version that supports Python 3.7 on a target
OWN = Path("ansible_collections") / "ascend" / "inference"
NEEDED = (
    "ansible.posix",
    "community.docker",
    "community.general",
    "community.library_inventory_filtering_v1",
)


def say(text):
    print(text, file=sys.stderr, flush=True)


def stop(text):
    say(f"error: {text}")
    raise SystemExit(1)


def run(argv, **kwargs):
    """Run a command; print its output only if it fails."""
    result = subprocess.run(
        [str(argument) for argument in argv],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        **kwargs,
    )
    if result.returncode:
        say(result.stdout)
        stop(f"exit status {result.returncode} of: {' '.join(str(argument) for argument in argv)}")
    return result.stdout


@contextlib.contextmanager
def one_at_a_time(name):
    locks = CACHE / "locks"
    locks.mkdir(parents=True, exist_ok=True)
    with open(locks / name, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def built(folder, made_from, what, build):
    """Return `folder`, built by `build()` unless its mark shows that it was built completely from `made_from`."""
    mark = folder / MARK
    key = hashlib.sha256(json.dumps([str(folder), made_from]).encode()).hexdigest()
    with one_at_a_time(folder.name):
        if mark.is_file() and mark.read_text() == key:
            return folder
        if folder.exists() and not mark.exists():
            stop(f"{folder} was not made by this script: move it away first")
        folder.mkdir(parents=True, exist_ok=True)
        mark.write_text("unfinished\n")
        for child in folder.iterdir():
            if child.is_dir() and not child.is_symlink():
                shutil.rmtree(child)
            elif child != mark:
                child.unlink()
        say(f"building {what}")
        begin = time.monotonic()
        build()
        mark.write_text(key)
        say(f"built {what} in {time.monotonic() - begin:.0f} s")
    return folder


def describe(python):
    """Query an interpreter: ((3, 11), path, can create environments), or None if it does not run.

    The path is that of the installation, also if the interpreter belongs to a virtual environment.
    """
    question = (
        "import sys, importlib.util as u; print(*sys.version_info[:2],"
        " u.find_spec('venv') is not None and u.find_spec('ensurepip') is not None, getattr(sys, '_base_executable', sys.executable))"
    )
    try:
        answer = subprocess.run([python, "-c", question], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if answer.returncode:  # for example a shim of a version that is not enabled
        return None
    major, minor, usable, executable = answer.stdout.strip().split(" ", 3)
    return (int(major), int(minor)), os.path.realpath(executable), usable == "True"


def pythons():
    """Map version -> interpreter for all usable Pythons >= 3.7: the running one, those in PATH, and pyenv's."""
    candidates = [os.environ.get("PYTHON", ""), sys.executable]
    candidates += [found for minor in range(7, NEWEST[1] + 1) if (found := shutil.which(f"python3.{minor}"))]
    candidates += ["/usr/bin/python3"]
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    with contextlib.suppress(OSError):
        candidates += sorted(str(path) for path in pyenv.glob("3.*/bin/python3"))
    result = {}
    for candidate in candidates:
        described = describe(candidate) if candidate else None
        if described and described[2] and (3, 7) <= described[0] <= NEWEST:
            result.setdefault(described[0], described[1])
    return dict(sorted(result.items()))


def main_python():
    """The interpreter for the tooling: $PYTHON, or python3, if suitable; else the newest suitable one."""
    found = describe(os.environ.get("PYTHON") or "python3") or describe(sys.executable)
    if found and OLDEST <= found[0] <= NEWEST:
        if not found[2]:
            run([HERE / "apt", "python3-venv"])
            found = describe(found[1])
            if not found[2]:
                stop(f"{found[1]} has no module ensurepip: install the venv package of that Python")
        return found[0], found[1]
    usable = {version: path for version, path in pythons().items() if version >= OLDEST}
    if not usable:
        stop("no Python 3.10 or newer found; name one with PYTHON=/path/to/python3")
    return max(usable.items())


def wanted_python(version):
    if version is None:
        return main_python()
    number = tuple(int(part) for part in version.split("."))
    found = pythons()
    if number not in found:
        stop(f"no Python {version} with venv on this machine; there are: {', '.join(map(dotted, found))}")
    return number, found[number]


def dotted(version):
    return ".".join(str(part) for part in version)


def requirements(name):
    """The requirements of a name with versions and hashes, or an error that lists the known names."""
    if not (REQUIREMENTS / f"{name}.txt").is_file():
        stop(f"no {name}.txt; known: {', '.join(sorted(path.stem for path in REQUIREMENTS.glob('*.txt')))}")
    return locked.pinned(name)


def installers():
    """The environment with pip and, if the package index has it, uv (about ten times faster).

    One for each Python: parts of the tests that run side by side have different ones, and would build it anew while another one uses it.
    """
    version, python = main_python()
    folder = CACHE / "venvs" / f"installers-{dotted(version)}"

    def build():
        run([python, "-m", "venv", folder])
        file = folder / "requirements.txt"
        file.write_text(requirements("installers"))
        argv = [folder / "bin" / "pip", "install", "--quiet", "--require-hashes", "-r", file]
        if subprocess.run(argv, capture_output=True, check=False).returncode:
            say("uv is not available, using pip")

    return built(folder, [python, version, requirements("installers")], "pip and uv", build)


def install(python, folder, text, *more):
    """Create a virtual environment in `folder` and install requirements into it with uv, else with pip.

    `text` are requirements with hashes; `more`, which the newest Ansible needs, are files and packages without, and then hashes are not asked for.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(text)
        file.flush()
        _install(python, folder, [*more] if more else ["--require-hashes", "-r", file.name])


def compile_once(folder):
    """Let Python load compiled_once.py at its start, but not in the environment of users."""
    if folder == ROOT / ".venv":
        return
    (folder / "compiled").mkdir(exist_ok=True)
    (packages,) = (folder / "lib").glob("python3*/site-packages")
    shutil.copy(COMPILED, packages)
    shutil.copy(COMPILED.with_suffix(".pth"), packages)


def _install(python, folder, wanted):
    uv = installers() / "bin" / "uv"
    if uv.exists():
        environment = {**os.environ, "UV_SYSTEM_CERTS": "1"}
        environment.setdefault("UV_HTTP_TIMEOUT", "180")
        if (
            "--require-hashes" in wanted
        ):  # further indexes may be incomplete mirrors, and the hash decides whichever has the version
            environment.setdefault("UV_INDEX_STRATEGY", "unsafe-best-match")
        steps = (
            [uv, "venv", "--quiet", "--allow-existing", "--no-python-downloads", "--python", python, folder],
            [uv, "pip", "install", "--quiet", "--python", folder / "bin" / "python", *wanted],
        )
        for step in steps:
            result = subprocess.run(step, capture_output=True, text=True, check=False, env=environment)
            if result.returncode:
                say(f"uv failed, trying pip: {result.stderr.strip()[-400:]}")
                break
        else:
            return compile_once(folder)
    run([python, "-m", "venv", folder])
    run([folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted])
    return compile_once(folder)


def venv(name, python_version=None):
    """The environment of requirements/NAME.txt. `ansible` for the main Python is .venv, the environment of users."""
    version, python = wanted_python(python_version)
    folder = CACHE / "venvs" / f"{name}-{dotted(version)}"
    if name == "ansible" and python_version is None:
        folder = ROOT / ".venv"
    return built(
        folder,
        [requirements(name), python, version, COMPILED.read_text()],
        f"environment {name} (Python {dotted(version)})",
        lambda: install(python, folder, requirements(name)),
    )


def core(version, python_version):
    """An environment with this ansible-core, for tests that run it beside the one of `ansible.txt`.

    With hashes if it is the one that the lock has for this Python; the newest one of the package index has none.
    """
    number, python = wanted_python(python_version)
    pin = f"ansible-core=={version}"
    known = version == locked.version_for("ansible", "ansible-core", number)
    text = locked.pinned("cores", "ansible") if known else ""
    more = [] if known else ["-r", REQUIREMENTS / "cores.txt", pin]
    folder = CACHE / "venvs" / f"core-{version}-{dotted(number)}"
    return built(
        folder,
        [text or [pin, (REQUIREMENTS / "cores.txt").read_text()], python, COMPILED.read_text()],
        f"environment of {pin} (Python {dotted(number)})",
        lambda: install(python, folder, text, *more),
    )


def newest_core(python_version=None):
    """The newest final version on the package index; pip leaves out those that need another Python than `python_version`."""
    limits = ["--python-version", python_version] if python_version else ["--ignore-requires-python"]
    pip = [installers() / "bin" / "python", "-m", "pip", "--disable-pip-version-check"]
    found = re.search(r"ansible-core \((\S+)\)", run([*pip, "index", "versions", *limits, "ansible-core"]))
    return found[1] if found else stop("pip index versions named no version of ansible-core")


def download(requirement, folder):
    """Download one wheel without its dependencies from the package index, by its hash; it is unpacked, and may be for another Python."""
    file = folder / "requirement.txt"
    file.write_text(locked.one(*requirement.split("==")))
    pip = [installers() / "bin" / "python", "-m", "pip", "--disable-pip-version-check"]
    options = ["--quiet", "--no-deps", "--ignore-requires-python", "--only-binary", ":all:", "--require-hashes"]
    run([*pip, "download", *options, "--dest", folder, "-r", file])
    return next(folder.glob("*.whl"))


def unpack(requirement, folder, prefixes):
    wheels = CACHE / "wheels" / requirement
    wheels.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(download(requirement, wheels)) as archive:
        names = [name for name in archive.namelist() if name.startswith(prefixes)]
        absent = [prefix for prefix in prefixes if not any(name.startswith(prefix) for name in names)]
        if absent:
            stop(f"{requirement} has no {', '.join(absent)}")
        archive.extractall(folder, names)
    shutil.rmtree(wheels)


def collections(python_version=None):
    release = locked.version_for("bundles", "ansible", wanted_python(python_version)[0])
    requirement = f"ansible=={release}"
    folder = CACHE / "collections" / release
    prefixes = tuple(f"ansible_collections/{name.replace('.', '/')}/" for name in NEEDED)
    return built(folder, prefixes, f"collections of {requirement}", lambda: unpack(requirement, folder, prefixes))


def lock():
    """Write the locks anew. Who reads the difference sees what changes in the environments of all who work here."""
    uv = installers() / "bin" / "uv"
    if not uv.exists():
        stop(
            "make lock needs uv, which could not be installed: see .ci/requirements/installers.txt; PYTHON= chooses another Python"
        )
    head = "# SPDX-License-Identifier: GPL-3.0-or-later\n# Written by `make lock`; changes here are lost.\n"
    for name, oldest in locked.OLDEST.items():
        files = [path.relative_to(ROOT) for path in locked.wanted_by(name)]
        options = [
            "--quiet",
            "--universal",
            "--python-version",
            oldest,
            "--generate-hashes",
            "--no-header",
            "--upgrade",
        ]
        text = run([uv, "pip", "compile", *options, *files], cwd=ROOT, env={**os.environ, "UV_SYSTEM_CERTS": "1"})
        locked.LOCKS.mkdir(exist_ok=True)
        (locked.LOCKS / f"{name}.txt").write_text(head + text)
        say(f"wrote {(locked.LOCKS / f'{name}.txt').relative_to(ROOT)}")
    return locked.LOCKS


def target_core():
    requirement = f"ansible-core=={TARGET_CORE}"
    folder = CACHE / "target-core" / TARGET_CORE
    prefixes = ("ansible/__init__.py", "ansible/_vendor/", "ansible/release.py", "ansible/module_utils/")
    return built(folder, prefixes, f"module_utils of {requirement}", lambda: unpack(requirement, folder, prefixes))


def tree():
    link = CACHE / "tree" / OWN
    link.parent.mkdir(parents=True, exist_ok=True)
    with one_at_a_time("tree"):
        if not link.is_symlink() or link.resolve() != ROOT:
            link.unlink(missing_ok=True)
            link.symlink_to(ROOT)
    return CACHE / "tree"


def copy(folder):
    target = Path(folder).resolve() / OWN
    if target.exists():
        if CACHE not in target.parents:
            stop(f"{target} exists")
        shutil.rmtree(target)
    listed = run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
    for name in filter(None, listed.split("\0")):
        source, destination = ROOT / name, target / name
        if source.is_symlink() or source.exists():
            destination.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, destination, follow_symlinks=False)
    return target


def exports():
    """Shell exports for the tooling and all collections."""
    folder = venv("dev")
    yield f"export PATH='{folder / 'bin'}':\"$PATH\""
    yield f"export ANSIBLE_COLLECTIONS_PATH='{tree()}:{collections()}'"
    yield f"export PYTHONPATH='{tree()}'"


COMMANDS = {
    "venv": venv,
    "core": core,
    "newest-core": newest_core,
    "collections": collections,
    "lock": lock,
    "tree": tree,
    "copy": copy,
    "target-core": target_core,
    "pythons": lambda: "\n".join(f"{dotted(version)} {path}" for version, path in pythons().items()),
    "main": lambda: dotted(main_python()[0]),
    "exports": lambda: "\n".join(exports()),
}


def main():
    if sys.version_info < OLDEST:
        stop(
            f"this is Python {dotted(sys.version_info[:2])}; name one >= {dotted(OLDEST)} with PYTHON=/path/to/python3"
        )
    command = COMMANDS.get(sys.argv[1] if len(sys.argv) > 1 else "")
    if command is None:
        stop(f"usage: env.py {'|'.join(COMMANDS)} ...")
    print(command(*sys.argv[2:]))


if __name__ == "__main__":
    main()
