# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Log lines in the shape of vLLM's (stdout) and of glog's (stderr, Mooncake's C++ parts)."""

from __future__ import annotations

import os
import pathlib
import sys
import time


def _write(stream, text):
    stream.write(text + "\n")
    stream.flush()


def vllm(who, message, where="simulator.py:1", level="INFO"):
    """One line as ``(EngineCore_DP0 pid=7) INFO 04-17 11:38:17 [file.py:12] text``; several lines keep the prefix."""
    stamp = time.strftime("%m-%d %H:%M:%S")
    for line in str(message).splitlines():
        _write(sys.stdout, f"({who} pid={os.getpid()}) {level} {stamp} [{where}] {line}")


def glog(message, where="ascend_direct_transport.cpp:605", level="I"):
    """One line as Mooncake's C++ code prints it."""
    now = time.time()
    stamp = time.strftime("%m%d %H:%M:%S", time.localtime(now)) + f".{int(now % 1 * 1e6):06d}"
    _write(sys.stderr, f"{level}{stamp} {os.getpid():5d} {where}] {message}")


def raw(text):
    _write(sys.stdout, text)


def plog(message):
    """A line in the device log, which is a separate file (ASCEND_PROCESS_LOG_PATH, ~/ascend/log)."""
    base = pathlib.Path(os.environ.get("ASCEND_PROCESS_LOG_PATH") or pathlib.Path.home() / "ascend" / "log")
    folder = base / "debug" / "plog"
    folder.mkdir(parents=True, exist_ok=True)
    stamp = time.strftime("%Y-%m-%d-%H:%M:%S")
    with open(folder / f"plog-{os.getpid()}.log", "a", encoding="utf-8") as file:
        file.write(f"[ERROR] HCCL({os.getpid()},python):{stamp} {message}\n")
