# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Awkward values of a plan reach a program as they are: the role's scripts are rendered, and run by sh."""

from __future__ import annotations

import json
import pathlib
import posixpath
import shlex
import subprocess
import sys

import jinja2
import pytest

TEMPLATES = pathlib.Path(__file__).resolve().parents[2] / "roles" / "service" / "templates"
AWKWARD = {
    "BLANK": " two  words ",
    "QUOTES": 'it\'s "quoted"',
    "DOLLAR": "$HOME ${HOME} $(id) `id`",
    "PERCENT": "%h 100% %%n %(ENV_HOME)s",
    "BACKSLASH": "a\\b\\n \\",
    "JSON": json.dumps({"kv": {"a b": [1, "it's", "\\d"]}}),
    "LINES": "one\ntwo",
    "EMPTY": "",
    "TILDE": "~/x *.py [a] {a,b} # no comment ; & | < > !",
    "OPTION": "--flag=-n",
    "LETTERS": "größe 模型",
}
SHOW = "import json, os, sys; json.dump([sys.argv[1:], dict(os.environ)], open(os.environ['SEEN'], 'w'))"


def rendered(name, **variables):
    """A template of the role, by Jinja and with the filters that the role uses as Ansible has them."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    environment.filters.update(quote=shlex.quote, dirname=posixpath.dirname)
    return environment.get_template(name).render(**variables)


def service(folder, **more):
    """A service whose program writes its arguments and its environment to a file."""
    return {
        "name": "engine",
        "unit": "x-engine",
        "work_directory": str(folder),
        "scripts": {name: str(folder / f"{name}.sh") for name in ("run", "environment", "secrets")},
        "digest": "d1",
        "digest_file": str(folder / "engine.digest"),
        "start": {"limits": {}},
        "source": [],
        "env": {**AWKWARD, "SEEN": str(folder / "seen")},
        "secret_env": {f"SECRET_{name}": name for name in AWKWARD},
        "argv": [sys.executable, "-c", SHOW, *AWKWARD.values()],
        **more,
    }


def run(folder, item):
    """Write the service's three scripts, run it, and return what its program got: arguments and environment."""
    variables = {"item": item, "__service_start_waits": False, "service_secrets": AWKWARD}
    variables["__service_secret_digests"] = {"engine": "0a1b"}
    for name in ("environment.sh", "secrets.sh", "run.sh"):
        (folder / name).write_text(rendered(f"{name}.j2", **variables), encoding="utf-8")
    done = subprocess.run(
        ["sh", str(folder / "run.sh")], env={"PATH": "/usr/bin:/bin", "HOME": "/nowhere"}, check=False
    )
    assert done.returncode == 0
    assert (folder / "engine.digest").read_text(encoding="utf-8") == ("d1 0a1b\n" if item["secret_env"] else "d1\n")
    arguments, environment = json.loads((folder / "seen").read_text(encoding="utf-8"))
    assert "secrets_digest" not in environment  # no child needs it
    return arguments, environment


@pytest.fixture
def folder(tmp_path):
    """A folder whose path has to be quoted as well."""
    found = tmp_path / "it's a $folder"
    found.mkdir()
    return found


def test_each_value_arrives_as_it_was_planned(folder):
    arguments, environment = run(folder, service(folder))
    assert arguments == list(AWKWARD.values())
    assert {name: environment.get(name) for name in AWKWARD} == AWKWARD
    assert {name: environment.get(f"SECRET_{name}") for name in AWKWARD} == AWKWARD


def test_each_value_of_a_router_with_members_arrives(folder):
    """Its engines are in a script of their own, which sets further arguments."""
    (folder / "members.sh").write_text("set -- --decode 'http://[fd00::1]:7100'\n", encoding="utf-8")
    item = service(folder)
    item["members"] = {"script": str(folder / "members.sh"), "argv": item["argv"]}
    arguments, _environment = run(folder, item)
    assert arguments == [*AWKWARD.values(), "--decode", "http://[fd00::1]:7100"]


def test_a_file_that_is_sourced_sees_no_argument_and_may_use_unset_variables(folder):
    """CANN's files do; and what they set stands, unless the plan sets it too."""
    file = folder / "set env.sh"
    file.write_text('[ $# -eq 0 ] || exit 9\nexport OF_CANN="x$UNSET" BLANK=other\n', encoding="utf-8")
    _arguments, environment = run(folder, service(folder, source=[str(file)]))
    assert (environment["OF_CANN"], environment["BLANK"]) == ("x", AWKWARD["BLANK"])
