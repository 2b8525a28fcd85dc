# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Resolution of environments: which index is asked for what, and what is said of what is unavailable; uv is played by a function."""

from __future__ import annotations

import re

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.install import index_credentials, resolution, venv
from ansible_collections.ascend.inference.plugins.module_utils.install.resolution import Resolver, Unresolved

CPU, ASCEND = "https://torch.example/cpu", "https://ascend.example/simple"
INDEXES = {CPU: ["torch", "torchvision"], ASCEND: ["triton_ascend", "torch-npu"]}
WISH = {"requirements": ["torch==2.10.0", "torch-npu==2.10.0", "vllm==0.23.0"], "no_binary": ["vllm"]}
NO_TORCH = "  cause: Because there is no version of torch==2.10.0+cpu and torch-npu==2.10.0 depends on torch==2.10.0+cpu, we can"
NO_TRITON = "  cause: Because there is no version of triton-ascend==3.2.2 and vllm-ascend==0.23.0 depends on triton-ascend==3.2.2, we"


class Uv:
    """Answers of uv in turn: (exit status, output); keeps each pyproject.toml and command."""

    def __init__(self, folder, *answers):
        self.folder, self.answers, self.projects, self.commands = folder, list(answers), [], []

    def __call__(self, argv, env):
        self.commands.append(argv)
        self.env = env
        self.projects.append((self.folder / "pyproject.toml").read_text())
        return self.answers.pop(0)


def resolver(tmp_path, *answers, **env):
    uv = Uv(tmp_path, *answers)
    return Resolver("uv", uv, str(tmp_path), ["--python", "python3"], env), uv


def test_an_own_index_is_asked_only_for_what_the_others_lack(tmp_path):
    solved = "torch==2.10.0\ntorch-npu==2.10.0\ntorchvision==0.25.0\n"
    chosen, uv = resolver(tmp_path, (0, solved))
    assert chosen.resolve(WISH, INDEXES, {}) == (
        {"torch": "2.10.0", "torch-npu": "2.10.0", "torchvision": "0.25.0"},
        {},
    )
    assert "index" not in uv.projects[0] and len(uv.commands) == 1


def test_builds_with_a_local_label_come_from_one_index_and_others_do_not(tmp_path):
    first = "torch==2.10.0+cpu\ntorch-npu==2.10.0\ntorchvision==0.25.0\ntriton-ascend==3.2.2\n"
    second = first.replace("0.25.0", "0.25.0+cpu")
    chosen, uv = resolver(tmp_path, (1, NO_TORCH), (1, NO_TRITON), (0, first), (0, second))
    packages, sources = chosen.resolve(WISH, INDEXES, {})
    assert packages["torchvision"] == "0.25.0+cpu"
    assert sources == {"torch": CPU, "torchvision": CPU, "triton-ascend": ASCEND}  # torch-npu is on the usual index
    assert (
        'dependencies = ["torch==2.10.0", "torch-npu==2.10.0", "vllm==0.23.0", "torchvision", "triton-ascend"]'
        in (uv.projects[-1])
    )
    assert uv.projects[-1].count("explicit = true") == 2


def test_what_cannot_be_had_is_named_with_where_it_was_searched(tmp_path):
    chosen, uv = resolver(
        tmp_path, (1, NO_TRITON), (1, NO_TRITON), UV_DEFAULT_INDEX="https://me:secret@mirror.example/simple"
    )
    with pytest.raises(Unresolved) as caught:
        chosen.resolve(WISH, INDEXES, {})
    begin = f"triton-ascend==3.2.2 is unavailable from https://mirror.example/simple, {ASCEND}."
    assert str(caught.value).startswith(begin) and "secret" not in str(caught.value)
    assert len(uv.commands) == 2


def test_passwords_of_own_indexes_are_in_no_file_and_no_message(tmp_path):
    private = {
        url.replace("//", f"//me{number}:s3c%40ret@"): names for number, (url, names) in enumerate(INDEXES.items())
    }
    chosen, uv = resolver(tmp_path, (1, NO_TRITON), (1, NO_TORCH), (1, NO_TORCH))
    with pytest.raises(Unresolved, match=f"unavailable from PyPI, {ASCEND}, {CPU}") as caught:
        chosen.resolve(WISH, private, {})
    assert "s3c" not in "".join([*uv.projects, str(caught.value), *(part for argv in uv.commands for part in argv)])
    order = [re.search(rf'"(extra-.)"\nurl = "{url}"', uv.projects[-1]).group(1) for url in (CPU, ASCEND)]
    for number, name in enumerate(order):
        begin = "UV_INDEX_{}_".format(name.upper().replace("-", "_"))
        assert (uv.env[begin + "USERNAME"], uv.env[begin + "PASSWORD"]) == (f"me{number}", "s3c@ret")
    with pytest.raises(Unresolved) as caught:
        resolver(tmp_path, (1, NO_TRITON))[0].resolve(dict(WISH, no_index=True), private, {})
    assert ASCEND in str(caught.value) and "s3c" not in str(caught.value)  # where it usually is


def test_only_the_server_of_an_index_gets_its_password():
    indexes = ["https://a.example/simple", "https://me:s3c%40ret@b.example:8443/simple"]
    same = index_credentials.with_credentials("https://b.example:8443/files/x.whl#sha256=1", indexes)
    assert same == "https://me:s3c%40ret@b.example:8443/files/x.whl#sha256=1"
    for other in ("https://b.example/x", "http://b.example:8443/x", "https://a.example/x", "file:///x"):
        assert index_credentials.with_credentials(other, indexes) == other
    assert index_credentials.environment(indexes[:1]) == {}


def test_without_own_indexes_the_usual_one_is_not_guessed(tmp_path):
    chosen, _uv = resolver(tmp_path, (1, NO_TRITON), UV_FIND_LINKS="/wheels")
    with pytest.raises(Unresolved, match="is unavailable from /wheels") as caught:
        chosen.resolve(dict(WISH, no_index=True), INDEXES, {})
    assert ASCEND in str(caught.value)  # where it usually is


def test_an_index_that_does_not_answer_is_named(tmp_path):
    output = "error: Request failed after 3 retries in 4.8s\n  cause: Failed to fetch: https://u:p@torch.example/cpu/torch/\n"
    chosen, _uv = resolver(tmp_path, (1, NO_TORCH), (2, output))
    with pytest.raises(Unresolved, match="^https://torch.example/cpu/torch/ cannot be read"):
        chosen.resolve(WISH, INDEXES, {})


def test_contradictions_and_missing_wheels_are_told_apart(tmp_path):
    conflict = "Because a depends on c<2 and b depends on c>=2, we can conclude that a and b are incompatible."
    chosen, _uv = resolver(tmp_path, (1, conflict))
    with pytest.raises(Unresolved, match="^the requirements conflict"):
        chosen.resolve(WISH, {}, {})
    wheels = "Because torch-npu==2.5.1 has no wheels with a matching Python ABI tag (e.g., `cp312`) and you require torch-npu==2.5.1"
    chosen, _uv = resolver(tmp_path, (1, wheels))
    with pytest.raises(Unresolved, match="^torch-npu==2.5.1 is unavailable"):
        chosen.resolve(WISH, {}, {})


def test_options_of_an_environment_reach_uv(tmp_path):
    wish = dict(WISH, exclude=["triton"], overrides=["fastapi<0.124.0"])
    chosen, uv = resolver(tmp_path, (0, ""))
    chosen.resolve(wish, {}, {"vllm==0.23.0": ['six; python_version > "3.11"']})
    command = " ".join(uv.commands[0])
    for part in ("--no-binary vllm", "--python python3", "--excludes", "--overrides", f"--directory {tmp_path}"):
        assert part in command
    assert (tmp_path / "overrides.txt").read_text() == "fastapi<0.124.0\n"
    assert 'requires-dist = ["six; python_version > \\"3.11\\""]' in uv.projects[0]


def test_a_checkout_counts_as_what_its_package_requires():
    needs = {"vllm==0.23.0": ["regex"], "vllm-ascend==0.23.0": ["numpy", "torch==2.10.0"]}
    wanted = ["vllm @ file:///src/vllm", "vllm-ascend @ file:///src/vllm-ascend", "other @ file:///x", "torch==2.10.0"]
    expected = ["regex", "numpy", "torch==2.10.0", "other @ file:///x", "torch==2.10.0"]
    assert resolution.published(wanted, needs) == expected


class Commands:
    """Commands of an installation with uv, in whose resolution torch has no version on the usual index."""

    def __init__(self):
        self.calls, self.failed, self.indexes = [], False, []

    def __call__(self, argv, env):
        self.calls.append(argv)
        self.indexes.append(env.get("UV_INDEX", ""))
        if "compile" in argv and not self.failed:
            self.failed = True
            return 1, NO_TORCH
        return 0, "torch==2.10.0+cpu\n" if "compile" in argv else ""


def test_an_installation_takes_the_package_from_the_resolved_index(tmp_path):
    (tmp_path / "tools" / "bin").mkdir(parents=True)
    (tmp_path / "tools" / "bin" / "uv").touch(mode=0o755)
    commands = Commands()

    def choose(builder, wish, env):
        return resolution.chosen(builder, wish, env, INDEXES, {})

    made = venv.Builder(str(tmp_path / "venv"), "python3", str(tmp_path / "tools"), run=commands, choose=choose)
    made.build("base", {"requirements": ["torch==2.10.0"], "exclude": [], "imports": []})
    locked = next(argv for argv in commands.calls if "--output-file" in argv)
    install = next(argv for argv in commands.calls if "install" in argv)
    assert commands.indexes[commands.calls.index(install)] == CPU and "--no-deps" in install
    with open(locked[-1]) as stream:
        text = stream.read()
    assert CPU in text and 'dependencies = ["torch==2.10.0"]' in text


def test_uv_gets_each_option_once_and_no_url_of_an_index_as_an_argument(tmp_path):
    """uv refuses an option with one value that is given twice, and a URL may have a password."""
    urls = ["https://me:s3cret@one.example/simple", "https://two.example/simple"]
    (tmp_path / "tools" / "bin").mkdir(parents=True)
    (tmp_path / "tools" / "bin" / "uv").touch(mode=0o755)
    commands = Commands()
    made = venv.Builder(
        str(tmp_path / "venv"), "python3", str(tmp_path / "tools"), run=commands, choose=lambda *_given: ("", urls)
    )
    commands.failed = True
    made.build("base", {"requirements": ["torch==2.10.0"], "exclude": [], "imports": []})
    install = next(argv for argv in commands.calls if "install" in argv)
    assert install.count("--index-strategy") == 1 and not any(url in install for url in urls)
    assert commands.indexes[commands.calls.index(install)].split() == urls


@pytest.mark.parametrize(
    "line, expected",
    [
        ("vllm 0.30.0 has requirement fastapi[standard]<0.137.0,>=0.133.0, but you have fastapi 0.123.10.", True),
        ("vllm 0.30.0 has requirement torch==2.11.0, but you have torch 2.10.0.", False),
        ("vllm 0.30.0 requires fastapi, which is not installed.", False),
    ],
)
def test_only_overridden_requirements_may_be_unmet(line, expected):
    assert venv.overridden(line, ["fastapi<0.124.0"]) is expected


def test_the_whole_project_for_uv():
    sources = {"torch": "https://me:pw@b/simple", "acl": "https://a/simple", "vllm": "https://a/simple"}
    found = resolution.project(['vllm[x]==1; python_version > "3"'], sources, {"z==2": ["q"], "b==1": []})
    assert found.splitlines() == [
        "[project]",
        'name = "environment"',
        'version = "0"',
        'dependencies = ["vllm[x]==1; python_version > \\"3\\"", "acl", "torch"]',
        "[tool.uv.sources]",
        '"acl" = {index = "extra-0"}',
        '"torch" = {index = "extra-1"}',
        '"vllm" = {index = "extra-0"}',
        "[[tool.uv.index]]",
        'name = "extra-0"',
        'url = "https://a/simple"',
        "explicit = true",
        "[[tool.uv.index]]",
        'name = "extra-1"',
        'url = "https://b/simple"',
        "explicit = true",
        "[[tool.uv.dependency-metadata]]",
        'name = "b"',
        'version = "1"',
        "requires-dist = []",
        "[[tool.uv.dependency-metadata]]",
        'name = "z"',
        'version = "2"',
        'requires-dist = ["q"]',
    ]
    assert "tool.uv" not in resolution.project(["a"], {}, {})


@pytest.mark.parametrize(
    ("requirement", "name"),
    [
        ("torch_npu==2; x", "torch-npu"),
        (" A.b[c]>1", "a-b"),
        ("a @ file:///b", "a"),
        ("a(>1)", "a"),
        ("a~=1", "a"),
        ("a;b", "a"),
        ("a!=1", "a"),
    ],
)
def test_the_name_of_a_requirement(requirement, name):
    assert resolution.name_of(requirement) == name
