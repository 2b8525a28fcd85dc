# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes plugins/plugin_utils/releases/options_data.py: every option of every vLLM, mooncake_master and vllm-router that counts.

The options come from the programs themselves: vLLM's parser (CPU builds of the versions that releases pin), the flags
that mooncake_master lists, vllm-router's parser. The versions are those of the file; name new ones when a release with a new
version joins the matrix:

    python tests/parsers/collect_flags.py                                # takes minutes and some hundred MB of cache
    python tests/parsers/collect_flags.py vllm=0.33.0 vllm_router=0.1.18  # these as well
"""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
import typing as t

import environments

MOST_CHOICES = 8
TARGET = environments.ROOT / "plugins" / "plugin_utils" / "releases" / "options_data.py"
OWN = {"config"}  # vllm serve --config would bring flags that nobody has judged; it is known, and refused by a rule

Rows = list[tuple[str, str, str, str, str]]


def vllm_options(version: str) -> dict[str, tuple[str, str, str]]:
    """name -> (kind, other spellings, choices) of one vLLM."""
    kept = environments.CACHE / "flags" / f"vllm-{version}.json"
    if not kept.exists():
        python, env = environments.vllm(version)
        script = environments.ROOT / "tests" / "parsers" / "vllm_parser.py"
        found = environments.run(str(python), str(script), "flags", env=env).stdout
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(found)
    found = json.loads(kept.read_text())
    return {
        name: (option["kind"], ",".join(option["spellings"]), _choices(option["choices"]))
        for name, option in sorted(found.items())
    }


def _choices(values: list[str]) -> str:
    good = [value for value in values if value != "None"]
    return ",".join(good) if len(good) <= MOST_CHOICES and not any("," in item for item in good) else ""


def mooncake_options(version: str) -> dict[str, tuple[str, str, str]]:
    """name -> (type, "", "") of mooncake_master's own flags and glog's."""
    binary, env = environments.mooncake_master(version)
    text = subprocess.run([binary, "--helpfull"], text=True, capture_output=True, check=False, env=env)
    output = re.sub(r"\s+", " ", text.stdout + text.stderr)
    found = {}
    for file, body in re.findall(r"Flags from (\S+):(.*?)(?=Flags from |$)", output):
        if "master" in file or "logging" in file:
            for name, kind in re.findall(r" -(\w+) \(.*?\) type: (\w+)", body):
                found[name] = (
                    {"int32": "int", "int64": "int", "uint32": "int", "uint64": "int", "double": "float"}.get(
                        kind, kind
                    ),
                    "",
                    "",
                )
    if not found:
        raise SystemExit(f"mooncake_master {version} lists no flags: {output[:300]}")
    return found


def router_options(version: str) -> dict[str, tuple[str, str, str]]:
    """name -> (kind, "", choices) from vllm-router's help."""
    usage_text = environments.run(str(environments.router(version)), "--help").stdout
    found = {}
    for usage in re.findall(
        r"\[?--([a-z][a-z0-9-]*)((?: [^\[\]\s]+| \[[^\]]*\])*)\]?", usage_text.split("options:")[0]
    ):
        name, value = usage
        choices = re.search(r"\{([^}]*)\}", value)
        kind = "str+" if "..." in value else "str" if value.strip() else "flag"
        found[name] = (kind, "", choices.group(1) if choices else "")
    return found


def spans(versions: list[str], options: t.Callable[[str], dict[str, tuple[str, str, str]]]) -> list[str]:
    """One line for each span of versions in which an option looks the same: name since last kind spellings choices."""
    seen: dict[str, list[list[t.Any]]] = {}
    for index, version in enumerate(versions):
        for name, shape in options(version).items():
            rows = seen.setdefault(name, [])
            if rows and rows[-1][1] == index - 1 and rows[-1][2] == shape:
                rows[-1][1] = index
            else:
                rows.append([index, index, shape])
    lines = []
    for name in sorted(seen):
        for first, last, (kind, spellings, choices) in seen[name]:
            since = "" if first == 0 else versions[first]
            until = "" if last == len(versions) - 1 else versions[last]
            lines.append(f"{name}|{since}|{until}|{kind}|{spellings}|{choices}".rstrip("|"))
    return lines


HEAD = '''# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the programs that are started, by version; collected from the programs by tests/parsers/collect_flags.py.

A line is ``name|since|last|kind|other spellings|choices``: the span of versions in which the option looks like this (an
empty bound is open), what a value has to be (flag: none; bool: none, with a --no- form; int, float, size, json, str; +
several, ? optional) and, where there are few, its choices.
"""

from __future__ import annotations

'''


PROGRAMS = {"VLLM": vllm_options, "MOONCAKE_MASTER": mooncake_options, "VLLM_ROUTER": router_options}


def versions_of(collected: t.Mapping[str, t.Any], added: t.Sequence[str]) -> dict[str, list[str]]:
    """program -> the versions of the file and those that are added as ``program=version``, in order."""
    found = {name: list(collected[f"{name}_VERSIONS"]) for name in PROGRAMS}
    for item in added:
        name, _equals, version = item.partition("=")
        found[name.upper()].append(version)
    return {
        name: sorted(set(found[name]), key=lambda version: list(map(int, re.findall(r"\d+", version))))
        for name in found
    }


def main() -> None:
    """Collect and write."""
    versions = versions_of(runpy.run_path(str(TARGET)), sys.argv[1:])
    tables = {name: (versions[name], spans(versions[name], PROGRAMS[name])) for name in PROGRAMS}
    text = HEAD
    for name, (collected, lines) in tables.items():
        listed = (
            "[\n" + "".join(f'    "{version}",\n' for version in collected) + "]"
            if len(collected) > 1
            else f'["{collected[0]}"]'
        )
        text += f'{name}_VERSIONS = {listed}\n\n{name} = """\n' + "\n".join(lines) + '\n"""\n\n'
    TARGET.write_text(text.rstrip("\n") + "\n")
    print(f"{TARGET}: {', '.join(f'{name} {len(lines)} lines' for name, (dummy, lines) in tables.items())}")


if __name__ == "__main__":
    main()
