# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rehearsal on a host, with a made-up vLLM in place of a release: its own process, its answers, and what is kept."""

from __future__ import annotations

import json
import os
import pwd
import sys
import textwrap
from types import SimpleNamespace

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.files import journal
from ansible_collections.ascend.inference.plugins.module_utils.rehearsal import launch, programs, rehearse, stand_ins
from ansible_collections.ascend.inference.plugins.module_utils.rehearsal.commands import distinct, shape

FILES = {
    "vllm/__init__.py": "",
    "vllm/utils/__init__.py": "from argparse import ArgumentParser as FlexibleArgumentParser\n",
    "vllm/entrypoints/openai/cli_args.py": """
        def make_arg_parser(parser):
            parser.add_argument("model_tag")
            parser.add_argument("--do", default="")
            parser.add_argument("--port")
            return parser
        def validate_parsed_serve_args(space):
            pass
        """,
    "vllm/engine/arg_utils.py": """
        import os, time, types
        import torch
        class AsyncEngineArgs:
            @classmethod
            def from_cli_args(cls, space):
                found = cls()
                found.do, found.model = space.do, space.model
                return found
            def create_engine_config(self, usage_context):
                if self.do == "value": raise ValueError("4 heads, 3 ranks")
                if self.do == "pydantic": raise ValueError(
                    "1 validation error for X\\n  Value error, 4 heads [type=value_error, input_value=ArgsKwargs(()), input_type=ArgsKwargs]\\n"
                    "    For further information visit https://x")
                if self.do == "assert": assert usage_context == "no"
                if self.do == "runtime": raise RuntimeError("upstream says no")
                if self.do == "elsewhere": torch.fails()
                if self.do == "type": return "a" + 1
                if self.do == "compare": return torch.npu.some_number < 3
                if self.do == "named": raise ValueError(f"bad number {torch.npu.some_number}")
                if self.do == "hangs": time.sleep(60)
                if self.do == "dies": os._exit(3)
                if self.do == "forges": os.write(2, b"noise"); print('{"index": 0, "kind": "forged", "text": "", "refused": true}')
                if self.do == "facts":
                    free, total = torch.npu.mem_get_info()
                    raise ValueError(f"{torch.npu.device_count()} {total} {os.environ['A']} {os.environ['HOME']} {os.environ.get('VLLM_USE_MODELSCOPE')}")
                return types.SimpleNamespace(kv_transfer_config=None)
        """,
    "vllm/usage/usage_lib.py": "class UsageContext:\n    OPENAI_API_SERVER = 'serve'\n",
    "vllm/plugins/__init__.py": "def load_general_plugins():\n    pass\n",
    "vllm/model_executor/models/registry.py": "class ModelRegistry:\n    models = {}\n",
    "torch/__init__.py": "from . import distributed, utils\ndef fails():\n    raise RuntimeError('no device')\n",
    "torch/utils.py": "def rename_privateuse1_backend(name):\n    pass\n",
    "torch/distributed.py": "",
}
FACTS = {"hardware": "A3", "devices": 16, "device_mib": 1024, "host_mib": 0, "pretend": False}


@pytest.fixture(name="wish")
def a_host(tmp_path):
    """Options of the module for a host with the made-up release and a model."""
    for name, text in FILES.items():
        path = tmp_path / "site" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text('{"architectures": ["Made", 3]}')
    (tmp_path / "deployment").mkdir(mode=0o700)
    stamp = tmp_path / "stamp"
    stamp.write_text("")

    def wish(*todo, **more):
        env = {"PYTHONPATH": str(tmp_path / "site"), "A": "1", "HOME": "/nowhere", "VLLM_USE_MODELSCOPE": "True"}
        engines = [
            {"name": f"e{number}", "argv": [str(tmp_path / "model"), *(["--do", do] if do else [])], "env": dict(env)}
            for number, do in enumerate(todo)
        ]
        found = {"engines": engines, "python": sys.executable, "newer": [str(stamp)], "stand_ins": dict(FACTS)}
        return {**found, "user": "", "directory": str(tmp_path / "deployment"), "timeout": 60, **more}

    return wish


def answers(found):
    """Engine -> (part of the result, kind, text)."""
    rows = [(part, row) for part in ("refused", "unknown") for row in found[part]]
    return {name: (part, row["kind"], row["text"]) for part, row in rows for name in row["engines"]}


def test_what_upstream_says_is_a_refusal_and_what_fails_otherwise_is_not(wish):
    todo = ("", "value", "pydantic", "assert", "runtime", "elsewhere", "type", "compare", "named", "dies")
    found = answers(rehearse.rehearse(wish(*todo), False))
    assert "e0" not in found
    assert found["e1"] == ("refused", "ValueError", "4 heads, 3 ranks")
    assert found["e2"] == ("refused", "ValueError", "4 heads")
    assert found["e3"][:2] == ("refused", "AssertionError") and 'usage_context == "no"' in found["e3"][2]
    assert found["e4"][:2] == ("refused", "RuntimeError")
    assert found["e5"][:2] == ("unknown", "RuntimeError"), "torch's own error"
    assert found["e6"][:2] == ("unknown", "TypeError")
    assert found["e7"][0] == found["e8"][0] == "unknown", "an error over a stand-in"
    assert found["e9"] == ("unknown", "rehearsal", "ended without an answer")


def test_the_parser_and_the_facts_of_the_host(wish):
    asked = wish("facts", "x")
    asked["engines"][0]["env"]["ASCEND_RT_VISIBLE_DEVICES"] = "3,4"
    asked["engines"][1]["argv"].append("--no-such-option")
    found = answers(rehearse.rehearse(asked, False))
    count, total, own, home, hub = found["e0"][2].split()
    assert (count, total, own, hub) == ("2", str(1 << 30), "1", "None")
    assert home != "/nowhere" and not os.path.exists(home), "its own folder, which is removed"
    assert found["e1"][:2] == ("refused", "parser") and "--no-such-option" in found["e1"][2]


def test_only_what_is_new_is_tried(wish, tmp_path):
    def counts(*todo, keep=True, **more):
        found = rehearse.rehearse(wish(*todo, **more), keep)
        return found["tried"], found["known"], len(found["refused"])

    assert counts("", "value", keep=False) == (2, 0, 1)
    assert counts("", "value") == (2, 0, 1)
    assert counts("", "value") == (1, 1, 1), "what was refused is tried again"
    assert counts("") == (0, 1, 0)
    assert counts("", stand_ins={**FACTS, "devices": 8}) == (1, 0, 0), "other facts of the host"
    os.utime(tmp_path / "stamp", (1, 1))
    assert counts("") == (1, 0, 0), "other software"
    (tmp_path / "model" / "config.json").write_text("{}")
    assert counts("") == (1, 0, 0), "another model"
    record = tmp_path / "deployment" / journal.REHEARSED
    assert record.stat().st_mode & 0o777 == 0o600
    record.write_text('{"accepted": {"a": 1}}')
    assert counts("") == (1, 0, 0), "a damaged record"
    record.chmod(0o666)
    assert counts("") == (1, 0, 0), "one that others can write"


def test_no_record_without_the_folder_and_no_rehearsal_without_the_software(wish, tmp_path):
    (tmp_path / "deployment").rmdir()
    assert rehearse.rehearse(wish(""), True)["tried"] == 1
    assert not (tmp_path / "deployment").exists()
    found = rehearse.rehearse(wish("", python="/nowhere/python"), True)
    assert (found["available"], found["reason"]) == (False, "/nowhere/python is not installed")


def test_a_release_that_does_not_end_is_no_refusal(wish):
    found = rehearse.rehearse(wish("hangs", timeout=1), False)
    assert answers(found)["e0"][:2] == ("unknown", "rehearsal")


def test_engines_that_differ_in_rank_port_and_address_are_one():
    def engine(port, devices, kv):
        config = json.dumps({"kv_port": kv, "engine_id": kv, "kv_role": "kv_producer"}, separators=(",", ":"))
        argv = ["/m", "--port", port, "--data-parallel-rank", port[-1], "--kv-transfer-config", config]
        return {"argv": argv, "env": {"ASCEND_RT_VISIBLE_DEVICES": devices, "HCCL_IF_IP": port, "A": "1"}}

    one, two = engine("7100", "0,1", "20000"), engine("7101", "2,3", "20100")
    assert distinct([one, two]) == [[one, two]]
    assert shape(**one) != shape(**engine("7100", "0", "20000")), "another number of devices"
    assert len(distinct([one, {**two, "argv": [*two["argv"], "--seed", "1"]}])) == 2
    assert len(distinct([one, {**two, "env": {**two["env"], "A": "2"}}])) == 2


def test_answers_that_a_model_forges_are_read_as_data(wish):
    found = launch._answers('{"index": true}\n[1]\n{"index": 7, "kind": "", "text": ""}\n' + "[" * 9999 + "\n", 1)
    assert found == {}
    assert answers(rehearse.rehearse(wish("forges", ""), False)) == {}, "what the release prints is no answer"


class TestStart:
    """What is started, with the runner replaced."""

    @pytest.fixture(autouse=True)
    def _replaced(self, monkeypatch):
        self.started = []

        def execute(argv, timeout, env, stdin=None, cwd=None):
            self.started.append((argv, env, stdin))
            folder = (env.get("PYTHONPATH") or "").split(":")[0]
            self.files = sorted(os.listdir(folder)) if folder and cwd else []
            return SimpleNamespace(stdout="sha256:1\n", stderr="", rc=0, timed_out=False)

        monkeypatch.setattr(launch, "execute", execute)
        monkeypatch.setattr(launch.os, "geteuid", lambda: 0)
        monkeypatch.setattr(launch.os, "chown", lambda *unused: None)

    def test_in_a_virtual_environment_as_the_user(self, wish):
        nobody = pwd.getpwnam("nobody")
        launch.started(wish("", user="no-such-user"), wish("")["engines"], 5)
        argv, env, _stdin = self.started[0]
        assert argv[0].endswith("setpriv") and "--no-new-privs" in argv and "--clear-groups" in argv
        assert argv[argv.index("--reuid") + 1] == str(nobody.pw_uid)
        assert self.files == ["configure.py", "sitecustomize.py", "state"]
        assert env["HF_HUB_OFFLINE"] == "1" and json.loads(env[stand_ins.VARIABLE])["devices"] == 16
        assert not {"SSH_CONNECTION", "LD_PRELOAD"} & set(env), "root's environment"
        launch.started(wish("", user="nobody", stand_ins=None), wish("")["engines"], 5)
        assert self.files == ["configure.py", "state"] and stand_ins.VARIABLE not in self.started[1][1]

    def test_in_a_container_without_devices_and_network(self, wish, tmp_path):
        model = str(tmp_path / "model")
        mounts = [f"{model}:{model}", "/etc/passwd:/etc/hccn.conf:ro", f"{tmp_path}/none:{model}/none:ro"]
        box = {"image": "local/x", "mounts": mounts, "devices": ["/dev/davinci0"], "mounts_of_paths": []}
        engine = {**wish("")["engines"][0], "container": box}
        launch.started(wish("", user="nobody"), [engine], 5)
        inspect, run, remove = (argv for argv, _env, _stdin in self.started)
        assert inspect[:3] == ["docker", "image", "inspect"] and remove[:3] == ["docker", "rm", "--force"]
        wanted = [
            "--network=none",
            "--read-only",
            "--cap-drop=ALL",
            "--pull=never",
            "--rm",
            "--security-opt=no-new-privileges",
        ]
        assert [option for option in wanted if option not in run] == []
        assert not [
            word for word in run if "davinci" in word or word.startswith(("--device", "--privileged", "--volume"))
        ]
        bound = [word for word in run if word.startswith("--mount")]
        assert len(bound) == 2 and all(word.endswith(",readonly") for word in bound), bound
        assert f"--mount=type=bind,source={model},target={model},readonly" in bound
        assert run[run.index("local/x") + 1 :] == ["-c", launch.START, "sh", launch.INSIDE, programs.PROGRAM]
        user = pwd.getpwnam("nobody")
        assert f"--user={user.pw_uid}:{user.pw_gid}" in run and remove[3] == run[4].partition("=")[2]

    def test_an_image_that_is_not_there(self, wish, monkeypatch):
        monkeypatch.setattr(launch, "docker", lambda *words: SimpleNamespace(rc=1, stdout="", stderr="no"))
        engine = {**wish("")["engines"][0], "container": {"image": "local/x"}}
        found = rehearse.rehearse({**wish(""), "engines": [engine]}, False)
        assert (found["available"], found["reason"]) == (False, "the image local/x is not on this host")
