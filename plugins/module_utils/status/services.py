# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The status of services: one row each with data of the plan, runtime, process and counters, and findings."""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor

from ..diagnosis.diagnose import LINES
from ..links import record
from ..runtime.base import RuntimeProblem
from ..runtime.base import state as state_record
from ..runtime.decisions import recorded
from ..tools import foreign_json
from ..tools.engine_kinds import ENGINE_KINDS
from ..tools.http_client import Target, ask
from ..tools.text import one_line
from ..tools.versions import told
from ..verify.leader import serves
from ..verify.metrics import SOURCES, read_metrics
from . import probe, routers, virtual_address
from .cause import down, finding, in_loop, restarted
from .installed import installed
from .plan import running_digest

HANGS = (
    "does not answer {}: {}, {:.0f} s after its start. An engine that still starts refuses connections, so it hangs or is overloaded, and requests that it "
    "gets wait. Fix: run status again; if this stays, run ascend.inference.restart for it"
)
UNRECORDED = (
    "answers at {}, so it is probably this deployment's own, but with which settings it runs is unknown: the host has no plan that can be read. Fix: "
    "do not end it; run ascend.inference.site, which records the plan again"
)
STOPPED = ", and its log ends without an error that is known. Fix: run ascend.inference.deploy, which starts what does not run"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
MIB = 2**20
DATABASE = {"bytes": "etcd_mvcc_db_total_size_in_bytes", "quota": "etcd_server_quota_backend_bytes"}
FULL = 0.8  # of etcd's quota
LINKS_LATE = 120  # seconds; the watch of links looks every 5 s, and asks for at most 10 s
MORE, LEAST = 1.0, 0.3  # seconds for the other pages of a service in addition to its health page, and at least for each
MOST_AT_ONCE = 64  # services that are asked at the same time
FEW = 0.5  # a verification also sends requests to decode directly, so only a low share is a finding
MOST_VERSION = 64  # characters; longer versions are not released
SOURCE = "vllm:prompt_tokens_by_source_total"
NOTHING = state_record("absent")


def query(service, timeout=5.0, get=ask):
    """Query a service: ``{answers, problem, late, version, samples, body}``; values are empty if it does not provide them.

    ``timeout``: seconds of the health page; with its other pages the service has MORE seconds, so that a slow one does not hold the table up.
    """
    end = time.monotonic() + timeout + MORE
    found = {"answers": None, "problem": "", "late": False, "version": "", "samples": {}, "body": ""}
    if not service["url"]:
        return found
    reply = get(Target(service["url"], validate_certs=False), "", None, timeout)
    found["answers"] = reply.status == 200 and not reply.error
    found["body"] = reply.body[:4000]
    if not found["answers"]:
        found["late"] = reply.error == "timeout"
        found["problem"] = one_line(reply.detail or reply.error or f"HTTP {reply.status}")
        return found
    if service["base"]:
        metrics = get(Target(service["base"]), "/metrics", None, min(timeout, end - time.monotonic()))
        found["samples"] = read_metrics(metrics.body) if metrics.status == 200 and not metrics.error else {}
    if service["version"]:
        left = max(LEAST, min(timeout, end - time.monotonic()))
        version = _json(get(Target(service["base"]), "/version", None, left).body).get("version", "")
        found["version"] = one_line(str(version))[:MOST_VERSION]
    return found


def _json(text):
    try:
        value = foreign_json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def requests_of(kind, response):
    """Requests since the start: ``{done, running, waiting}``, None without a counter."""
    samples = response["samples"]
    done = samples.get("vllm:request_success_total")
    if kind == "router":
        done = samples.get("vllm_router_pd_requests_total", samples.get("vllm_router_requests_total"))
    running, waiting = (samples.get(f"vllm:num_requests_{state}") for state in ("running", "waiting"))
    if kind == "router":  # vLLM-Ascend's load balancer counts requests in flight since 0.21.0rc1
        running = foreign_json.number(_json(response["body"]).get("request_num"))
    return {"done": done, "running": running, "waiting": waiting}


def transfers_of(kind, samples):
    """Prompt tokens by source of their KV; for a master its clients and keys, for etcd bytes. None: no counter in this release."""
    if kind == "etcd":
        return {name: samples[counter] for name, counter in DATABASE.items() if counter in samples}
    if kind == "mooncake_master":
        return {name: samples.get("master_" + name) for name in ("active_clients", "key_count")}
    if "vllm:prompt_tokens_total" not in samples:
        return {}
    found = {"prompt_tokens": samples["vllm:prompt_tokens_total"]}
    counted = SOURCE in samples  # vLLM >= 0.16; older releases (>= 0.12) only have the connector's promised tokens
    for source in SOURCES:
        found[source] = samples.get(f"{SOURCE}{{source={source}}}", 0.0) if counted else None
    if not counted:
        found["external_kv_transfer"] = samples.get("vllm:external_prefix_cache_hits_total")
    return found


def role_of(service, response):
    """``{role: leader or standby}`` of one of several masters that answers; {} of other services."""
    if not service.get("elected") or not response["answers"]:
        return {}
    return {"role": "leader" if serves(response["body"]) else "standby"}


def findings_of(service, state, response, row, digests, now):
    """The findings of one service, with fixes. ``digests``: running, deployed, planned."""
    return [
        *_process(service, state, response, now),
        *_settings(service, digests),
        *_version(service, response),
        *_unknown(service, response, row["kv"]),
        *_counters(service, response, row),
        *routers.findings(row["kv"]),
        *virtual_address.findings(service, row["kv"]),
        *_links(service, state, now),
    ]


def _process(service, state, response, now):
    if state["state"] not in ("running", "unknown"):
        yield "is not running: {} {}".format(state["state"], state["detail"]).rstrip()
    elif response["answers"] is False:
        age = now - state["since"] if state["since"] else None
        if age is not None and age < service["timeout"] and response["late"] and service["kind"] in ENGINE_KINDS:
            yield HANGS.format(service["url"], response["problem"], age)
        elif age is not None and age < service["timeout"]:
            yield "is not ready yet, {:.0f} s after its start (timeout: {} s)".format(age, service["timeout"])
        else:
            yield "does not answer {}: {}".format(service["url"], response["problem"])
    if state["state"] == "running" and state["detail"]:
        yield state["detail"]
    if state["restarts"]:
        yield restarted(state, response["answers"], now)


def _links(service, state, now):
    """What the watch beside an engine knows of its links; the service's user writes its record, so its texts are data."""
    if not service.get("links") or state["state"] != "running":
        return
    restart = (
        "run ascend.inference.restart with inference_services: [{}] and, because linked engines restart at once, -e inference_allow_pause=true"
    ).format(service["name"])
    known = record.read(service["links"])
    if now - known["at"] > LINKS_LATE and now - (state["since"] or 0) > LINKS_LATE:
        yield (
            "has no watch of its links, which would end it after a restart of an engine that it is linked with. Fix: read its log for "
            f"'watch of links', then {restart}"
        )
        return
    if known["stale"]:
        yield (
            "keeps links to processes of {} that are gone, so no KV cache is transferred; it ended {} times within an hour because of that, and "
            "goes on when fewer are within the hour. Fix: find out why they end, then {}"
        ).format(", ".join(known["stale"]), len(known["ended"]), restart)
    if known["unknown"]:
        yield (
            "cannot see restarts of {}, whose /metrics has no process_start_time_seconds, as with several API servers. Fix: set "
            "api-server-count: 1 in inference_args"
        ).format(", ".join(known["unknown"]))


def _settings(service, digests):
    running, deployed, planned = digests
    if running and deployed and running != running_digest(service):
        yield "runs with other settings than the deployed ones; a deployment was interrupted. Fix: run ascend.inference.deploy"
    if deployed and planned is None:
        yield "is no longer in the inventory. Fix: run ascend.inference.deploy, which removes it"
    elif planned and deployed != planned:
        yield "is deployed with other settings than the inventory's; ascend.inference.plan --diff shows them"


def _version(service, response):
    version, expected = told(response["version"]), service["version"]  # one that is not known is not another one
    if version and expected and version.split("+")[0] != expected.split("+")[0]:
        yield f"is vLLM {version}, expected {expected}"


def _unknown(service, response, kv):
    """What an answer should say and does not."""
    if not response["answers"]:
        return
    samples = response["samples"]
    wanted = {"etcd": list(DATABASE.values())}.get(service["kind"], [])
    if service["clients"] and kv.get("role") != "standby":
        wanted = ["master_active_clients"]
    missing = [name for name in wanted if name not in samples]
    if service["base"] and service["kind"] != "balancer" and (missing or not samples):
        yield "gives no {} at {}/metrics, so its state is not known. Fix: read its log, and that page".format(
            ", ".join(missing) or "counters", service["base"]
        )
    if service["kind"] == "balancer" and not isinstance(_json(response["body"]).get("routers"), dict):
        yield "does not say which routers get requests at {}, so it is not known. Fix: check what uses this port".format(
            service["url"]
        )


def _counters(service, response, row):
    requests, kv = row["requests"], row["kv"]
    if requests["waiting"] and not requests["running"]:
        yield "has {:.0f} waiting requests, but no running ones".format(requests["waiting"])
    total, outside = kv.get("prompt_tokens"), kv.get("external_kv_transfer")
    if service["transfers"] and total and outside is not None and outside < FEW * total:
        text = "computes prompts itself: KV of {:.0f} of {:.0f} prompt tokens came from prefill. Fix: run ascend.inference.verify"
        yield text.format(outside, total) + " to find the failing hop"
    clients = kv.get("active_clients")
    if service["clients"] and clients is not None and clients < service["clients"] and kv.get("role") != "standby":
        yield "has {:.0f} of {} planned store clients".format(clients, service["clients"])
    if kv.get("quota") and "bytes" in kv and kv["bytes"] > FULL * kv["quota"]:
        yield (
            "its database has {:.0f} of {:.0f} MiB; when it is full, no master of the store can take over. Fix: set another "
            "inference_store.ha.cluster_id and run ascend.inference.deploy, which begins with an empty one; keys are lost once"
        ).format(kv["bytes"] / MIB, kv["quota"] / MIB)
    if service["kind"] == "router":
        yield from _behind(service, response)
    if service["kind"] == "probe":
        yield from probe.findings(response["answers"], _json(response["body"]))
    if service["kind"] == "balancer":
        routers = _json(response["body"]).get("routers")
        for name, up in sorted(routers.items()) if isinstance(routers, dict) else ():
            if not up:
                yield f"sends no requests to {one_line(str(name))}, which fails its health check"


def _behind(service, response):
    """Findings from a router's view of its engines: gauges of vllm-router, counts of vLLM-Ascend's load balancer."""
    samples, body = response["samples"], _json(response["body"])
    known = [body.get(kind + "_instances") for kind in ("prefill", "decode")]
    for kind, number, planned in zip(("prefill", "decode"), known, service["engines"]):
        if isinstance(number, int) and number != planned:
            yield f"has {number} {kind} engines, expected {planned}"
    healthy, planned = samples.get("vllm_router_worker_health"), sum(service["engines"])
    if healthy is not None and planned and healthy < planned:
        yield f"reports {healthy:.0f} of {planned} engines as healthy"


class Host:
    """All services of one host. ``deployed`` and ``planned`` are status plans (see plan.py) or None; ``unreadable``: a plan is deployed, but damaged."""

    def __init__(self, runtime, deployed, planned, get=ask, clock=time.time, unreadable=False):
        self.runtime, self.deployed, self.planned, self.get, self.clock = runtime, deployed, planned, get, clock
        self.unreadable = unreadable

    def look(self, timeout=5.0, lines=5):
        """Rows, and the host's findings: ``([row], [text])``."""
        services = self._services()
        with ThreadPoolExecutor(max_workers=MOST_AT_ONCE) as pool:
            # At the same time: a runtime that hangs must not take longer than the services that do.
            asked = pool.submit(self.runtime.states, services)
            answers = list(pool.map(lambda service: query(service, timeout, self.get), services))
        try:
            states, problems = asked.result(), []
        except RuntimeProblem as error:
            states, problems = None, [str(error)] if self.deployed else []
        rows = [self._row(item, answer, states, lines) for item, answer in zip(services, answers)]
        units = {service["unit"] for service in services}
        extra = sorted(name for name in states or {} if name not in units)
        problems += [f"{name} belongs to the deployment but is in no plan" for name in extra]
        for row in rows:  # texts of runtimes, engines and logs are parts of them
            row["findings"] = [one_line(text) for text in row["findings"]]
        return rows, [one_line(text) for text in problems]

    def _services(self):
        """Deployed services first, then those that are only in the inventory."""
        found = list(self.deployed["services"]) if self.deployed else []
        names = {item["name"] for item in found}
        return found + [
            service for service in (self.planned or {"services": []})["services"] if service["name"] not in names
        ]

    def _digest(self, which, name):
        """The digest of a service in a status plan; None if the plan does not have it, "" without a plan."""
        if not which:
            return ""
        return next((service["digest"] for service in which["services"] if service["name"] == name), None)

    def _row(self, service, answer, states, lines):
        state = dict(NOTHING, state="unknown") if states is None else states.get(service["unit"], NOTHING)
        name = service["name"]
        written, secrets = recorded(service)
        running = state["digest"] or written
        digests = (
            running if state["state"] == "running" else "",
            self._digest(self.deployed, name),
            self._digest(self.planned, name),
        )
        row = {
            "service": name,
            "kind": service["kind"],
            "state": state["state"],
            "answers": answer["answers"],
            "since": state["since"],
            "restarts": state["restarts"],
            "version": answer["version"],
            "installed": installed(service.get("environment", "")) or service["version"],
            "requests": requests_of(service["kind"], answer),
            "kv": {
                **transfers_of(service["kind"], answer["samples"]),
                **role_of(service, answer),
                **(probe.results_of(_json(answer["body"])) if service["kind"] == "probe" and answer["answers"] else {}),
                **(routers.routers_of(service) if answer["answers"] else {}),
                **virtual_address.state_of(service),
            },
            "digests": dict(zip(("running", "deployed", "planned"), digests)),
            # Of what was recorded, no more than tells different ones apart.
            "secrets": secrets[:12] if state["state"] == "running" else "",
            "log": [],
        }
        row["findings"] = self._findings(service, state, answer, row, digests)
        if digests[1] and in_loop(state, answer["answers"], self.clock()):
            row["findings"].insert(0, finding(state, self._log(service, LINES)))
        elif digests[1] and (state["state"] not in ("running", "unknown") or self._unanswered(service, state, answer)):
            cause = down(self._log(service, LINES))
            if not cause and state["state"] not in ("running", "unknown"):
                row["findings"][0] += STOPPED  # which says that it does not run
            row["findings"] += filter(None, [cause])
        if lines and self.deployed and (state["state"] not in ("running", "absent") or answer["answers"] is False):
            row["log"] = self._log(service, lines)
        return row

    def _unanswered(self, service, state, answer):
        """Whether a running service does not answer although its time to start has passed."""
        started = state["since"]
        return answer["answers"] is False and not (started and self.clock() - started < service["timeout"])

    def _findings(self, service, state, answer, row, digests):
        if digests[1]:
            return findings_of(service, state, answer, row, digests, self.clock())
        found = [] if not self.deployed else ["is in the inventory but not deployed. Fix: run ascend.inference.deploy"]
        if answer["answers"] and (self.unreadable or state["state"] == "running"):
            found.append(UNRECORDED.format(service["url"]))
        elif answer["answers"]:
            found.append(
                "is not deployed, but {} answers: a foreign process or another deployment".format(service["url"])
            )
        return found

    def _log(self, service, lines):
        try:
            found = COLOUR.sub("", self.runtime.log(service, lines))
        except (OSError, RuntimeProblem) as error:
            found = f"({error})"
        return [one_line(line) for line in found.splitlines()]
