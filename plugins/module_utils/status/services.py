# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One row for each service: what the plan, the runtime, the process and its counters say, and what does not fit together."""

from __future__ import annotations

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor

from ..runtime.base import RuntimeProblem
from ..runtime.base import state as state_record
from ..runtime.decisions import running_digest as written_digest
from ..verify.client import Target, ask
from ..verify.metrics import SOURCES, read_metrics
from .cause import LINES, finding, in_loop
from .plan import running_digest

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
FEW = 0.5  # a verification asks decode directly too; only when most prompts were computed there is something wrong
SOURCE = "vllm:prompt_tokens_by_source_total"
NOTHING = state_record("absent")


def heard(service, timeout=5.0, get=ask):
    """What a service answers: ``{answers, problem, version, samples, body}``; every question is optional for it."""
    found = {"answers": None, "problem": "", "version": "", "samples": {}, "body": ""}
    if not service["url"]:
        return found
    reply = get(Target(service["url"], validate_certs=False), "", None, timeout)
    found["answers"] = reply.status == 200 and not reply.error
    found["body"] = reply.body[:4000]
    if not found["answers"]:
        found["problem"] = reply.detail or reply.error or f"HTTP {reply.status}"
        return found
    if service["base"]:
        found["samples"] = read_metrics(get(Target(service["base"]), "/metrics", None, timeout).body)
    if service["version"]:
        found["version"] = str(_json(get(Target(service["base"]), "/version", None, timeout).body).get("version", ""))
    return found


def _json(text):
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def requests_of(kind, heard_):
    """Requests since the start: ``{done, running, waiting}``, None where the service does not count."""
    samples = heard_["samples"]
    done = samples.get("vllm:request_success_total")
    if kind == "router":
        done = samples.get("vllm_router_pd_requests_total", samples.get("vllm_router_requests_total"))
    running, waiting = (samples.get(f"vllm:num_requests_{word}") for word in ("running", "waiting"))
    if kind == "router":  # vLLM-Ascend's load balancer counts those in flight, since 0.21.0rc1
        running = _json(heard_["body"]).get("request_num")
    return {"done": done, "running": running, "waiting": waiting}


def transfers_of(kind, samples):
    """Prompt tokens by where their KV came from; of the master its clients and keys. None: not counted by this release."""
    if kind == "mooncake_master":
        return {word: samples.get("master_" + word) for word in ("active_clients", "key_count")}
    if "vllm:prompt_tokens_total" not in samples:
        return {}
    found = {"prompt_tokens": samples["vllm:prompt_tokens_total"]}
    counted = SOURCE in samples  # vLLM >= 0.16; before, the connector's promises (>= 0.12) are all there is
    for source in SOURCES:
        found[source] = samples.get(f"{SOURCE}{{source={source}}}", 0.0) if counted else None
    if not counted:
        found["external_kv_transfer"] = samples.get("vllm:external_prefix_cache_hits_total")
    return found


def findings_of(service, state, heard_, row, digests, now):
    """Everything about one service that a person should look at, each with what to do. ``digests``: running, deployed, planned."""
    return [
        *_process(service, state, heard_, now),
        *_settings(service, digests),
        *_version(service, heard_),
        *_counters(service, heard_, row),
    ]


def _process(service, state, heard_, now):
    if state["state"] not in ("running", "unknown"):
        yield "does not run: {} {}".format(state["state"], state["detail"]).rstrip()
    elif heard_["answers"] is False:
        age = now - state["since"] if state["since"] else None
        if age is not None and age < service["patience"]:
            yield "is not ready yet, {:.0f} s after its start (it has {} s)".format(age, service["patience"])
        else:
            yield "does not answer {}: {}".format(service["url"], heard_["problem"])
    if state["state"] == "running" and state["detail"]:
        yield state["detail"]
    if state["restarts"]:
        times = "once" if state["restarts"] == 1 else "{} times".format(state["restarts"])
        yield f"ended unasked {times} and was started again; its log says why"


def _settings(service, digests):
    running, deployed, planned = digests
    if running and deployed and running != running_digest(service):
        yield "runs with other settings than are deployed; a deployment was interrupted. Fix: run ascend.inference.deploy"
    if deployed and planned is None:
        yield "is no longer in the inventory. Fix: run ascend.inference.deploy, which removes it"
    elif planned and deployed != planned:
        yield "is deployed with other settings than the inventory has; ascend.inference.plan --diff shows them"


def _version(service, heard_):
    said, expected = heard_["version"], service["version"]
    if said and expected and said.split("+")[0] != expected.split("+")[0]:
        yield f"is vLLM {said}, planned is {expected}"


def _counters(service, heard_, row):
    requests, kv = row["requests"], row["kv"]
    if requests["waiting"] and not requests["running"]:
        yield "has {:.0f} waiting requests, and none runs".format(requests["waiting"])
    total, outside = kv.get("prompt_tokens"), kv.get("external_kv_transfer")
    if service["transfers"] and total and outside is not None and outside < FEW * total:
        text = "computes prompts itself: KV of {:.0f} of {:.0f} prompt tokens came from prefill. Fix: ascend.inference.verify"
        yield text.format(outside, total) + " tells which hop loses it"
    clients = kv.get("active_clients")
    if service["clients"] and clients is not None and clients < service["clients"]:
        yield "has {:.0f} of {} planned store clients".format(clients, service["clients"])
    if service["kind"] == "router":
        yield from _behind(service, heard_)


def _behind(service, heard_):
    """What a router says of its engines: vllm-router by a gauge for each, vLLM-Ascend's load balancer by counts."""
    samples, said = heard_["samples"], _json(heard_["body"])
    known = [said.get(word + "_instances") for word in ("prefill", "decode")]
    for word, number, planned in zip(("prefill", "decode"), known, service["engines"]):
        if isinstance(number, int) and number != planned:
            yield f"knows {number} {word} engines, planned are {planned}"
    healthy, planned = samples.get("vllm_router_worker_health"), sum(service["engines"])
    if healthy is not None and planned and healthy < planned:
        yield f"holds {healthy:.0f} of {planned} engines for healthy"


class Host:
    """All services of one host. ``deployed`` and ``planned`` are questions (see _status_plan) or None."""

    def __init__(self, runtime, deployed, planned, get=ask, clock=time.time):
        self.runtime, self.deployed, self.planned, self.get, self.clock = runtime, deployed, planned, get, clock

    def look(self, timeout=5.0, lines=5):
        """Rows, and what is wrong with the host as a whole: ``([row], [text])``."""
        services = self._services()
        try:
            states, complaints = self.runtime.states(services), []
        except RuntimeProblem as error:
            states, complaints = None, [str(error)] if self.deployed else []
        with ThreadPoolExecutor(max_workers=16) as pool:
            answers = list(pool.map(lambda service: heard(service, timeout, self.get), services))
        rows = [self._row(one, answer, states, lines) for one, answer in zip(services, answers)]
        units = {service["unit"] for service in services}
        extra = sorted(name for name in states or {} if name not in units)
        complaints += [f"{name} belongs to the deployment and no plan has it" for name in extra]
        return rows, complaints

    def _services(self):
        """Deployed ones first, then what only the inventory has."""
        found = list(self.deployed["services"]) if self.deployed else []
        names = {item["name"] for item in found}
        return found + [
            service for service in (self.planned or {"services": []})["services"] if service["name"] not in names
        ]

    def _digest(self, which, name):
        """The digest of a service in one of the questions; None if that has no such service, "" without a question."""
        if not which:
            return ""
        return next((service["digest"] for service in which["services"] if service["name"] == name), None)

    def _row(self, service, answer, states, lines):
        state = dict(NOTHING, state="unknown") if states is None else states.get(service["unit"], NOTHING)
        name = service["name"]
        running = state["digest"] or written_digest(service)
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
            "requests": requests_of(service["kind"], answer),
            "kv": transfers_of(service["kind"], answer["samples"]),
            "digests": dict(zip(("running", "deployed", "planned"), digests)),
            "log": [],
        }
        row["findings"] = self._findings(service, state, answer, row, digests)
        if digests[1] and in_loop(state, answer["answers"], self.clock()):
            row["findings"].insert(0, finding(state, self._log(service, LINES)))
        if lines and self.deployed and (state["state"] not in ("running", "absent") or answer["answers"] is False):
            row["log"] = self._log(service, lines)
        return row

    def _findings(self, service, state, answer, row, digests):
        if digests[1]:
            return findings_of(service, state, answer, row, digests, self.clock())
        found = [] if not self.deployed else ["is in the inventory and not deployed. Fix: run ascend.inference.deploy"]
        if answer["answers"]:
            found.append(
                "is not deployed, and yet {} answers: a stranger, or another deployment".format(service["url"])
            )
        return found

    def _log(self, service, lines):
        try:
            return COLOUR.sub("", self.runtime.log(service, lines)).splitlines()
        except OSError as error:
            return [f"({error})"]
