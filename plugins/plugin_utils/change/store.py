# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a change on the controller, in the run's temporary folder: what each host knows and answered, and the steps.

Workers of Ansible are processes, one for each host, so they meet in files. ``hosts/HOST.json``: the context of a host and what was observed there;
``steps/N/step.json``: a step without arguments; ``steps/N/HOST.json``: its arguments for a host; ``steps/N/HOST.done``: what the host answered;
``steps/N/HOST.failed``: why not; ``steps/titles.json``: all steps in words.
``back/HOST.json`` and ``runs/HOST.json``: the plan to which a host goes back, and what ran there, before the mode of a change is chosen.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import typing as t

from ..plan.handover import part_name
from .script import Script, Step, described

FOLDER = "ascend-inference-change"


class Store:
    """The files below ``temporary``, the run's folder."""

    def __init__(self, temporary: str) -> None:
        self.folder = os.path.join(temporary, FOLDER)

    def keep_host(self, host: str, found: t.Mapping[str, t.Any]) -> None:
        """Keep what is known of a host, for the next script."""
        self._write("hosts", part_name(host), {**found, "script": self._number()})

    def keep(self, kind: str, host: str, found: t.Mapping[str, t.Any]) -> None:
        """Keep what is known of a host in the folder ``kind``, back or runs."""
        self._write(kind, part_name(host), found)

    def kept(self, kind: str, host: str) -> dict[str, t.Any]:
        """What `keep` kept; {} without."""
        with contextlib.suppress(FileNotFoundError):
            found: dict[str, t.Any] = self._read(kind, part_name(host))
            return found
        return {}

    def forget(self, kind: str) -> None:
        """Remove what `keep` kept for an earlier change of this run."""
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(os.path.join(self.folder, kind))

    def host(self, name: str) -> dict[str, t.Any]:
        """What `keep_host` kept. Raises ``FileNotFoundError`` if the host was not observed."""
        found: dict[str, t.Any] = self._read("hosts", part_name(name))
        return found

    def context(self, name: str) -> dict[str, t.Any]:
        """The context of a host; {} before it was observed."""
        with contextlib.suppress(FileNotFoundError):
            found: dict[str, t.Any] = self.host(name)["context"]
            return found
        return {}

    def observed(self, names: t.Iterable[str]) -> dict[str, t.Any]:
        """{host: ``found`` of `keep_host`} of the hosts that were observed since the last script was written: the others have failed since then."""
        found, number = {}, self._number()
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                kept = self.host(name)
                if kept["script"] == number:
                    found[name] = kept["found"]
        return found

    def keep_script(self, script: Script) -> None:
        """Write all steps, in the place of those of an earlier change of this run."""
        self.forget("steps")
        known = {
            "count": len(script.steps),
            "serving": script.serving,
            "alone": any(step.alone for step in script.steps),
            "locks": dict(script.locks),
            "refused": script.refused,
        }
        self._write("", "script.json", {**known, "number": self._number() + 1})
        self._write("steps", "titles.json", [described(step) for step in script.steps])
        for number, step in enumerate(script.steps):
            self._write(f"steps/{number}", "step.json", {**step._asdict(), "at": dict.fromkeys(step.at)})
            for host, arguments in step.at.items():
                self._write(f"steps/{number}", part_name(host), arguments)

    def count(self) -> int:
        """The number of steps."""
        return int(self._read("", "script.json")["count"])

    def described(self) -> list[str]:
        """All steps in words, read from one file: a change of many engines has hundreds of them, and each one notes all."""
        found: list[str] = self._read("steps", "titles.json")
        return found

    def serving(self) -> str:
        """What serves if a step fails, as the script says it."""
        return str(self._read("", "script.json")["serving"])

    def alone(self) -> bool:
        """Whether the script has steps after which hosts go on without others, so that all steps before one matter, and not only the last."""
        return bool(self._read("", "script.json")["alone"])

    def locks(self) -> dict[str, str]:
        """{host: directory} of what the last script has locked; {} if it was not about that, and before the first one."""
        with contextlib.suppress(FileNotFoundError):
            return dict(self._read("", "script.json")["locks"])
        return {}

    def refused(self) -> str:
        """Why the change fails after its last step; empty if it does not."""
        return str(self._read("", "script.json")["refused"])

    def step(self, number: int) -> Step:
        """A step without arguments: ``at`` has its hosts only."""
        return Step(**self._read(f"steps/{number}", "step.json"))

    def arguments(self, number: int, host: str) -> dict[str, t.Any]:
        """A step's arguments for one of its hosts."""
        found: dict[str, t.Any] = self._read(f"steps/{number}", part_name(host))
        return found

    def note(self, number: int, host: str, answer: t.Mapping[str, t.Any], failed: bool) -> None:
        """Keep how a step ended on a host."""
        self._write(f"steps/{number}", part_name(host) + (".failed" if failed else ".done"), answer)

    def answer(self, number: int, host: str) -> dict[str, t.Any] | None:
        """What the host answered; None unless it has finished the step."""
        with contextlib.suppress(FileNotFoundError):
            found: dict[str, t.Any] = self._read(f"steps/{number}", part_name(host) + ".done")
            return found
        return None

    def failed(self, number: int, host: str) -> bool:
        """Whether the step has failed on the host."""
        return self.reason(number, host) is not None

    def reason(self, number: int, host: str) -> str | None:
        """Why the step has failed on the host, as its module said it; None if it has not, or if the host was lost."""
        with contextlib.suppress(FileNotFoundError):
            return str(self._read(f"steps/{number}", part_name(host) + ".failed").get("msg", ""))
        return None

    def _number(self) -> int:
        """How many scripts were written in this run."""
        with contextlib.suppress(FileNotFoundError):
            return int(self._read("", "script.json")["number"])
        return 0

    def _write(self, folder: str, name: str, value: t.Any) -> None:
        path = self.folder
        for part in ("", *folder.split("/")):  # os.makedirs gives its mode to the last folder only
            path = os.path.join(path, part)
            os.makedirs(path, mode=0o700, exist_ok=True)
        whole = os.path.join(path, name)
        with open(f"{whole}.new", "w", encoding="utf-8", opener=_private) as stream:
            stream.write(json.dumps(value))
        os.replace(f"{whole}.new", whole)

    def _read(self, folder: str, name: str) -> t.Any:
        with open(os.path.join(self.folder, folder, name), encoding="utf-8") as stream:
            return json.load(stream)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
