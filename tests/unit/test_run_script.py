# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""run.sh of the role service, run by sh: restarts back off before systemd 254, whose restart delay cannot grow."""

from __future__ import annotations

import os
import pathlib
import shlex
import subprocess
import time

import jinja2
import pytest
import yaml

ROLE = pathlib.Path(__file__).resolve().parents[2] / "roles" / "service"
TASKS = yaml.safe_load((ROLE / "tasks" / "systemd" / "templates.yml").read_text(encoding="utf-8"))
(WAITS,) = [task["vars"]["__service_start_waits"] for task in TASKS if "__service_start_waits" in task.get("vars", {})]


class Unit:
    """The script of a service that ends at once; its waits are recorded instead of made."""

    def __init__(self, folder):
        self.folder, self.waits = folder, folder / "waits"
        (folder / "environment.sh").write_text("")
        (folder / "bin").mkdir()
        (folder / "bin" / "sleep").write_text(f"#!/bin/sh\necho $1 >> {self.waits}\n")
        (folder / "bin" / "sleep").chmod(0o755)
        self.starts, self.digest_file = folder / "engine.starts", str(folder / "engine.digest")

    def start(self, version="249", digest="d1", runtime="systemd"):
        """One start: the seconds that it waited, 0 for none."""
        environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(ROLE / "templates"), undefined=jinja2.StrictUndefined, trim_blocks=True
        )
        environment.filters.update(quote=shlex.quote)
        item = {
            "name": "engine",
            "unit": "x-engine.service",
            "work_directory": str(self.folder),
            "scripts": {name: str(self.folder / f"{name}.sh") for name in ("run", "environment")},
            "digest": digest,
            "digest_file": self.digest_file,
            "starts_file": str(self.starts),
            "start": {"limits": {}},
            "source": [],
            "secret_env": {},
            "argv": ["true"],
        }
        waits = (
            environment.from_string(WAITS).render(__service_account={"systemd": version})
            if runtime == "systemd"
            else ""
        )
        text = environment.get_template("run.sh.j2").render(
            item=item,
            __service_start_waits=waits == "True",
            service_systemd_restart_delay=5,
            service_systemd_restart_delay_max=60,
            service_systemd_steady=600,
        )
        script = self.folder / "run.sh"
        script.write_text(text[text.index("#!/bin/sh") :])
        self.waits.write_text("")
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        done = subprocess.run(
            ["sh", str(script)], env={"PATH": path}, capture_output=True, text=True, check=False, timeout=60
        )
        self.output = done.stdout
        assert done.returncode == 0, done.stdout + done.stderr
        return sum(int(line) for line in self.waits.read_text().splitlines())


@pytest.fixture
def service(tmp_path):
    return Unit(tmp_path)


def test_the_delay_doubles_after_three_restarts_and_has_an_end(service):
    assert [service.start() for dummy in range(10)] == [0, 0, 0, 0, 5, 10, 20, 40, 60, 60]


def test_another_configuration_starts_at_once(service):
    assert [service.start() for dummy in range(5)][-1] == 5
    assert service.start(digest="d2") == 0


def test_a_service_that_ran_for_long_starts_at_once(service):
    assert [service.start() for dummy in range(5)][-1] == 5
    _last, count, digest = service.starts.read_text().split()
    service.starts.write_text(f"{int(time.time()) - 570} {count} {digest}\n")
    assert service.start() > 0
    service.starts.write_text(f"{int(time.time()) - 602} {count} {digest}\n")
    assert service.start() == 0


DAMAGED = ["", "x y z\n", "1", "9 9\n", "-1 5 d1\n", "1 2 d1; reboot\n", "$(reboot) 3 d1\n"]
DAMAGED += ["08 5 d1\n", "NOW 08 d1\n", "NOW 99999999999999999999 d1\n", "99999999999999999999 9 d1\n"]


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_record_is_no_reason_to_wait_or_fail(service, text):
    service.starts.write_text(text.replace("NOW", str(int(time.time()))))
    assert service.start() == 0
    assert service.starts.read_text().split()[1:] == ["1", "d1"]


@pytest.mark.parametrize("name", ["engine.starts", "engine.digest"])
def test_what_the_service_put_in_place_of_its_records_keeps_nobody_from_starting(service, tmp_path, name):
    """A link, a folder, and what cannot be written, as on a full disk."""
    path, elsewhere = tmp_path / name, tmp_path / "elsewhere"
    elsewhere.mkdir()
    path.symlink_to(elsewhere)
    assert service.start() == 0 and path.is_file() and not path.is_symlink() and list(elsewhere.iterdir()) == []
    text = path.read_text()
    path.unlink()
    (path / "below").mkdir(parents=True)
    service.start()
    assert path.is_file() and path.read_text().split()[-1] == text.split()[-1] == "d1"
    service.starts = pathlib.Path("/dev/full/no") if name == "engine.starts" else service.starts
    service.digest_file = "/dev/full/no" if name == "engine.digest" else service.digest_file
    service.start()
    assert "x-engine.service: cannot write /dev/full/no" in service.output


def test_a_link_is_not_read(service, tmp_path):
    (tmp_path / "other").write_text(f"{int(time.time())} 9 d1\n")
    service.starts.symlink_to(tmp_path / "other")
    assert service.start() == 0


@pytest.mark.parametrize(("version", "runtime"), [("254", "systemd"), ("252", "supervisor")])
def test_nothing_waits_where_the_runtime_backs_off(service, version, runtime):
    assert [service.start(version, runtime=runtime) for dummy in range(6)] == [0] * 6
    assert not service.starts.exists()
