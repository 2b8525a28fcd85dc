# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An environment is whole or absent: what is decided, with pip and uv played by a function."""

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.install import venv
from ansible_collections.ascend.inference.plugins.module_utils.install.venv import Builder, VenvError

WISH = {"requirements": ["a==1"], "exclude": ["b"], "imports": ["a"]}


class Commands:
    """Stands for the commands; ``fail`` maps a word of a command to the exit codes of its calls, in turn."""

    def __init__(self, **fail):
        self.calls, self.environments, self.fail, self.output = [], [], fail, ""

    def __call__(self, argv, env):
        self.calls.append(argv)
        self.environments.append(env)
        if argv[1:3] == ["-m", "venv"]:
            folder = pathlib.Path(argv[3])
            (folder / "bin").mkdir(parents=True)
            (folder / "bin" / "python").touch()
        if "config" in argv:
            return 0, "global.find-links='/wheels'\n:env:.cert='/ca.pem'\n"
        for word in argv:
            if self.fail.get(word):
                return self.fail[word].pop(0), self.output
        return 0, ""

    def with_word(self, word):
        return [argv for argv in self.calls if word in argv]


def builder(path, commands, tools=""):
    return Builder(str(path / "venv"), "python3", tools, run=commands)


def uv(tmp_path):
    program = tmp_path / "tools" / "bin" / "uv"
    program.parent.mkdir(parents=True)
    program.touch(mode=0o755)
    return str(tmp_path / "tools")


def test_stamp_is_what_was_asked_for(tmp_path):
    commands = Commands()
    builder(tmp_path, commands).build("base", WISH)
    assert venv.read_stamp(str(tmp_path / "venv"), "base") == WISH
    assert venv.read_stamp(str(tmp_path / "venv"), "other") is None
    assert len(commands.with_word("install")) == 1


def test_second_layer_keeps_the_first(tmp_path):
    commands = Commands()
    builder(tmp_path, commands).build("base", WISH)
    builder(tmp_path, commands).build("more", dict(WISH, requirements=["c==1"]))
    assert len(commands.with_word("venv")) == 1
    assert venv.read_stamp(str(tmp_path / "venv"), "base") == WISH


@pytest.mark.parametrize("word", ["install", "import a"])
def test_failed_installation_is_no_installation(tmp_path, word):
    commands = Commands(**{word: [1]})
    commands.output = "ImportError: libibverbs.so.1: cannot open shared object file: No such file or directory"
    with pytest.raises(VenvError) as raised:
        builder(tmp_path, commands).build("base", WISH)
    assert "libibverbs.so.1" in str(raised.value)
    assert venv.read_stamp(str(tmp_path / "venv"), "base") is None
    assert venv.is_incomplete(str(tmp_path / "venv"))
    builder(tmp_path, commands).build("base", WISH)
    assert len(commands.with_word("venv")) == 2, "what was half-made has to be built from nothing"
    assert venv.read_stamp(str(tmp_path / "venv"), "base") == WISH


def test_interrupted_layer_makes_the_whole_environment_doubtful(tmp_path):
    builder(tmp_path, Commands()).build("base", WISH)
    (tmp_path / "venv" / venv.STAMPS / venv.MARK).touch()
    assert venv.read_stamp(str(tmp_path / "venv"), "base") is None
    assert venv.is_incomplete(str(tmp_path / "venv"))


@pytest.mark.parametrize("name", ["pyvenv.cfg", "thesis.tex"])
def test_what_others_made_is_never_deleted(tmp_path, name):
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / name).touch()
    with pytest.raises(VenvError, match="another path"):
        builder(tmp_path, Commands()).build("base", WISH)
    assert (tmp_path / "venv" / name).exists()


def test_uv_gets_pip_s_configuration_and_the_exclusions(tmp_path):
    commands = Commands()
    builder(tmp_path, commands, uv(tmp_path)).build("base", WISH)
    (argv,) = commands.with_word("install")
    environment = commands.environments[commands.calls.index(argv)]
    assert environment["UV_FIND_LINKS"] == "/wheels"
    assert environment["SSL_CERT_FILE"] == "/ca.pem"
    assert pathlib.Path(argv[argv.index("--excludes") + 1]).read_text() == "b\n"


def test_fallback_index_is_used_only_after_a_failure(tmp_path):
    commands = Commands(install=[1, 0])
    builder(tmp_path, commands, uv(tmp_path)).build("base", WISH, ["https://wheels.example/cpu"])
    first, second = (commands.environments[commands.calls.index(call)] for call in commands.calls[2:4])
    assert commands.with_word("install")[0] == commands.with_word("install")[1]
    assert second["UV_EXTRA_INDEX_URL"] == "https://wheels.example/cpu"
    assert venv.read_stamp(str(tmp_path / "venv"), "base") == WISH


def test_without_uv_pip_installs(tmp_path):
    tools = tmp_path / "tools"
    commands = Commands(uv=[1])
    builder(tmp_path, commands, str(tools)).build("base", WISH)
    assert commands.with_word("a==1")[0][1:4] == ["-m", "pip", "install"]


def test_words_win_over_the_configuration():
    listing = "global.index-url='https://one.example'\nglobal.extra-index-url='file:///a file:///b'\nfreeze.cert='/x'\n"
    found = venv.settings(listing, {"index-url": ["https://two.example"]})
    assert found["PIP_INDEX_URL"] == found["UV_DEFAULT_INDEX"] == "https://two.example"
    assert found["UV_EXTRA_INDEX_URL"] == "file:///a file:///b"
    assert "SSL_CERT_FILE" not in found


@pytest.mark.parametrize(
    ("said", "lacking"),
    [
        ("ERROR: No matching distribution found for torch-npu==2.9.0 (from vllm-ascend)", "torch-npu==2.9.0"),
        (
            "  × No solution found:\n  ╰─▶ Because there is no version of\n   torch-npu==2.9.0 and you require",
            "torch-npu==2.9.0",
        ),
        ("Because torch-npu was not found in the provided package\n locations and you require", "torch-npu"),
        ("error: connection refused", ""),
    ],
)
def test_the_package_that_is_missing_is_named(said, lacking):
    assert venv.missing_package(said) == lacking


def test_failure_says_what_is_missing_and_what_to_do(tmp_path):
    commands = Commands(install=[1])
    commands.output = "ERROR: No matching distribution found for a==1"
    built = Builder(str(tmp_path / "venv"), "python3", run=commands, advice="set x_find_links.")
    with pytest.raises(VenvError, match=r"has a==1\.\nFix: set x_find_links\."):
        built.build("base", WISH)


def test_contradiction_after_installation_leaves_no_stamp(tmp_path):
    commands = Commands(check=[1])
    with pytest.raises(VenvError, match="are not compatible"):
        builder(tmp_path, commands).build("base", dict(WISH, check=True))
    assert venv.read_stamp(str(tmp_path / "venv"), "base") is None


def test_files_are_sourced_without_the_commands_arguments(tmp_path):
    first, second = tmp_path / "a b.sh", tmp_path / "c.sh"
    first.write_text('export SEEN="$#"\n')
    second.write_text("export MORE=1\n")
    built = Builder(str(tmp_path / "venv"), "python3", sources=[str(first), str(second)])
    code, output = venv.run_command(built._sourced(["sh", "-c", 'echo "$SEEN $MORE $1"', "x", "two words"]), {})
    assert (code, output.strip()) == (0, "0 1 two words")


def test_an_installation_that_hangs_is_an_error(monkeypatch):
    monkeypatch.setattr(venv, "TIMEOUT", 0.2)
    with pytest.raises(OSError, match="sleep 9 did not end within"):
        venv.run_command(["sleep", "9"], {})
