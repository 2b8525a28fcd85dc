# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the guides and README show is true: words exist, examples are understood, inventories can be planned."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
import yaml
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.vars.manager import VariableManager
from ansible_collections.ascend.inference.plugins.filter.launch_plan import launch_plan_filter
from ansible_collections.ascend.inference.plugins.plugin_utils.description import variables as topology
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.routers.registry import FLAVOURS
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.matrix import ROWS
from ansible_collections.ascend.inference.plugins.plugin_utils.runtimes.registry import NAMES as RUNTIMES

ROOT = Path(__file__).resolve().parents[3]
RST = ROOT / "docs" / "docsite" / "rst"
GUIDE = (RST / "guide_inventory.rst").read_text(encoding="utf-8")
NEEDED = {"inference_model": {"path": "/m"}, "inference_pools": {"prefill": {}, "decode": {}}}
LITERALS = re.findall(r"``(.+?)``", GUIDE)
EXAMPLES = [yaml.safe_load(text) for text in LITERALS if re.match(r"\w+: ", text)]
POOL_WORDS = {field.name for field in dataclasses.fields(topology.Pool)}
RECORDS = (
    topology.Model,
    topology.Pool,
    topology.Ports,
    topology.Router,
    topology.Master,
    topology.Store,
    topology.EncoderCache,
    topology.Container,
)


def used_by_playbooks():
    text = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "playbooks").glob("*.yml"))
    return (topology.OPERATIONAL & set(re.findall(r"(?<!_)inference_[a-z_]+", text))) - {"inference_plan"}


def test_every_word_has_an_example():
    shown = {key for example in EXAMPLES for key in example}
    words = {topology.PREFIX + field.name for field in dataclasses.fields(topology.Description)}
    words |= {topology.PREFIX + name for name in topology.HOST_VARIABLES} | used_by_playbooks() | {"inference_group"}
    assert sorted(words - shown - {"inference_devices"}) == [] and "inference_devices" in shown


def test_every_word_of_a_record_is_mentioned():
    mentioned = set(re.findall(r"\w+", " ".join(LITERALS)))
    words = {field.name for record in RECORDS for field in dataclasses.fields(record)}
    assert sorted(words - mentioned) == []


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda item: next(iter(item)))
def test_each_example_is_understood(example):
    ((word, value),) = example.items()
    if word in POOL_WORDS:
        word, value = "inference_pools", {"prefill": {word: value}, "decode": {}}
    elif word in topology.OPERATIONAL:
        return
    elif word[len(topology.PREFIX) :] in topology.HOST_VARIABLES:
        inventory = {"n": {"groups": ["prefill"], "variables": {word: value}}}
        _hosts, findings = topology.read_hosts(inventory, topology.read_description(NEEDED)[0])
        assert [finding.text() for finding in findings] == []
        return
    _description, findings = topology.read_description({**NEEDED, word: value})
    assert [finding.text() for finding in findings] == []


def test_every_router_flavour_is_named():
    documented = {field.name: field.metadata for field in dataclasses.fields(topology.Router)}["flavour"]
    row = next(line for line in GUIDE.splitlines() if "derived from the connector" in line)
    assert sorted(name for name in FLAVOURS if f"``{name}``" not in row) == []
    assert sorted(name for name in FLAVOURS if not re.search(rf"\b{name}\b", str(documented))) == []


@pytest.mark.parametrize("page", ["README.md", "README.zh-CN.md"])
def test_readme_names_the_oldest_and_the_newest_release(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert re.findall(r"vLLM-Ascend ([\d.]+) (?:to|至) ([\w.]+)", text, re.A) == [(ROWS[0][0], ROWS[-2][0])]


def test_the_glossary_names_each_port_of_an_engine():
    entry = (RST / "glossary.rst").read_text(encoding="utf-8").partition("\nport\n")[2].partition("\nprefill\n")[0]
    assert sorted(field.name for field in dataclasses.fields(topology.Ports) if f"``{field.name}``" not in entry) == []


IN_CLUSTER = {"kubernetes"}  # has no service_state
RUNTIME_PLACES = {
    "README.md": r"^\| `{}`",
    "README.zh-CN.md": r"^\| `{}`",
    "docs/docsite/rst/glossary.rst": r"^runtime\n.*``{}``",
    "docs/docsite/rst/guide_inventory.rst": r"``inference_runtime: (?:systemd``\n.*``)?{}``",
    "docs/docsite/rst/guide_operations.rst": r"^   \* - ``{}``",
    "docs/docsite/rst/guide_security.rst": r"^   \* - {}$",
    "plugins/modules/service_state.py": r"[Ff]or V\({}\), C\(",
}


@pytest.mark.parametrize("page", RUNTIME_PLACES)
def test_every_runtime_is_named(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    names = set(RUNTIMES) - (IN_CLUSTER if page.endswith(".py") else set())
    assert sorted(name for name in names if not re.search(RUNTIME_PLACES[page].format(name), text, re.M)) == [], (
        f"{page} does not describe these runtimes"
    )


def inventories():
    """YAML blocks of README and guides that are whole inventories."""
    fenced = re.findall(r"```yaml\n(all:\n.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)
    blocks = [("README", text) for text in fenced]
    for path in sorted(RST.glob("*.rst")):
        for text in re.findall(r"code-block:: yaml\n\n((?:   .*\n|\n)+)", path.read_text(encoding="utf-8")):
            lines = [line[3:] for line in text.splitlines()]
            if lines[0] == "all:":
                blocks.append((path.stem, "\n".join(lines) + "\n"))
    return blocks


INVENTORIES = inventories()


def test_readme_and_quickstart_have_inventories():
    assert {"README", "guide_quickstart"} <= {name for name, _text in INVENTORIES}


@pytest.mark.parametrize(("name", "text"), INVENTORIES, ids=[name for name, _text in INVENTORIES])
def test_inventories_can_be_planned(name, text, tmp_path):
    (tmp_path / "hosts.yml").write_text(text)
    loader = DataLoader()
    inventory = InventoryManager(loader=loader, sources=[str(tmp_path / "hosts.yml")])
    variables = VariableManager(loader=loader, inventory=inventory)
    hostvars = {host.name: variables.get_vars(host=host) for host in inventory.get_hosts()}
    plan = launch_plan_filter(next(iter(hostvars.values())), hostvars, inventory.get_groups_dict())
    # A page cannot name the digest of an image in a reader's registry.
    assert {finding["id"] for finding in plan["findings"]} <= {"IMAGE-DIGEST"}
    router = next(service for service in plan["services"] if service["kind"] == "router")
    text_of_page = (ROOT / "README.md" if name == "README" else RST / f"{name}.rst").read_text(encoding="utf-8")
    assert f"curl http://{router['address']}:{router['ports'][0]['first']}/v1/completions" in text_of_page
    assert f'"model": "{plan["model"]["name"]}"' in text_of_page


def test_the_page_of_playbooks_names_every_one_and_only_those():
    named = re.findall(r"^   \* - ``(\w+)``$", (RST / "guide_playbooks.rst").read_text(encoding="utf-8"), re.M)
    there = {path.stem for path in (ROOT / "playbooks").glob("*.yml") if not path.stem.startswith("kubernetes")}
    assert sorted(named) == sorted(there)


def test_readme_has_the_playbooks_of_the_first_day():
    table = (ROOT / "README.md").read_text(encoding="utf-8").split("## Playbooks")[1].split("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.M) == ["plan", "check", "site", "status", "remove"]
    assert "(docs/docsite/rst/guide_playbooks.rst)" in table


def test_links_of_readme_lead_somewhere():
    links = re.findall(r"\]\(([^)#]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert [link for link in links if not (ROOT / link).exists()] == []


@pytest.mark.parametrize("page", sorted(RST.glob("*.rst")), ids=lambda page: page.stem)
def test_the_first_name_of_a_generation_has_the_name_that_everybody_knows(page):
    """910B and 910C stand beside the first A2 and A3 of a page, in its text: headings of published guides and ids are not text."""
    text = re.sub(r"^.+\n[-=~]{3,}$|``.+?``", "", page.read_text(encoding="utf-8"), flags=re.M)
    for generation, known in (("A2", "910B"), ("A3", "910C")):
        first = re.search(rf"\b{generation}\b", text)
        if first and page.stem != "published_values":  # the words of the guides themselves
            assert known in text[max(0, first.start() - 80) : first.end() + 80], text[first.start() - 40 :][:120]


def test_every_guide_is_listed():
    listed = yaml.safe_load((ROOT / "docs" / "docsite" / "extra-docs.yml").read_text(encoding="utf-8"))
    names = [name for section in listed["sections"] for name in section["toctree"]]
    assert sorted(names) == sorted(path.stem for path in RST.glob("*.rst"))


def test_architecture_names_every_folder_and_only_those():
    page = (RST / "architecture.rst").read_text(encoding="utf-8")
    named = set(re.findall(r"``((?:plugins|roles|playbooks|inventories|tests|molecule|docs)/[\w/]*)``", page))
    assert sorted(path for path in named if not (ROOT / path).exists()) == []
    listed = page.partition("\nFolders\n")[2].partition("\nData flow of a deployment\n")[0]
    assert listed
    folders = [path for path in (ROOT / "plugins").rglob("*") if path.is_dir() and "__pycache__" not in path.parts]
    folders = [path for path in folders if list(path.glob("*.py"))]
    assert sorted(set(map(str, (path.relative_to(ROOT) for path in folders))) - set(folders_of(listed))) == []


def folders_of(table):
    """The folders in a table, such as plugins/a/b for ``plugins/a/b/``. ``c/`` in the same line is a sibling of the last one."""
    for line in table.splitlines():
        last = ""
        for name in re.findall(r"``([\w/]+)/``", line):
            last = name if "/" in name or not last else f"{last.rpartition('/')[0]}/{name}"
            yield last


def test_a_folder_in_the_table_is_found_by_its_whole_path():
    assert list(folders_of("* - ``plugins/a/b/``, ``c/``\n  - The folder ``d/``")) == [
        "plugins/a/b",
        "plugins/a/c",
        "d",
    ]
