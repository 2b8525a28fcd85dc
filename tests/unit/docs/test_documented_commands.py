# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every ansible-playbook line of the pages is accepted by ansible-playbook: options, playbook, inventory, names of variables."""

from __future__ import annotations

import os
import pathlib
import re
import shlex
import subprocess
import typing as t

import pytest
import yaml
from ansible.cli.playbook import PlaybookCLI

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGES = sorted(
    [
        *(ROOT / name for name in ("README.md", "README.zh-CN.md", "CONTRIBUTING.md")),
        *ROOT.glob("docs/*.md"),
        *ROOT.glob("docs/docsite/rst/*.rst"),
        *ROOT.glob("roles/*/README.md"),
        *ROOT.glob("molecule/README.md"),
        *ROOT.glob("inventories/**/*.yml"),
        *ROOT.glob("playbooks/**/*.yml"),
    ]
)
OWN = "ascend.inference."
# Inventories that a reader has; those of the repository have to exist.
READERS = {"hosts.yml", "inventory", "INVENTORY", "FOLDER/inventory.yml", "advice.yml"}


class Command(t.NamedTuple):
    """A line: where it is, its arguments, and the playbooks, inventories and extra variables in them."""

    place: str
    arguments: list[str]
    playbooks: list[str]
    inventories: list[str]
    variables: list[str]


def lines(text: str) -> t.Iterator[str]:
    """Commands in blocks of code and between backquotes; one that goes on in the next line is one line."""
    joined = re.sub(r"\\\n\s*", "", text)
    for line in joined.splitlines():
        quoted = re.findall(r"`+(ansible-playbook .*?)`+", line)
        written = re.match(r"(?:#? *\$? *)(ansible-playbook .*)", line)
        yield from quoted or ([written[1]] if written else [])


def parsed(place: str, line: str) -> Command:
    """As ansible-playbook reads the line. Raises ``SystemExit`` for an option that it does not know."""
    words = shlex.split(line, comments=True)
    ends = [number for number, word in enumerate(words) if word in ("|", ";", "&&", ">")]
    arguments = words[1 : ends[0]] if ends else words[1:]
    cli = PlaybookCLI(["ansible-playbook", *arguments])
    cli.init_parser()
    found = cli.parser.parse_args(arguments)
    names: list[str] = []
    for given in found.extra_vars:
        names += yaml.safe_load(given) if given.startswith("{") else [given.partition("=")[0]]
    return Command(place, arguments, found.args, found.inventory or [], names)


def commands() -> list[Command]:
    """All of them, those with placeholders in place of all arguments left out."""
    found = []
    for path in PAGES:
        for line in lines(path.read_text(encoding="utf-8")):
            if OWN in line:
                found.append(parsed(str(path.relative_to(ROOT)), line))
    return found


@pytest.fixture(scope="module")
def documented():
    return commands()


def test_the_search_finds_the_commands(documented):
    pages = {command.place for command in documented}
    assert {"README.md", "README.zh-CN.md", "CONTRIBUTING.md", "docs/docsite/rst/guide_kthena.rst"} <= pages
    assert len(documented) > 60


def test_inventories_exist(documented):
    named = {(command.place, name) for command in documented for name in command.inventories if name not in READERS}
    assert sorted(item for item in named if not (ROOT / item[1]).exists()) == []


def test_variables_exist(documented):
    code = "".join(
        path.read_text(encoding="utf-8")
        for folder in ("playbooks", "plugins", "roles")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".yml")
    )
    known = set(re.findall(r"\b[a-z_]+\b", code)) | {f"inference_{name}" for name in re.findall(r"\n    (\w+): ", code)}
    named = {(command.place, name) for command in documented for name in command.variables}
    for path in PAGES:  # also those beside a command, as in the table of playbooks
        text = path.read_text(encoding="utf-8")
        named |= {(str(path.relative_to(ROOT)), name) for name in re.findall(r"-e (?:'\{\")?(\w+)(?:\"|=)", text)}
    assert len(named) > 80
    assert sorted(item for item in named if item[1] not in known) == []


def test_playbooks_can_be_read_with_the_inventories(documented, tmp_path):
    """All of them together, in one run; the inventory of the README stands for those of readers."""
    block = re.search(r"^```yaml\n(all:.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    (tmp_path / "hosts.yml").write_text(block[1], encoding="utf-8")
    named = {name for command in documented for name in command.inventories or ["hosts.yml"]}
    places = sorted({str(tmp_path / "hosts.yml") if name in READERS else str(ROOT / name) for name in named})
    assert len(places) >= 4
    argv = ["ansible-playbook", "--syntax-check", *(word for place in places for word in ("-i", place))]
    argv += sorted({playbook for command in documented for playbook in command.playbooks})
    environment = {**os.environ, "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "True"}
    done = subprocess.run(argv, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]


@pytest.mark.parametrize("line", ["ansible-playbook --becom-user x a.b.c", "ansible-playbook -i"])
def test_an_unknown_option_is_seen(line):
    with pytest.raises(SystemExit):
        parsed("page", line)


def test_what_follows_a_command_is_not_part_of_it():
    text = "   $ ansible-playbook -i hosts.yml a.b.c -e x=1 \\\n     -e '{\"y\": [1]}' | sed -n p   # why"
    (line,) = lines(text.removeprefix("   "))
    assert parsed("page", line)[1:] == (
        ["-i", "hosts.yml", "a.b.c", "-e", "x=1", "-e", '{"y": [1]}'],
        ["a.b.c"],
        ["hosts.yml"],
        ["x", "y"],
    )
