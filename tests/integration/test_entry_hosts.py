# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The entry on two hosts under load: a host that is lost, an address that moves, a certificate that changes, and limits that both count."""

from __future__ import annotations

import collections
import concurrent.futures
import http.client
import json
import os
import ssl
import subprocess
import sys
import time

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.entry.status import entry_report
from ansible_collections.ascend.inference.plugins.plugin_utils.entry.told import entry_expected
from ansible_collections.ascend.inference.tests.integration import _entry_hosts as hosts
from ansible_collections.ascend.inference.tests.integration._entry import COMPLETIONS, KEYS, install

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")
ASK = """
import http.client, json, ssl, sys
statuses = []
for dummy in range(int(sys.argv[2])):
    connection = http.client.HTTPSConnection(sys.argv[1], context=ssl._create_unverified_context(), timeout=30)
    connection.request("POST", sys.argv[3], '{"messages": [], "model": "qwen3"}', {"Authorization": "Bearer " + sys.argv[4]})
    statuses.append(connection.getresponse().status)
    connection.close()
print(json.dumps(statuses))
"""
STATE = """
import json, sys
from ansible_collections.ascend.inference.plugins.module_utils.entry.state import state
print(json.dumps(state(int(sys.argv[1]), sys.argv[2])))
"""
METRICS = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=5).read().decode())"


@pytest.fixture
def entry():
    install()
    with hosts.started() as made:
        yield made


def asked(count, team="lab"):
    return collections.Counter(hosts.ask(team) for dummy in range(count))


def within(host, count):
    """Statuses of requests that a program of this host sends to the clients' address."""
    argv = host.within(sys.executable, "-c", ASK, f"{hosts.VIRTUAL}:{hosts.PORT}", str(count), COMPLETIONS, KEYS["lab"])
    return json.loads(subprocess.run(argv, check=True, capture_output=True, text=True).stdout)


def streamed(events):
    """The number of events of one stream that arrived."""
    connection, found = hosts.connected(60), 0
    body = json.dumps({**hosts.QWEN, "stream": True, "max_tokens": events})
    connection.request("POST", COMPLETIONS, body, {"Authorization": f"Bearer {KEYS['both']}"})
    try:
        for line in connection.getresponse():
            found += line.startswith(b"data:")
    except (OSError, http.client.HTTPException):
        pass
    return found


def test_a_lost_host_costs_what_was_in_flight_and_the_address_moves_in_five_seconds(entry):
    first, other = entry.keepalived()
    entry.qwen.gap = 0.2
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        stream = pool.submit(streamed, 100)
        load = hosts.Load()
        time.sleep(2)
        first.lose()
        lost = time.monotonic()
        moved = hosts.until(lambda: other.holds, 10)
        time.sleep(5)
        found = load.end()
        events = stream.result()
    failed = [(begin - lost, result) for begin, dummy, result in found if result != 200]
    later = [end - lost for begin, end, result in found if result == 200 and begin > lost]
    print(
        f"moved in {moved:.1f} s, answered after {min(later):.1f} s, {len(failed)} of {len(found)} lost: {failed}; {events} events"
    )
    assert events < 100 and moved <= 5
    assert all(begin < 0 for begin, dummy in failed), "a request that began after the loss failed"
    assert len(failed) <= 8, "more than one of each client"
    assert len(later) >= 8


def test_a_certificate_is_renewed_without_a_lost_request(entry):
    entry.qwen.gap = 0.2
    reached = entry.keepalived()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        stream = pool.submit(streamed, 80)
        loads = [hosts.Load(), hosts.Load(4, keep=True)]
        for name in ("second", "first", "second"):
            for host in reversed(reached):  # as the playbook: first the one that clients do not reach
                entry.write(name, host)
                host.reload()
                time.sleep(1.5)
            hosts.until(lambda name=name: shown() == ssl.PEM_cert_to_DER_cert(entry.certificates[name][0]), 20)
        assert reached[0].holds and not reached[1].holds
        apart = [load.end() for load in loads]
        print([collections.Counter(result for dummy, dummy2, result in each) for each in apart])
        found = [each for own in apart for each in own]
        assert stream.result() == 80, "a stream that was open before ended"
    print(f"{len(found)} requests during 3 changes of the certificate on both hosts")
    assert {result for dummy, dummy2, result in found} == {200} and len(found) > 300


def shown():
    """The certificate that clients see."""
    connection = hosts.connected()
    connection.connect()
    found = connection.sock.getpeercert(True)
    connection.close()
    return found


def test_a_limit_goes_where_the_address_goes(entry):
    first, other = entry.keepalived()
    assert asked(25) == {200: 25}
    first.end("keepalived")
    hosts.until(lambda: other.holds)
    statuses = asked(25)
    assert 15 <= statuses[200] <= 16 and statuses[200] + statuses[429] == 25, statuses
    first.keepalived()
    time.sleep(3)
    other.end("keepalived")
    hosts.until(lambda: first.holds)
    assert asked(1) == {429: 1}


def test_two_hosts_that_both_have_the_address_do_not_double_a_limit(entry):
    """As when the network between their keepalived is cut, but not that of their peers."""
    for host in entry.hosts:
        host.ip("address", "add", f"{hosts.VIRTUAL}/32", "dev", "lo")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(within, host, 30) for host in entry.hosts for dummy in range(2)]
        both = collections.Counter(status for each in runs for status in each.result())
    print(f"at the same time on both hosts, limit 40: {both}")
    assert both[200] + both[429] == 120 and 40 <= both[200] <= 44, both
    assert [set(within(host, 5)) for host in entry.hosts] == [{429}, {429}]


def test_a_reload_keeps_the_counts_of_both_hosts(entry):
    first, other = entry.keepalived()
    assert asked(30) == {200: 30}
    time.sleep(5)  # a process hands its counts on when it is 5 s old
    for host in (other, first):
        host.reload()
        time.sleep(2)
    statuses = asked(20)
    assert 10 <= statuses[200] <= 11, statuses
    first.end("keepalived")
    hosts.until(lambda: other.holds)
    assert asked(1) == {429: 1}


def test_a_host_that_returns_learns_the_counts(entry):
    first, other = entry.keepalived()
    assert asked(40) == {200: 40}
    first.lose()
    hosts.until(lambda: other.holds)
    assert asked(1) == {429: 1}
    first.start_again()
    first.keepalived()
    time.sleep(4)
    assert other.holds and not first.holds
    other.lose()
    hosts.until(lambda: first.holds)
    assert asked(1) == {429: 1}


def test_counts_are_for_the_other_host_alone(entry):
    script = f"import socket; c = socket.create_connection(('{hosts.HOSTS['gate1']}', {hosts.PEER}), 5); c.sendall(b'x\\n' * 9); print(len(c.recv(9)))"
    for argv, comes in (([], False), (entry.hosts[1].within(), True)):
        done = subprocess.run([*argv, sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert (done.stdout.strip() not in ("", "0")) == comes, done


def told(entry):
    """What the module entry_info answers on each host."""
    argv = [sys.executable, "-c", STATE, str(hosts.STATUS), hosts.VIRTUAL]
    texts = {
        host.name: subprocess.run(host.within(*argv), check=True, capture_output=True).stdout for host in entry.hosts
    }
    return {name: json.loads(text) for name, text in texts.items()}


def test_prometheus_alone_reads_the_metrics_of_each_host_from_outside(entry):
    for host, other in (entry.hosts, entry.hosts[::-1]):
        page = f"http://{hosts.HOSTS[host.name]}:{hosts.STATUS}/metrics"
        argv = [sys.executable, "-c", METRICS, page]
        found = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
        assert 'ascend_inference_entry_routers{model="qwen3",way="first"} 1\n' in found
        (ends,) = [line for line in found.splitlines() if line.startswith("ascend_inference_entry_certificate_expires")]
        assert time.time() < int(ends.split()[1]) < time.time() + 10 * 86400
        assert subprocess.run(other.within(*argv), check=False, capture_output=True).returncode != 0


def test_status_tells_who_has_the_address_and_which_host_has_former_settings(entry):
    first, other = entry.keepalived()
    expected = entry_expected(entry.settings, hosts.HOSTS, entry.texts("first"))
    found = entry_report(told(entry), expected)
    assert found["healthy"], found
    rows = {row["host"]: row["address"] for row in found["hosts"]}
    assert rows == {first.name: "here", other.name: "standby"}
    entry.write("second", other)
    other.reload()
    expected = entry_expected(entry.settings, hosts.HOSTS, entry.texts("second"))
    hosts.until(lambda: told(entry)[other.name]["digest"] == expected["digest"], 10)
    (finding,) = entry_report(told(entry), expected)["findings"]
    assert finding.startswith(f"{first.name}: it serves with other settings")
    other.end("haproxy")
    entry.write("second", first)
    first.reload()
    hosts.until(lambda: told(entry)[first.name]["digest"] == expected["digest"], 10)
    (finding,) = entry_report(told(entry), expected)["findings"]
    assert finding.startswith(f"{other.name}: the entry does not answer (")
