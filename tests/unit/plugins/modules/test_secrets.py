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

MODULES = pathlib.Path(list(plugins.__path__)[0]) / "modules"
NAMES = sorted(
    {path.stem for path in MODULES.glob("*.py")} - {"bundle", "plan", "print_text"}
)  # those are actions only
# Names of secrets and numbers of tokens
NO_SECRETS = {"verify.entry.api_key", "verify.engine_api_key"}
SECRET = re.compile(r"(^|_)(key|keys|token|secret|secrets|password|credentials?)$")
PACKAGE = "ansible_collections.ascend.inference.plugins.modules"


class Asked(Exception):
    """Raised instead of reading the module's options."""


def spec_of(name, monkeypatch):
    """The argument spec with which a module calls AnsibleModule."""
    module = importlib.import_module(f"{PACKAGE}.{name}")

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
    assert shown - NO_SECRETS == set()


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
