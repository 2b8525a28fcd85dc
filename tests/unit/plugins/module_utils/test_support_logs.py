# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs for a support case: planted secrets and prompts stay on the host, what explains a failure leaves it."""

from __future__ import annotations

import base64
import json
import os
import re
import tarfile
import time
import tracemalloc
import zlib

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.support import archive, exceptions, gather
from ansible_collections.ascend.inference.plugins.module_utils.support.redact import LEFT_OUT, Redactor
from ansible_collections.ascend.inference.plugins.module_utils.tools import record
from ansible_collections.ascend.inference.plugins.modules import support_logs

SECRET, SECOND = "s3cr3t-of-the-engines", "second/client+key=="
TEXT = "my-private-diary"
# Each line as a program writes it; none of the planted texts may be in the result.
PLANTED = {
    "vLLM 0.9": f"INFO 11-22 10:00:00 [logger.py:42] Received request cmpl-1: prompt: '{TEXT}', params: SamplingParams(n=1), lora_request: None.",
    "vLLM's ids": "DEBUG 11-22 10:00:00 [logger.py:52] Request cmpl-1 details: prompt: None, prompt_token_ids: [770001, 770002], prompt_embeds shape: None.",
    "vLLM's parameters": f"INFO [request_logger.py:60] Received request cmpl-1: params: SamplingParams(n=1, stop=['{TEXT}']), lora_request: None.",
    "vLLM's body": f'DEBUG [request_logger.py:70] Request cmpl-1 JSON body: {{"model":"x","user":"{TEXT}"}}',
    "vLLM's answer": f"INFO [logger.py:90] Generated response cmpl-1: output: '{TEXT}', finish_reason: length",
    "vLLM's dump": f"ERROR [dump_input.py:79] Dumping scheduler output for model execution: SchedulerOutput(x=['{TEXT}'])",
    "an engine's request": f"ERROR 11-22 EngineCoreRequest(request_id='1', data='{TEXT}')",
    "JSON of a proxy": f'INFO body {{"model": "x", "prompt": "{TEXT}"}}',
    "messages": f"WARNING retry {{'messages': [{{'role': 'user', 'content': '{TEXT}'}}]}}",
    "several lines": f"ERROR request failed, prompt: 'first\n{TEXT} second line\n\nthird {TEXT}'",
    "pydantic": f"ERROR 1 validation error\n  Field required [type=missing, input_value={{'x': '{TEXT}'}}, input_type=dict]",
    "a query": f"INFO: GET /search?query={TEXT} 200",
    "upper case": f'INFO {{"Content": "{TEXT}"}}',
    "a known key": f"INFO key is {SECRET} here",
    "a second key": f"INFO x{SECOND}y",
    "a header": "INFO Authorization: Bearer unknown-planted-value",
    "a header as JSON": 'INFO {"authorization": "Bearer unknown-planted-value", "x": 1}',
    "an option": "INFO args: --api-key unknown-planted-value --port 1",
    "a variable": "INFO environ VLLM_API_KEY=unknown-planted-value HF_TOKEN='unknown-planted-value'",
    "a repr": "INFO Namespace(api_key=['unknown-planted-value'], port=1)",
    "a password": "INFO password: unknown-planted-value",
    "a URL": "INFO index https://user:unknown-planted-value@index.example/simple",
    "a token by its form": "INFO use hf_PlantedValue12345678 or sk-planted-value-123456",
    "a private key": "INFO\n-----BEGIN RSA PRIVATE KEY-----\nunknown-planted-value\n-----END RSA PRIVATE KEY-----",
    "JSON in JSON": rf'INFO body "{{\"model\": \"x\", \"prompt\": \"{TEXT}\"}}"',
    "a key in JSON in JSON": r'INFO "{\"api_key\": \"unknown-planted-value\", \"x\": 1}"',
    "JSON on several lines": f'ERROR {{\n  "messages": [\n    {{\n      "role": "user",\n      "content": "{TEXT}"\n    }}\n  ]\n}}',
    "a number first": f"INFO prompt: 12 pages of {TEXT}",
    "a date first": f"INFO prompt: 2026, {TEXT}",
    "a diary": f"ERROR bad request, prompt: 'Dear diary\n2026-11-22\n{TEXT}\n2026-11-23 {TEXT}'",
    "each line with its process": f"(EngineCore_DP0 pid=7) ERROR prompt: 'first\n(EngineCore_DP0 pid=7) {TEXT}\n(Worker_TP1 pid=8) {TEXT}",
    "each line with the begin of its message": "\n".join(
        f"(APIServer pid=7) ERROR 11-22 10:00:00 [serving.py:9] {part}"
        for part in ("prompt: 'first", TEXT, f"'{TEXT}'")
    ),
    "a rendered prompt": f"ERROR cannot answer <|im_start|>user\n{TEXT}<|im_end|>",
    "another rendered prompt": f"ERROR cannot answer <｜User｜>{TEXT}",
    "an instruction": f"ERROR cannot answer [INST] {TEXT} [/INST]",
    "a picture": "ERROR cannot load data:image/png;base64,iVBORw0KplantedPlantedValueAAAA",
    "a long text in base64": "ERROR got "
    + base64.b64encode(f"PlantedValue {TEXT} and more of it, on and on. ".encode() * 3).decode(),
    "a quote of an exception": f"ValueError: cannot parse '{TEXT}' here",
    "a quote within a quote": f"ValueError: cannot parse 'she said 'no' to my {TEXT}'",
    "an apostrophe in a quote": f"TypeError: cannot parse 'I don't like {TEXT}'",
    "a quote of several lines": f"KeyError: 'first\nsecond line\n{TEXT}'",
    "a quote of several lines in an explained one": f"RuntimeError: bad 'first\nsecond line\n{TEXT}'",
    "a second quote of several lines": f"ValueError: 'a word' and '{TEXT}\n{TEXT}'",
    "a message of several lines": f"ValueError: cannot tokenize this:\nfirst\n{TEXT}",
    "a long message": f"ValueError: cannot tokenize {'word ' * 80}{TEXT}",
    "an exception of a worker": f'(Worker_TP0 pid=9) ERROR 11-22 10:00:00 [core.py:1] jinja2.exceptions.TemplateError: bad "{TEXT}"',
    "an exception as text": f"ERROR 11-22 10:00:00 [core.py:1] request failed: ValueError(\"bad '{TEXT}'\")",
    "a quote after a name": f"KeyError: no 'some_name' in '{TEXT}'",
    "other quotes": f"ValueError: no \u201c{TEXT}\u201d",
    "bytes": f"UnicodeError: b'{TEXT}'",
    "an exception of the router": f"TemplateError: b'{TEXT}",
    "an exception with capitals": f"HTTPException(status_code=400, detail='{TEXT}')",
    "a text as a path": f"OSError: [Errno 36] File name too long: 'I wrote {TEXT}'",
    "a text in another script as a path": f"FileNotFoundError: [Errno 2] No such file or directory: '我的{TEXT}'",
    "a panic in Python": f"pyo3_runtime.PanicException: byte index 1 is not a char boundary; it is inside 'é' (bytes 0..2) of `é{TEXT}`",
    "a panic": f"thread '<unnamed>' panicked at src/lib.rs:12:5:\nbyte index 1 is not a char boundary; inside 'é' of `é{TEXT}\n{TEXT}`",
    "an older panic": f"thread 'main' panicked at 'called `Result::unwrap()` on an `Err` value: Error(\"{TEXT}\")', src/lib.rs:3:4",
    "a panic in a prefix": f"(APIServer pid=7) thread 'main' (9) panicked at src/lib.rs:12:5:\n(APIServer pid=7) got `{TEXT}`",
    "an exception of another name": 'Traceback (most recent call last):\n  File "/x/y.py", line 3, in f\n    g()\n'
    f"lark.exceptions.UnexpectedCharacters: No terminal matches 'm' here, at line 1 col 1\n\n{TEXT}\n^\nExpected one of:",
    "an exception of another name in a prefix": '(APIServer pid=7) ERROR 11-22 10:00:00 [x.py:1]   File "/x/y.py", line 3, in f\n'
    f"(APIServer pid=7) ERROR 11-22 10:00:00 [x.py:1]     g()\n(APIServer pid=7) ERROR 11-22 10:00:00 [x.py:1] json.MalformedJSON: '{TEXT}'",
    "a password of two words": "INFO password: 'unknown planted-value'",
    "a password with a short name": "INFO login pwd=unknown-planted-value",
    "an object with a password": 'INFO credentials={"user": "u", "pass": "unknown-planted-value"}',
    "a short name in JSON": '{"pass": "unknown-planted-value", "x": 1}',
    "a query of a request": f'INFO:     10.0.0.1:4 - "GET /v1/models?q={TEXT} HTTP/1.1" 404',
    "a mail address": f"INFO user {TEXT}@example.com has 3 requests",
    "a URL without a user": "INFO redis://:unknown-planted-value@store.example/1",
}
FORBIDDEN = (TEXT, "770001", SECRET, SECOND, "planted-value", "PlantedValue", "second line")


@pytest.mark.parametrize("name", PLANTED)
def test_planted_secrets_and_prompts_are_left_out(name):
    redactor = Redactor([SECRET, f"first-key {SECOND}"])
    after = "INFO 11-22 10:00:01 [core.py:1] next line"
    found = "\n".join(redactor.lines([*PLANTED[name].split("\n"), after]))
    assert [text for text in FORBIDDEN if text in found] == []
    assert LEFT_OUT in found
    assert found.endswith(after)
    assert sum(redactor.counts.values()) > 0


# Further forms of secrets; X is the secret.
FORMS = [
    r"url http://X@host:80/x",
    r"url https://user:X/extra@host/x",
    r"url https://us/er:X@host/x",
    r"url https://user:p@X@host/x",
    r"git clone https://X@git.example/y",
    r"GET https://h/x?sig=X&X-Amz-Credential=X",
    r"GET https://h/x?key=X",
    r"X-Amz-Signature=X&x=1",
    r"[('X-API-Key', 'X')]",
    r"headers=[(b'x-api-key', b'X'), (b'authorization', b'Bearer X')]",
    r"HUGGING_FACE_HUB_TOKEN=X",
    r"MODELSCOPE_API_TOKEN=X",
    r"aws_session_token=X",
    r"refresh_token=X",
    r"X-Subject-Token: X",
    r"private-token: X",
    r"--token X",
    r"args: Namespace(api_key=['other', 'X'], x=1)",
    r"non-default args: {'api_key': ['a', 'X'], 'x': 1}",
    r"vllm serve --api-key a X --x",
    r"['vllm', 'serve', '--api-key', 'X']",
    r'["--api-key", "X"]',
    r"curl -u user:X http://h",
    r"etcdctl --user=root:X put",
    r"basic_auth: user:X",
    r"auth=('user', 'X')",
    r"requirepass X",
    r'password="ab\"X"',
    r"password: 'it''s X'",
    r"API key: X",
    r"the api key is X",
    r"the password is X",
    r"Cookie: session=X; other=X",
    r"proxy-authorization: Basic X",
    r'Proxy-Authorization: Digest username="u", response="X"',
    r"Authorization: ApiKey X",
    r"authorization: AWS4-HMAC-SHA256 Credential=x/y, Signature=X",
    r"export FOO_KEY=X",
    r"encryption_key=X",
    r"license key=X",
    r"AccountKey=X;",
    r"ak=x sk=X",
    r"MYSQL_PWD=X",
    r"ldap_pwd: X",
    r"DB_PASS=X",
    r"SSHPASS=X",
    r"environ({'OBS_AK': 'a', 'OBS_SK': 'X'})",
    r"X-Auth-Key: X",
    r"storage_key=X",
    r"GIT_CREDENTIALS=X",
    r"密码：X",
    r"token：X",
]


@pytest.mark.parametrize("line", FORMS)
def test_secrets_of_other_programs_are_left_out(line):
    secret = "pLanted7Value"
    redactor = Redactor()
    (found,) = redactor.lines(["INFO " + re.sub(r"X(?!-)", secret, line)])
    assert secret not in found and found.startswith("INFO ") and redactor.counts["secrets"] > 0, found


def test_a_known_secret_is_found_as_a_url_and_as_json_write_it():
    redactor = Redactor(['pa"ss/word+%'])
    assert redactor.lines(["INFO pa%22ss%2Fword%2B%25 there", r"INFO pa\"ss/word+% here"]) == [
        f"INFO {LEFT_OUT} there",
        f"INFO {LEFT_OUT} here",
    ]


@pytest.mark.parametrize(
    "form",
    [
        "pa%22ss%2fword%2b%25",
        "pa%22ss/word%2B%25",
        base64.b64encode(b'pa"ss/word+%').decode(),
        b'pa"ss/word+%'.hex(),
    ],
)
def test_a_known_secret_is_found_as_other_programs_write_it(form):
    assert Redactor(['pa"ss/word+%']).lines([f"INFO {form} there"]) == [f"INFO {LEFT_OUT} there"]


SOUND = [
    "E1124 20:00:00.1 7 transfer_metadata_plugin.cpp:292] GET http://10.0.0.1:8080/metadata?key=mooncake%2Fram%2F10.0.0.1%3A13335 http=404",
    "INFO eos_token=2, num_prompt_token: 7, time per_token: 3 ms, 12 tokens, mode=auto",
    "INFO 11-22 10:00:00 [loggers.py:1] Engine 000: Avg prompt throughput: 12.0 tokens/s, Running: 1 reqs, Waiting: 0 reqs",
    "ERROR 11-22 10:00:00 Mooncake transfer failed, ret: -1",
    "INFO KV cache transfer for request cmpl-1 took 12.5 ms",
    "[ERROR] HCCL(1,python):2026-11-22-10:00:00 [hccl_comm.cc:1] call trace: hcclRet -> 4",
    "E1122 10:00:00.1 1 master.cpp:1] lease_expired_before_data_transfer_completed key=abc",
    "Traceback (most recent call last):",
    '  File "/x/core.py", line 1, in run',
    "    raise RuntimeError(1)",
    "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB",
    "[ERROR] 2026-11-22-10:00:00 (PID:7, Device:0, RankID:-1) ERR00100 PTA call acl api failed.",
    "EZ9999: Inner Error!",
    '(EngineCore_DP0 pid=7) ERROR 11-22 10:00:00 [core.py:1]   File "/x/core.py", line 1, in run',
    """(EngineCore_DP0 pid=7) ERROR 11-22 10:00:00 [core.py:1]     raise ValueError(f"no room for '{x}'")""",
    "(EngineCore_DP0 pid=7) ERROR 11-22 10:00:00 [core.py:1] ValueError: max_model_len is larger than the KV cache, see '--gpu-memory-utilization'",
    "ImportError: cannot import name 'Thing' from 'vllm.entry' (/x/entry.py)",
    "thread 'main' panicked at src/main.rs:12:5:",
    "called `Result::unwrap()` on an `Err` value: Os { code: 98 }",
    "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace",
    '  File "/x/core.py", line 1, in run',
    "    self.step()",
    "    ^^^^^^^^^^^",
    'INFO:     10.0.0.1:4 - "GET /health HTTP/1.1" 200 OK',
    "ValueError: the model needs `trust_remote_code`",
    "AttributeError: 'NoneType' object has no attribute 'shape'",
    "ImportError: /lib64/libc.so.6: version `GLIBC_2.34' not found (required by /x/y.so)",
    "FileNotFoundError: [Errno 2] No such file or directory: '/models/qwen3-8b/config.json'",
    "ConnectionError: HTTPConnectionPool(host='10.0.0.1', port=80): Max retries exceeded (Caused by NewConnectionError('Connection refused'))",
    "KeyError: 'model.layers.0.mlp.weight'",
    'INFO: 10.0.0.1:4 - "POST /v1/completions HTTP/1.1" 200 OK',
    "INFO prompt_tokens: 8192, max_tokens=16",
    "INFO forward pass 12 of root@10.0.0.1, image quay.io/x/y@sha256:0123, passes: 3",
    "INFO compile pass took 12 s, is a ? b HTTP/1.1",
    "INFO input: 5, output: 7",
    "INFO forward_pass: 12.5 ms, cache_key=17, HCCL_ALGO=level0, is_first_pass=True",
    "(EngineCore_DP0 pid=7) ERROR 11-22 10:00:00 [core.py:1] EngineCore failed",
    "INFO key qwen@pcp0@"
    + "0123456789abcdef" * 4
    + " in /var/lib/docker/overlay2/"
    + "0123456789abcdef" * 8
    + "/merged",
]


@pytest.mark.parametrize("before", range(3))
def test_a_long_line_is_not_cut_within_a_secret(tmp_path, before):
    path = tmp_path / "decode-0.log"
    for length in (5, 12, len(SECRET) - 1):
        line = "INFO " + ("word " * 10**4)[: gather.LINE - 5 - length]
        path.write_text(f"{line}{SECRET}{' ' * before}more\nINFO end\n")
        found = gather.service_part(file_log(path), 0, 10**6, Redactor([SECRET]), None).text
        assert SECRET[:5] not in found and found.endswith("INFO end\n")


def test_what_follows_a_text_stays():
    """Each message of vLLM has the same begin on each of its lines; the next message has another one."""
    first, second = (
        "(APIServer pid=7) ERROR 11-22 10:00:00 [serving.py:9] ",
        "(APIServer pid=7) ERROR 11-22 10:00:00 [core.py:3] ",
    )
    found = Redactor().lines([f"{first}prompt: 'a", f"{first}{TEXT}", f"{second}RuntimeError: NPU out of memory"])
    assert found == [f"{first}prompt: {LEFT_OUT}", f"{second}RuntimeError: NPU out of memory"]


DEVICE_ERRORS = (
    "[rank0]:[W1101 10:00:01.224261525 NPUStream.cpp:647] Warning: NPU warning, error code is 507034[Error]: ",
    "[W1101 10:00:01.224261525 NPUStream.cpp:647] Warning: NPU warning, error code is 507034[Error]: ",
    "[Error]: Vector core execution timed out.",
    "EE9999: Inner Error!",
    "EE9999[PID: 10180] 2026-11-01-10:00:01.486.049 (EE9999):  execution failed, reason=vector core timeout",
    "EI0002: [PID: 1] 2026-11-01-10:00:01.1 The wait execution of the Notify register times out.",
    "[PID: 1] 2026-11-01-10:00:01.1 Communication_Error_Get_Socket(EI0006): Getting socket times out.",
    "E20261101 10:00:02.000001 77 ascend_direct_transport.cpp:820] Failed to connect to target: 192.0.2.11:20033",
    "[591] [2026-11-01 10:00:02:937] torch.distributed: [ERROR] [692] error code is 507011",
    "(Worker_TP1 pid=12) EE9999: Inner Error!",
    "terminate called after throwing an instance of 'std::runtime_error'",
    "Segmentation fault (core dumped)",
)


@pytest.mark.parametrize("line", DEVICE_ERRORS, ids=[line[:20] for line in DEVICE_ERRORS])
def test_errors_of_npus_after_the_dump_of_a_scheduler_stay(line):
    """They are what a support case is about; the dump itself has texts of clients."""
    dump = (
        "(EngineCore_DP0 pid=9) ERROR 11-01 10:00:00 [dump_input.py:76] Dumping scheduler output for model execution: "
        "SchedulerOutput(scheduled_new_reqs=[NewRequestData(req_id=cmpl-1,prompt='my secret"
    )
    found = Redactor().lines([dump, "second line of a prompt", line])
    assert found[1:] == [line] and "secret" not in "".join(found) and "second" not in "".join(found)


def test_lines_that_explain_a_failure_stay():
    redactor = Redactor([SECRET])
    assert redactor.lines(SOUND) == SOUND
    assert redactor.counts == {"secrets": 0, "texts": 0}


@pytest.mark.parametrize(
    "text", ["api_key" * 600, "x" * 4000, "1-" * 2000, "token" + " " * 3990 + "x", "secret='" * 500]
)
def test_no_text_of_a_client_takes_long(text):
    """A line of the greatest length takes milliseconds. With a pattern that goes back it took three minutes."""
    before = time.process_time()
    Redactor([SECRET]).lines([text[: gather.LINE]])
    assert time.process_time() - before < 0.5


def test_a_secret_that_is_part_of_another_is_left_out_in_both():
    assert Redactor(["abc", "abcdef"]).lines(["INFO abcdef abc"]) == [f"INFO {LEFT_OUT} {LEFT_OUT}"]


def file_log(path):
    return {"name": "decode-0", "log": {"kind": "file", "path": str(path), "unit": ""}}


def test_the_size_is_bounded_and_the_end_stays(tmp_path):
    path = tmp_path / "decode-0.log"
    path.write_text("".join(f"INFO line {number}\n" for number in range(10000)))
    part = gather.service_part(file_log(path), 0, 2000, Redactor(), None)
    assert len(part.text) <= 2000
    assert part.text.endswith("INFO line 9999\n")
    assert part.text.startswith("INFO line ")
    whole = gather.service_part(file_log(path), 0, 10**6, Redactor(), None)
    assert whole.text.count("\n") == 10000
    assert whole.problem == ""


def test_of_a_log_that_is_cut_only_whole_lines_stay(tmp_path):
    """The rest of a line may look like the begin of another one, and there is room for it where secrets were left out."""
    lines = [
        f"INFO {number} of step INFO {number} ERROR {number} password={'x' * (30 + number % 7)}" for number in range(40)
    ]
    path = tmp_path / "decode-0.log"
    path.write_text("\n".join(lines) + "\n")
    whole = set(Redactor().lines(lines))
    for most in range(20, 700):
        part = gather.service_part(file_log(path), 0, most, Redactor(), None)
        assert set(part.text.splitlines()) <= whole
        assert len(part.text) <= most and "the size is limited" in part.problem


def test_a_prompt_whose_beginning_is_cut_off_is_left_out(tmp_path):
    path = tmp_path / "decode-0.log"
    path.write_text(f"INFO prompt: '{'x' * 200}\n {'x' * 200}\n{TEXT} {'y' * 300}\n{TEXT}'\nINFO end\n")
    for most in range(20, 900, 7):  # also in the middle of a prompt of several lines
        part = gather.service_part(file_log(path), 0, most, Redactor(), None)
        assert TEXT not in part.text


def test_links_and_missing_files_are_named(tmp_path):
    (tmp_path / "link").symlink_to("/etc/shadow")
    for name in ("link", "missing"):
        part = gather.service_part(file_log(tmp_path / name), 0, 1000, Redactor(), None)
        assert part.text == ""
        assert part.problem.startswith("not read: ")


@pytest.mark.parametrize("kind, tool", [("journald", "journalctl"), ("docker", "docker")])
def test_logs_of_runtimes_are_asked_for_a_time_and_a_number_of_lines(kind, tool):
    asked = []

    def run(argv):
        asked.append(argv)
        return 0, "INFO a\nINFO b\n"

    service = {"name": "decode-0", "log": {"kind": kind, "path": "", "unit": "x-decode-0"}}
    assert gather.service_part(service, 1234, 1000, Redactor(), run).text == "INFO a\nINFO b\n"
    (argv,) = asked
    assert argv[0] == tool
    assert any("1234" in item for item in argv)
    assert any(str(gather.LINES) in item for item in argv)
    assert gather.service_part(service, 1234, 1000, Redactor(), lambda argv: (1, "no")).problem.endswith(
        "ended with 1: no"
    )


def test_files_of_cann_are_bounded_together_and_old_ones_are_not_read(tmp_path):
    folder = tmp_path / "debug/plog"
    folder.mkdir(parents=True)
    for number in range(4):
        (folder / f"plog-{number}.log").write_text("[ERROR] HCCL line\n" * 50)
    os.utime(str(folder / "plog-0.log"), (1, 1))
    parts = gather.plog_parts([str(tmp_path)], 1000, 1500, Redactor())
    assert sorted(part.name for part in parts) == [f"plog/debug/plog/plog-{number}.log" for number in (1, 2, 3)]
    assert sum(len(part.text) for part in parts) <= 1500
    assert "limited" in parts[-1].problem


def test_names_that_a_service_s_user_chose_hide_no_log_and_reach_no_terminal(tmp_path):
    """Ansible refuses the whole result of a module if a name in it has bytes that are no UTF-8."""
    folder = tmp_path / "debug/plog"
    folder.mkdir(parents=True)
    for name in (b"plog-1.log", b"\xff\xfe.log", b"\x1b]0;owned\x07\nx.log"):
        with open(os.path.join(os.fsencode(str(folder)), name), "w") as stream:
            stream.write("[ERROR] HCCL line\n")
    names = {part.row()["name"] for part in gather.plog_parts([str(tmp_path)], 0, 10000, Redactor())}
    assert "plog/debug/plog/plog-1.log" in names and len(names) == 3
    assert all(name.encode("utf-8").decode("utf-8").isprintable() for name in names), names


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make a file of another user")
def test_a_second_name_of_another_user_s_file_is_not_read(tmp_path):
    """The service's user can make one of /etc/shadow in its own folder if fs.protected_hardlinks is 0."""
    secret, home = tmp_path / "shadow", tmp_path / "home"
    secret.write_text("root:planted\n")
    folder = home / "ascend/log/debug/plog"
    folder.mkdir(parents=True)
    os.link(str(secret), str(folder / "plog-1.log"))
    (folder / "plog-2.log").write_text("[ERROR] HCCL line\n")
    os.link(str(folder / "plog-2.log"), str(folder / "plog-3.log"))  # of the user's own
    for path in (home, folder, folder / "plog-2.log"):
        os.chown(str(path), 65534, 65534)
    parts = {part.name[-10:]: part for part in gather.plog_parts([str(home / "ascend/log")], 0, 10000, Redactor())}
    assert parts["plog-1.log"].text == "" and "second name" in parts["plog-1.log"].problem
    assert "HCCL line" in parts["plog-2.log"].text and "HCCL line" in parts["plog-3.log"].text
    part = gather.service_part(file_log(folder / "plog-1.log"), 0, 1000, Redactor(), None)
    assert part.text == "" and "second name" in part.problem


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make a file of another user")
@pytest.mark.parametrize(
    ("place", "owned"), [("logs", "logs"), ("home/ascend/log", "home/ascend"), ("work/ascend/log", "work")]
)
def test_logs_of_cann_lead_root_nowhere_wherever_they_are(tmp_path, place, owned):
    """The folder above, such as that of a deployment, is root's: what counts is the first one that is not."""
    secret, folder = tmp_path / "secrets", tmp_path / place
    secret.mkdir()
    (secret / "plog-1.log").write_text("[ERROR] HCCL planted\n")
    folder.mkdir(parents=True)
    (folder / "debug").mkdir()
    (folder / "debug/plog").symlink_to(secret)
    for path in (tmp_path / owned, folder, folder / "debug"):
        os.chown(str(path), 65534, 65534)
    (part,) = gather.plog_parts([str(folder)], 0, 10000, Redactor())
    assert part.text == "" and part.problem.startswith("not read")


def test_logs_of_cann_of_units_and_containers_are_found(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    base = tmp_path / "[x]"  # no pattern
    (base / "services/decode-0/work").mkdir(parents=True)
    expected = [base / "logs", base / "services/decode-0/work/ascend/log", tmp_path / "user/ascend/log"]
    assert support_logs.folders([], str(base)) == [str(path) for path in expected]


def packed(parts):
    return base64.b64encode(zlib.compress(json.dumps(parts).encode())).decode()


def test_the_archive_names_hosts_that_did_not_answer(tmp_path):
    given = {
        "parts": packed([["decode-0.log", "INFO a\n"], ["../../up", "x"]]),
        "left_out": {"secrets": 1},
        "problem": "",
    }
    given["rows"] = [{"name": "decode-0.log", "bytes": 7, "problem": ""}]
    (tmp_path / "n1.json").write_text(json.dumps(given))
    found = archive.read_hosts(str(tmp_path), ["n1", "n2"])
    summary = archive.summary_of("x", ["n1", "n2"], found, {"release": "0.23.0"})
    path = tmp_path / "x.tar.gz"
    size = archive.write(str(path), "x", found, summary)
    assert path.stat().st_size == size
    assert path.stat().st_mode & 0o777 == 0o600
    with tarfile.open(str(path)) as read:
        assert read.getnames() == ["x-logs/summary.json", "x-logs/n1/decode-0.log", "x-logs/n1/_/_/up"]
        written = json.loads(read.extractfile("x-logs/summary.json").read().decode())
    assert "exceptions quote" in written["removed"] and written["missing"] == ["n2"]
    assert written["release"] == "0.23.0"
    assert "n2: no logs, because it did not answer" in archive.text_of("p", size, summary)
    assert [name for name in os.listdir(str(tmp_path)) if name.startswith(".logs")] == []


def test_secrets_that_a_host_does_not_know_are_left_out_of_the_archive(tmp_path):
    """Hosts get their own ones only, so the controller looks for all of them."""
    parts = [["decode-0.log", "INFO other-team: planted-elsewhere-1234\nINFO a planted elsewhere\n"]]
    given = {"parts": packed(parts), "rows": [], "left_out": {"secrets": 1}, "problem": ""}
    (tmp_path / "n1.json").write_text(json.dumps(given))
    found = archive.read_hosts(str(tmp_path), ["n1"], ["planted-elsewhere-1234 second"])
    assert found["n1"]["parts"] == [("decode-0.log", "INFO other-team: [left out]\nINFO a planted elsewhere\n")]
    assert found["n1"]["left_out"] == {"secrets": 2}


def test_a_host_that_sends_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MOST", 1000)
    given = {"parts": packed([["a", "x" * 5000]]), "rows": [], "left_out": {}, "problem": ""}
    (tmp_path / "n1.json").write_text(json.dumps(given))
    found = archive.read_hosts(str(tmp_path), ["n1"])["n1"]
    assert found["parts"] == [] and "larger than 1000 bytes" in found["problem"]


GOOD = {"parts": packed([["a", "good"]]), "rows": [], "left_out": {}, "problem": ""}


@pytest.mark.parametrize(
    "answer",
    [
        {**GOOD, "parts": "not base64"},
        {**GOOD, "parts": None},
        {**GOOD, "parts": base64.b64encode(b"not packed").decode()},
        {**GOOD, "parts": packed([["a"]])},
        {**GOOD, "parts": packed({"a": 1})},
        {**GOOD, "rows": [None]},
        {**GOOD, "rows": 7},
        {"parts": GOOD["parts"]},
        [],
        "text",
    ],
)
def test_one_bad_answer_costs_the_logs_of_that_host(answer, tmp_path):
    """It was a traceback of the module, and no archive of any host."""
    (tmp_path / "n1.json").write_text(json.dumps(answer))
    (tmp_path / "n2.json").write_text(json.dumps(GOOD))
    found = archive.read_hosts(str(tmp_path), ["n1", "n2"])
    summary = archive.summary_of("x", ["n1", "n2"], found, {})
    assert archive.write(str(tmp_path / "logs.tar.gz"), "x", found, summary)
    assert found["n2"]["parts"] == [("a", "good")]
    assert "n1: no logs, because its answer has a wrong form" in archive.text_of("p", 1, summary)


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        (["", ""], "more than 1000000 values"),  # 2 MiB; each of 256 MiB was 60 bytes of the controller for each byte
        ("x", "more than 1000000 values"),
        ([[]], "more than 1000000 values"),
        (["a", "x" * 30], "more than 10000 parts"),
    ],
)
def test_parts_of_a_host_are_counted_before_they_cost_anything(parts, problem, tmp_path):
    packed_parts = packed([parts] * (2**20 if "values" in problem else 10_001))
    (tmp_path / "n1.json").write_text(json.dumps({**GOOD, "parts": packed_parts}))
    tracemalloc.start()
    found = archive.read_hosts(str(tmp_path), ["n1"])["n1"]
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert problem in found["problem"] and found["parts"] == [] and most < 150 * 2**20


@pytest.mark.parametrize("text", ['a", "b', "\\", '\\"', "[[{,", '"', '\\\\"'])
def test_what_is_within_a_text_is_no_value(text, monkeypatch):
    monkeypatch.setattr(record, "MOST_VALUES", 5)
    assert record.values_of(json.dumps([[text, text]])) == [[text, text]]
    with pytest.raises(ValueError, match="more than 5 values"):
        record.values_of(json.dumps([[text, text], [text, text]]))


def test_problems_of_one_host_bury_no_other_one(tmp_path):
    rows = [{"name": f"x{number}", "problem": "p" * 3000} for number in range(50)]
    (tmp_path / "n1.json").write_text(json.dumps({**GOOD, "rows": rows}))
    (tmp_path / "n2.json").write_text(json.dumps({**GOOD, "rows": [{"name": "y", "problem": "the one thing to see"}]}))
    found = archive.read_hosts(str(tmp_path), ["n1", "n2"])
    lines = archive.text_of("p", 1, archive.summary_of("x", ["n1", "n2"], found, {})).splitlines()
    assert lines[-2:] == ["n1: 30 more problems, see summary.json", "n2 y: the one thing to see"]
    assert len(lines) == 23 and max(map(len, lines)) == 2000


def test_a_problem_makes_one_line(tmp_path):
    (tmp_path / "n1.json").write_text(json.dumps({**GOOD, "problem": "x\n# INJECTED\x1b"}))
    summary = archive.summary_of("x", ["n1"], archive.read_hosts(str(tmp_path), ["n1"]), {})
    assert archive.text_of("p", 1, summary).splitlines()[1:] == ["n1: x\\n# INJECTED\\x1b"]


def test_the_module_reads_the_deployed_services_and_shares_the_size(tmp_path, monkeypatch):
    logs = tmp_path / "logs"
    logs.mkdir()
    services = []
    for name in ("decode-0", "router"):
        (logs / f"{name}.log").write_text(f"INFO {SECRET}\n" + "INFO line\n" * 1000)
        services.append({"name": name, "log": {"kind": "file", "path": str(logs / f"{name}.log"), "unit": ""}})
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "ascend/log/debug/plog").mkdir(parents=True)
    (tmp_path / "ascend/log/debug/plog/plog-1.log").write_text("[ERROR] HCCL x\n")
    params = {"directory": str(tmp_path / "none"), "host": "n1", "planned": {"services": services}, "minutes": 30}
    params.update(mib=1, hosts=100, users=[], secrets=[SECRET])
    parts, left_out, problem = support_logs.gathered(params, 10.0)
    assert [part.name for part in parts] == ["decode-0.log", "router.log", "plog/debug/plog/plog-1.log"]
    assert all(len(part.text) <= 2**20 // 300 for part in parts)
    assert "nothing is deployed on this host" in problem
    params["hosts"] = 1
    parts, left_out, problem = support_logs.gathered(params, 10.0)
    assert left_out["secrets"] == 2
    assert SECRET not in "".join(part.text for part in parts)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a-b_c.d@e+f=g:1", "a-b_c.d@e+f=g:1"),
        ("../x", "_x"),
        ("..", "_"),
        ("", "_"),
        ("a/b c", "a_b_c"),
        (".hidden", "hidden"),
    ],
)
def test_a_name_leads_to_no_other_folder(name, expected):
    assert archive.safe(name) == expected


def test_the_archive_has_each_file_and_its_summary(tmp_path):
    rows = [{"name": "router", "problem": ""}, {"name": "decode", "problem": "cut"}]
    found = {
        "n2": {"parts": [("a/b.log", "two")], "rows": rows, "left_out": 3, "problem": "no room"},
        "n1": {"parts": [], "rows": [], "left_out": 0, "problem": ""},
    }
    summary = archive.summary_of("chat", ["n3", "n2", "n1", "n0"], found, {"x": 1, "deployment": "?"})
    assert summary == {
        "x": 1,
        "removed": archive.REMOVED,
        "deployment": "chat",
        "missing": ["n0", "n3"],
        "hosts": {
            "n1": {"logs": [], "left_out": 0, "problem": ""},
            "n2": {"logs": rows, "left_out": 3, "problem": "no room"},
        },
    }
    path = tmp_path / "x.tgz"
    size = archive.write(str(path), "chat", found, summary)
    assert size == path.stat().st_size and path.stat().st_mode & 0o777 == 0o600 and len(list(tmp_path.iterdir())) == 1
    with tarfile.open(str(path)) as opened:
        assert [(item.name, item.mode) for item in opened] == [
            ("chat-logs/summary.json", 0o600),
            ("chat-logs/n2/a/b.log", 0o600),
        ]
        assert json.loads(opened.extractfile("chat-logs/summary.json").read().decode()) == summary
    assert archive.text_of("x.tgz", 2048, summary).splitlines() == [
        "x.tgz has 2 logs of 2 hosts, 2 KiB. Look through it before it leaves the site.",
        "n0: no logs, because it did not answer",
        "n3: no logs, because it did not answer",
        "n2: no room",
        "n2 decode: cut",
    ]


def test_the_archive_says_what_its_logs_say(tmp_path):
    rows = {"rows": [], "left_out": {}, "problem": ""}
    sound = dict(rows, parts=[("prefill-0.log", "INFO 11-01 10:00:00 [x.py:1] fine\n")])
    stuck = "EI0002: x\n Cluster Exception Location[IP/ID]:[192.0.2.15/6], Arrival Time:[x], ExceptionType:[Stuck Occurred]\n"
    path = tmp_path / "logs.tar.gz"
    archive.write(str(path), "demo", {"a": sound, "b": dict(rows, parts=[("plog/1.log", stuck)])}, {})
    with tarfile.open(path) as opened:
        text = opened.extractfile("demo-logs/causes.txt").read().decode()
    assert (
        text.startswith("b/plog/1.log\nLikely cause: a rank of the engine hangs")
        and "NPU 6 of 192.0.2.15" in text
        and "a/" not in text
    )
    archive.write(str(path), "demo", {"a": sound}, {})
    with tarfile.open(path) as opened:
        assert "demo-logs/causes.txt" not in opened.getnames()


def test_logs_that_are_too_large_when_unpacked_are_refused(tmp_path, monkeypatch):
    data = json.dumps([["a", "x" * 10]]).encode()
    given = {"rows": [], "left_out": {"secrets": 0}, "problem": ""}
    (tmp_path / "n1.json").write_text(json.dumps({**given, "parts": base64.b64encode(zlib.compress(data)).decode()}))
    for most, good in ((len(data), True), (len(data) - 1, False)):
        monkeypatch.setattr(archive, "MOST", most)
        if good:
            assert archive.read_hosts(str(tmp_path), ["n0", "n1"]) == {"n1": {**given, "parts": [("a", "x" * 10)]}}
        else:
            assert f"n1 are larger than {most} bytes" in archive.read_hosts(str(tmp_path), ["n1"])["n1"]["problem"]


def test_an_archive_that_cannot_be_written_leaves_nothing(tmp_path):
    (tmp_path / "x").mkdir()
    with pytest.raises(OSError):
        archive.write_files(str(tmp_path / "x"), "t", [("a", "b")])
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize(
    ("text", "left", "continues"),
    [
        ("KeyError: 'a b'", "KeyError: [left out]", True),
        ("ValueError: --option 'x y' z", "ValueError: --option [left out] z", True),
        ("ValueError: '--option' z", "ValueError: '--option' z", True),
        ("ValueError: 'a_b' and 'secret text' z", "ValueError: 'a_b' and [left out] z", True),
        ("ImportError: cannot import name 'x' from 'y.z'", "ImportError: cannot import name 'x' from 'y.z'", False),
        ("ConnectionResetError: 'whatever it is'", "ConnectionResetError: 'whatever it is'", False),
        ("PermissionError: 'a b'", "PermissionError: [left out]", True),
        ("no exception 'here'", "no exception 'here'", False),
        ("ValueError:" + " x" * 150, "ValueError:" + " x" * 150, True),
        ("ValueError:" + " x" * 150 + "y", "ValueError:" + " x" * 149 + " [left out]", True),
        ("RuntimeError: plain", "RuntimeError: plain", False),
        ("RuntimeError: 'open", "RuntimeError: [left out]", True),
    ],
)
def test_messages_of_exceptions(text, left, continues):
    messages = exceptions.Messages()
    assert messages.line(text, 0) == (left, continues)
    assert messages.left_out == (left != text)
