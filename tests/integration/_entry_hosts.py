# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two hosts with the planned entry, the real HAProxy and keepalived: network namespaces on a bridge, on which this process is client and deployment."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

from ansible_collections.ascend.inference.plugins.module_utils.host.virtual_address import INTERFACE
from ansible_collections.ascend.inference.plugins.plugin_utils.entry import haproxy
from ansible_collections.ascend.inference.plugins.plugin_utils.entry.made import entry_files, entry_service
from ansible_collections.ascend.inference.tests.integration._certificate import certify
from ansible_collections.ascend.inference.tests.integration._entry import COMPLETIONS, ENGINES, KEYS, Deployment
from ansible_collections.ascend.inference.tests.integration._namespaces import HELD, run, until

BASE, PORT, STATUS, PEER = "10.96.0.", 8443, 8013, 8014
VIRTUAL, CLIENT = f"{BASE}100", f"{BASE}254"
HOSTS = {"gate1": f"{BASE}1", "gate2": f"{BASE}2"}
HEALTHY = f"import urllib.request; urllib.request.urlopen('http://127.0.0.1:{STATUS}/health', timeout=2).read()"
NOBODY = 65534
DROP = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs", "--bounding-set=-all"]
QWEN = {"messages": [], "model": "qwen3"}
SWITCH = (
    f"en-{os.getpid()}-s"  # a namespace: the firewall of this one, such as Docker's, may drop what a bridge forwards
)
ANY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
ANY.check_hostname, ANY.verify_mode = False, ssl.CERT_NONE
CABLE = f"en{os.getpid()}c"  # to this process


class Host:
    """A namespace with the files of one host, HAProxy and keepalived."""

    def __init__(self, opened, name, number):
        self.name, self.space, self.link = name, f"en-{os.getpid()}-{number}", f"en{os.getpid()}{number}"
        self.opened, self.programs = opened, {}
        # Not below /tmp: keepalived runs no script that another user could replace.
        self.folder, self.keeper = (pathlib.Path(f"/var/lib/{self.space}{end}") for end in ("", "-k"))
        for folder in (self.folder, self.keeper):
            folder.mkdir(mode=0o755)
            opened.callback(shutil.rmtree, folder)
        (self.folder / "usage").mkdir()
        for folder in (self.folder, self.folder / "usage"):
            os.chown(folder, NOBODY, NOBODY)
        run("ip", "netns", "add", self.space)
        opened.callback(run, "ip", "netns", "delete", self.space)
        run("ip", "-n", SWITCH, "link", "add", self.link, "type", "veth", "peer", "name", "v0", "netns", self.space)
        run("ip", "-n", SWITCH, "link", "set", self.link, "master", "b0", "up")
        self.ip("link", "set", "lo", "up")
        self.ip("address", "add", f"{HOSTS[name]}/24", "dev", "v0")
        self.ip("link", "set", "v0", "up")

    def ip(self, *argv):
        return run("ip", "-n", self.space, *argv)

    def within(self, *argv):
        return ["ip", "netns", "exec", self.space, *argv]

    def write(self, settings, texts):
        """The files of the role."""
        place = {"folder": str(self.folder), "run": str(self.folder), "state": str(self.folder / "usage")}
        for file in entry_files(settings, HOSTS, texts, self.name, **place):
            pathlib.Path(file["path"]).write_text(file["content"], encoding="utf-8")
            os.chown(file["path"], NOBODY, NOBODY)
        (row,) = entry_service(settings, HOSTS, self.name)["kept"]["virtual_address"]["hosts"]
        script = self.keeper / "check.sh"
        script.write_text(row["script"], encoding="utf-8")
        script.chmod(0o755)
        text = row["configuration"].replace(INTERFACE, "v0")
        path = next(line.split('"')[1] for line in text.splitlines() if line.strip().startswith("script "))
        (self.keeper / "keepalived.conf").write_text(text.replace(path, str(script)), encoding="utf-8")

    def start(self, kind, *argv):
        with open(self.keeper / f"{kind}.log", "a", encoding="utf-8") as log:
            self.programs[kind] = subprocess.Popen(self.within(*argv), stdout=log, stderr=log, start_new_session=True)
        self.opened.callback(self.end, kind)

    def end(self, kind, how=signal.SIGTERM):
        program = self.programs.pop(kind, None)
        if program:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, how)
            program.wait(20)

    def haproxy(self):
        self.start("haproxy", *DROP, haproxy.PROGRAM, "-W", "-f", str(self.folder / haproxy.CONFIGURED))

    def reload(self):
        """As the unit does."""
        run(*haproxy.check(str(self.folder / haproxy.CONFIGURED)))
        os.kill(self.programs["haproxy"].pid, signal.SIGUSR2)

    def keepalived(self):
        places = [f"--use-file={self.keeper}/keepalived.conf", f"--pid={self.keeper}/pid"]
        options = ["--dont-fork", "--log-console", "--no-syslog", "--vrrp", *places, f"--vrrp_pid={self.keeper}/vrrp"]
        self.start("keepalived", "/usr/sbin/keepalived", *options)

    def lose(self):
        """As if its power was cut: what it says last does not arrive."""
        run("ip", "-n", SWITCH, "link", "set", self.link, "down")
        for kind in list(self.programs):
            self.end(kind, signal.SIGKILL)

    def start_again(self):
        """As after a boot, without keepalived."""
        self.ip("address", "flush", "dev", "v0")
        self.ip("address", "add", f"{HOSTS[self.name]}/24", "dev", "v0")
        run("ip", "-n", SWITCH, "link", "set", self.link, "up")
        self.haproxy()
        until(lambda: self.healthy, 20)

    @property
    def holds(self):
        return subprocess.run(self.within(sys.executable, "-c", HELD, VIRTUAL), check=False).returncode == 0

    @property
    def shares(self):
        """Whether its counts and those of the other host pass between them. Both call at a start, and a call that was refused comes again after 5 s."""
        with socket.socket(socket.AF_UNIX) as asked:
            asked.connect(str(self.folder / "admin.sock"))
            asked.sendall(b"show peers\n")
            text = asked.makefile().read()
        return sum("last_status=ESTA" in line for line in text.splitlines()) >= 1

    @property
    def healthy(self):
        done = subprocess.run(self.within(sys.executable, "-c", HEALTHY), check=False, capture_output=True)
        return done.returncode == 0


class Entry:
    """Both hosts, and the deployment behind them."""

    def __init__(self, opened):
        run("ip", "netns", "add", SWITCH)
        opened.callback(run, "ip", "netns", "delete", SWITCH)
        run("ip", "-n", SWITCH, "link", "add", "b0", "type", "bridge")
        run("ip", "-n", SWITCH, "link", "set", "b0", "up")
        subprocess.run(
            ["ip", "link", "delete", CABLE], check=False, capture_output=True
        )  # it goes some time after its other end
        run("ip", "link", "add", CABLE, "type", "veth", "peer", "name", "v0", "netns", SWITCH)
        run("ip", "-n", SWITCH, "link", "set", "v0", "master", "b0", "up")
        run("ip", "address", "add", f"{CLIENT}/24", "dev", CABLE)
        run("ip", "link", "set", CABLE, "up")
        self.hosts = [Host(opened, name, number) for number, name in enumerate(HOSTS)]
        self.qwen = Deployment("qwen", CLIENT)
        opened.callback(self.qwen.close)
        self.settings = {
            "address": VIRTUAL,
            "port": PORT,
            "status_port": STATUS,
            "peer_port": PEER,
            "monitoring": [CLIENT],
            "certificate": "cert",
            "certificate_key": "key",
            "body_mib": 8,
            "deployments": {"qwen": {"routers": [f"{CLIENT}:{self.qwen.port}"], "api_key_file": "engines"}},
            "models": {"qwen3": {"deployment": "qwen"}},
            "teams": {"lab": {"keys_file": "lab", "requests_per_minute": 40}, "both": {"keys_file": "both"}},
        }
        self.certificates = {name: certificate(opened, name) for name in ("first", "second")}
        self.write("first")
        for host in self.hosts:
            host.haproxy()
        for host in self.hosts:
            until(lambda host=host: host.healthy and host.shares, 20)

    def texts(self, named):
        """What the files of the settings have, with a certificate."""
        texts = {**{name: f"{text}\n" for name, text in KEYS.items()}, "engines": f"{ENGINES}\n"}
        texts["cert"], texts["key"] = self.certificates[named]
        return texts

    def write(self, named, *hosts):
        """The files of these hosts, or of both, with a certificate."""
        for host in hosts or self.hosts:
            host.write(self.settings, self.texts(named))

    def keepalived(self):
        """Start it on both: the host with the address, and the other one."""
        for host in self.hosts:
            host.keepalived()
        for dummy in range(3):  # with the same priority both may have it for a moment
            until(lambda: sum(host.holds for host in self.hosts) == 1, 15)
            time.sleep(1)
        return sorted(self.hosts, key=lambda host: not host.holds)


def certificate(opened, name):
    """Text of a certificate for the address, and of its key."""
    folder = opened.enter_context(tempfile.TemporaryDirectory())
    return certify(f"{folder}/crt", name, f"IP:{VIRTUAL}")


def connected(timeout=30):
    return http.client.HTTPSConnection(VIRTUAL, PORT, timeout=timeout, context=ANY)


def ask(team="both", connection=None):
    """The status of one request, on a connection of its own unless one is given."""
    own = connection or connected()
    try:
        own.request("POST", COMPLETIONS, json.dumps(QWEN), {"Authorization": f"Bearer {KEYS[team]}"})
        answer = own.getresponse()
        answer.read()
        return answer.status
    finally:
        if not connection:
            own.close()


class Load:
    """Clients that ask all the time: what each request became, with the times of its start and end."""

    def __init__(self, threads=8, keep=False):
        self.done, self.found, self.keep = threading.Event(), [], keep
        self.threads = [threading.Thread(target=self._client) for dummy in range(threads)]
        for thread in self.threads:
            thread.start()

    def _client(self):
        connection = None
        while not self.done.is_set():
            begin = time.monotonic()
            if self.keep and connection is None:
                connection = connected()
            try:
                result = ask(connection=connection)
            except (OSError, http.client.HTTPException) as error:
                result, connection = repr(error), None
            self.found.append((begin, time.monotonic(), result))

    def end(self):
        """All requests: ``[(start, end, status or error)]``."""
        self.done.set()
        for thread in self.threads:
            thread.join(60)
        return self.found


@contextlib.contextmanager
def started():
    """Two hosts on which HAProxy runs."""
    with contextlib.ExitStack() as opened:
        yield Entry(opened)
