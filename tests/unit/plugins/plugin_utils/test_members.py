# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Engines behind a router are no part of its digest where they can be changed while it runs; else the router restarts with another list."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.router.listed import Listed
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.placement_kept import read_record
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.render.router import members_of
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.routers.join_members import KEPT, PROGRAM
from ansible_collections.ascend.inference.plugins.plugin_utils.views.service_states import service_states
from ansible_collections.ascend.inference.plugins.plugin_utils.views.service_tree import files
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import family

CPU = {
    "inference_engine": "vllm_cpu",
    "inference_runtime": "supervisor",
    "inference_model": {"path": "/m", "name": "m"},
}
NPU = {"inference_hardware": "a3", "inference_model": {"path": "/m", "name": "m"}, "inference_interface": "eth0"}


def planned(variables, decode, address="192.0.2.1", prefill=2, **more):
    """A plan with ``decode`` decode engines, and its router."""
    hosts = {"n1": {"groups": ["prefill", "decode"], "variables": {"ansible_host": address}}}
    sizes = {"prefill": {"instances": prefill}, "decode": {"instances": decode}}
    plan = launch_plan({**variables, "inference_pools": sizes, **more}, hosts)
    return plan, next(service for service in plan["services"] if service["kind"] == "router")


@pytest.mark.parametrize(
    ("variables", "api"),
    [
        (CPU, "workers"),
        ({**NPU, "inference_release": "0.23.0"}, "instances"),
        ({**NPU, "inference_release": "0.18.0"}, ""),
    ],
)
def test_another_number_of_engines_restarts_the_router_only_without_an_api(variables, api):
    (plan, two), (_plan, three) = planned(variables, 2), planned(variables, 3)
    assert plan.get("members", {}).get("api", "") == api
    assert (two["digest"] == three["digest"]) == bool(api)
    assert two["argv"] != three["argv"]
    if api:
        assert [engine["name"] for engine in plan["members"]["engines"]] == [
            "decode-0",
            "decode-1",
            "prefill-0",
            "prefill-1",
        ]


def test_a_router_keeps_its_api_when_one_engine_of_each_pool_is_left():
    def single(deployed):
        hosts = {"n1": {"groups": ["prefill", "decode"], "variables": {"ansible_host": "192.0.2.1"}}}
        sizes = {"prefill": {"instances": 1}, "decode": {"instances": 1}}
        placement = read_record(json.loads(json.dumps(deployed["placement"])))
        return launch_plan({**CPU, "inference_pools": sizes}, hosts, (), placement)

    (several, router), (alone, _router) = planned(CPU, 2, prefill=1), planned(CPU, 1, prefill=1)
    kept = single(several)
    assert next(service for service in kept["services"] if service["kind"] == "router")["digest"] == router["digest"]
    assert kept["members"]["api"] == "workers"
    assert single(kept) == kept, "also the next time"
    assert single(alone) == alone and "members" not in alone


def test_other_arguments_still_restart_the_router():
    found = [
        planned(CPU, 2, inference_router={"args": {"policy": policy}})[1]["digest"]
        for policy in ("random", "round_robin")
    ]
    assert found[0] != found[1]


def test_run_sh_sources_the_engines_and_has_no_other():
    _plan, router = planned({**NPU, "inference_release": "0.23.0"}, 2)
    script = router["members"]["files"][0]
    assert (
        script["path"]
        == router["members"]["script"]
        == "/opt/ascend-inference/deployments/inference/services/router/members.sh"
    )
    assert "--decoder-hosts" not in router["members"]["argv"]
    shell = f'{script["content"]}\nprintf "%s\\n" "$@"'
    done = subprocess.run(["/bin/sh", "-c", shell], capture_output=True, text=True, check=True)
    assert sorted([*router["members"]["argv"], *done.stdout.split()]) == sorted(router["argv"])


def test_the_engines_are_written_and_restart_nothing():
    plan, router = planned(CPU, 2)
    written = {file["path"].rpartition("/")[2] for file in files([router])}
    assert written == {"join_members.py", "members.sh", "members.json"}
    (state,) = service_states(plan, [router])
    assert [path for path in state["newer"] if "/members." in path] == []
    assert [path for path in state["newer"] if path.endswith("join_members.py")]


def test_single_engines_keep_the_plain_router_and_addresses_with_colons_have_no_api():
    plan, router = planned(CPU, 1, prefill=1)
    assert "--enable-igw" not in router["argv"] and "members" not in plan and "members" not in router
    plan, _router = planned({**NPU, "inference_release": "0.23.0"}, 2, "fd00::1")
    assert "members" not in plan


class Engines:
    """Engines and a router, as one server: PATH/health answers 200 from the time on that ``answers`` says so."""

    def __init__(self):
        self.added, self.asked, self.calls, self.ended = [], {}, [], threading.Event()
        self.listing = None
        self.answers, self.adding = (lambda name, times: True), (lambda url: None)
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *unused):
                pass

            def do_GET(self):
                name = self.path.split("/")[1]
                owner.asked[name] = owner.asked.get(name, 0) + 1
                if name == "hung":
                    self.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
                    with contextlib.suppress(OSError):
                        while not owner.ended.wait(0.2):
                            self.wfile.write(b"x")
                    return
                if name == "moved":
                    self.send_response(302)
                    self.send_header("Location", "/first/health")
                    self.end_headers()
                    return
                self.send_response(200 if owner.answers(name, owner.asked[name]) else 503)
                self.end_headers()
                if self.path == "/router/workers":
                    self.wfile.write((owner.listing or owner.listed)().encode())

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                owner.calls.append((self.path, body))
                owner.added.append(body["url"])
                owner.adding(body["url"])
                self.send_response(200)
                self.end_headers()

            def do_DELETE(self):
                owner.added.remove(unquote(self.path[len("/router/workers/") :]))
                self.send_response(200)
                self.end_headers()

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def listed(self):
        return json.dumps({"workers": [{"url": url} for url in self.added]})

    def join(self, folder, *names):
        """Run the program for these decode engines, and ``p`` as prefill."""
        kinds = {name: "prefill" if name == "p" else "decode" for name in names}
        members = [{"url": f"{self.url}/{name}", "worker_type": kind} for name, kind in kinds.items()]
        (folder / "members.json").write_text(json.dumps({"model": "m", "members": members}))
        (folder / "join.py").write_text(PROGRAM.replace("worker.join(5)", "worker.join(0.5)"))
        paths = [str(folder / name) for name in ("members.json", "away")]
        argv = [sys.executable, str(folder / "join.py"), f"{self.url}/router", *paths]
        subprocess.run(argv, check=True, timeout=60)
        return members


@pytest.fixture
def engines():
    made = Engines()
    yield made
    made.ended.set()
    made.server.shutdown()
    made.server.server_close()


def test_the_program_adds_each_engine_once_it_answers(engines, tmp_path):
    engines.answers = lambda name, times: name != "second" or times >= 3
    members = engines.join(tmp_path, "first", "second")
    assert engines.calls == [("/router/workers", {**member, "model_id": "m"}) for member in members]
    assert engines.asked["second"] >= 3


def test_an_engine_that_a_run_has_added_meanwhile_is_not_added_again(engines, tmp_path):
    """vllm-router 0.1.17 lists it once, and sends it twice as many requests as others."""
    engines.added.append(f"{engines.url}/second")
    engines.join(tmp_path, "first", "second")
    assert engines.added == [f"{engines.url}/{name}" for name in ("second", "first")]
    assert [body["url"] for _path, body in engines.calls] == [f"{engines.url}/first"]


@pytest.mark.parametrize("text", ["", "[", "7", "{}", '{"workers": 7}', '{"workers": [7]}', '{"workers": [{}]}'])
def test_a_router_that_tells_no_list_has_no_engines(engines, tmp_path, text):
    engines.listing = lambda: text
    engines.join(tmp_path, "first")
    assert engines.added == [f"{engines.url}/first"]


def test_others_do_not_wait_for_an_engine_without_an_end_and_a_redirect_is_no_answer(engines, tmp_path):
    def none_is_left(_url):  # the file is read in every round
        if len(engines.added) == 2:
            (tmp_path / "members.json").write_text(json.dumps({"model": "m", "members": []}))

    engines.adding = none_is_left
    engines.join(tmp_path, "hung", "moved", "first", "second")
    assert engines.added == [f"{engines.url}/{name}" for name in ("first", "second")]
    assert engines.asked["hung"] and engines.asked["moved"]


def test_the_program_adds_no_engine_that_is_out(engines, tmp_path):
    away = tmp_path / "away"
    away.write_text(json.dumps([f"{engines.url}/second", f"{engines.url}/p"]))
    engines.join(tmp_path, "first", "second", "p")
    assert engines.added == [f"{engines.url}/{name}" for name in ("first", "p")], "prefill would have none"
    for text in ("", "[", "7", "[[]]"):
        engines.added.clear()
        away.write_text(text)
        engines.join(tmp_path, "first", "second")
        assert len(engines.added) == 2, text


def test_an_engine_that_leaves_while_it_is_added_is_removed_again(engines, tmp_path):
    out = json.dumps([f"{engines.url}/second"])
    engines.adding = lambda url: (tmp_path / "away").write_text(out)
    engines.join(tmp_path, "second", "first")
    assert engines.added == [f"{engines.url}/first"]


def test_an_engine_that_leaves_while_it_is_asked_is_not_added(engines, tmp_path):
    def leaving(name, times):
        if name == "second":
            (tmp_path / "away").write_text(json.dumps([f"{engines.url}/second"]))
        return True

    engines.answers = leaving
    engines.join(tmp_path, "second", "first")
    assert [body["url"] for _path, body in engines.calls] == [f"{engines.url}/first"]


def arguments(router, away):
    """The arguments that the script of a router sets, with this file of engines that are out."""
    script = router["members"]["files"][0]["content"]
    program = re.search(r"\$\((\S+) -c", script)[1]
    sourced = away.with_name("members.sh")
    sourced.write_text(script.replace(program, sys.executable))
    shell = f'set -eu\nmembers_away={away}\n. {sourced}\nprintf "%s\\n" "$@"'
    return subprocess.run(["/bin/sh", "-c", shell], capture_output=True, text=True, check=True).stdout.split()


@pytest.fixture(params=["two lists", "URLs"])
def listing(request):
    """A router that reads its engines from its command line, its decode or colocated engines, and how it lists some of them."""
    if request.param == "two lists":
        plan, router = planned({**NPU, "inference_release": "0.23.0"}, 3)
        kind = "decode"
    else:
        hosts = {"n1": {"groups": ["colocated"], "variables": {"ansible_host": "192.0.2.1"}}}
        plan = launch_plan({**CPU, "inference_pools": {"colocated": {"instances": 3}}}, hosts)
        router, kind = next(service for service in plan["services"] if service["kind"] == "router"), "colocated"
    urls = [engine["url"] for engine in plan["members"]["engines"] if engine["kind"] == kind]

    def shown(found):
        if kind == "colocated":
            return found[found.index("--worker-urls") + 1 :]
        ports = found[found.index("--decoder-ports") + 1 :]
        hosts = found[found.index("--decoder-hosts") + 1 :]
        assert found.index("--prefiller-ports") - found.index("--prefiller-hosts") == 3, "prefill keeps its two"
        return [f"http://{host}:{port}" for host, port in zip(hosts, ports, strict=False)]

    return router, urls, shown


def test_a_router_that_starts_anew_does_not_list_engines_that_are_out(listing, tmp_path):
    router, urls, shown = listing
    away = tmp_path / "router.away"
    every = arguments(router, away)
    assert shown(every) == urls, "there is no such file"
    for text in ("", "[", "7", "[[]]", '["http://192.0.2.9:1"]'):
        away.write_text(text)
        assert arguments(router, away) == every, text
    away.write_text(json.dumps([urls[1]]))
    assert shown(arguments(router, away)) == [urls[0], urls[2]]
    away.write_text(json.dumps(urls))
    assert arguments(router, away) == every, "it would have none"


def test_engines_with_ipv6_addresses_are_left_out_as_well(tmp_path):
    away = tmp_path / "away"
    away.write_text(json.dumps(["http://[2001:db8::1]:7300"]))
    lists = ["--decoder-hosts", "2001:db8::1", "2001:db8::2", "--decoder-ports", "7300", "7300"]
    done = subprocess.run([sys.executable, "-c", KEPT, away, *lists], capture_output=True, text=True, check=True)
    assert done.stdout == "set -- --decoder-hosts 2001:db8::2 --decoder-ports 7300\n"


@pytest.mark.parametrize("runtime", ["systemd", "docker", "supervisor"])
def test_the_file_of_engines_that_are_out_is_where_the_router_and_the_module_look(runtime):
    plan, router = planned({**NPU, "inference_release": "0.23.0", "inference_runtime": runtime}, 2)
    asked = members_of(plan, "n1")
    assert asked["away"] == router["members"]["away"] == asked["record"].replace(".removed", ".away")
    if runtime == "docker":
        mounts = [mount.split(":")[0] for mount in router["container"]["mounts"]]
        assert any(asked["away"].startswith(f"{path}/") for path in mounts)


TWO_ROUTERS = {"inference_router": {"instances": 2, "balancer": "haproxy"}}
OLDER = {**NPU, "inference_release": "0.18.0"}


def test_routers_without_an_api_restart_in_turn_behind_a_balancer_only():
    (plan, two), (_plan, three) = planned({**OLDER, **TWO_ROUTERS}, 2), planned({**OLDER, **TWO_ROUTERS}, 3)
    assert plan["members"]["api"] == "restart" and two["digest"] == three["digest"] and two["argv"] != three["argv"]
    assert [router["router"] for router in (plan["members"], *plan["members"]["more"])] == ["router", "router-1"]
    for single in ({"instances": 1, "balancer": "haproxy"}, {}):
        assert "members" not in planned({**OLDER, "inference_router": single}, 2)[0]


@pytest.mark.parametrize("runtime", ["systemd", "docker", "supervisor"])
@pytest.mark.parametrize("address", ["192.0.2.1", "fd00::1"])
def test_such_a_router_records_its_engines_when_it_starts(tmp_path, runtime, address):
    image = {"balancer_image": "haproxy@sha256:" + "0" * 64} if runtime == "docker" else {}
    settings = {"inference_router": {**TWO_ROUTERS["inference_router"], **image}}
    plan, router = planned({**OLDER, **settings, "inference_runtime": runtime}, 2, address)
    asked = members_of(plan, "n1")
    assert asked["record"] == asked["away"].replace(".away", ".listed")
    away = tmp_path / "router.away"
    found = Listed("http://192.0.2.1:8000")
    found.record = str(tmp_path / "router.listed")
    assert (found.known(), found.read()) == (False, [])
    every = sorted((engine["kind"], engine["url"]) for engine in plan["members"]["engines"])
    arguments(router, away)
    assert found.known() and found.read() == every
    away.write_text(json.dumps([url for _kind, url in every][1:2]))
    arguments(router, away)
    assert found.read() == [every[0], *every[2:]]
    (tmp_path / "router.listed.new").mkdir()
    arguments(router, away)
    assert found.read() == [every[0], *every[2:]], "whatever a service has put there"


@pytest.mark.parametrize("text", ["", "[]\n--a-hosts\nb", "7", "{", "\x00"])
def test_a_damaged_record_is_none(tmp_path, text):
    found = Listed("http://192.0.2.1:8000")
    found.record = str(tmp_path / "router.listed")
    (tmp_path / "router.listed").write_text(text)
    assert (found.known(), found.read()) == (False, [])


def test_a_plan_of_an_earlier_version_has_no_such_file():
    plan, _router = planned(CPU, 2)
    del plan["members"]["away"]
    assert members_of(plan, "n1")["away"] == ""


def test_a_router_gets_its_decode_engines_first():
    """It accepts requests with the first prefill engine, and would have nobody to pass them on to."""
    found = launch_plan(*family("p2p", {"inference_router.flavour": "vllm_router", "inference_pools.decode.args": {}}))
    router = next(service for service in found["services"] if service["kind"] == "router")
    text = next(file["content"] for file in router["members"]["files"] if file["path"].endswith("members.json"))
    kinds = [row["worker_type"] for row in json.loads(text)["members"]]
    assert kinds == sorted(kinds) and set(kinds) == {"decode", "prefill"}


@pytest.mark.parametrize(
    ("host", "names", "found"),
    [
        ("n1", None, ["router", "router-1"]),
        ("n1", ["router-1"], ["router-1"]),
        ("n1", ["router", "router-2"], ["router"]),
        ("n1", [], []),
        ("n2", None, ["router-2"]),
        ("n3", None, []),
    ],
)
def test_members_are_changed_at_the_named_routers_of_a_host(host, names, found):
    first, *more = (
        {"router": name, "host": place, "url": f"http://{name}", "record": "r", "started": "s", "away": "a"}
        for name, place in (("router", "n1"), ("router-1", "n1"), ("router-2", "n2"))
    )
    given = {"members": {**first, "api": "workers", "model": "m", "engines": [], "more": more}}
    here = members_of(given, host, names)
    assert here.get("routers", []) == found
    assert [one["url"] for one in ([here, *here["more"]] if here else [])] == [f"http://{name}" for name in found]
