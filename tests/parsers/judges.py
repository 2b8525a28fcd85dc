# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The judges: each takes command lines and says for each why the real program refuses it, or '' if it accepts it."""

from __future__ import annotations

import ast
import contextlib
import http.client
import io
import json
import logging
import socket
import subprocess
import sys
import time
import typing as t
import urllib.request
from pathlib import Path
from unittest import mock

import environments

PATIENCE = 60  # seconds that a loaded machine may take to start mooncake_master
ADDRESSES = ("rpc_address", "metrics_host", "http_metadata_server_host")
PORTS = ("rpc_port", "metrics_port", "http_metadata_server_port")
SPAN = (25000, 25999)

Verdicts = list[str]


def vllm(version: str, commands: t.Sequence[t.Sequence[str]], asked: str = "check") -> Verdicts:
    """``vllm serve MODEL ...`` against that vLLM's parser, all in one process: importing vLLM is what takes time. ``asked`` is for ``vllm_parser.py``."""
    python, env = environments.vllm(version)
    script = Path(__file__).with_name("vllm_parser.py")
    lines = "".join(json.dumps(list(command[command.index("serve") + 1 :])) + "\n" for command in commands)
    done = subprocess.run([python, script, asked], input=lines, text=True, capture_output=True, check=False, env=env)
    if done.returncode:
        raise SystemExit(f"the parser of vLLM {version} cannot be imported:\n{done.stderr[-3000:]}")
    return [json.loads(line)["message"] for line in done.stdout.splitlines()]


def free_ports() -> t.Iterator[int]:
    """Ports of the span that nobody listens on."""
    for port in range(*SPAN):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            yield port


def at_home(argv: t.Sequence[str]) -> tuple[list[str], int]:
    """mooncake_master's words with addresses and ports of this machine, and its metrics port."""
    ports, words, metrics = free_ports(), [], 0
    for word in argv:
        name, dummy, value = word[2:].partition("=")
        if name in ADDRESSES:
            value = "127.0.0.1"
        elif name in PORTS:
            value = str(next(ports))
            metrics = int(value) if name == "metrics_port" else metrics
        words.append(f"--{name}={value}" if name in ADDRESSES + PORTS else word)
    return words, metrics


def mooncake_master(version: str, commands: t.Sequence[t.Sequence[str]]) -> Verdicts:
    """The real binary, started with the words on free ports: it ends at an unknown flag, or answers on /health."""
    return [_master(version, command[1:]) for command in commands]


def _master(version: str, argv: t.Sequence[str]) -> str:
    binary, env = environments.mooncake_master(version)
    words, metrics = at_home(argv)
    with subprocess.Popen(
        [binary, *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env
    ) as process:
        try:
            end = time.monotonic() + PATIENCE
            while process.poll() is None and time.monotonic() < end:
                with contextlib.suppress(OSError, http.client.HTTPException):
                    urllib.request.urlopen(f"http://127.0.0.1:{metrics}/health", timeout=5).close()
                    return ""
                time.sleep(0.2)
        finally:
            process.kill()
        output = (process.stdout.read() if process.stdout else "").strip().splitlines()
    errors = [line for line in output if "ERROR" in line or "error" in line] or output[-1:]
    return errors[0][:300] if errors else f"no answer on /health within {PATIENCE} s"


def etcd(version: str, commands: t.Sequence[t.Sequence[str]]) -> Verdicts:
    """The distribution's etcd reads all options before it prints its version and ends."""
    verdicts = []
    for command in commands:
        done = subprocess.run(["etcd", *command[1:], "--version"], text=True, capture_output=True, check=False)
        verdicts.append(done.stderr.strip().partition("\n")[0] or "refused" if done.returncode else "")
    return verdicts


def vllm_router(version: str, commands: t.Sequence[t.Sequence[str]]) -> Verdicts:
    """vllm-router's own parser."""
    python = environments.router(version).parent / "python"
    code = "import json, sys; from vllm_router.launch_router import parse_router_args; parse_router_args(json.loads(sys.argv[1]))"
    verdicts = []
    for command in commands:
        done = subprocess.run(
            [python, "-c", code, json.dumps(list(command[1:]))], text=True, capture_output=True, check=False
        )
        verdicts.append(_last(done.stderr) if done.returncode else "")
    return verdicts


def _last(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1][:300] if lines else "refused"


def proxy(release: str, commands: t.Sequence[t.Sequence[str]]) -> Verdicts:
    """The release's proxy script: only its own reading of the command line is run, nothing else of it."""
    folder = environments.proxies(release)
    verdicts = []
    for command in commands:
        script = Path(command[1]).name
        found = sorted(folder.rglob(script))
        verdicts.append(_script(found[0], command[2:]) if found else f"the source distribution has no {script}")
    return verdicts


def _script(path: Path, argv: t.Sequence[str]) -> str:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    body = [item for item in tree.body if isinstance(item, ast.ImportFrom | ast.Import) and _standard(item)]
    function = [item for item in tree.body if isinstance(item, ast.FunctionDef) and item.name == "parse_args"]
    if function:
        body += [*function, *ast.parse("parse_args()").body]
    else:  # the script reads its command line where it starts
        start = next(item for item in tree.body if isinstance(item, ast.If) and "__main__" in ast.unparse(item.test))
        last = max(index for index, statement in enumerate(start.body) if "parse_args()" in ast.unparse(statement))
        body += start.body[: last + 1]
    module = ast.fix_missing_locations(ast.Module(body, []))
    output = io.StringIO()
    with mock.patch.object(sys, "argv", [path.name, *argv]), contextlib.redirect_stderr(output):
        try:
            exec(
                compile(module, str(path), "exec"), {"__name__": "judged", "logger": logging.getLogger("judged")}
            )  # the script's own argparse, from its sdist
        except SystemExit:
            return _last(output.getvalue())
        except ValueError as error:
            return str(error)
    return ""


def _standard(statement: ast.Import | ast.ImportFrom) -> bool:
    names = (
        [statement.module or ""] if isinstance(statement, ast.ImportFrom) else [alias.name for alias in statement.names]
    )
    return all(name.split(".")[0] in sys.stdlib_module_names for name in names)
