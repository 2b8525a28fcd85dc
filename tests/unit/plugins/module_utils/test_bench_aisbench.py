# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""AISBench as the program of a measurement: a stand-in writes the files that ais_bench_benchmark 3.1.20260630 wrote, in the same places."""

from __future__ import annotations

import json
import os
import stat

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.bench import aisbench, driver
from ansible_collections.ascend.inference.plugins.module_utils.files import tree

TABLE = """Performance Parameters,Stage,Average,Median,P90,P99,N
E2EL,total,572.3 ms,565.5 ms,642.9 ms,676.5 ms,4
TTFT,total,119.4 ms,114.2 ms,205.0 ms,213.0 ms,4
TPOT,total,30.2 ms,30.7 ms,31.0 ms,31.1 ms,3
"""
COMMON = {
    "Benchmark Duration": {"total": "1353.9538 ms"},
    "Total Requests": {"total": 6},
    "Failed Requests": {"total": 2},
    "Success Requests": {"total": 4},
    "Request Throughput": {"total": "5.9086 req/s"},
    "Total Input Tokens": {"total": 128},
    "Total Generated Tokens": {"total": 40},
    "Output Token Throughput": {"total": "94.5379 token/s"},
    "Total Token Throughput": {"total": "189.0759 token/s"},
}
DETAILS = [
    {"success": True, "error_info": "", "output_tokens": 16, "input": "a prompt", "prediction": "word"},
    {"success": True, "error_info": "", "output_tokens": 16},
    {"success": True, "error_info": "", "output_tokens": 8},
    {"success": True, "error_info": "", "output_tokens": 0},  # the usage and no text, or a stream that broke off
    {"success": False, "error_info": "chunk size is less than 2", "output_tokens": 0},
    {"success": False, "error_info": "Bad Gateway", "output_tokens": 0},
]
STAND_IN = """#!/usr/bin/env python3
import json, os, sys
config, options = sys.argv[1], sys.argv[2:]
assert options == ["--mode", "perf", "--work-dir", os.path.dirname(config) + "/out", "--num-warmups", "0", "--debug"], options
assert os.getcwd() == os.path.dirname(config), "it writes below its current folder"
seen = json.load(open(config))
seen["read"] = open(seen["datasets"][0]["path"]).read().splitlines()
os.mkdir("tmp")
json.dump([seen, sys.argv, os.stat(config).st_mode, os.stat(".").st_mode, sorted(os.listdir(".."))], open(os.environ["SEEN"], "w"))
print(os.environ.get("PRINTED", ""))
place = os.path.join(options[3], "20261123_153237", "performances", seen["models"][0]["abbr"])
os.makedirs(place)
if os.environ.get("WRITES", "1") == "1":
    name = os.path.join(place, seen["datasets"][0]["abbr"])
    open(name + ".csv", "w").write(TABLE)
    open(name + ".json", "w").write(COMMON)
    open(name + "_details.jsonl", "w").write(DETAILS)
if os.environ.get("LINK"):
    os.rename(place, place + "-real")
    os.symlink(place + "-real", place)
sys.exit(int(os.environ.get("STATUS", "0")))
"""
CONFIG = {
    "models": [{"abbr": "service", "url": "http://x"}],
    "datasets": [{"abbr": "random"}],
    "summarizer": {},
    "prompts": {"count": 6, "tokens": 20, "prefix": 4, "prefixes": 2, "seed": 7},
}
OF_A_FILE = {**CONFIG, "prompts": {"file": "/srv/prompts.jsonl", "count": 6}}
WORDS = [a + b + c for a in "abcde" for b in "fghij" for c in "klmno"]


@pytest.fixture
def measure(tmp_path):
    """Runs the stand-in: measure(**environment) -> figures. Its folder is `work`, and what it saw is in `seen`."""
    program = tmp_path / "ais_bench"
    known = {"TABLE": TABLE, "COMMON": json.dumps(COMMON), "DETAILS": "\n".join(map(json.dumps, DETAILS)) + "\n"}
    lines = "".join(f"{name} = {value!r}\n" for name, value in known.items())
    text = STAND_IN.replace("import json, os, sys\n", f"import json, os, sys\n{lines}", 1)
    program.write_text(text)
    program.chmod(0o755)
    (tmp_path / "work").mkdir()
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": {"vocab": {f"\u0120{word}": 1 for word in WORDS}}}))

    def run(prompts=None, **environment):
        env = {"OPENAI_API_KEY": "s3cret", "SEEN": str(tmp_path / "seen"), **environment}
        config = json.loads(json.dumps(CONFIG))
        config["prompts"] = prompts or {**config["prompts"], "model": str(tmp_path)}
        command = driver.Command([str(program)], env, [], str(tmp_path / "work"), config=config)
        return driver.run_load(command, str(tmp_path / "work" / "bench-17"), 16, 60)

    return run


def test_answers_are_counted_and_times_are_those_of_its_table(measure):
    found = measure()
    counts = {name: found[name] for name in ("completed", "failed", "empty", "short")}
    assert counts == {"completed": 4, "failed": 1, "empty": 2, "short": 1}
    assert found["first_error"] == "Bad Gateway"
    assert (found["ttft_p50"], found["tpot_p99"], found["e2el_p90"], found["ttft_mean"]) == (114.2, 31.1, 642.9, 119.4)
    assert found["itl_p50"] is None and found["request_goodput"] is None
    assert (found["duration"], found["output_throughput"]) == (pytest.approx(1.3539538), 94.5379)
    assert (found["total_input_tokens"], found["total_output_tokens"]) == (128, 40)


def test_the_key_is_in_no_argument_and_nothing_stays(measure, tmp_path):
    (tmp_path / "work" / "bench-4").mkdir()  # of a run that was killed
    (tmp_path / "work" / "bench-notes").mkdir()
    measure()
    seen, argv, of_file, of_folder, around = json.loads((tmp_path / "seen").read_text())
    assert seen["models"][0]["api_key"] == "s3cret" and not any("s3cret" in word for word in argv)
    assert (stat.S_IMODE(of_file), stat.S_IMODE(of_folder)) == (0o600, 0o700)
    assert around == ["bench-17", "bench-notes"]
    assert os.listdir(tmp_path / "work") == ["bench-notes"]


@pytest.mark.parametrize(
    ("printed", "sentence"),
    [
        ("ImportError: pyarrow requires NumPy 2.0 or newer, found 1.26.4", "Fix: install pyarrow<21"),
        ("A module that was compiled using NumPy 1.x cannot be run in NumPy 2.2.6", "Fix: install numpy<2"),
        (
            "AttributeError: module 'inspect' has no attribute 'getargspec'",
            "Fix: make its environment with Python 3.10",
        ),
        ("ModuleNotFoundError: No module named 'mmengine'", "has no module mmengine. Fix: install ais_bench_benchmark"),
        ("ais_bench: error: unrecognized arguments: --num-warmups 0", "Fix: install ais_bench_benchmark 3.1"),
    ],
)
@pytest.mark.parametrize("status", ["0", "1"])
def test_a_known_trap_of_its_installation_is_named(measure, tmp_path, printed, sentence, status):
    with pytest.raises(driver.BenchError) as caught:
        measure(PRINTED=printed, STATUS=status, WRITES="0")
    assert sentence in str(caught.value) and printed in str(caught.value), "also the end of the output"
    assert os.listdir(tmp_path / "work") == []


def test_a_run_without_a_result_is_no_success(measure):
    """It ends with status 0 if all requests failed."""
    with pytest.raises(driver.BenchError, match="no result that can be read(.|\n)*All requests failed"):
        measure(PRINTED="All requests failed, cannot calculate performance results", WRITES="0")


def test_a_link_in_place_of_a_folder_is_not_followed(measure):
    with pytest.raises(driver.BenchError, match="no result that can be read"):
        measure(LINK="1")


def test_a_link_in_place_of_a_left_folder_is_not_removed(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "bench-5").symlink_to(tmp_path / "elsewhere")
    aisbench.prepare(str(tmp_path / "bench-6"), {**json.loads(json.dumps(CONFIG)), "prompts": OF_A_FILE["prompts"]}, "")
    assert sorted(os.listdir(tmp_path)) == ["bench-5", "bench-6", "elsewhere"]


@pytest.mark.parametrize("to", ["a link", "nothing"])
def test_a_link_that_replaces_the_new_folder_gets_neither_the_key_nor_an_owner(tmp_path, monkeypatch, to):
    """The user of the service may rename it in the moment after root has made it."""
    (tmp_path / "elsewhere").mkdir(mode=0o755)
    (tmp_path / "work").mkdir()
    make = os.mkdir

    def replaced(path, *arguments, **options):
        make(path, *arguments, **options)
        (tmp_path / "work" / "bench-6").rmdir()
        if to == "a link":
            (tmp_path / "work" / "bench-6").symlink_to(tmp_path / "elsewhere")

    monkeypatch.setattr(os, "mkdir", replaced)
    monkeypatch.setattr(os, "chown", lambda *_arguments: pytest.fail("it follows links"))
    with pytest.raises(tree.TreeError, match="bench-6"):
        aisbench.prepare(str(tmp_path / "work" / "bench-6"), OF_A_FILE, "s3cret")
    assert os.listdir(tmp_path / "elsewhere") == []


@pytest.fixture
def result(tmp_path):
    """Reads a result: result(**{ending of a file's name: its content}) -> the form of vllm bench serve."""
    place = tmp_path / "out" / "x" / "performances" / "service"
    place.mkdir(parents=True)

    def read(**given):
        known = {"json": json.dumps(COMMON), "csv": TABLE, "details": "\n".join(map(json.dumps, DETAILS)) + "\n"}
        for name, text in {**known, **given}.items():
            path = place / ("random_details.jsonl" if name == "details" else f"random.{name}")
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return aisbench.read(str(tmp_path), len(DETAILS))

    return read


@pytest.mark.parametrize("name", ["json", "details"])
def test_a_damaged_result_is_none(result, name):
    with pytest.raises(ValueError, match="not a JSON object"):
        result(**{name: "[1]"})


@pytest.mark.parametrize("table", ["TTFT\rTPOT\r", TABLE.replace("4\n", f"{'x' * 200000}\n")])
def test_a_damaged_table_is_no_traceback(result, table):
    with pytest.raises(ValueError, match="its table is damaged"):
        result(csv=table)


@pytest.mark.parametrize(
    "table", ["", "\ufeff" + TABLE, TABLE.encode("utf-16"), "Performance Parameters,P99\nTTFT,nan ms\n", b"\xff\xfe"]
)
def test_times_of_an_odd_table_are_unknown(result, table):
    found = result(csv=table)
    assert {found[f"{part}_{time}_ms"] for part in aisbench.PARTS for time in ("ttft", "tpot")} == {None}


def test_text_of_an_answer_ends_no_line(result):
    """The details are UTF-8 without escapes: these characters end a line for str.splitlines."""
    odd = [{**DETAILS[0], "prediction": "a\u2028b\x85c\u2029"}, *DETAILS[1:]]
    found = result(details="\n".join(json.dumps(line, ensure_ascii=False) for line in odd))
    assert found["output_lens"] == [16, 16, 8, 0, 0, 0]


@pytest.mark.parametrize(
    "given",
    [
        {"details": "\n".join(map(json.dumps, DETAILS[:3]))},
        {"details": ""},
        {"json": json.dumps({**COMMON, "Success Requests": {"total": 3}})},
        {"json": json.dumps({**COMMON, "Failed Requests": {"total": -2}})},
        {"json": json.dumps({**COMMON, "Success Requests": {"total": "1" * 400}})},
        {"json": "{}"},
    ],
)
def test_a_result_that_has_lost_requests_is_none(result, given):
    """It drops what it cannot write of a request, and ends with status 0 then, too."""
    with pytest.raises(ValueError, match="6 requests were to be sent, its details have"):
        result(**given)


def test_more_digits_than_a_number_has_are_none(result):
    found = result(json=json.dumps({**COMMON, "Benchmark Duration": {"total": "1" + "0" * 400 + " ms"}}))
    assert found["duration"] is None


def test_in_a_container_it_runs_in_its_folder():
    command = driver.Command(
        ["/usr/bin/ais_bench"], {"OPENAI_API_KEY": "s3cret"}, [], "/w", container="c", config=CONFIG, runtime="docker"
    )
    argv = driver.whole_argv(command, "/w/bench-1")
    assert argv[:6] == ["docker", "exec", "--interactive", "--env", "OPENAI_API_KEY", "c"]
    assert argv[8].startswith("cd /w/bench-1 && ") and argv[10:12] == ["/usr/bin/ais_bench", "/w/bench-1/config.json"]


def test_random_prompts_are_written_again_from_their_seed(measure, tmp_path):
    """The rounds of a pool send the same prompts, and the prompts that replace them differ."""
    sent = []
    for seed in (7, 7, 8):
        measure({**CONFIG["prompts"], "model": str(tmp_path), "seed": seed})
        seen = json.loads((tmp_path / "seen").read_text())[0]
        sent.append([json.loads(line) for line in seen["read"]])
        assert "prompts" not in seen and seen["datasets"][0]["path"].startswith(str(tmp_path / "work" / "bench-17"))
    assert sent[0] == sent[1] != sent[2]
    questions = [line["question"].split(" ") for line in sent[0]]
    assert [len(words) for words in questions] == [24] * 6 and set(sum(questions, [])) <= set(WORDS)
    assert questions[0][:4] == questions[2][:4] != questions[1][:4] and questions[0][4:] != questions[2][4:]


def test_a_users_file_is_sent_as_it_is(measure, tmp_path):
    (tmp_path / "mine.jsonl").write_text('{"question": "a", "answer": ""}\n')
    measure({"file": str(tmp_path / "mine.jsonl"), "count": 6, "needed": 1})
    assert json.loads((tmp_path / "seen").read_text())[0]["read"] == ['{"question": "a", "answer": ""}']


def test_the_program_runs_as_the_owner_of_its_folder(monkeypatch, tmp_path):
    """With containers the plan names no user of the host."""
    known = driver.os.stat
    monkeypatch.setattr(driver.os, "geteuid", lambda: 0)
    monkeypatch.setattr(driver.pwd, "getpwuid", lambda uid: {65534: type("Entry", (), {"pw_name": "nobody"})}[uid])
    for owner, start in ((65534, ["runuser", "--user", "nobody", "--", "bash"]), (0, ["bash"]), (4711, ["bash"])):
        monkeypatch.setattr(driver.os, "stat", lambda path, owner=owner: os.stat_result((0, 0, 0, 0, owner, *[0] * 5)))
        argv = driver.whole_argv(driver.Command(["/x"], {}, [], str(tmp_path), config=CONFIG), "/f")
        assert argv[: len(start)] == start
    monkeypatch.setattr(driver.os, "stat", known)
