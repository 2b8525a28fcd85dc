# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An environment is whole or absent: what is decided, with pip and uv played by a function."""

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.install import (
    index_credentials,
    package_lock,
    unprivileged,
    venv,
)
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
    (argv,) = commands.with_word("compile")
    environment = commands.environments[commands.calls.index(argv)]
    assert environment["UV_FIND_LINKS"] == "/wheels"
    assert environment["SSL_CERT_FILE"] == "/ca.pem"
    assert pathlib.Path(argv[argv.index("--excludes") + 1]).read_text() == "b\n"
    assert "--index-strategy" not in argv and "UV_INDEX_STRATEGY" not in environment


def test_fallback_index_is_used_only_after_a_failure(tmp_path):
    commands = Commands(compile=[1, 0])
    builder(tmp_path, commands, uv(tmp_path)).build("base", WISH, ["https://wheels.example/cpu"])
    calls = commands.with_word("compile")
    second = commands.environments[len(commands.calls) - 1 - commands.calls[::-1].index(calls[1])]
    assert len(calls) == 2 and calls[0] == calls[1]
    assert second["UV_EXTRA_INDEX_URL"] == "https://wheels.example/cpu"
    assert venv.read_stamp(str(tmp_path / "venv"), "base") == WISH


LOCK = "a==1 \\\n    --hash=sha256:00\nc==2 \\\n    --hash=sha256:01 \\\n    --hash=sha256:02\n"


class Locking(Commands):
    """uv writes ``lock`` when it compiles."""

    lock = LOCK

    def __call__(self, argv, env):
        done = super().__call__(argv, env)
        if "compile" in argv and not done[0]:
            pathlib.Path(argv[argv.index("--output-file") + 1]).write_text(self.lock)
        return done


def test_what_is_installed_is_the_lock_with_its_hashes(tmp_path):
    commands = Locking()
    made = builder(tmp_path, commands, uv(tmp_path))
    made.build("base", WISH)
    (argv,) = commands.with_word("install")
    assert {"--require-hashes", "--no-deps"} <= set(argv) and "a==1" not in argv
    assert argv[argv.index("--requirement") + 1] == made.lock_path("base")
    text = venv.read_text(made.lock_path("base"))
    assert package_lock.belongs(text, WISH) and text.endswith(LOCK)
    assert not package_lock.belongs(text, dict(WISH, requirements=["a==2"])) and not package_lock.belongs("", WISH)


def test_a_given_lock_is_used_for_its_requirements_only(tmp_path):
    for number, (wish, compiled) in enumerate([(WISH, 0), (dict(WISH, requirements=["a==2"]), 1)]):
        commands = Locking()
        text = package_lock.signed(LOCK + "d==4 \\\n    --hash=sha256:03\n", WISH)
        tools = uv(tmp_path / str(number))
        made = Builder(str(tmp_path / str(number) / "venv"), "python3", tools, run=commands, given_lock=text)
        made.build("base", wish)
        assert len(commands.with_word("compile")) == compiled
        assert ("d==4" in venv.read_text(made.lock_path("base"))) == (not compiled)


def confirming(tmp_path, lock, commands):
    """The builder of a host that gets ``lock`` from elsewhere."""
    tools = uv(tmp_path)
    return Builder(str(tmp_path / "venv"), "python3", tools, run=commands, given_lock=lock, confirm=True)


def test_a_lock_of_another_host_is_used_if_this_host_resolves_the_same(tmp_path):
    preferred = []

    class Seeing(Locking):
        def __call__(self, argv, env):
            if "compile" in argv:
                preferred.append(pathlib.Path(argv[argv.index("--output-file") + 1]).read_text())
            return super().__call__(argv, env)

    commands, text = Seeing(), package_lock.signed(LOCK.replace("--hash=sha256:", "--hash=sha256:ff"), WISH)
    made = confirming(tmp_path, text, commands)
    made.build("base", WISH)
    assert preferred == ["".join(f"{pin}\n" for pin in sorted(package_lock.pins(LOCK)))]
    assert venv.read_text(made.lock_path("base")) == text, "the lock's hashes hold"
    assert "--require-hashes" in commands.with_word("install")[0]


@pytest.mark.parametrize(
    "forge", [lambda lock: lock + "evil==1 \\\n    --hash=sha256:00\n", lambda lock: lock.replace("==", "==0.")]
)
def test_a_lock_that_this_host_would_not_resolve_installs_nothing(tmp_path, forge):
    commands = Locking()
    made = confirming(tmp_path, package_lock.signed(forge(LOCK), WISH), commands)
    with pytest.raises(VenvError, match=r"only the lock has (evil==1|\w+==0\.)"):
        made.build("base", WISH)
    assert commands.with_word("install") == [] and venv.read_text(made.lock_path("base")) == ""


def test_a_lock_with_files_that_this_host_does_not_find_leaves_nothing_behind(tmp_path):
    """Not even the host's own lock, which the next run would take: the index refused its files again."""
    found, forged = (LOCK.replace(":0", f":{digit * 62}0") for digit in "12")

    class Hashed(Locking):
        lock = found

    commands = Hashed()
    made = confirming(tmp_path, package_lock.signed(forged, WISH), commands)
    with pytest.raises(VenvError, match="the lock has other SHA-256 of a==1, c==2\\. Nothing of it was installed"):
        made.build("base", WISH)
    assert commands.with_word("install") == [] and venv.read_text(made.lock_path("base")) == ""


@pytest.mark.parametrize(
    "forge",
    [
        lambda lock: lock + "evil==1 \\\n    --hash=sha256:00\n",
        lambda lock: lock.replace("--hash=sha256:", "--hash=sha256:ff"),
    ],
)
def test_of_a_lock_that_one_host_wrote_only_the_versions_are_preferred(tmp_path, forge):
    commands = Locking()
    text = package_lock.of_host(package_lock.signed(forge(LOCK), WISH), "other")
    made = confirming(tmp_path, text, commands)
    made.build("base", WISH)
    assert venv.read_text(made.lock_path("base")) == package_lock.signed(LOCK, WISH)
    assert "--require-hashes" in commands.with_word("install")[0]


def test_the_own_lock_of_an_interruption_needs_no_confirmation(tmp_path):
    commands, other = Locking(), package_lock.signed(LOCK, dict(WISH, requirements=["a==2"]))
    made = confirming(tmp_path, other, commands)
    pathlib.Path(made.lock_path("base")).parent.mkdir(parents=True)
    pathlib.Path(made.lock_path("base")).write_text(package_lock.signed(LOCK, WISH))
    (pathlib.Path(made.lock_path("base")).parent / "first.json").touch()
    made.build("base", WISH)
    assert commands.with_word("compile") == []


class Killed(BaseException):
    """The end of the module."""


def test_an_interrupted_installation_is_repeated_with_its_lock(tmp_path):
    tools = uv(tmp_path)

    def killed(argv, env):
        if "install" in argv:
            raise Killed
        return locking(argv, env)

    locking = Locking()
    with pytest.raises(Killed):
        Builder(str(tmp_path / "venv"), "python3", tools, run=killed).build("base", WISH)
    commands = Locking()
    builder(tmp_path, commands, tools).build("base", WISH)
    assert commands.with_word("compile") == [] and len(commands.with_word("install")) == 1


def test_a_lock_that_cannot_be_installed_is_written_anew(tmp_path):
    tools = uv(tmp_path)
    with pytest.raises(VenvError):
        builder(tmp_path, Locking(install=[1]), tools).build("base", WISH)
    commands = Locking()
    builder(tmp_path, commands, tools).build("base", WISH)
    assert len(commands.with_word("compile")) == 1


def test_a_package_without_a_hash_needs_none_and_the_others_do(tmp_path):
    assert package_lock.fully_hashed(LOCK) and not package_lock.fully_hashed(LOCK + "s @ file:///src\n")
    commands = Locking()
    commands.lock = LOCK + "s @ file:///src\n"
    builder(tmp_path, commands, uv(tmp_path)).build("base", WISH)
    assert "--require-hashes" not in commands.with_word("install")[0]


def test_a_file_with_another_hash_is_an_error_and_no_reason_for_another_index(tmp_path):
    commands = Locking(install=[1, 0])
    commands.output = "error: Failed to download `c==2`\n  cause: Hash mismatch for `c==2`"
    with pytest.raises(VenvError, match="differs from the hash in the lock"):
        builder(tmp_path, commands, uv(tmp_path)).build("base", WISH, ["https://wheels.example/cpu"])
    assert len(commands.with_word("install")) == 1


def test_versions_of_an_earlier_layer_are_preferred(tmp_path):
    freeze = "# comment\na==1\n-e /src\nb @ file:///b.whl\nc==2+cpu\n"
    assert package_lock.preferences(freeze) == "a==1\nc==2+cpu\n"


def test_uv_is_installed_by_version_and_hash(tmp_path):
    commands, seen = Commands(), []

    def run(argv, env):
        if "--require-hashes" in argv and "--only-binary" in argv:
            seen.append(pathlib.Path(argv[argv.index("--requirement") + 1]).read_text())
        return commands(argv, env)

    tools = tmp_path / "tools"
    Builder(str(tmp_path / "venv"), "python3", str(tools), run=run).build("base", WISH)
    assert seen == [package_lock.UV] and package_lock.fully_hashed(package_lock.UV)


def test_uv_with_another_hash_is_an_error(tmp_path):
    commands = Commands(**{"--only-binary": [1]})
    commands.output = "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE."
    with pytest.raises(VenvError, match="check the package index"):
        builder(tmp_path, commands, str(tmp_path / "tools")).build("base", WISH)


def test_without_uv_pip_installs(tmp_path):
    tools = tmp_path / "tools"
    commands = Commands(**{"--only-binary": [1]})
    builder(tmp_path, commands, str(tools)).build("base", WISH)
    assert commands.with_word("a==1")[0][1:4] == ["-m", "pip", "install"]


def test_words_win_over_the_configuration():
    listing = "global.index-url='https://one.example'\nglobal.extra-index-url='file:///a file:///b'\nfreeze.cert='/x'\n"
    found = venv.settings(listing, {"index-url": ["https://two.example"]})
    assert found["PIP_INDEX_URL"] == found["UV_DEFAULT_INDEX"] == "https://two.example"
    assert found["UV_EXTRA_INDEX_URL"] == "file:///a file:///b"
    assert "SSL_CERT_FILE" not in found


def test_the_environment_wins_over_files_and_the_section_of_install_over_global_as_in_pip():
    listing = (
        ":env:.find-links='/of/variable'\n:env:.index-url=''\n"
        "global.find-links='/of/global'\nglobal.index-url='https://global.example'\n"
        "install.find-links='/of/install'\ninstall.index-url='https://install.example'\n"
    )
    found = venv.settings(listing, {})
    assert found["PIP_FIND_LINKS"] == found["UV_FIND_LINKS"] == "/of/variable"
    assert found["PIP_INDEX_URL"] == found["UV_DEFAULT_INDEX"] == "https://install.example"


@pytest.mark.parametrize(
    ("output", "lacking"),
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
def test_the_package_that_is_missing_is_named(output, lacking):
    assert venv.missing_package(output) == lacking


def test_failure_says_what_is_missing_and_what_to_do(tmp_path):
    commands = Commands(install=[1])
    commands.output = "ERROR: No matching distribution found for a==1"
    built = Builder(str(tmp_path / "venv"), "python3", run=commands, advice="set x_find_links.")
    with pytest.raises(VenvError, match=r"has a==1\.\nFix: set x_find_links\."):
        built.build("base", WISH)


def test_failure_with_several_indexes_names_the_variable(tmp_path):
    commands = Locking(compile=[1])
    commands.output = "Because there is no version of a==1\nhint: A compatible version may be available on a subsequent index (e.g., x)."
    with pytest.raises(VenvError, match="set inference_index_strategy"):
        builder(tmp_path, commands, uv(tmp_path)).build("base", WISH)


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


@pytest.mark.parametrize(
    ("output", "contradicts"),
    [
        ("ResolutionImpossible: for help", True),
        ("a and b have conflicting dependencies.", True),
        ("a==1 and b==2 are incompatible", True),
        ("your requirements are unsatisfiable", True),
        ("No matching distribution found for a", False),
        ("", False),
    ],
)
def test_what_says_that_requirements_contradict_each_other(output, contradicts):
    assert venv.contradiction(output) is contradicts


@pytest.mark.parametrize(
    ("line", "overrides", "about"),
    [
        ("vllm 1 has requirement torch_npu==2, but you have 3", ["torch-npu<4"], True),
        ("vllm 1 has requirement torch.NPU, but", ["torch-npu[x]>1"], True),
        ("vllm 1 has requirement torch==2, but", ["torch-npu<4"], False),
        ("vllm 1 has requirement torch==2, but", [], False),
        ("vllm 1 requires torch, which is not installed.", ["torch"], False),
    ],
)
def test_which_complaint_is_about_an_overridden_requirement(line, overrides, about):
    assert venv.overridden(line, overrides) is about


@pytest.mark.parametrize(
    ("listing", "options", "expected"),
    [
        ("", {}, {}),
        (
            "global.timeout='5'\nglobal.index-url=https://a\nglobal.cert='/c'",
            {},
            {"PIP_CERT": "/c", "SSL_CERT_FILE": "/c"},
        ),
        ("other.cert='/c'", {}, {}),
        ("global.find-links='/a\\n/b'", {}, {"PIP_FIND_LINKS": "/a /b", "UV_FIND_LINKS": "/a,/b"}),
        (
            "global.extra-index-url='https://a https://b'",
            {"extra-index-url": []},
            {"PIP_EXTRA_INDEX_URL": "https://a https://b", "UV_EXTRA_INDEX_URL": "https://a https://b"},
        ),
        (
            "global.index-url='https://a'",
            {"index-url": ["https://b"]},
            {"PIP_INDEX_URL": "https://b", "UV_DEFAULT_INDEX": "https://b"},
        ),
    ],
)
def test_settings_of_pip_and_uv(listing, options, expected):
    assert venv.settings(listing, options) == expected


@pytest.mark.parametrize(
    ("text", "library"),
    [
        ("ImportError: libascend_hal.so: cannot open shared object file: No such file", "libascend_hal.so"),
        ("libstdc++.so.6: cannot open shared object file", "libstdc++.so.6"),
        ("libx.so: undefined symbol", ""),
    ],
)
def test_the_library_that_is_missing(text, library):
    assert venv.missing_library(text) == library


HASH = "--hash=sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("text", "hashed"),
    [
        ("", True),
        (f"a==1 \\\n    {HASH} \\\n    {HASH}\n", True),
        (f"a==1 \\\n    {HASH}\n    # via b\nb==1\n", False),
        (f"a==1\nb==1 \\\n    {HASH}\n", False),
        (f"a==1 {HASH}\n", True),
        (f"a==1 {HASH}\n    {HASH}\nb==1\n", False),
        (f"# a\n--index-url x\na==1 {HASH}\n", True),
        (f"# a\n\na==1 {HASH}\n \n", True),
    ],
)
def test_whether_each_package_of_a_lock_has_a_hash(text, hashed):
    assert package_lock.fully_hashed(text) is hashed


def test_a_lock_is_one_of_its_requirements():
    wish = {"requirements": ["a"], "imports": []}
    lock = package_lock.signed("a==1\n", wish)
    assert package_lock.belongs(lock, dict(reversed(list(wish.items()))))
    assert not package_lock.belongs(lock, dict(wish, requirements=["b"]))
    assert not package_lock.belongs("", wish) and not package_lock.belongs("a==1\n" + lock, wish)


def test_versions_of_pip_freeze_that_are_preferred():
    freeze = "a==1\n-e git+x==y\n# b==1\nc @ file:///c==1\nd>=1\ne==2+local\n"
    assert package_lock.preferences(freeze) == "a==1\ne==2+local\n"


@pytest.mark.parametrize(
    ("output", "tampered"),
    [("THESE PACKAGES DO NOT MATCH THE HASHES FROM", True), ("Hash mismatch for `a`", True), ("no hash", False)],
)
def test_what_says_that_a_file_has_another_hash(output, tampered):
    assert package_lock.tampered(output) is tampered


def test_credentials_of_indexes():
    urls = ["https://b:p%40ss@two/simple", "https://t0ken@one/simple", "https://three/simple"]
    assert index_credentials.environment([*urls, urls[0]]) == {
        "UV_INDEX_EXTRA_0_USERNAME": "b",
        "UV_INDEX_EXTRA_0_PASSWORD": "p@ss",
        "UV_INDEX_EXTRA_1_USERNAME": "t0ken",
        "UV_INDEX_EXTRA_1_PASSWORD": "",
    }
    assert index_credentials.with_credentials("https://two/a.whl", urls) == "https://b:p%40ss@two/a.whl"
    for address in ("http://two/a.whl", "https://two:444/a.whl", "https://three/a.whl"):
        assert index_credentials.with_credentials(address, urls) == address
    assert (
        index_credentials.without_credentials("see https://a:b@c/d and https://e@f") == "see https://c/d and https://f"
    )


def test_only_wheels_of_what_was_asked_are_taken(tmp_path):
    worker = unprivileged.Worker.__new__(unprivileged.Worker)
    worker.inside = lambda name: str(tmp_path / name)
    for name in (
        "x/Torch_NPU-2.9-cp311-cp311-linux_aarch64.whl",
        "other-1-py3-none-any.whl",
        "a/torch_npu-2.9.tar.gz",
        "b/torch_npu-2.9.json",
    ):
        (tmp_path / "cache" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "cache" / name).write_text("")
    assert worker.wheels(["torch-npu"]) == {
        "torch-npu": str(tmp_path / "cache/x/Torch_NPU-2.9-cp311-cp311-linux_aarch64.whl")
    }
    with pytest.raises(unprivileged.Refused, match="the build of a, z made no wheel"):
        worker.wheels(["z", "torch-npu", "a"])


def test_options_of_the_build_reach_the_resolution_and_the_installation(tmp_path):
    commands = Locking()
    wish = dict(WISH, exclude=["b", "c"], overrides=["d==1", "e==2"], no_binary=["f", "g"], build_with_environment=True)
    builder(tmp_path, commands, uv(tmp_path)).build("base", wish)
    (compiled,), (installed,) = commands.with_word("compile"), commands.with_word("install")
    for argv in (compiled, installed):
        assert [argv[at + 1] for at, word in enumerate(argv) if word == "--no-binary"] == ["f", "g"]
        assert "--no-build-isolation" in argv and "--no-index" not in argv
    texts = [pathlib.Path(compiled[compiled.index(option) + 1]).read_text() for option in ("--excludes", "--overrides")]
    assert texts == ["b\nc\n", "d==1\ne==2\n"]


@pytest.mark.parametrize(("code", "output"), [(0, "text"), (1, ""), (-9, "killed")])
def test_a_command_that_has_to_succeed_says_how_it_ended(tmp_path, code, output):
    made = builder(tmp_path, lambda argv, env: (code, output))
    if not code:
        assert made.must(["uv", "--version"]) == output
        return
    with pytest.raises(VenvError, match=f"uv --version ended with {code}:\n{output}"):
        made.must(["uv", "--version"])
