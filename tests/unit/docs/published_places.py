# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a plan has at a place that a row of docs/published names.

A place is words with one space between them. It begins with what is looked at, and KEYS follow into it; an entry of a list is named by
its number, or by its ``name`` or ``mountPath``:

* ``plan KEYS``, ``host NAME KEYS``, ``SERVICE,SERVICE KEYS``: the value there; on Kubernetes ``object KIND KEYS``, ``pod ROLE KEYS``, ``container ROLE KEYS``;
* before KEYS: ``has`` (the value there is not null, or the list has an entry with this text), ``length``, ``text FILE`` (a file has this text);
* ``SERVICE argv --OPTION KEYS`` (KEYS into its JSON), ``SERVICE argv model``, ``SERVICE file NAME KEYS`` (JSON);
* ``script NAME VARIABLE`` or ``--OPTION`` of a script in the ConfigMap, ``script NAME find REGULAR-EXPRESSION``, whose group it is;
* ``inventory VARIABLE KEYS``: what the inventory sets for all hosts, for variables that belong to a role and not to the plan;
* ``bench KEYS``: the configuration of AISBench in the first round of the profile ``pool``; ``bench argument NAME``: of its command line;
* ``client --OPTION`` or ``client bench``: the command line of vLLM's client in the measurement of the profile ``smoke``;
* ``plan count KIND ...``, ``plan devices KIND``, ``plan addresses``: numbers of services and devices, addresses of the hosts.
"""

from __future__ import annotations

import json
import re
import typing as t

from ansible_collections.ascend.inference.plugins.module_utils.bench.aisbench import arguments
from ansible_collections.ascend.inference.plugins.plugin_utils.bench.runs import bench_runs

Data = t.Mapping[str, t.Any]
ABSENT = "not set"
# Of a container: what follows from its name, and files of its own. Of the environment: paths of the own folder, which one service shows for all.
NAMED = ("name", "work_directory", "accounts")
FOLDERS = ("ASCEND_INFERENCE_SERVICE", "HOME", "MOONCAKE_CONFIG_PATH")


def shown(value: t.Any) -> str:
    """A value as text: lists with spaces, null as ``not set``."""
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return " ".join(shown(item) for item in value)
    return str(value)


def values_at(plan: Data, place: str) -> list[str]:
    """The values of a place, one for each service that it names. Raises LookupError if the plan has no such service, host or object."""
    subject, *keys = place.split()
    if subject == "plan":
        return [_of_plan(plan, keys)]
    if subject == "bench":
        return [_of_bench(plan, keys)]
    if subject == "client":
        return [_of_client(plan, keys)]
    if subject == "inventory":
        return [_of(plan["inventory"], keys)]
    if subject == "host":
        return [_of(_named(plan["hosts"], keys[0]), keys[1:])]
    if subject == "object":
        found = [_of(thing, keys[1:]) for thing in plan["objects"] if thing["kind"] == keys[0]]
        return [next((value for value in found if value != ABSENT), found[0])]
    if subject in ("pod", "container"):
        template = next(thing for thing in plan["objects"] if thing["kind"] == "ModelServing")["spec"]["template"]
        pod = _named(template["roles"], keys[0])["entryTemplate"]["spec"]
        return [_of(pod if subject == "pod" else _named(pod["containers"], keys[0]), keys[1:])]
    if subject == "script":
        scripts = next(thing for thing in plan["objects"] if thing["kind"] == "ConfigMap" and keys[0] in thing["data"])
        return [_of_script(scripts["data"][keys[0]], keys[1:])]
    return [_of_service(_named(plan["services"], name), keys) for name in subject.split(",")]


def places(plan: Data) -> t.Iterator[str]:
    """The places of all that engines get with their containers, pods and environments, but for the service's own folder."""
    engines = [service for service in plan["services"] if service["devices"]]
    serving = [thing["spec"]["template"] for thing in plan.get("objects") or () if thing["kind"] == "ModelServing"]
    for service in engines:
        for name, value in service["env"].items():
            in_script = serving and value == service["address"]  # each pod finds its own
            if name not in FOLDERS:
                yield f"script {service['kind']}.sh {name}" if in_script else f"{service['name']} env {name}"
        for key, value in {} if serving else service["container"].items() if service["container"] else ():
            if key == "mounts":
                own = [mount for mount in value if not mount.startswith(plan["directory"])]
                yield from (f"{service['name']} has container mounts {mount}" for mount in own)
            elif key not in NAMED and value != []:
                yield from _leaves(value, f"{service['name']} container {key}")
    for role in (role for template in serving for role in template["roles"]):
        pod = dict(role["entryTemplate"]["spec"])
        for container in pod.pop("containers"):
            rest = {key: value for key, value in container.items() if key != "name"}
            yield from _leaves(rest, f"container {container['name']}")
        digested = " configMap name"  # it names the content
        yield from (place for place in _leaves(pod, f"pod {role['name']}") if not place.endswith(digested))


def _leaves(value: t.Any, path: str) -> t.Iterator[str]:
    """Places of all values in a value, but for names by which the places themselves find them."""
    if isinstance(value, dict) and value:
        for key in value:
            yield from _leaves(value[key], f"{path} {key}")
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for number, item in enumerate(value):
            key = next((key for key in ("mountPath", "name") if key in item), "")
            rest = {name: each for name, each in item.items() if name != key}
            yield from _leaves(rest, f"{path} {item[key] if key else number}")
    else:
        yield path


def _named(items: t.Iterable[Data], name: str) -> Data:
    for item in items:
        if item["name"] == name:
            return item
    raise LookupError(name)


def _of_plan(plan: Data, keys: list[str]) -> str:
    if keys[0] == "count":
        return shown([sum(service["kind"] == kind for service in plan["services"]) for kind in keys[1:]])
    if keys[0] == "devices":
        return str(sum(len(service["devices"]) for service in plan["services"] if service["kind"] == keys[1]))
    if keys[0] == "addresses":
        return shown([host["address"] for host in plan["hosts"]])
    return _of(plan, keys)


def _of_bench(plan: Data, keys: list[str]) -> str:
    config = bench_runs(plan, {"driver": "aisbench", "program": "/opt/ais_bench", "profile": "pool"})["runs"][1][
        "config"
    ]
    return _of_argument(arguments("/tmp"), keys[1:]) if keys[0] == "argument" else _of(config, keys)


def _of_client(plan: Data, keys: list[str]) -> str:
    argv = bench_runs(plan, {"profile": "smoke"})["runs"][1]["argv"]
    return keys[0] if keys[0] in argv[:3] else _of_argument(argv, keys)


def _of_script(script: str, keys: list[str]) -> str:
    if keys[0] == "find":
        found = re.search(keys[1], script)
        return found[1] if found else ABSENT
    for line in (line.strip().removesuffix(" \\") for line in script.splitlines()):
        for start in (f"export {keys[0]}=", f"{keys[0]} "):
            if line.startswith(start):
                return line[len(start) :]
    return ABSENT


def _of_service(service: Data, keys: list[str]) -> str:
    if keys[0] == "argv":
        return _of_argument(service["argv"], keys[1:])
    if keys[0] == "file":
        content = next(file["content"] for file in service["files"] if file["path"].endswith(f"/{keys[1]}"))
        return _of(json.loads(content), keys[2:])
    if keys[0] == "text":
        content = next(file["content"] for file in service["files"] if file["path"].endswith(f"/{keys[1]}"))
        return "set" if keys[2] in content else ABSENT
    return _of(service, keys)


def _of_argument(argv: t.Sequence[str], keys: list[str]) -> str:
    name, *inside = keys
    if name == "model":
        return argv[argv.index("serve") + 1]
    joined = [word for word in argv if word.startswith(f"{name}=")]
    if joined:
        return joined[0].split("=", 1)[1]
    if name not in argv:
        return ABSENT
    values: list[str] = []
    for word in argv[argv.index(name) + 1 :]:
        if word.startswith("--"):
            break
        values.append(word)
    if inside:
        return _of(json.loads(values[0]), inside)
    return shown(values) if values else "set"


def _of(value: t.Any, keys: list[str]) -> str:
    """What ``keys`` lead to, as text."""
    if keys[0] == "has":
        *keys, last = keys[1:]
        holder = _inside(value, keys)
        if isinstance(holder, list) and not (holder and isinstance(holder[0], dict)):
            return "set" if any(last in item for item in holder) else ABSENT
        return ABSENT if _step(holder, last) is None else "set"
    if keys[0] == "length":
        return str(len(_inside(value, keys[1:])))
    return shown(_inside(value, keys))


def _inside(value: t.Any, keys: t.Iterable[str]) -> t.Any:
    for key in keys:
        value = _step(value, key)
    return value


def _step(value: t.Any, key: str) -> t.Any:
    if isinstance(value, dict):
        return value.get(key)
    if isinstance(value, list) and key.isdecimal():
        return value[int(key)]
    for item in value or ():
        if key in (item.get("name"), item.get("mountPath"), item.get("for")):
            return item
    return None
