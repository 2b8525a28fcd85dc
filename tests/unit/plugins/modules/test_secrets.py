# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""No module shows a secret: every option that can hold one has no_log, and passwords in URLs are replaced in results."""

from __future__ import annotations

import importlib
import json
import pathlib
import re
import subprocess
import sys

import pytest
from ansible_collections.ascend.inference import plugins
from ansible_collections.ascend.inference.plugins.module_utils.tools.credentials import passwords

yaml = pytest.importorskip("yaml", reason="a target has neither documentation nor actions")

MODULES = pathlib.Path(list(plugins.__path__)[0]) / "modules"
NAMES = sorted({path.stem for path in MODULES.glob("*.py")} - {"print_text"})  # its text is there to be shown
# Options that a name or a description makes look like secrets, and what they hold.
NO_SECRETS = {
    "files.private": "whether a content is one",
    "services.newer": "paths",
    "verify.engine_api_key": "the name of a secret",
    "verify.entry.api_key": "the name of a secret",
    "directory": "keeps digests of plans",
    "minisign_key": "the path of a file",
    "minisign_public_key": "is public",
    "allow_pause": "whether secrets may change",
    "engines.env": "an environment without secrets",
    "facts": "what support_archive writes into an archive for others",
}
SECRET = re.compile(r"(^|_)(key|keys|token|secret|secrets|password|credentials?)$")
DESCRIBED = re.compile(r"\b(secrets?|passwords?|credentials?|bearer|API key)\b|\b(key|token) of\b", re.IGNORECASE)
PACKAGE = "ansible_collections.ascend.inference.plugins.modules"


class Asked(Exception):
    """Raised instead of reading the module's options."""


def spec_of(name, monkeypatch):
    """The argument spec with which a module calls AnsibleModule, or that of an action without a module."""
    module = importlib.import_module(f"{PACKAGE}.{name}")
    if not hasattr(module, "AnsibleModule"):
        return importlib.import_module(PACKAGE.replace("modules", "action") + f".{name}").ARGUMENTS

    def ask(argument_spec, **_other):
        raise Asked(argument_spec)

    monkeypatch.setattr(module, "AnsibleModule", ask)
    with pytest.raises(Asked) as asked:
        module.main()
    return asked.value.args[0]


def options(spec, path=""):
    for name, option in spec.items():
        yield path + name, option
        yield from options(option.get("options") or {}, path + name + ".")


@pytest.mark.parametrize("name", NAMES)
def test_each_option_that_can_hold_a_secret_has_no_log(name, monkeypatch):
    found = dict(options(spec_of(name, monkeypatch)))
    assert found
    shown = {path for path, option in found.items() if SECRET.search(path) and not option.get("no_log")}
    assert shown - set(NO_SECRETS) == set()


def described(options_, path=""):
    """The path and the description of each documented option."""
    for name, option in (options_ or {}).items():
        text = option["description"]
        yield path + name, text if isinstance(text, str) else " ".join(text)
        yield from described(option.get("suboptions"), path + name + ".")


def test_each_option_that_is_described_as_a_secret_has_no_log(monkeypatch):
    shown, hidden = set(), set()
    for name in NAMES:
        documentation = yaml.safe_load(importlib.import_module(f"{PACKAGE}.{name}").DOCUMENTATION)
        specification = dict(options(spec_of(name, monkeypatch)))
        for path, text in described(documentation.get("options")):
            if DESCRIBED.search(text):
                (hidden if specification[path].get("no_log") else shown).add(path)
    assert shown - set(NO_SECRETS) == set()
    assert {"api_key", "engine_api_key", "secrets", "token"} <= hidden


@pytest.mark.parametrize(
    ("value", "hidden"),
    [
        ("https://mirror.example/simple", set()),
        ("ssh://git@host.example/x", set()),
        ("https://me:s3cret@mirror.example/simple", {"s3cret"}),
        (["http://t0ken@mirror.example", {"url": "https://me:a%40b@mirror.example"}], {"t0ken", "a%40b", "a@b"}),
    ],
)
def test_passwords_in_urls_are_found(value, hidden):
    assert passwords(value) == hidden


@pytest.mark.parametrize("module", ["python_venv", "python_packages_info"])
def test_a_password_of_an_index_is_not_shown(module, tmp_path):
    given = {
        "path": str(tmp_path / "venv"),
        "requirements": ["nothing==1"],
        "python": "/nonexistent/python",
        "index_url": "http://me:s3cr3t-word@127.0.0.1:9/simple",
    }
    if module == "python_packages_info":
        given = {"environments": [dict(given, requirements="wrong", unknown=1)]}
    done = subprocess.run(
        [sys.executable, "-m", f"{PACKAGE}.{module}", json.dumps({"ANSIBLE_MODULE_ARGS": given})],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert json.loads(done.stdout)["failed"], done.stdout
    assert "me:********@127.0.0.1" in done.stdout
    assert "s3cr3t-word" not in done.stdout
