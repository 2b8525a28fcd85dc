# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One measurement: answers are counted here, because vllm bench serve counts an empty one as failed or completed."""

from __future__ import annotations

import json
import os
import stat
import threading

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.bench import driver
from ansible_collections.ascend.inference.plugins.module_utils.runtime.base import RuntimeProblem
from ansible_collections.ascend.inference.plugins.module_utils.tools.http_client import Reply

RESULT = {
    "completed": 4,
    "failed": 1,
    "duration": 2.0,
    "total_input_tokens": 40,
    "total_output_tokens": 26,
    "output_throughput": 13.0,
    "p50_ttft_ms": 50.04,
    "p99_tpot_ms": 31.0,
    "output_lens": [10, 10, 6, 0, 0],
    "errors": ["", "", "", "", "Bad Gateway"],
}


def test_answers_are_counted():
    found = driver.figures(RESULT, 10)
    assert {name: found[name] for name in ("completed", "failed", "empty", "short")} == {
        "completed": 4,
        "failed": 1,
        "empty": 1,
        "short": 1,
    }
    assert (found["ttft_p50"], found["tpot_p99"], found["ttft_p99"]) == (50.04, 31.0, None)
    assert found["first_error"] == "Bad Gateway"


def test_an_answer_without_text_is_empty_and_not_failed():
    error = "Never received a valid chunk to calculate TTFT.This response will be marked as failed!"
    found = driver.figures({"completed": 1, "failed": 2, "output_lens": [8, 0, 0], "errors": ["", error, "reset"]}, 8)
    assert (found["failed"], found["empty"], found["first_error"]) == (1, 1, "reset")


def test_without_details_the_answers_are_not_known():
    found = driver.figures({"completed": 4, "failed": 0}, 10)
    assert (found["empty"], found["short"], found["failed"]) == (None, None, 0)


@pytest.mark.parametrize(
    "odd",
    [
        {"output_lens": [10, 10, 6]},
        {"output_lens": []},
        {"output_lens": [10, 10, 6, float("nan"), 0]},
        {"output_lens": [10, 10, 6, -4, 0]},
        {"output_lens": [10, 10, 6, "12", 0]},
        {"completed": None},
        {"completed": -4},
        {"completed": 5},
    ],
)
def test_lengths_that_are_not_those_of_the_answers_say_nothing(odd):
    found = driver.figures({**RESULT, **odd}, 10)
    assert (found["empty"], found["short"]) == (None, None)


def test_failures_are_counted_from_errors_if_the_release_has_no_count():
    assert driver.figures({"output_lens": [1, 0], "errors": ["", "gone"]}, 0)["failed"] == 1


@pytest.fixture
def program(tmp_path):
    """A stand-in for vllm bench serve: writes RESULT to the file that its options name, and its environment beside it."""
    path = tmp_path / "vllm"
    path.write_text(
        "#!/usr/bin/env python3\n"
        "import json, os, sys\n"
        f"RESULT = {RESULT!r}\n"
        "assert '--save-result' in sys.argv and '--save-detailed' in sys.argv\n"
        "place = sys.argv[sys.argv.index('--result-dir') + 1]\n"
        "name = sys.argv[sys.argv.index('--result-filename') + 1]\n"
        "json.dump(RESULT, open(os.path.join(place, name), 'w'))\n"
        "json.dump([sys.argv, dict(os.environ)], open(os.path.join(place, 'seen'), 'w'))\n"
        "print('error: no such host'); sys.exit(int(os.environ.get('STATUS', '0')))\n"
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_the_command_runs_with_its_scripts_and_leaves_no_file(tmp_path, program):
    script = tmp_path / "it's here.sh"
    script.write_text("export FROM_SCRIPT='a b'\n")
    command = driver.Command([program, "bench"], {"OPENAI_API_KEY": "s3cret"}, [str(script)], str(tmp_path))
    path = str(tmp_path / "result.json")
    assert driver.run_load(command, path, 10, 60)["empty"] == 1
    argv, env = json.loads((tmp_path / "seen").read_text())
    assert (env["FROM_SCRIPT"], env["OPENAI_API_KEY"]) == ("a b", "s3cret")
    assert not any("s3cret" in word for word in argv)
    assert not os.path.exists(path)


def test_a_failed_command_shows_the_end_of_its_output(tmp_path, program):
    command = driver.Command([program], {"STATUS": "3"}, [], str(tmp_path))
    with pytest.raises(driver.BenchError, match="exit status 3(.|\n)*error: no such host"):
        driver.run_load(command, str(tmp_path / "result.json"), 10, 60)
    assert not (tmp_path / "result.json").exists()


def test_a_link_in_the_place_of_the_result_is_not_followed(tmp_path):
    (tmp_path / "secret").write_text("{}")
    (tmp_path / "result.json").symlink_to(tmp_path / "secret")
    with pytest.raises(driver.BenchError, match="no result that can be read"):
        driver.read_result(str(tmp_path / "result.json"))


def test_a_pipe_in_the_place_of_the_result_does_not_stop_root(tmp_path):
    os.mkfifo(tmp_path / "result.json")
    found = []

    def read():
        with pytest.raises(driver.BenchError, match="not a regular file"):
            driver.read_result(str(tmp_path / "result.json"))
        found.append(True)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    thread.join(10)
    assert found, "it waits for ever"


def test_a_result_that_is_nested_too_deeply_is_no_result(tmp_path):
    (tmp_path / "result.json").write_text('{"errors": ' + "[" * 100000)
    with pytest.raises(driver.BenchError, match="no result that can be read"):
        driver.read_result(str(tmp_path / "result.json"))


def test_figures_are_numbers_whatever_the_service_wrote():
    hostile = {
        "completed": "<script>",
        "failed": "3",
        "duration": float("nan"),
        "output_throughput": float("inf"),
        "p50_ttft_ms": True,
        "output_lens": ["a", [], 5],
        "errors": {"a": 1},
    }
    found = driver.figures(hostile, 10)
    texts = {name for name, value in found.items() if value is not None and not isinstance(value, (int, float))}
    assert texts == {"first_error"} and found["completed"] is None and found["ttft_p50"] is None
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert driver.growth({}, {driver.FINISHED: float("nan")}) == {} == driver.growth({}, {driver.FINISHED: -1.0})


def test_in_a_container_no_value_of_the_environment_is_an_argument(tmp_path):
    place = {"container": "inference-decode-0", "runtime": "docker"}
    command = driver.Command(["vllm"], {"OPENAI_API_KEY": "s3cret"}, [], str(tmp_path), **place)
    argv = driver.whole_argv(command, str(tmp_path / "result.json"))
    assert argv[:6] == ["docker", "exec", "--interactive", "--env", "OPENAI_API_KEY", "inference-decode-0"]
    assert not any("s3cret" in word for word in argv)


def test_a_container_of_no_known_runtime_is_refused(tmp_path):
    command = driver.Command(["vllm"], {}, [], str(tmp_path), container="c", runtime="podman")
    with pytest.raises(RuntimeProblem, match="unknown runtime 'podman'"):
        driver.whole_argv(command, str(tmp_path / "result.json"))


@pytest.mark.parametrize(
    ("before", "after", "grown"),
    [
        ({"vllm:request_success_total": 5.0}, {"vllm:request_success_total": 9.0}, {"requests": 4.0}),
        ({"vllm:request_success_total": 5.0}, {"vllm:request_success_total": 2.0}, None),
        # A restarted engine that has counted more than before: only the time of its start differs.
        ({driver.FINISHED: 1.0, driver.STARTED: 100.5}, {driver.FINISHED: 2.0, driver.STARTED: 160.25}, None),
        (
            {driver.FINISHED: 1.0, driver.STARTED: 100.5},
            {driver.FINISHED: 2.0, driver.STARTED: 100.5},
            {"requests": 1.0},
        ),
        ({driver.FINISHED: 1.0}, {driver.FINISHED: 2.0, driver.STARTED: 160.25}, None),
        (None, {"vllm:request_success_total": 2.0}, None),
        ({}, None, None),
        ({driver.FINISHED: -1.0}, {driver.FINISHED: 2.0}, {}),
    ],
)
def test_growth_of_counters(before, after, grown):
    assert driver.growth(before, after) == grown


@pytest.mark.parametrize(
    ("page", "prompts"),
    [
        ('vllm:cache_config_info{block_size="128",engine="0",num_gpu_blocks="800"} 1.0', 120),
        (
            "\n".join(
                f'vllm:cache_config_info{{engine="{n}",num_gpu_blocks="800",block_size="128"}} 1.0' for n in (0, 1)
            ),
            240,
        ),
        ('vllm:cache_config_info{block_size="128",num_gpu_blocks="801"} 1.0', 121),
    ],
)
def test_prompts_that_evict(monkeypatch, page, prompts):
    monkeypatch.setattr(driver, "ask", lambda *_arguments, **_options: Reply(200, page, 0.1, "", "", ()))
    assert driver.prompts_that_evict({"name": "colocated-0", "url": "http://x"}, 1024) == prompts


def test_counters_of_a_page_that_is_cut_off_are_unknown(monkeypatch):
    monkeypatch.setattr(driver, "ask", lambda *_arguments, **_options: Reply(200, f"{driver.FINISHED} 12", 0.1, "cut"))
    assert driver.read_all([{"name": "decode-0", "url": "http://x"}]) == {"decode-0": None}


@pytest.mark.parametrize(
    ("status", "page", "error"),
    [
        (200, "vllm:prompt_tokens_total 7", ""),
        (200, 'vllm:cache_config_info{block_size="128",num_gpu_blocks="None"} 1.0', ""),
        (401, 'vllm:cache_config_info{block_size="128",num_gpu_blocks="800"} 1.0', ""),
        (200, 'vllm:cache_config_info{block_size="128",num_gpu_blocks="800"} 1.0', "cut"),
    ],
)
def test_a_cache_of_unknown_size_is_an_error(monkeypatch, status, page, error):
    monkeypatch.setattr(driver, "ask", lambda *_arguments, **_options: Reply(status, page, 0.1, error, "", ()))
    with pytest.raises(driver.BenchError, match="Fix: set inference_bench.evict"):
        driver.prompts_that_evict({"name": "colocated-0", "url": "http://x"}, 1024)
