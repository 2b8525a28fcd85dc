# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The runner: time limit, process group, streams, environment, where tools are found; and what error texts mean."""

from __future__ import annotations

import os
import sys
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.tools import errors, runner

LIMIT = 60


def python(code, *args):
    return [sys.executable, "-c", code] + list(args)


def test_both_streams_and_the_exit_status_are_kept():
    output = runner.run(python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(13)"), LIMIT)
    assert (output.rc, output.stdout, output.stderr, output.timed_out) == (13, "out\n", "err\n", False)


def test_prompts_get_their_answer_and_queries_the_end_of_file():
    code = "import sys; print(repr(sys.stdin.read()))"
    assert runner.run(python(code), LIMIT, stdin="y\n").stdout == "'y\\n'\n"
    assert runner.run(python(code), LIMIT).stdout == "''\n"


def test_a_function_writes_more_than_a_pipe_holds():
    size = 2**20
    given = {"env": dict(os.environ), "stdin": lambda pipe: pipe.write(b"x" * size)}
    code = "import sys; print(len(sys.stdin.read()))"
    assert runner.execute(python(code), LIMIT, **given).stdout == f"{size}\n"
    assert runner.execute(python("print('not read')"), LIMIT, **given).stdout == "not read\n"
    started = time.monotonic()
    assert runner.execute(python("import time; time.sleep(600)"), 1, **given).timed_out
    assert time.monotonic() - started < LIMIT


def test_odd_bytes_are_no_crash():
    assert runner.run(python("import sys; sys.stdout.buffer.write(b'\\xff\\xfe')"), LIMIT).stdout == "\ufffd\ufffd"


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as handle:
            return " Z " not in handle.read()
    except OSError:
        return False


def test_a_hanging_tool_is_killed_with_its_children(tmp_path):
    pid = tmp_path / "pid"
    code = "import subprocess, sys; p = subprocess.Popen(['sleep', '600']); open(sys.argv[1], 'w').write(str(p.pid)); print('half', flush=True); p.wait()"
    output = runner.run(python(code, str(pid)), 3)
    assert output.timed_out and output.rc is None and output.stdout == "half\n"
    child = int(pid.read_text())
    for _attempt in range(100):
        if not alive(child):
            break
        time.sleep(0.1)
    else:
        pytest.fail("the child of the killed tool still runs")


def test_an_answer_is_not_lost_to_a_daemon_that_keeps_the_pipe_open():
    code = "import subprocess; subprocess.Popen(['sleep', '20']); print('answer', flush=True)"
    begin = time.monotonic()
    output = runner.run(python(code), 15)
    assert (output.stdout, output.rc, output.timed_out) == ("answer\n", 0, False)
    assert time.monotonic() - begin < 10


def test_endless_output_is_bounded(monkeypatch):
    monkeypatch.setattr(runner, "MOST_OUTPUT", 2**20)
    output = runner.run(python("while True: print('x' * 1000)"), LIMIT)
    assert len(output.stdout) == 2**20 and not output.timed_out and output.rc != 0
    assert "printed more than 1 MiB" in output.stderr


def test_a_command_writes_no_larger_file_than_it_may(tmp_path):
    argv = ["sh", "-c", "sleep 0.2; head -c 100000 /dev/zero > large; head -c 500 /dev/zero > small"]
    runner.execute(argv, LIMIT, runner.environment(), cwd=str(tmp_path), largest=1000)
    assert {path.name: path.stat().st_size for path in tmp_path.iterdir()} == {"large": 1000, "small": 500}


def test_streams_of_a_command_can_come_as_one_text_in_their_order():
    code = "import os; [os.write(n, b'%d ' % i) for i, n in enumerate((1, 2, 1, 2))]"
    output = runner.execute(python(code), LIMIT, {"ONLY": "this"}, cwd="/", merged=True)
    assert (output.rc, output.stdout, output.stderr) == (0, "0 1 2 3 ", "")
    code = "import os; print(sorted(set(os.environ) - {'LC_CTYPE'}), os.getcwd())"
    assert runner.execute(python(code), LIMIT, {"ONLY": "this"}, cwd="/").stdout == "['ONLY'] /\n"
    cut = runner.execute(python("print('x' * 5000)"), LIMIT, {}, merged=True, most=1000)
    assert cut.stdout.startswith("x" * 1000 + "\nstopped: ") and cut.rc != 0


def test_a_program_that_cannot_start(tmp_path):
    with pytest.raises(runner.ToolMissing, match="nothing cannot be started: No such file"):
        runner.run([str(tmp_path / "nothing"), "--option"], LIMIT)


def test_environment(monkeypatch, tmp_path):
    monkeypatch.setattr(runner, "LIBRARIES", (str(tmp_path), "/not/there"))
    monkeypatch.setenv("LD_LIBRARY_PATH", "/a")
    env = runner.environment({"X": "1"})
    assert env["LD_LIBRARY_PATH"] == f"/a{os.pathsep}{tmp_path}" and env["LC_ALL"] == "C" and env["X"] == "1"


def test_tools_are_found_in_path_and_the_driver_s_places(monkeypatch, tmp_path):
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
    tool = tmp_path / "second" / "npu-smi"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "first"))
    monkeypatch.setattr(runner, "PLACES", (str(tmp_path / "second"),))
    assert runner.find_executable("npu-smi") == str(tool)
    with pytest.raises(runner.ToolMissing, match="option 'executable'"):
        runner.find_executable("hccn_tool")


def output(stdout="", stderr="", rc=0, timed_out=False):
    return runner.Output(["/usr/bin/hccn_tool", "-i", "3", "-ip", "-g"], rc, stdout, stderr, timed_out)


def test_an_unknown_message_on_stderr_is_shown_beside_what_was_expected():
    shown = str(errors.failure(output(stderr="kernel: davinci timeout, reboot the host\n", rc=5), "the text is empty"))
    assert "the text is empty" in shown and "davinci timeout, reboot the host" in shown


def test_a_file_that_may_not_be_executed_is_named_as_such(tmp_path):
    (tmp_path / "npu-smi").write_text("")
    with pytest.raises(runner.ToolMissing, match="not executable"):
        runner.find_executable("npu-smi", str(tmp_path / "npu-smi"))


@pytest.mark.parametrize(
    "stdout, stderr, kind, advice",
    [
        (
            "",
            "npu-smi: error while loading shared libraries: libc_sec.so: cannot open shared object file",
            "loader",
            "LD_LIBRARY_PATH",
        ),
        (
            "",
            "ImportError: libascend_hal.so: cannot open shared object file: No such file",
            "loader",
            "libascend_hal.so",
        ),
        ("dcmi module initialize failed. ret is -8005\n", "", "driver", "reboot"),
        (
            "DrvMngGetConsoleLogLevel failed. (ret=4)\ndcmi module initialize failed. ret is -8005\n",
            "",
            "driver",
            "HwHiAiUser",
        ),
        (
            "dcmi model initialized failed, because the device is used. ret is -8020\n",
            "",
            "container",
            "another container",
        ),
        ("This device does not support querying spod-info.\n", "", "unsupported", "does not support spod-info"),
        ("This device does not support hccs topo.\n", "", "unsupported", "does not support hccs topo"),
        ("This command cannot be executed on a VM or container.\n", "", "unsupported", "on the host"),
        ("There is no NPU card on this server.\n", "", "absent", "lspci"),
        ("Invalid card id.\nError parameter of -i\n", "", "absent", "no such device"),
        ("hccn_tool is busy, please try again\n", "", "busy", "try again"),
        ("", "permission denied: pls check this cmd run permission.\n", "permission", "become: true"),
        ("", "Get ipconf failed, because no ip was preset there!\n", "unset", "nothing is configured"),
        ("", "Get gateway failed, because no gateway was preset there!\n", "unset", "nothing is configured"),
        ("", "The ip address configured is conflicted!\n", "refused", "192.168.1.0/24"),
        ("", "Get unknown option!\n", "usage", "support matrix"),
        ("", "Command execute failed!\n", "failed", "/var/log/hccn_tool"),
        ("Optical module is not present.\n", "", "unset", "plugged in"),
        ("Container ID verify failed (session ct_id=0; device ct_id=7)\n", "", "container", "another container"),
        ("This device dose not support querying xlink topo.\n", "", "unsupported", "does not support xlink topo"),
        ("This command cannot be executed on a container.\n", "", "unsupported", "on the host"),
        ("NPU is working in SMP mode, does not support querying topo\n", "", "unsupported", "skip this query"),
        ("This command can be executed only by the root user.\n", "", "permission", "become: true"),
        ("Invalid chip id.\n", "", "absent", "no such device"),
        ("This command does not support entering card id.\n", "", "usage", "support matrix"),
        ("Failed to get card number.\n", "", "failed", "npu-smi info -t health"),
        ("show npu card info fail!\n", "", "failed", "npu-smi info -t health"),
        ("npu_get_card_device_id failed. err is -8008\n", "", "failed", "npu-smi info -t health"),
        ("DrvMngGetConsoleLogLevel failed. (ret=4)\n", "", "driver", "HwHiAiUser"),
        ("DrvMngGetConsoleLogLevel failed. (ret=4)\nhccn_tool is busy, please try again.\n", "", "busy", "try again"),
        (
            "DrvMngGetConsoleLogLevel failed. (ret=4)\nThis device does not support querying spod-info.\n",
            "",
            "unsupported",
            "spod-info",
        ),
    ],
)
def test_error_texts_say_what_to_do(stdout, stderr, kind, advice):
    found = errors.known_error(output(stdout, stderr, 1))
    assert found.kind == kind and advice in found.message
    first = (stderr or stdout).splitlines()
    assert any(line[:200] in found.message for line in first)


def test_no_complaint_about_an_answer():
    assert errors.known_error(output("ipaddr:10.0.0.1\nnetmask:255.255.255.0\n")) is None


def test_time_out_and_unknown_failures():
    assert errors.known_error(output(timed_out=True)).kind == "hung"
    assert "exit status 9, boom" in str(errors.failure(output("", "boom\n", 9)))
    assert "no output" in str(errors.failure(output("", "", 0)))


def test_messages_are_not_translated_unless_the_caller_says_so(monkeypatch):
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("LANGUAGE", "de")
    found = runner.environment({"LC_ALL": "C.UTF-8", "MORE": "1"})
    assert (found["LC_ALL"], found["LANGUAGE"], found["MORE"]) == ("C.UTF-8", "C", "1")
    assert runner.environment()["LC_ALL"] == "C"


@pytest.mark.parametrize(
    ("given", "found"),
    [(None, ["/driver"]), ("", ["/driver"]), (":/own:", ["/own", "/driver"]), ("/driver:/own", ["/driver", "/own"])],
)
def test_no_library_is_taken_from_the_current_folder(monkeypatch, given, found):
    """An empty entry of LD_LIBRARY_PATH is the current folder. The driver's libraries come after those of the user."""
    monkeypatch.setattr(runner, "LIBRARIES", ("/driver",))
    monkeypatch.setattr(runner.os.path, "isdir", lambda path: True)
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    if given is not None:
        monkeypatch.setenv("LD_LIBRARY_PATH", given)
    assert runner.environment()["LD_LIBRARY_PATH"].split(":") == found
