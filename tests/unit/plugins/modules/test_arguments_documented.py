# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The arguments of a module are the documented ones: type, default, choices, whether required; and check mode is supported as stated."""

from __future__ import annotations

import importlib

import pytest
from ansible_collections.ascend.inference.tests.unit.plugins.modules.test_secrets import MODULES, PACKAGE

yaml = pytest.importorskip("yaml", reason="a target has neither documentation nor actions")

NAMES = sorted({path.stem for path in MODULES.glob("*.py")} - {"__init__", "print_text"})  # an action with one text
COMPARED = ("type", "elements", "default", "choices", "required", "aliases")


class Asked(Exception):
    """Raised instead of reading the module's options."""


def asked(name, monkeypatch):
    """The argument spec and whether check mode is supported; None for an action without a module."""
    module = importlib.import_module(f"{PACKAGE}.{name}")
    if not hasattr(module, "AnsibleModule"):
        return importlib.import_module(PACKAGE.replace("modules", "action") + f".{name}").ARGUMENTS, None

    def ask(argument_spec, supports_check_mode=False, **_other):
        raise Asked(argument_spec, supports_check_mode)

    monkeypatch.setattr(module, "AnsibleModule", ask)
    with pytest.raises(Asked) as found:
        module.main()
    return found.value.args


def documentation(name):
    """The module's own, with the options and attributes of the fragments that it names."""
    found = yaml.safe_load(importlib.import_module(f"{PACKAGE}.{name}").DOCUMENTATION)
    options, attributes = {}, {}
    own = [name for name in found.get("extends_documentation_fragment", []) if name.startswith("ascend.inference.")]
    for fragment in own:
        file, _dot, part = fragment.rpartition("ascend.inference.")[2].partition(".")
        fragments = importlib.import_module(PACKAGE.replace("modules", "doc_fragments") + f".{file}").ModuleDocFragment
        more = yaml.safe_load(getattr(fragments, (part or "documentation").upper()))
        options.update(more.get("options") or {})
        attributes.update(more.get("attributes") or {})
    return {**options, **(found.get("options") or {})}, {**attributes, **(found.get("attributes") or {})}


def plain(option):
    """What is compared of an option; a value that is left out is that of Ansible."""
    usual = {"type": "str", "required": False}
    return {name: option.get(name, usual.get(name)) for name in COMPARED}


def rows(options, inner, path=""):
    """The path of each option and what it says; ``inner``: the name of what an option of records has."""
    for name, option in (options or {}).items():
        yield path + name, plain(option)
        yield from rows(option.get(inner), inner, f"{path}{name}.")


@pytest.mark.parametrize("name", NAMES)
def test_arguments_are_the_documented_ones(name, monkeypatch):
    documented, attributes = documentation(name)
    spec, checks = asked(name, monkeypatch)
    assert dict(rows(spec, "options")) == dict(rows(documented, "suboptions"))
    stated = attributes["check_mode"]
    assert checks in (None, stated.get("support", "full") != "none"), f"check mode is documented as {stated}"
