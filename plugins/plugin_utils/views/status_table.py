# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Combines the status of services from all hosts: a report as data, and as a table."""

from __future__ import annotations

import datetime
import re
import typing as t

from ...module_utils.diagnosis.diagnose import showing
from ...module_utils.kubernetes.quantity import quantity
from ...module_utils.status.routers import out_of_service
from ...module_utils.tools.engine_kinds import ENGINE_KINDS
from ...module_utils.tools.finding import Finding
from ...module_utils.tools.how_many import how_many
from ...module_utils.tools.text import one_line
from ...module_utils.tools.versions import told
from ..description.values import natural
from ..hosts.connection import OTHER, cause, in_one_line
from ..hosts.readable import judged
from ..plan.begun import step_of
from ..releases.advisories import ADVISORIES, CONDITIONS, Advisory
from ..releases.known_issues import met

Report = dict[str, t.Any]
CLUSTER = "cluster"  # stands for a host in the results of a deployment in pods
ANY = "(not known)"  # stands for the services of a host, where neither the host nor a plan says which it has
HEADER = ("SERVICE", "HOST", "STATE", "SINCE (UTC)", "VERSION", "REQUESTS", "KV TRANSFERS", "FINDINGS")

OTHER_KEYS = (
    "{}: started with other values of inference_secrets than this inventory has, so that who uses these gets 401. Fix: if these are former ones, set those "
    "that run; otherwise run ascend.inference.upgrade, which gives the services these"
)
CLUSTER_FACTS = ("kthena_version", "volcano_version", "nodes", "devices_held", "hidden")
LOG_CAUSE = re.compile(r"\[LOG-[A-Z\d-]+\]")  # of module_utils/status/cause.py
RESTARTED = re.compile(r"restarted .+ after an unexpected exit")  # of module_utils/status/services.py


def status_report(
    deployment: str,
    results: t.Mapping[str, t.Mapping[str, t.Any]],
    planned: t.Any = None,
    wanted: t.Mapping[str, str] | None = None,
) -> Report:
    """``results``: {host: result of service_status}; ``planned``: the inventory's plan, or None; ``wanted``: see `secret_digests`, of the inventory.

    Returns ``{deployment, healthy, working, services, hosts, findings, notices, advisories}``: each service with its host, and ``drained`` for a
    router to which the balancer sends no new requests; problems of a host or of the deployment as a whole as texts. ``healthy`` is True if
    every service runs, responds and there are no findings; ``working`` also if some were restarted after an exit. ``notices``: what nobody knows to
    be wrong, such as a plan that was not verified.
    """
    services, hosts, findings = [], {}, []
    for host in sorted(results):
        result = results[host]
        problem = _problem(result)
        hosts[host] = {"available": not problem, "plan_digest": result.get("plan_digest", "")}
        hosts[host].update({key: result[key] for key in CLUSTER_FACTS if key in result})
        findings += [f"{host}: {text}" for text in [problem, *result.get("findings", [])] if text]
        rows = result.get("services", []) if not problem else _unseen(planned, host)
        services += [{**row, "host": host, "since": _stamp(row["since"])} for row in rows]
    drained = {name for service in services for name in out_of_service((service.get("kv") or {}).get("routers", {}))}
    services = [{**service, "drained": True} if service["service"] in drained else service for service in services]
    services = [_with_issues(service, planned, hosts[service["host"]]["plan_digest"]) for service in _blamed(services)]
    findings += _differing(hosts) + _leaders(services) + _addresses(services) + _keys(services, wanted or {})
    services = [
        {key: service[key] for key in service if key != "secrets"} for service in services
    ]  # reports are passed on
    running = not findings and bool(services) and all(service["state"] == "running" for service in services)
    texts = [text for service in services for text in service["findings"]]
    return {
        "deployment": deployment,
        "healthy": running and not texts,
        "working": running and all(RESTARTED.match(text) for text in texts),
        "services": services,
        "hosts": hosts,
        "findings": findings,
        "notices": [
            *_running(results),
            *_unverified(results, hosts),
            *_unknown_versions(services),
            *(f"the inventory's plan has a {issue['text']}" for issue in met(planned or {}, accepted=False)),
        ],
        "advisories": _advisories(services, results, planned),
    }


def judged_report(
    deployment: str,
    results: t.Any,
    planned: t.Any,
    known: t.Callable[[t.Any], Report],
    wanted: t.Mapping[str, str],
) -> Report:
    """The report, of which a table can be made: an answer in a wrong form costs that host only. ``known``: what counts of an answer."""

    def judge(found: t.Any) -> Report:
        report = status_report(deployment, {host: known(result) for host, result in found.items()}, planned, wanted)
        status_table(report)
        return report

    return judged(judge, results, lambda dummy, problem: {"failed": True, "msg": problem})


def _advisories(
    services: t.Sequence[Report], results: t.Mapping[str, t.Mapping[str, t.Any]], planned: t.Any
) -> list[str]:
    """Security advisories for what is deployed: the versions that run and that are installed, and the settings of the deployed plan.

    A plan of an older version does not tell its settings; then those of today's inventory stand for them. Nothing that is deployed
    changes by an advisory, so the status does not fail because of them.
    """
    affected: dict[tuple[int, str], set[str]] = {}
    for row in services:
        exposed = _exposure(results.get(row["host"], {}), planned) if row["kind"] in ENGINE_KINDS else ()
        for version in sorted({row["version"], row.get("installed", "")} - {""}):
            for number, item in enumerate(ADVISORIES):
                if item.when in exposed and item.affects(version):
                    affected.setdefault((number, version), set()).add(row["service"])
    return [
        _advisory(ADVISORIES[number], version, sorted(affected[number, version]))
        for number, version in sorted(affected)
    ]


def _with_issues(service: Report, planned: t.Any, deployed: str) -> Report:
    """The row; what it finds in a log that shows a known issue of the release is followed by this issue.

    ``deployed``: digest of the plan on its host. The inventory may have the next release already, whose issues are not those of what runs.
    """
    if deployed not in ("", (planned or {}).get("digest")):
        return service
    found = [
        Finding(service["service"], "", "", "", value=text) for text in service["findings"] if LOG_CAUSE.search(text)
    ]
    issues = showing(met(planned or {}), found) if service["kind"] in ENGINE_KINDS and found else []
    return {**service, "findings": [*service["findings"], *issues]} if issues else service


def _unknown_versions(services: t.Sequence[Report]) -> list[str]:
    """A notice of each version that says nothing, of engines about which nothing else does either: their advisories are not known."""
    found: dict[str, list[str]] = {}
    for row in services:
        given = [text for text in (row["version"], row.get("installed", "")) if text]
        if row["kind"] in ENGINE_KINDS and given and not any(map(told, given)):
            found.setdefault(given[0], []).append(row["service"])
    return [
        f"the version of vLLM of {', '.join(names)} is unknown, because it says only {version}: which security advisories it has is unknown, too. "
        "Fix: find out from which release it was built, and compare that with the advisories of vLLM"
        for version, names in sorted(found.items())
    ]


def _exposure(result: t.Mapping[str, t.Any], planned: t.Any) -> t.Collection[str]:
    """The conditions that a host's engines meet."""
    known = result.get("exposure")
    return known if known is not None else (planned or {}).get("exposure", ["always"])


def _advisory(item: Advisory, version: str, names: t.Sequence[str]) -> str:
    score = f" (CVSS {item.score})" if item.score else ""
    return (
        f"vLLM {version} of {', '.join(names)} has {item.id}{score}, fixed in vLLM {item.fixed}: {item.effect}; {CONDITIONS[item.when]}. "
        "Fix: run upgrade with a release that has the fixed version; plan names the nearest"
    )


def _problem(result: t.Mapping[str, t.Any]) -> str:
    message = str(result.get("msg") or "no result")
    reason = in_one_line(message)
    if cause(message) != OTHER:
        problem, fix = cause(message)
        reason = f"{problem}. Fix: {fix} Ansible: {reason}"
    if result.get("unreachable"):
        return f"unreachable: {reason}"
    if result.get("failed") or "services" not in result:
        return f"status not available: {reason}"
    return ""


def _unseen(planned: t.Any, host: str) -> list[Report]:
    """Rows of the planned services of a host whose status is not available; without a plan one row, because it may have any."""
    nothing = {"answers": None, "since": None, "restarts": None, "version": "", "requests": {}, "kv": {}, "digests": {}}
    known = (planned or {}).get("software", {}).get("engine", {}).get("version", "")  # what runs there may be affected
    return [
        {
            "service": service["name"],
            "kind": service["kind"],
            "state": "unknown",
            **nothing,
            "installed": known if service["kind"] in ENGINE_KINDS else "",
            "findings": [],
            "log": [],
        }
        for service in (planned or {"services": [{"name": ANY, "kind": "", "host": host}]})["services"]
        if service["host"] == host or host == CLUSTER
    ]


def _differing(hosts: t.Mapping[str, t.Any]) -> list[str]:
    """A finding if hosts have different plans (after --limit or an interrupted run)."""
    digests = {host["plan_digest"] for host in hosts.values() if host["plan_digest"]}
    if len(digests) < 2:
        return []
    return ["The hosts were deployed from different plans. Fix: run ascend.inference.deploy without --limit"]


def _running(results: t.Mapping[str, t.Mapping[str, t.Any]]) -> list[str]:
    """A notice of each run that changes the deployment now; the results have no other locks."""
    holders: dict[tuple[str, ...], list[str]] = {}
    steps: dict[str, str] = {}  # by run
    for host in sorted(results):
        holder = results[host].get("locked") or {}
        if holder:
            key = tuple(in_one_line(str(holder.get(name))) for name in ("owner", "controller", "since", "id"))
            holders.setdefault(key, []).append(host)
            steps[key[3]] = in_one_line(step_of(holder)) or steps.get(key[3], "")
    return [
        f"{owner} on {controller} changes this deployment since {since} (run {run}{steps[run]}), on {', '.join(hosts)}: what is found here may pass. "
        "Fix: wait until that run has ended, then run status again"
        for (owner, controller, since, run), hosts in holders.items()
    ]


def _unverified(results: t.Mapping[str, t.Mapping[str, t.Any]], hosts: t.Mapping[str, Report]) -> list[str]:
    """One notice for each deployed plan that is not the one that was verified last."""
    places: dict[tuple[str, str], list[str]] = {}
    for host in sorted(results):
        found = results[host].get("unverified") or {}
        if found:
            places.setdefault((found["digest"], found["verified"].get("digest", "")), []).append(host)
    texts = []
    for names in places.values():
        found = results[names[0]]["unverified"]
        where = "" if len(names) == len(hosts) else f" on {', '.join(names)}"
        text = f"the plan that is deployed{where} ({_named(found)}{_at('deployed at', found)}) was not verified"
        if found["verified"]:
            text += f"; the last one that was has {_named(found['verified'])}{_at('at', found['verified'])}"
        way = "kubernetes_rollback" if names == [CLUSTER] else "rollback"
        back = f"; if it fails, ascend.inference.{way} returns to the verified plan" if found["verified"] else ""
        texts.append(f"{text}. Fix: run ascend.inference.verify with the settings that are deployed{back}")
    return texts


def _at(word: str, plan: t.Mapping[str, str]) -> str:
    """When; nothing if that is not known."""
    return f", {word} {plan['since']}" if plan["since"] else ""


def _named(plan: t.Mapping[str, str]) -> str:
    return f"release {plan['release']}, digest {str(plan['digest'])[:12]}"


def _leaders(services: t.Sequence[Report]) -> list[str]:
    """A finding if not exactly one of several masters of the store serves."""
    roles = {service["service"]: service["kv"]["role"] for service in services if "role" in (service.get("kv") or {})}
    leaders = sorted(name for name, role in roles.items() if role == "leader")
    if len(leaders) > 1:
        return [
            f"{' and '.join(leaders)} serve at once, each with a part of the store's keys. Fix: restart all masters of the store"
        ]
    if roles and not leaders:
        return [
            f"No master of the store serves: {', '.join(sorted(roles))} are standbys. An election takes about 10 s. Fix: check that a "
            "majority of etcd's members runs and that the masters reach them"
        ]
    return []


def _addresses(services: t.Sequence[Report]) -> list[str]:
    """A finding if not exactly one of the balancers' hosts has the virtual address; hosts that do not say so are not counted."""
    seen = [service for service in services if "has_address" in (service.get("kv") or {})]
    having = sorted(service["host"] for service in seen if service["kv"]["has_address"])
    address = seen[0]["kv"]["virtual_address"] if seen else ""
    if len(having) > 1:
        return [
            f"{' and '.join(having)} have the virtual address {address} at once, so clients reach one or the other. Fix: let the hosts' network pass IP "
            "protocol 112 (VRRP) between them, by which they agree"
        ]
    unknown = any(service["kind"] == "balancer" and service["state"] == "unknown" for service in services)
    if seen and not having and not unknown:
        return [
            f"No host has the virtual address {address}, so clients reach nothing there. Fix: see the log of keepalived (journalctl -u "
            "'ascend-inference-address-*') on the balancers' hosts, then run ascend.inference.deploy"
        ]
    return []


def _keys(services: t.Sequence[Report], wanted: t.Mapping[str, str]) -> list[str]:
    """A finding if services started with other secrets than those that they need; those that recorded none are not counted."""
    groups: dict[str, list[str]] = {}
    for service in services:
        if service["kind"] in (*ENGINE_KINDS, "router") and service.get("secrets"):
            groups.setdefault(service["secrets"], []).append(service["service"])
    if len(groups) > 1:
        return [
            f"{'; '.join(', '.join(sorted(names, key=natural)) for names in groups.values())}: started with different keys (api_key), so that requests "
            "between these groups get 401. Fix: run ascend.inference.deploy with -e inference_allow_pause=true, which gives all of them the key of "
            "inference_secrets"
        ]
    own = [row for row in services if row.get("secrets") and row["service"] in wanted]
    other = sorted(
        {row["service"] for row in own if not wanted[row["service"]].startswith(row["secrets"])}, key=natural
    )
    return [OTHER_KEYS.format(", ".join(other))] if other else []


def _blamed(services: t.Sequence[Report]) -> list[Report]:
    """The services, with a finding in the row of each engine over which the probe's requests all fail: the row itself shows a healthy process."""
    names = {name for service in _probes(services) for name in service["kv"].get("blamed", ())}
    text = (
        "fails each request that the probe sends over it, while its peers work with other engines. If it is idle, a router may prefer it. Fix: "
        "run ascend.inference.restart with inference_services: [{}]"
    )
    return [
        {**service, "findings": [text.format(service["service"]), *service["findings"]]}
        if service["service"] in names
        else service
        for service in services
    ]


def _probes(services: t.Iterable[Report]) -> list[Report]:
    """The rows that may speak of other services."""
    return [service for service in services if service["kind"] == "probe" and service.get("kv")]


def _stamp(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def status_table(report: t.Mapping[str, t.Any]) -> list[str]:
    """The report's lines: one for each service, then the findings, then the ends of the logs."""
    services, cluster = report["services"], cluster_text(report["hosts"])
    head = [f"{report['deployment']}: {running_text(report)}"]
    lines = (
        head
        + _aligned(services)
        + (["", f"Cluster: {cluster}"] if cluster else [])
        + _findings(report)
        + _logs(services)
    )
    return [one_line(line) for line in lines]  # a text of a host makes no line of its own


def running_text(report: t.Mapping[str, t.Any]) -> str:
    """How many services run, and whether that is all there is to say."""
    services = [service for service in report["services"] if service["service"] != ANY]
    running = sum(service["state"] == "running" and service["answers"] is not False for service in services)
    if any(service["kv"].get("clients") is False for service in _probes(services)):
        return f"clients get no answers, although {running} of {len(services)} services run"
    return f"{running} of {len(services)} services run" + (", no findings" if report["healthy"] else "")


def cluster_text(hosts: t.Mapping[str, Report]) -> str:
    """What is known of the cluster itself; empty for services on hosts."""
    facts = hosts.get(CLUSTER, {})
    if "nodes" not in facts:
        return ""
    known = [("Kthena", facts["kthena_version"]), ("PodGroup CRD of Volcano", facts["volcano_version"])]
    parts = [f"{name} {version}" for name, version in known if version]
    if facts["nodes"]:
        offered = sum(int(quantity(amount)) for amount in facts["nodes"].values())
        parts.append(f"{how_many(offered, 'device')} on {how_many(len(facts['nodes']), 'node')}")
    if facts["nodes"] and facts.get("devices_held") is not None:
        parts.append(f"{sum(facts['devices_held'].values())} of them held by pods of others")
    hidden = f"; no permission to read: {', '.join(facts['hidden'])}" if facts["hidden"] else ""
    return f"{', '.join(parts) or 'nothing is known'}{hidden}"


def _aligned(services: list[Report]) -> list[str]:
    rows = status_rows(services)
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def status_rows(services: t.Iterable[Report]) -> list[tuple[str, ...]]:
    """HEADER, and a row of texts for each service."""
    return [HEADER] + [_row(service) for service in services]


def state_text(row: t.Mapping[str, t.Any]) -> str:
    """What a service does: its state, and whether it is silent or gets no requests."""
    state = row["state"] + (", silent" if row["state"] == "running" and row["answers"] is False else "")
    return state + (", drained" if row.get("drained") else "")


def _row(row: Report) -> tuple[str, ...]:
    state = state_text(row)
    since = (row["since"] or "-").replace("T", " ").rstrip("Z")
    found = str(len(row["findings"])) if row["findings"] else "-"
    return row["service"], row["host"], state, since, row["version"] or "-", _requests(row["requests"]), _kv(row), found


def _requests(counts: t.Mapping[str, t.Any]) -> str:
    """Such as ``8 done, 1 running``; zero counts other than the first are omitted."""
    parts = [] if counts.get("done") is None else [f"{counts['done']:.0f} done"]
    parts += [f"{counts[state]:.0f} {state}" for state in ("running", "waiting") if counts.get(state)]
    return ", ".join(parts) or "-"


def _kv(row: Report) -> str:
    kv = row["kv"]
    if kv.get("role") == "standby":
        return "standby"
    if "has_address" in kv:
        return f"has {kv['virtual_address']}" if kv["has_address"] else "standby"
    if kv.get("quota") and "bytes" in kv:
        return f"{kv['bytes'] / 2**20:.0f} of {kv['quota'] / 2**20:.0f} MiB"
    if kv.get("paths"):
        return f"{kv['good']} of {kv['paths']} paths good" + (f", {kv['unknown']} unknown" if kv["unknown"] else "")
    if row["kind"] == "mooncake_master" and kv.get("active_clients") is not None:
        role = f"{kv['role']}, " if "role" in kv else ""
        return f"{role}{kv['active_clients']:.0f} clients, {kv.get('key_count') or 0:.0f} keys"
    if kv.get("prompt_tokens") is None or row["kind"] == "prefill":
        return "-"
    outside = kv.get("external_kv_transfer")
    return "not counted" if outside is None else f"{outside:.0f} of {kv['prompt_tokens']:.0f} tokens"


def _findings(report: t.Mapping[str, t.Any]) -> list[str]:
    lines = finding_texts(report)
    lines += [f"notice: {text}" for text in report.get("notices", ())]
    lines += [f"security advisory: {text}" for text in report["advisories"]]
    return ["", *lines] if lines else []


def finding_texts(report: t.Mapping[str, t.Any]) -> list[str]:
    """What is wrong, of the deployment first, then of each service."""
    rows = [(f"{row['service']} on {row['host']}", text) for row in report["services"] for text in row["findings"]]
    return [*report["findings"], *(f"{name}: {text}" for name, text in rows)]


def _logs(services: list[Report]) -> list[str]:
    lines: list[str] = []
    for service in services:
        if service["log"]:
            lines += ["", f"Last lines of {service['service']}'s log:", *service["log"]]
    return lines
