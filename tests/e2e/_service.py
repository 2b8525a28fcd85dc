# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real deployment on this machine: runs playbooks, inspects processes, sends requests to engines. Nothing is simulated."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import typing as t
import urllib.request
import uuid

REPOSITORY = pathlib.Path(__file__).parents[2]
MARK = b"ASCEND_INFERENCE_SERVICE="


@dataclasses.dataclass(frozen=True)
class Run:
    """One playbook run; ``stats`` has a host's counters of the recap."""

    code: int
    output: str
    seconds: float
    modules: list[tuple[str, str, str]]  # (host, module, task) of each module that was started

    def modules_on(self, host: str) -> list[str]:
        """What was started on a host, as MODULE: TASK."""
        return [f"{module}: {task}" for where, module, task in self.modules if where == host]

    def stats(self, host: str) -> dict[str, int]:
        """Counters of a host: ok, changed, ..."""
        line = re.findall(rf"^{host} +: (.*)$", self.output, re.M)[-1]
        return {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", line)}


@dataclasses.dataclass(frozen=True)
class Deployment:
    """An inventory of this checkout with other ports and another root."""

    inventory: str
    name: str
    root: pathlib.Path
    variables: dict[str, t.Any]
    secrets: dict[str, str] = dataclasses.field(default_factory=dict)
    records: pathlib.Path | None = None  # folder for output, log, facts and the file of secrets

    @property
    def directory(self) -> pathlib.Path:
        """Directory of the deployment's files."""
        return self.root / "deployments" / self.name

    def play(self, playbook: str, *options: str, **variables: t.Any) -> Run:
        """Run a playbook of the installed collection; ``variables`` override those of the deployment."""
        argv = ["ansible-playbook", *self._arguments(**variables), *options, f"ascend.inference.{playbook}"]
        environment = self._environment()
        begin = time.monotonic()
        with tempfile.NamedTemporaryFile("r", prefix="modules") as started:
            environment.update(
                ANSIBLE_CALLBACK_PLUGINS=str(REPOSITORY / "tests" / "callbacks"),
                ANSIBLE_CALLBACKS_ENABLED="count_modules,built_once",
                COUNT_MODULES=started.name,
            )
            done = subprocess.run(
                argv, env=environment, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
            )
            lines = [line.rstrip("\n").split("\t") for line in started if not line.startswith("#")]
        modules = [tuple(fields) for fields in lines]
        run = Run(done.returncode, done.stdout, round(time.monotonic() - begin, 1), modules)
        if self.records:
            with (self.records / "output.log").open("a") as file:
                file.write(done.stdout)
        say(f"{self.name}: {playbook} {' '.join(options)}: exit {run.code}, {run.seconds} s")
        return run

    def cache_facts(self) -> list[pathlib.Path]:
        """Gather the facts of all hosts as the playbooks would, with the secrets loaded; the files of the fact cache."""
        argv = ["ansible", "all", "-m", "ansible.builtin.setup", *self._arguments()]
        subprocess.run(argv, env=self._environment(), cwd="/", stdout=subprocess.DEVNULL, check=True)
        return list((self.records / "facts").iterdir())

    def _arguments(self, **variables: t.Any) -> list[str]:
        merged = json.dumps(
            {"inference_root": str(self.root), "inference_rehearse": False, **self.variables, **variables}
        )
        argv = ["-i", str(REPOSITORY / "inventories" / self.inventory), "-e", merged]
        return [*argv, "-e", f"@{self.vault()}"] if self.records else argv

    def _environment(self) -> dict[str, str]:
        environment = {**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_FORCE_COLOR": "0", "ANSIBLE_PIPELINING": "1"}
        if self.records:
            environment.update(
                ANSIBLE_CACHE_PLUGIN="jsonfile",
                ANSIBLE_CACHE_PLUGIN_CONNECTION=str(self.records / "facts"),
                ANSIBLE_LOG_PATH=str(self.records / "ansible.log"),
            )
        return environment

    def vault(self) -> pathlib.Path:
        """Write the file of secrets; returns its path."""
        self.records.mkdir(parents=True, exist_ok=True)
        path = self.records / "secrets.json"
        path.touch(0o600)
        path.write_text(json.dumps({"inference_secrets": self.secrets}))
        return path

    def processes(self) -> dict[str, list[int]]:
        """Process ids of each service, by name, from the processes' own environment."""
        mark = MARK + f"{self.directory}/services/".encode()
        found: dict[str, list[int]] = {}
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                environment = (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            for variable in environment:
                if variable.startswith(mark):
                    found.setdefault(variable[len(mark) :].decode(), []).append(int(entry.name))
        return {name: sorted(found[name]) for name in sorted(found)}

    def main_processes(self) -> dict[str, int]:
        """The process of each service that supervisord started; its children may have smaller ids, because ids are reused."""
        supervisord = self.supervisord()
        firsts = {name: [pid for pid in pids if parent(pid) == supervisord] for name, pids in self.processes().items()}
        return {name: pids[0] for name, pids in firsts.items() if pids}

    def supervisord(self) -> int:
        """Process id of supervisord; 0 if it does not run."""
        try:
            pid = int((self.directory / "run" / "supervisord.pid").read_text())
        except OSError:
            return 0
        return pid if pathlib.Path(f"/proc/{pid}").exists() else 0


def parent(pid: int) -> int:
    """Process id of a process's parent; -1 if it does not exist."""
    try:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return -1


def forked(pid: int) -> bool:
    """Whether a process runs its parent's program (PF_FORKNOEXEC of the kernel's flags); False if it does not exist."""
    try:
        return bool(int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[6]) & 0x40)
    except OSError:
        return False


def say(text: str) -> None:
    """Print progress, visible with ``pytest -s`` and in the report of a failed test."""
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def get(url: str, timeout: float = 10) -> str:
    """Body of a URL."""
    with urllib.request.urlopen(url, timeout=timeout) as answer:
        return answer.read().decode()


def complete(url: str, prompt: str, key: str = "", timeout: float = 60) -> dict[str, t.Any]:
    """Response of /v1/completions at temperature 0."""
    body = json.dumps({"model": "tiny", "prompt": prompt, "max_tokens": 16, "temperature": 0}).encode()
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
    request = urllib.request.Request(f"{url}/v1/completions", body, headers)
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        return json.load(answer)


def counter(url: str, name: str, label: str = "") -> float:
    """Sum of a Prometheus counter's samples whose line has ``label``; KeyError if there is none."""
    lines = [line for line in get(f"{url}/metrics").splitlines() if line.startswith((name + "{", name + " "))]
    values = [float(line.rsplit(" ", 1)[1]) for line in lines if label in line]
    if not values:
        raise KeyError(f"{url}/metrics has no {name} {label}")
    return sum(values)


def prompt(length: int = 150) -> str:
    """A unique prompt of about ``length`` words, longer than a block of the KV cache."""
    return f"{uuid.uuid4().hex} " + " ".join(
        ["garden", "glass", "harbor", "meadow", "needle", "north", "ocean", "olive"] * (length // 8)
    )


def kill(pid: int) -> float:
    """kill -9; returns the time."""
    os.kill(pid, signal.SIGKILL)
    return time.monotonic()


def listening(ports: t.Iterable[int]) -> set[int]:
    """The ports with a listening process."""
    found = set()
    for name in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in pathlib.Path(name).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A":
                found.add(int(fields[1].rsplit(":", 1)[1], 16))
    return found & set(ports)


def eventually(check: t.Callable[[], t.Any], timeout: float, what: str) -> t.Any:
    """The first result of ``check`` without an exception."""
    end = time.monotonic() + timeout
    while True:
        try:
            return check()
        except Exception as error:
            if time.monotonic() > end:
                raise AssertionError(f"{what}: not within {timeout} s: {error!r}") from error
            time.sleep(0.5)
