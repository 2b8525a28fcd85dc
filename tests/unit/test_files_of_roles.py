# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The programs that roles bring to hosts: the tiny model's maker, the plugin of vLLM on a CPU, and what proxies import in place of vLLM.

The records of rehearsals have only a hash of them. The libraries that they import are replaced by what these files use of them.
"""

from __future__ import annotations

import logging
import os
import pathlib
import runpy
import stat
import sys
import types

import pytest
import yaml

ROLES = pathlib.Path(__file__).resolve().parents[2] / "roles"
PLUGIN = ROLES / "vllm_cpu/files/python/ascend_inference_cpu"


@pytest.fixture
def library(monkeypatch):
    """A function that puts a module with these names in the place of a library, with its parents."""

    def put(name, **content):
        module = types.ModuleType(name)
        module.__dict__.update(content)
        monkeypatch.setitem(sys.modules, name, module)
        parent, dummy, last = name.rpartition(".")
        if parent:
            if parent not in sys.modules or not isinstance(sys.modules[parent], types.ModuleType):
                put(parent)
            monkeypatch.setattr(sys.modules[parent], last, module, raising=False)
        return module

    return put


# --- the tiny model


@pytest.fixture
def maker(library):
    """The names of make_tiny_model.py; its model and its tokenizer write one file each, which others may not read."""

    def save(name):
        def save_pretrained(folder):
            path = pathlib.Path(folder, name)
            path.write_text("new")
            path.chmod(0o600)

        return types.SimpleNamespace(save_pretrained=save_pretrained, get_vocab=dict)

    library("torch")
    library("tokenizers", Tokenizer=None, decoders=None, models=None, pre_tokenizers=None, trainers=None)
    library("transformers", PreTrainedTokenizerFast=None, Qwen2Config=None, Qwen2ForCausalLM=None)
    functions = runpy.run_path(str(ROLES / "model/files/make_tiny_model.py"))
    everything = functions["main"].__globals__
    everything.update(make_tokenizer=lambda: save("tokenizer.json"), make_model=lambda vocabulary: save("weights"))
    return types.SimpleNamespace(**{name: functions[name] for name in ("main", "STAMP", "is_plain_word")})


MADE = {".ascend-inference-tiny-1", "tokenizer.json", "weights"}


def names(folder):
    return {path.name for path in folder.iterdir()}


def test_the_role_looks_for_the_stamp_that_the_program_leaves(maker):
    variables = yaml.safe_load((ROLES / "model/vars/main.yml").read_text(encoding="utf-8"))
    assert variables["__model_mark"] == maker.STAMP


@pytest.mark.parametrize(
    "present", [None, (), (".ascend-inference-tiny-1", "old"), (".ascend-inference-tiny-0", "old")]
)
def test_the_tiny_model_replaces_nothing_an_empty_folder_or_an_earlier_one(maker, tmp_path, present):
    folder = tmp_path / "models" / "tiny"
    if present is not None:
        folder.mkdir(parents=True)
        for name in present:
            (folder / name).write_text("")
    maker.main(str(folder))
    assert names(folder) == MADE and names(folder.parent) == {"tiny"}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir() if path.name != maker.STAMP} == {0o644}


@pytest.mark.parametrize("name", ["config.json", ".ascend-inference-tiny", ".ascend-inference"])
def test_the_tiny_model_replaces_no_files_of_others(maker, tmp_path, name):
    (tmp_path / name).write_text("theirs")
    with pytest.raises(SystemExit, match="did not create; set another inference_model.path"):
        maker.main(str(tmp_path))
    assert names(tmp_path) == {name} and (tmp_path / name).read_text() == "theirs"


def test_a_model_that_could_not_be_made_leaves_the_earlier_one(maker, tmp_path):
    def fail(vocabulary):
        raise OSError(28, "No space left on device")

    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / maker.STAMP).write_text("")
    maker.main.__globals__["make_model"] = fail
    with pytest.raises(OSError, match="No space"):
        maker.main(str(folder))
    assert names(folder) == {maker.STAMP} and names(tmp_path) == {"tiny"}


@pytest.mark.parametrize(
    ("piece", "plain"),
    [("able", True), ("\u0120able", True), ("\u0120", False), ("", False), ("a1", False), ("\u00e4", False), ("<|im_end|>", False)],
)  # fmt: skip
def test_only_words_are_emitted(maker, piece, plain):
    assert maker.is_plain_word(piece) is plain


# --- the plugin of vLLM on a CPU


class Platform:
    """As vLLM's CpuPlatform: its check sets how workers start."""

    cpu = True

    def is_cpu(self):
        return self.cpu

    @classmethod
    def check_and_update_config(cls, config):
        config.append(cls)
        os.environ["VLLM_WORKER_MULTIPROC_METHOD"] = "spawn"


class Metrics:
    def __init__(self):
        self._prom_metrics = {"store": []}


@pytest.fixture
def vllm(library, monkeypatch):
    """What the plugin uses of vLLM and torch, and its function register."""
    monkeypatch.delenv("VLLM_WORKER_MULTIPROC_METHOD", raising=False)
    platform = type("Own", (Platform,), {})
    metrics = type("OwnMetrics", (Metrics,), {})
    factory = types.SimpleNamespace(_registry={})
    factory.register_connector = lambda name, *where: factory._registry.setdefault(name, []).append(where)
    accelerator = types.SimpleNamespace(is_available=lambda: False)
    torch = library("torch", accelerator=accelerator, cuda=types.SimpleNamespace())
    library("vllm.platforms", current_platform=platform())
    connectors = "vllm.distributed.kv_transfer.kv_connector"
    library(f"{connectors}.factory", KVConnectorFactory=factory)
    library(f"{connectors}.v1.multi_connector", MultiKVConnectorPromMetrics=metrics)
    register = runpy.run_path(str(PLUGIN / "plugin.py"))["register"]
    return types.SimpleNamespace(
        platform=platform, metrics=metrics, factory=factory, torch=torch, register=register, accelerator=accelerator
    )


def test_the_plugin_registers_the_connector_once(vllm):
    vllm.register()
    vllm.register()
    assert vllm.factory._registry == {
        "MooncakeSerialConnector": [("ascend_inference_cpu.mooncake_serial", "MooncakeSerialConnector")]
    }
    assert (PLUGIN / "mooncake_serial.py").is_file()


def test_the_entry_point_names_the_plugin():
    (folder,) = PLUGIN.parent.glob("*.dist-info")
    text = (folder / "entry_points.txt").read_text(encoding="utf-8")
    assert "[vllm.general_plugins]\nascend_inference_cpu = ascend_inference_cpu.plugin:register\n" in text


@pytest.mark.parametrize(("cpu", "accelerator"), [(False, False), (True, True)])
def test_the_plugin_does_nothing_where_an_accelerator_is(vllm, cpu, accelerator):
    vllm.platform.cpu = cpu
    vllm.accelerator.is_available = lambda: accelerator
    vllm.register()
    assert vllm.factory._registry == {} and not hasattr(vllm.torch.cuda, "Event")


def test_the_plugin_stands_for_a_device(vllm):
    vllm.register()
    event = vllm.torch.cuda.Event(enable_timing=False)
    assert (event.record(), event.synchronize(), event.query()) == (None, None, True)
    assert vllm.torch.accelerator.current_device_index() == 0
    assert vllm.platform.set_device("cpu") is None


@pytest.mark.parametrize(("given", "method"), [(None, "fork"), ("spawn", "spawn"), ("forkserver", "forkserver")])
def test_workers_start_as_the_environment_says(vllm, monkeypatch, given, method):
    if given:
        monkeypatch.setenv("VLLM_WORKER_MULTIPROC_METHOD", given)
    vllm.register()
    monkeypatch.setenv("VLLM_WORKER_MULTIPROC_METHOD", "spawn")
    vllm.register()
    checked = []
    vllm.platform.check_and_update_config(checked)
    assert checked == [vllm.platform] and os.environ["VLLM_WORKER_MULTIPROC_METHOD"] == method


def test_members_without_metrics_are_left_out(vllm):
    vllm.register()
    one, seen = vllm.metrics(), []
    one._prom_metrics = {"store": types.SimpleNamespace(observe=lambda data, engine: seen.append((data, engine)))}
    one.observe({"store": 1, "p2p": 2}, 3)
    assert seen == [(1, 3)]


# --- the connector for serial proxies


class Upstream:
    """As vLLM's Mooncake connector: its methods return whether blocks are held, and parameters."""

    engine_id, held = "engine-1", True

    def __init__(self, config=None):
        self._vllm_config = config

    def get_num_new_matched_tokens(self, request, number):
        return number, request.kv_transfer_params

    def request_finished(self, request, block_ids):
        return self.held, None

    request_finished_all_groups = request_finished


class Server:
    def __init__(self, host, port):
        self.at = (host, port)


@pytest.fixture
def serial(library):
    """The names of mooncake_serial.py, and vLLM's module that it changes, on an engine with the address 192.0.2.7."""
    name = "vllm.distributed.kv_transfer.kv_connector.v1.mooncake.mooncake_connector"
    upstream = library(
        name,
        MooncakeConnector=Upstream,
        MooncakeBootstrapServer=Server,
        get_mooncake_bootstrap_addr=lambda config: (config, 8998),
    )
    library("vllm.utils.network_utils", get_ip=lambda: "192.0.2.7")
    return types.SimpleNamespace(**runpy.run_path(str(PLUGIN / "mooncake_serial.py")), changed=upstream)


ADDRESSES = [("127.0.0.1", "192.0.2.7"), ("localhost", "192.0.2.7"), ("192.0.2.9", "192.0.2.9")]


@pytest.mark.parametrize(("host", "own"), ADDRESSES)
def test_an_engine_registers_at_its_own_address(serial, host, own):
    assert serial.changed.get_mooncake_bootstrap_addr(host) == (own, 8998)


@pytest.mark.parametrize(("host", "own"), [("0.0.0.0", "192.0.2.7"), ("192.0.2.9", "192.0.2.9")])
def test_the_bootstrap_server_listens_on_one_address(serial, host, own):
    """It has no authentication."""
    assert serial.changed.MooncakeBootstrapServer(host, 8998).at == (own, 8998)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, None),
        ({"do_remote_prefill": True}, {"do_remote_prefill": True}),
        ({"do_remote_decode": True}, {"do_remote_decode": True, "transfer_id": "request-1"}),
        ({"do_remote_decode": True, "transfer_id": "t"}, {"do_remote_decode": True, "transfer_id": "t"}),
    ],
)
def test_prefill_names_the_transfer(serial, given, expected):
    request = types.SimpleNamespace(request_id="request-1", kv_transfer_params=given)
    assert serial.MooncakeSerialConnector().get_num_new_matched_tokens(request, 5) == (5, expected)


@pytest.mark.parametrize("method", ["request_finished", "request_finished_all_groups"])
@pytest.mark.parametrize("held", [True, False])
def test_decode_gets_what_it_needs_to_fetch(serial, method, held):
    connector = serial.MooncakeSerialConnector("localhost")
    connector.held = held
    request = types.SimpleNamespace(kv_transfer_params={"transfer_id": "t"})
    expected = {
        "do_remote_prefill": True,
        "do_remote_decode": False,
        "transfer_id": "t",
        "remote_engine_id": "engine-1",
        "remote_bootstrap_addr": "http://192.0.2.7:8998",
        "remote_host": "192.0.2.7",
        "remote_port": 8998,
        "remote_block_ids": [0],
    }
    assert getattr(connector, method)(request, [1, 2]) == (held, expected if held else None)


# --- what proxies import in place of vLLM


def test_a_logger_of_proxies_shows_information_on_stderr(monkeypatch):
    given = {}
    monkeypatch.setattr(logging, "basicConfig", lambda **options: given.update(options))
    logger = runpy.run_path(str(ROLES / "router/files/vllm_logger.py"))["init_logger"]("proxy")
    assert logger.name == "proxy" and given["level"] == logging.INFO
    assert not {"stream", "filename", "handlers"} & set(given), "supervisors write stderr into the log"
    assert "%(levelname)s" in given["format"] and "%(message)s" in given["format"]
