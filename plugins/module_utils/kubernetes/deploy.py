# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Applies a plan: checked, tried on the server as a whole, applied in the order of its stages, waited for."""

from __future__ import annotations

import contextlib
import time

from ..diagnosis.diagnose import causes_in, explanation, showing
from .changes import Changes, content, earlier
from .cluster import FIELD_MANAGER, LOG_LINES
from .diagnosis import diagnosis, failed_containers, states
from .errors import KubernetesProblem, Refused, Unreachable
from .leftover import FORGOTTEN, LEFT, forgotten, leftovers, reminders
from .manifests import objects, pods, record_name, written
from .names import COMPONENT, SERVING_GROUP, address, digest_of, label, own_labels
from .ownership import is_managed, stale
from .preflight import problems, report
from .quota import update_shortage
from .readiness import (
    alive,
    config_maps_of,
    incomplete,
    pending_engines,
    pending_pods,
    pending_rollout,
    refused_pods,
    unplanned,
)
from .rights import missing_rights
from .scheduler import scheduler_warnings
from .stamps import parts_of, salted, stamped
from .state import State, deployed_pods, engines_of, pods_of, warnings_of
from .stuck import RESTARTED, crash_loops, leaving, restarted, stuck, waiting
from .verified import recorded_digests
from .workloads import is_autoscaled, planned_templates, role_of, scaled

NEW_NAMESPACE = 10  # looks until a new namespace has its service account, without which no pod is accepted
REPLACED = "Nothing was taken back, because another run has applied another plan meanwhile. Run site when it has ended."
JUDGED = 5000  # lines of a failed container's log in which causes are looked for
EVICTION_POLICY = "unhealthyPodEvictionPolicy"  # of a PodDisruptionBudget; servers before Kubernetes 1.27 refuse it


class Waiting(Exception):
    """The slice of time is over, and the engines are not ready yet."""


class Deployment:
    """One run. ``options``: those of the module kubernetes_deploy; ``secrets``: values by key."""

    def __init__(self, cluster, plan, options, secrets):
        self.cluster, self.plan, self.options, self.secrets = cluster, plan, options, secrets
        self.changes, self.warnings, self.progress = Changes(), [], []
        self.state, self.engines, self.left = None, [], {}
        self.is_reminded = False
        self.written, self.tried = [], {}  # the objects to apply, and what they would be
        self.is_resumed = cluster.has_answered = options["resume"] is not None
        self.since = {key: cluster.now() - seconds for key, seconds in (options["resume"] or {}).items()}

    def result(self):
        """What was changed and seen until now."""
        stuck = {key: int(self.cluster.now() - self.since[key]) for key in self.since}
        return dict(self.changes.result(), progress=self.progress, warnings=self.warnings, stuck=stuck)

    def run(self):
        """All of it. ``Waiting`` if ``pause`` ended first; then a run with ``resume`` goes on."""
        if not self.is_resumed:
            self._refuse(missing_rights(self.cluster, self.plan))
        self.state = State(self.cluster, self.plan)
        self.plan = scaled(self.plan, self.state.live)
        if not self.is_resumed:
            self._check()
            if self.state.is_namespace_missing and not self._make_namespace():
                return
            self._try()
            self._apply_all()
        try:
            if not self.cluster.check:
                self._apply_again()
                self._wait_for_engines()
                self._wait_for_router()
                self._refuse_others(engines_of(self.cluster, self.plan))
            self._prune()
        except (Refused, Unreachable) as error:
            if self.cluster.check:
                raise
            text = f"{error}\nAll objects are applied. It is unknown whether they serve: mend it and run site."
            raise KubernetesProblem(text) from error

    @staticmethod
    def _refuse(found):
        if found:
            raise KubernetesProblem(report(found))

    def _check(self):
        if self.options["check_nodes"] and self.state.nodes:
            self.state.count_devices(self.cluster, self.plan["kubernetes"]["resource"])
            if self.state.taken is None:
                self.warnings.append("Cannot list pods of all namespaces; devices that others hold were not counted.")
        self._refuse(problems(self.plan, self.state, self.options, self.secrets))
        self._stamp()
        if self.options["check_nodes"] and not self.state.nodes:
            resource = self.plan["kubernetes"]["resource"]
            self.warnings.append(f"Cannot list nodes; availability of {resource} was not checked.")
        if self.state.lacks_volcano:
            self.warnings.append(
                "The cluster has no Volcano, so no scheduler may start the pods. Install it, or set inference_kubernetes.scheduler."
            )
        else:
            self.warnings += scheduler_warnings(self.cluster, self.plan)
        self._leave_out_eviction_policy()
        for kind, reason in sorted(self.state.absent.items()):
            if self.plan["kubernetes"].get("pod_monitor") == "always" or "may not" in reason:
                self.warnings.append(f"No {kind} was applied: {reason}.")
        if "secret" in self.state.hidden:
            name = self.plan["kubernetes"]["secrets"]["name"]
            self.warnings.append(f"Cannot read Secret {name}; whether it has the needed keys was not checked.")

    def _stamp(self):
        """The objects to apply, with what rolls pods without another plan. A pause has to be allowed."""
        restart, live, pauses = self.options["restart"], self.state.live, []
        found, mark, is_changed = salted(self.plan, self.secrets, live)
        names = set() if restart is None else parts_of(self.plan, restart)
        begin = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.written = found + stamped(self.plan, objects(self.plan), live, mark, begin, names)
        if is_changed and self.state.running:
            pauses.append(
                f"The values of Secret/{found[0]['metadata']['name']} change, so all pods that read them are replaced. Until the last one is, "
                "pods with different keys refuse each other's requests and clients"
            )
        if restart is not None:
            applied = {digest_of(thing) for thing in live.values()} - {""}
            if applied != {self.plan["digest"]}:
                raise KubernetesProblem(
                    "The cluster does not run this plan, so nothing was restarted. Fix: run site, which applies it."
                )
            pauses += [
                f"role {name} has one instance, which serves nobody while it restarts" for name in self._alone(names)
            ]
        for text in pauses:
            self.warnings.append(text + ".")
        if pauses and not self.options["allow_pause"] and not self.cluster.check:
            raise KubernetesProblem(
                "; ".join(pauses)
                + ". Nothing was changed. Fix: run it again with -e inference_allow_pause=true when a pause is acceptable."
            )

    def _alone(self, names):
        roles, groups = self.plan["kubernetes"]["roles"], self.plan["kubernetes"]["groups"]
        return sorted(name for name in names if name in roles and roles[name]["replicas"] * groups == 1)

    def _leave_out_eviction_policy(self):
        budgets = [item for item in self.written if EVICTION_POLICY in item.get("spec", {})]
        if not budgets or self.cluster.version() >= (1, 27):
            return
        for item in budgets:
            item["spec"].pop(EVICTION_POLICY)
        self.warnings.append(
            f"The server is older than Kubernetes 1.27, so PodDisruptionBudgets are applied without {EVICTION_POLICY}: "
            "a pod that never becomes ready blocks the drain of its node."
        )

    def _make_namespace(self):
        """Returns whether there is a namespace then: in a dry run nothing can be tried in one that is not there."""
        name = self.cluster.namespace
        manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        self.changes.add(None, self.cluster.apply(manifest))
        if self.cluster.check:
            self.warnings.append(f"Namespace {name} would be created. Its objects cannot be dry-run before.")
        return not self.cluster.check

    # Trying

    def _objects(self):
        return [item for item in self.written if item["kind"] not in self.state.absent]

    def _try(self):
        """Every object, and a pod of every template, in dry runs: nothing is written unless all of them are accepted.

        A ModelServing whose pods the server refuses is accepted all the same, and its controller only logs it.
        """
        refused = []
        for manifest in self._objects():
            refused += self._tried(manifest, self._put)
        for manifest in pods(self.plan):
            refused += self._tried(manifest, self._create_pod)
        if refused:
            raise KubernetesProblem("\n".join(refused))

    def _tried(self, manifest, call):
        place = address(manifest)
        try:
            self.tried[place] = call(manifest, True)
            return self._without_room(manifest, self.tried[place])
        except Unreachable as error:
            raise KubernetesProblem(f"{place} could not be dry-run, and nothing was applied. {error}") from error
        except Refused as error:
            if error.is_passing() or error.code == 401:
                text = f"The dry run of {place} failed, so nothing was applied. The server reports: {error}"
                raise KubernetesProblem(text) from error
            if manifest["kind"] == "Pod" and error.is_missing_right():
                self.warnings.append(
                    f"Pods were not dry-run: {error}. The controllers create them with their own permissions."
                )
                return []
            if manifest["kind"] == "Pod" and error.is_over_quota() and self.state.running:
                self.warnings.append(f"{error}. This is no problem if the pods that are replaced make room.")
                return []
            if manifest["kind"] == "Pod" and error.code == 409:
                return []  # a pod of this name is there
            return [
                f"The server would refuse {place}, so nothing was applied. It reports: {error}{self._repair(manifest, error)}"
            ]

    def _without_room(self, manifest, after):
        """What the update of a Deployment lacks, which the server does not refuse before it begins."""
        before = self.state.live.get(address(manifest))
        if manifest["kind"] != "Deployment" or not before or before["spec"]["template"] == after["spec"]["template"]:
            return []
        return [
            found.text() for found in update_shortage(address(manifest), after, self.state.quotas, self.state.running)
        ]

    def _repair(self, manifest, error):
        """What helps if somebody made a ConfigMap again by hand under its name, which tells its content."""
        if manifest["kind"] != "ConfigMap" or (error.code != 409 and "immutable" not in str(error)):
            return ""
        return (
            ". It was created with other content, which pods that started since may run. "
            "Fix: kubectl -n {} delete configmap {}, run site, and delete these pods.".format(
                self.cluster.namespace, manifest["metadata"]["name"]
            )
        )

    def _create_pod(self, manifest, dry):
        for dummy in range(NEW_NAMESPACE if self.state.is_namespace_missing else 0):
            try:
                return self.cluster.create(manifest, dry)
            except Refused as error:
                if "service account" not in str(error):
                    raise
            self.cluster.sleep(self.cluster.poll)
        return self.cluster.create(manifest, dry)

    # Applying

    def _put(self, manifest, dry=False):
        """Apply."""
        takes = self._takes(manifest, self.state.live.get(address(manifest)))
        return self.cluster.apply(manifest, dry, True if takes else None)

    def _takes(self, manifest, live):
        """Whether fields of others are written over: also those of an object that is taken over, whoever has set them."""
        return self._is_shared(manifest) or (bool(live) and not is_managed(self.plan, live))

    def _is_shared(self, manifest):
        """The list of roles is one field for the server: whoever scales one owns it, so what was read is written over it."""
        return manifest["kind"] == "ModelServing" and is_autoscaled(self.plan)

    def _apply(self, manifest):
        place = address(manifest)
        before, tried = self.state.live.get(place), self.tried.get(place)
        is_known = self.cluster.check or content(tried) == content(before)
        after = tried if tried and is_known else self._put(manifest)  # nothing is written that would change nothing
        self.state.live[place] = after
        return self.changes.add(before, after, self._replaced_by(manifest))

    def _replaced_by(self, manifest):
        """The newest ConfigMap of the same part that is not planned any more: its name tells its content."""
        planned, part = set(written(self.plan)), label(manifest, COMPONENT)
        found = [thing for thing in self.state.live.values() if thing["kind"] == manifest["kind"] == "ConfigMap"]
        found = [thing for thing in found if label(thing, COMPONENT) == part and address(thing) not in planned]
        return max(found, key=lambda thing: str(thing["metadata"].get("creationTimestamp")), default=None)

    def _apply_all(self):
        """All objects. If one of them fails, those before it get back what they had."""
        done = []
        try:
            for manifest in self._objects():
                done.append((manifest, self.state.live.get(address(manifest))))
                if not self._apply(manifest):
                    done.pop()
        except KubernetesProblem as error:
            if not isinstance(error, Unreachable):  # else the server may have applied it all the same
                done.pop()
            end = REPLACED if self._is_replaced(error, done) else self._restored(done)
            raise KubernetesProblem(f"{address(manifest)} was not applied: {error}\n{end}") from error

    def _apply_again(self):
        """ConfigMaps that another run has removed as obsolete, because nothing named them yet when it looked."""
        there = {address(item) for item in self.cluster.list("ConfigMap", own_labels(self.plan["deployment"]))}
        for manifest in objects(self.plan):
            if manifest["kind"] == "ConfigMap" and address(manifest) not in there:
                self._put(manifest)

    def _is_replaced(self, error, done):
        """Whether another run has applied another plan since this one began: what this one would take back is that run's."""
        if isinstance(error, Unreachable):
            return False
        before = [*self.state.live.values(), *(thing for dummy, thing in done)]
        try:
            engines = engines_of(self.cluster, self.plan)
        except KubernetesProblem:
            return False
        return bool(
            {digest_of(thing) for thing in engines.values()} - {"", self.plan["digest"], *map(digest_of, before)}
        )

    def _restored(self, done):
        """Take back what was written; the last line of a failure's message."""
        if self.cluster.check or not done:
            return "Nothing was changed."
        left, problem = [], None
        for manifest, before in reversed(done):
            try:
                if not isinstance(problem, Unreachable):  # else the others would not be reached either
                    self._restore(manifest, before)
                    continue
            except KubernetesProblem as error:
                problem = error
            left.insert(0, address(manifest))
        if left:
            names = ", ".join(left)
            return f"{names} could not be restored: {problem}. Run site or kubernetes_rollback when the server answers."
        self.changes = Changes()
        return "The objects written until then ({}) have their previous content again.".format(
            ", ".join(address(manifest) for manifest, before in done)
        )

    def _restore(self, manifest, before):
        """Apply what was ours before; what others own, or have changed since, stays theirs."""
        if before is None:
            self.cluster.delete(manifest)
            return
        takes = self._takes(manifest, before)
        found = earlier(before, manifest, FIELD_MANAGER, takes or self.cluster.force)
        if self._is_shared(manifest):
            live = self.cluster.get(manifest["kind"], manifest["metadata"]["name"])
            found = scaled(dict(self.plan, objects=[found]), {address(manifest): live})["objects"][0]
        self.cluster.apply(found, force=takes)

    def _prune(self):
        """Remove what is no longer planned, but no ConfigMap that a pod of another revision still needs."""
        planned = {role for role, *dummy in planned_templates(self.plan)}
        running = [
            pod
            for pod in alive(deployed_pods(self.cluster, self.plan))
            if label(pod, COMPONENT) in planned or label(pod, SERVING_GROUP)  # others are about to end
        ]
        used = {f"ConfigMap/{name}" for pod in running for name in config_maps_of(pod)}
        for thing in stale(self.plan, list(self.state.live.values())):
            if address(thing) not in used:
                self.cluster.delete(thing)
                self.changes.add(thing, None)

    # Waiting

    def _wait_for_engines(self):
        begin, options = self.cluster.now(), self.options
        while True:
            lacks = self._engines()
            in_slice = self.cluster.now() - begin
            elapsed = in_slice + options["waited"]
            if not lacks:
                return
            text = "; ".join(lacks)
            if not self.progress or self.progress[-1] != text:
                self.progress.append(text)
            overdue = self._overdue()
            if overdue or elapsed >= options["timeout"]:
                raise KubernetesProblem(self._diagnosis(elapsed, overdue))
            if options["pause"] and in_slice >= options["pause"]:
                raise Waiting
            self.cluster.sleep(self.cluster.poll)

    def _engines(self):
        """What lacks. Pods are read last: what they show is not older than the status."""
        try:
            engines = engines_of(self.cluster, self.plan)
            self.plan = scaled(self.plan, engines)
            found = pods_of(self.cluster, self.plan)
        except (Refused, Unreachable) as error:
            if isinstance(error, Refused) and not error.is_passing():
                raise
            return [str(error)]
        self._refuse_others(engines)
        self.engines, self.left = found, leftovers(self.plan, engines, found)
        lacks = pending_engines(engines) + pending_pods(self.plan, found) + unplanned(self.plan, found)
        return lacks or [f"{name} is left of another revision" for name in self.left]

    def _refuse_others(self, engines):
        """Somebody else removes the engines, or deploys another plan, as two runs at once do: neither would become complete."""
        for place, thing in engines.items():
            if not thing or thing["metadata"].get("deletionTimestamp"):
                text = "was removed by somebody while this run waited for it"
            elif digest_of(thing) not in ("", self.plan["digest"]):
                text = (
                    "got another plan while this run waited for its own: another run, or a GitOps tool, deploys it too"
                )
            else:
                continue
            raise KubernetesProblem(f"{place} {text}. Fix: find out who did, let only one deploy, and run site.")

    def _overdue(self):
        """Pods of engines that have been for too long in a state that waiting does not change."""
        restarts = {key for key in self.since if RESTARTED in key} | restarted(self.plan, self.engines)
        found, unmade = stuck(self.plan, self.engines), {}
        if not any(pod["metadata"].get("deletionTimestamp") for pod in self.engines):  # which may still fill a quota
            refused = self._refusals(self.engines)
            found.update({f"{role}: the server refuses its pods": 1 for role in refused})
            unmade = forgotten(self.plan, self.engines, refused)
        left = {f"{name}: of another revision, {self.left[name][1]}": name for name in self.left}
        late = self._late({**found, **dict.fromkeys(left, LEFT), **dict.fromkeys(unmade, FORGOTTEN)}, restarts)
        if unmade.keys() & set(late) and not self.is_reminded:
            with contextlib.suppress(Refused, Unreachable):  # the wait itself tells what the server answers
                self._remind([unmade[key] for key in late if key in unmade])
        late = [key for key in late if key not in unmade]
        kept = [key for key in late if key in left and not self._replaced(*self.left[left[key]])]
        return [key for key in late if key not in left] + kept + crash_loops(self.plan, restarts)

    def _remind(self, roles):
        """Change the ModelServing and change it back: its controller looks at the pods that lack. Once in a slice: it needs time to."""
        self.is_reminded = True
        name = self.plan["kubernetes"]["name"]
        live = self.cluster.get("ModelServing", name)
        found = reminders(earlier(live, live, FIELD_MANAGER, False)) if live else []
        for thing in found:
            self.cluster.apply(thing)
        text = f"Kthena lacks pods of {', '.join(roles)} and does not try again by itself. ModelServing/{name} was changed and changed back, so that it does."
        self.warnings += [text] if found and text not in self.warnings else []

    def _replaced(self, pod, reason):
        """Delete a pod that its controller would leave; returns whether the user may."""
        name, group = pod["metadata"]["name"], label(pod, SERVING_GROUP)
        policies = [
            item["spec"].get("recoveryPolicy") for item in self.plan["objects"] if item["kind"] == "ModelServing"
        ]
        text = f"Pod {name} is left of another revision ({reason}), and has not been replaced for too long. It is deleted, so Kthena makes"
        self.warnings.append(
            text + (f" group {group} again, with all its pods." if "ServingGroupRecreate" in policies else " it again.")
        )
        try:
            self.cluster.delete(dict(pod, kind="Pod"))
        except Refused as error:
            if error.code != 403:
                raise
            self.warnings.append(f"{error}. Fix: kubectl -n {self.cluster.namespace} delete pod {name}")
            return False
        self.changes.removed.append(f"Pod/{name}")
        return True

    def _late(self, found, noted=()):
        """Which of the states, with their factors, have lasted too long."""
        now = self.cluster.now()
        self.since = {key: self.since.get(key, now) for key in {*found, *noted}}
        return [key for key in sorted(found) if now - self.since[key] >= self.options["stuck_timeout"] * found[key]]

    def _diagnosis(self, elapsed, overdue):
        try:
            found = pods_of(self.cluster, self.plan)
            lines = [diagnosis(self.plan, engines_of(self.cluster, self.plan), found, warnings_of(self.cluster))]
        except Unreachable as error:
            return f"{error}\nAll objects are applied. After {elapsed:.0f} s it is unknown whether they serve: run site when the server answers."
        refused = self._refusals(found)
        lines += [f"  the server refuses pods: {refused[role]}" for role in refused] + self._logs(found)
        reason = _reason(overdue, "kthena_timeout")
        lines.append(f"The wait ended after {elapsed:.0f} s ({reason}).")
        return "\n".join([*lines, self._advice()])

    def _advice(self):
        """What helps: a rollback only to another plan that was verified, and none of a plan that is verified already."""
        try:
            verified = recorded_digests(self.cluster.get("ConfigMap", record_name(self.plan)))
        except KubernetesProblem:
            return "Whether a plan was verified before is not known. Fix: correct the inventory and run site, or try kubernetes_rollback."
        if self.plan["digest"] in verified:
            return "This plan was verified before, so what changed is around it. Fix: mend what the lines above name, and run site again."
        if not verified:
            return "No plan was verified before. Fix: correct the inventory, and run site."
        return "The playbook kubernetes_rollback brings the last verified plan back."

    def _logs(self, found):
        lines = []
        for pod, container, has_ended in failed_containers(found):
            log = self.cluster.log(pod, container, has_ended, JUDGED).rstrip("\n").splitlines()
            causes = causes_in(log, pod)
            said = [line for cause in causes for line in explanation(cause).splitlines()]
            said += showing(self.plan.get("known_issues") or (), causes)
            lines += [f"  {pod}: {line}" for line in said]
            if log:
                lines.append(f"  last lines of {container} in {pod}:")
                lines += ["    " + line for line in log[-LOG_LINES:]]
        return lines

    def _refusals(self, found):
        """``{role: why the server refuses its pods}`` of roles that lack some: their controller does not report it."""
        result, lacking = {}, incomplete(self.plan, found)
        for manifest in pods(self.plan) if lacking else ():
            if role_of(manifest) in lacking:
                try:
                    self.cluster.create(manifest, True)
                except Refused as error:
                    if not error.is_missing_right() and error.code != 409:
                        result[role_of(manifest)] = str(error)
                except Unreachable:
                    continue  # not known
        return result

    def _wait_for_router(self):
        begin, name, graces = self.cluster.now(), self.plan["kubernetes"]["router"]["service"], {}
        router = self.cluster.get("Deployment", name) if name else None
        while router and pending_rollout(router):
            elapsed = self.cluster.now() - begin
            found = self.cluster.list("Pod", router["spec"]["selector"]["matchLabels"])
            is_refused = refused_pods(router) and not leaving(found)  # which may still fill a quota
            refused = {f"{name}: the server refuses its pods": 1} if is_refused else {}
            overdue = self._late(dict(waiting(found), **refused))
            graces.update(
                {pod["metadata"]["uid"]: _grace(pod) for pod in leaving(found)}
            )  # a new pod may need their ports
            if overdue or elapsed >= self.options["router_timeout"] + sum(graces.values()):
                lacks, reason = "; ".join(pending_rollout(router)), _reason(overdue, "kthena_router_timeout")
                lines = [f"The engines are ready, Deployment {name} is not after {elapsed:.0f} s ({reason}): {lacks}."]
                lines += states(found, warnings_of(self.cluster), {name}, name) + self._logs(found)
                raise KubernetesProblem("\n".join(lines))
            self.cluster.sleep(self.cluster.poll)
            router = self.cluster.get("Deployment", name) or router


def _grace(pod):
    return pod["spec"].get("terminationGracePeriodSeconds") or 0


def _reason(overdue, timeout):
    return "kthena_stuck_timeout: waiting does not help {}".format(", ".join(overdue)) if overdue else timeout
