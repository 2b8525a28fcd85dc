# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the requirements of an environment are available, and from which index; nothing is installed.

Some packages are not on PyPI, but on an index of their own. Such an index is asked only for these packages, and only if the configured
indexes do not have them: an index that is asked for everything could replace any package.
"""

from __future__ import annotations

import json
import os
import re

from . import index_credentials
from .index_credentials import without_credentials
from .unprivileged import without_wheel
from .venv import STAMPS, VenvError, contradiction, missing_package, settings, tail, write_atomically

MOST_ATTEMPTS = 8
PROJECT = "resolution"  # folder of the pyproject.toml beside an environment's stamps
PYPI = "PyPI"  # in messages; uv searches it if no index is configured
# "Failed to fetch: `URL`", with the address of a package's page or of a file
FETCH = re.compile(r"[Ff]ailed to (?:fetch|download)[: `]+(\w+://[^\s`]+)")


class Unresolved(Exception):
    """An environment cannot be resolved; the text says what is unavailable, and from where."""


def normal(name):
    """A distribution's name in the form of indexes: 'memcache_hybrid' and 'Memcache-Hybrid' are 'memcache-hybrid'."""
    return re.sub(r"[-_.]+", "-", name).lower()


def name_of(requirement):
    """The normalised name of a requirement: 'torch-npu' of 'torch_npu==2.10.0; python_version > "3.10"'."""
    return normal(re.split(r"[\s\[=<>!~;@(]", requirement.strip(), maxsplit=1)[0])


def project(requirements, sources, metadata):
    """The text of a pyproject.toml for uv.

    ``sources`` maps packages to the index that has them; they become direct requirements, because uv applies such a source to direct
    ones only; user and password of an index are not in the text, see ``index_credentials``. ``metadata`` maps 'vllm==0.23.0' to its
    requirements, where uv would have to run a build to learn them.
    """
    names = {name_of(requirement) for requirement in requirements}
    direct = list(requirements) + sorted(set(sources) - names)
    lines = ["[project]", 'name = "environment"', 'version = "0"', f"dependencies = {json.dumps(direct)}"]
    named = {url: index_credentials.NAME.format(number) for number, url in enumerate(sorted(set(sources.values())))}
    if sources:
        lines.append("[tool.uv.sources]")
        lines += [f'"{name}" = {{index = "{named[url]}"}}' for name, url in sorted(sources.items())]
    for url, name in named.items():
        address = json.dumps(without_credentials(url))
        lines += ["[[tool.uv.index]]", f'name = "{name}"', f"url = {address}", "explicit = true"]
    for pinned, needs in sorted(metadata.items()):
        name, version = pinned.split("==")
        lines += ["[[tool.uv.dependency-metadata]]", f'name = "{name}"', f'version = "{version}"']
        lines.append(f"requires-dist = {json.dumps(needs)}")
    return "\n".join(lines) + "\n"


def packages(output):
    """{name: version} of the output of 'uv pip compile'.

    >>> packages("numpy==2.1.0\\nfoo @ file:///src/foo\\n")
    {'numpy': '2.1.0', 'foo': 'file:///src/foo'}
    """
    found = {}
    for line in output.splitlines():
        match = re.match(r"([\w.-]+)(?:\[[^\]]*\])?\s*(?:==|@)\s*([^\s;\\]+)", line)
        if match:
            found[normal(match.group(1))] = match.group(2)
    return found


def unreachable(output):
    """The address that could not be read, from the output of uv; an empty string for other errors."""
    match = FETCH.search(output)
    return match.group(1) if match else ""


class Resolver:
    """Resolves requirements with uv in ``folder``, a folder for temporary files. ``run(argv, env) -> (rc, output)``.

    ``target`` are uv's options for the interpreter, such as ``["--python", PATH]``; ``env`` has the indexes that pip and uv use.
    """

    def __init__(self, uv, run, folder, target, env):
        self.uv, self.run, self.folder, self.target, self.env = uv, run, folder, list(target), env

    def resolve(self, wish, indexes, metadata):
        """({package: version}, {package: index that is needed for it}) of an environment; raises ``Unresolved``.

        ``wish`` has requirements and optionally exclude, overrides, no_binary and no_index. ``indexes`` maps an index to the packages that it may
        be asked for.
        """
        sources = {}
        for _attempt in range(MOST_ATTEMPTS):
            code, output = self._compile(wish, sources, metadata)
            more = {} if wish.get("no_index") else self._more(code, output, sources, indexes)
            if not code and not more:
                return packages(output), sources
            if not more:
                break
            sources.update(more)
        raise Unresolved(self._reason(wish, output, sources, indexes))

    def locked(self, wish, sources, metadata, known=""):
        """The lock of what was resolved, as text of a pylock.toml (PEP 751); raises ``Unresolved``.

        ``known`` is such a text, whose versions are preferred. ``wish["alone"]``: without the packages that it requires.
        """
        path = os.path.join(self.folder, "pylock.toml")
        if os.path.exists(path):
            os.unlink(path)
        if known:
            write_atomically(path, known)
        more = ["--format", "pylock.toml", "--output-file", path] + (["--no-deps"] if wish.get("alone") else [])
        code, output = self._compile(wish, sources, metadata, more)
        if code:
            raise Unresolved(self._reason(wish, output, sources, {}))
        with open(path, encoding="utf-8") as stream:
            return stream.read()

    def _compile(self, wish, sources, metadata, more=()):
        with open(os.path.join(self.folder, "pyproject.toml"), "w") as stream:
            stream.write(project(published(wish["requirements"], metadata), sources, metadata))
        command = [self.uv, "--directory", self.folder, "pip", "compile", "--quiet", "--no-header", "--no-annotate"]
        command += self.target
        if wish.get("no_index"):
            command.append("--no-index")
        for name in wish.get("no_binary") or []:
            command += ["--no-binary", name]
        for option, key in (("--excludes", "exclude"), ("--overrides", "overrides")):
            if wish.get(key):
                listed = os.path.join(self.folder, key + ".txt")
                with open(listed, "w") as stream:
                    stream.write("\n".join(wish[key]) + "\n")
                command += [option, listed]
        env = dict(self.env, **index_credentials.environment(sources.values()))
        return self.run(command + list(more) + ["pyproject.toml"], env)

    def _more(self, code, output, sources, indexes):
        """The packages that the next attempt takes from an index of their own: {package: index}."""
        if code:
            name = name_of(lacking(output))
            for url, names in indexes.items():
                if name in map(normal, names) and name not in sources:
                    return {name: url}
            return {}
        # Builds with a local label belong together: PyPI's torchvision for x86_64 does not load with torch 2.10.0+cpu.
        found = packages(output)
        used = {url for name, url in sources.items() if "+" in found.get(name, "")}
        return {
            normal(name): url
            for url, names in indexes.items()
            for name in names
            if url in used and normal(name) in found and normal(name) not in sources
        }

    def _reason(self, wish, output, sources, indexes):
        """What is unavailable, and from where."""
        missing, address = lacking(output), unreachable(output)
        asked = searched(self.env, wish.get("no_index")) + sorted(
            {without_credentials(url) for url in sources.values()}
        )
        if address:
            return f"{without_credentials(address)} cannot be read.\n{tail(output, 6)}"
        if missing:
            own = [without_credentials(url) for url, names in indexes.items() if name_of(missing) in map(normal, names)]
            usual = " It is usually on {}.".format(" or ".join(own)) if own and not set(own) & set(asked) else ""
            return f"{missing} is unavailable from {', '.join(asked) or 'an empty list of folders'}.{usual}\n{tail(output, 6)}"
        if contradiction(output):
            return f"the requirements conflict with each other.\n{tail(output, 10)}"
        return tail(output, 15)


def lacking(output):
    """The requirement that no index has for this platform and Python; an empty string for other errors."""
    return missing_package(output) or without_wheel(output)


def searched(env, no_index=False):
    """The indexes and folders of wheels that uv searches, for messages: without credentials; ``env`` is the environment of ``venv.settings``."""
    links = [link for link in env.get("UV_FIND_LINKS", "").split(",") if link]
    indexes = [env.get("UV_DEFAULT_INDEX", "") or PYPI, *env.get("UV_EXTRA_INDEX_URL", "").split()]
    return [without_credentials(url) for url in ([] if no_index else indexes) + links]


def published(requirements, metadata):
    """The requirements, with a checkout ('vllm @ file:///src') replaced by what its package requires."""
    found = []
    for requirement in requirements:
        known = [needs for pinned, needs in metadata.items() if pinned.split("==")[0] == name_of(requirement)]
        found += known[0] if " @ " in requirement and known else [requirement]
    return found


def chosen(builder, wish, env, indexes, metadata):
    """(the pyproject.toml to resolve in place of the requirements, or an empty text; indexes of single packages); raises ``VenvError``.

    ``builder`` is a ``venv.Builder``. The resolution comes first, so that nothing large is downloaded for an environment that has no
    solution.
    """
    folder = os.path.join(builder.path, STAMPS, PROJECT)
    os.makedirs(folder, exist_ok=True)
    target = ["--python", builder.own_python, *builder.only_wheels()]
    resolver = Resolver(builder.uv(), builder.run_by_worker, folder, target, env)
    try:
        _packages, sources = resolver.resolve(dict(wish, no_index=builder.no_index), indexes, metadata)
    except Unresolved as error:
        advice = f"\nFix: {builder.advice}" if builder.advice else ""
        raise VenvError("installing {} failed: {}{}".format(", ".join(wish["requirements"]), error, advice)) from error
    if not sources:
        return "", []
    path = os.path.join(folder, "pyproject.toml")
    write_atomically(path, project(wish["requirements"], sources, {}))
    return path, sorted(set(sources.values()))


def environment_of(options, listing):
    """The environment of uv for options of python_venv; ``listing`` is the output of 'pip config list'."""
    given = {
        "index-url": [options["index_url"]] if options["index_url"] else [],
        "extra-index-url": options["extra_index_urls"],
        "find-links": options["find_links"],
    }
    strategy = options["index_strategy"]
    more = {} if strategy == "first-index" else {"UV_INDEX_STRATEGY": strategy}
    more.update((name, str(value)) for name, value in options["environment"].items())
    return dict(settings(listing, given), **more)
