# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The planned files with the real keepalived and HAProxy: two network namespaces are the two hosts, and share a virtual address."""

from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.host.virtual_address import INTERFACE
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.tests.integration._namespaces import HELD, run, until
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import family

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")
ASK = "import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=2).read()"
HAPROXY = """
defaults
    mode http
    timeout connect 1s
    timeout client 5s
    timeout server 5s
frontend clients
    bind @LISTEN@
    http-request return status 200
frontend status
    bind @STATUS@
    http-request return status 503 if { path /health } { nbsrv(routers) lt 1 }
    http-request return status 200
backend routers
    server one 127.0.0.1:9 @STATE@
"""


class Host:
    """A namespace with keepalived and HAProxy."""

    def __init__(self, opened, name, row, virtual, folder):
        self.name, self.row, self.virtual, self.folder = name, row, virtual, folder
        self.programs, self.opened = {}, opened
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        opened.callback(shutil.rmtree, folder)
        script = folder / "check.sh"
        script.write_text(row["script"], encoding="utf-8")
        script.chmod(0o755)
        text = row["configuration"].replace(INTERFACE, "v0")
        path = next(line.split('"')[1] for line in text.splitlines() if line.strip().startswith("script "))
        (folder / "keepalived.conf").write_text(text.replace(path, str(script)), encoding="utf-8")

    def within(self, *argv):
        return ["ip", "netns", "exec", self.name, *argv]

    def start(self, kind, *argv):
        with open(self.folder / f"{kind}.log", "a", encoding="utf-8") as log:
            self.programs[kind] = subprocess.Popen(self.within(*argv), stdout=log, stderr=log)
        self.opened.callback(self.end, kind)

    def end(self, kind):
        program = self.programs.pop(kind, None)
        if program:
            program.terminate()
            program.wait(20)

    def keepalived(self):
        options = [
            f"--use-file={self.folder}/keepalived.conf",
            f"--pid={self.folder}/pid",
            f"--vrrp_pid={self.folder}/vrrp",
        ]
        self.start(
            "keepalived", "/usr/sbin/keepalived", "--dont-fork", "--log-console", "--no-syslog", "--vrrp", *options
        )

    def haproxy(self, serves=True):
        self.end("haproxy")
        own = self.row["address"]
        shown = f"[{own}]" if ":" in own else own
        virtual = f"[{self.virtual}]" if ":" in own else self.virtual
        text = HAPROXY.replace("@LISTEN@", f"{shown}:8001\n    bind {virtual}:8001 transparent")
        text = text.replace("@STATUS@", f"{shown}:8012").replace("@STATE@", "" if serves else "disabled")
        (self.folder / "haproxy.cfg").write_text(text, encoding="utf-8")
        drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs", "--bounding-set=-all"]
        self.start("haproxy", *drop, "/usr/sbin/haproxy", "-db", "-f", str(self.folder / "haproxy.cfg"))

    @property
    def holds(self):
        done = subprocess.run(self.within(sys.executable, "-c", HELD, self.virtual), check=False)
        return done.returncode == 0

    def reaches(self, address):
        shown = f"[{address}]" if ":" in address else address
        argv = self.within(sys.executable, "-c", ASK, f"http://{shown}:8001/")
        return subprocess.run(argv, check=False, capture_output=True).returncode == 0


@pytest.fixture(params=["10.98.0.", "fd00:98::"])
def hosts(request):
    """Two hosts that are connected, with HAProxy."""
    base, length = request.param, 64 if ":" in request.param else 24
    changes = {f"node{number}.ansible_host": f"{base}{number}" for number in (1, 2, 3, 4)}
    changes.update({f"node{number}.groups": ["prefill", "router"] for number in (1, 2)})
    router = {"instances": 2, "balancer": "haproxy", "virtual_address": f"{base}100"}
    changes.update({f"inference_router.{key}": value for key, value in router.items()})
    section = launch_plan(*family("p2p", changes))["virtual_address"]
    with contextlib.ExitStack() as opened:
        names = [f"ai-{os.getpid()}-{number}" for number in (1, 2)]
        for name in names:
            run("ip", "netns", "add", name)
            opened.callback(run, "ip", "netns", "delete", name)
            run("ip", "-n", name, "link", "set", "lo", "up")
        run("ip", "-n", names[0], "link", "add", "v0", "type", "veth", "peer", "name", "v0", "netns", names[1])
        found = []
        for name, row in zip(names, section["hosts"], strict=True):
            extra = ["nodad"] if ":" in base else []
            run("ip", "-n", name, "address", "add", f"{row['address']}/{length}", "dev", "v0", *extra)
            run("ip", "-n", name, "link", "set", "v0", "up")
            # Not below /tmp: keepalived runs no script that another user could replace.
            found.append(Host(opened, name, row, section["address"], pathlib.Path("/var/lib") / name))
        for host in found:
            host.haproxy()
        yield found


def started(hosts):
    """Both with keepalived: the one with the address, and the other one."""
    for host in hosts:
        host.keepalived()
    until(lambda: any(host.holds for host in hosts))
    time.sleep(1.5)
    return sorted(hosts, key=lambda host: not host.holds)


def test_keepalived_understands_the_configuration(hosts):
    """2.2.7 ends by SIGTERM whatever it finds, so only what it says counts."""
    for host, words in ((hosts[0], ""), (hosts[1], "Unknown keyword")):
        path = host.folder / "keepalived.conf"
        if words:
            path.write_text(path.read_text(encoding="utf-8").replace("priority", "prioritie"), encoding="utf-8")
        argv = host.within("/usr/sbin/keepalived", "--config-test", f"--use-file={path}")
        done = subprocess.run(argv, check=False, capture_output=True, text=True)
        said = done.stdout + done.stderr
        assert words in said and bool(said) == bool(words)


def test_the_script_says_whether_the_balancer_serves(hosts):
    host = hosts[0]

    def answers():
        drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        return (
            subprocess.run(
                host.within(*drop, str(host.folder / "check.sh")), check=False, capture_output=True
            ).returncode
            == 0
        )

    until(answers)
    host.haproxy(serves=False)
    until(lambda: not answers())
    time.sleep(1)
    assert not answers(), "it answers 503"
    host.end("haproxy")
    assert not answers(), "nothing answers"


def test_one_host_has_the_address_and_clients_reach_it_there(hosts):
    first, other = started(hosts)
    assert first.holds and not other.holds
    assert other.reaches(other.virtual), "the balancer of the first host answers"
    other.end("keepalived")
    time.sleep(4)
    assert first.holds and not other.holds


def test_the_address_leaves_a_host_that_is_lost_and_does_not_return_to_it(hosts):
    first, other = started(hosts)
    away = ["dev", "v0", "lladdr", "02:00:00:00:00:01", "nud", "permanent"]  # nobody has it
    run("ip", "-n", first.name, "neighbour", "replace", other.row["address"], *away)
    assert until(lambda: other.holds) < 4.5
    for name in ("vrrp", "pid"):
        os.kill(int((first.folder / name).read_text(encoding="utf-8")), signal.SIGKILL)
    first.end("keepalived")
    run("ip", "-n", first.name, "address", "flush", "dev", "v0")
    run(
        "ip",
        "-n",
        first.name,
        "address",
        "add",
        f"{first.row['address']}/{64 if ':' in first.virtual else 24}",
        "dev",
        "v0",
    )
    with contextlib.suppress(subprocess.CalledProcessError):  # it went with the address
        run("ip", "-n", first.name, "neighbour", "delete", other.row["address"], "dev", "v0")
    first.keepalived()
    time.sleep(6)
    assert other.holds and not first.holds


def test_the_address_leaves_a_balancer_that_does_not_serve_but_not_if_both_do_not(hosts):
    first, other = started(hosts)
    first.haproxy(serves=False)
    assert until(lambda: other.holds and not first.holds) < 9
    assert first.reaches(first.virtual)
    first.haproxy()
    time.sleep(6)
    assert other.holds and not first.holds, "it stays when the first one serves again"
    for host in hosts:
        host.haproxy(serves=False)
    time.sleep(8)
    assert [host.holds for host in hosts].count(True) == 1


def test_it_leaves_at_once_when_keepalived_is_stopped(hosts):
    first, other = started(hosts)
    first.end("keepalived")
    assert not first.holds
    assert until(lambda: other.holds) < 2
