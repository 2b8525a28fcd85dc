# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the fields of all checked kinds, ``runtimes/kubernetes/manifest/schema.json``, from what Kubernetes, LeaderWorkerSet and Kthena publish.

``python tests/releases/kubernetes_schema.py WHEEL API LWS KTHENA``: the unpacked wheel ``kubernetes-validate`` (the OpenAPI of each version), and
clones of kubernetes/api (which values a field can have; the OpenAPI does not say it), kubernetes-sigs/lws and volcano-sh/kthena.
``manifest/walk.py`` describes the notation.
"""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys
import typing as t

import yaml

TARGET = pathlib.Path(__file__).resolve().parents[2] / "plugins/plugin_utils/runtimes/kubernetes/manifest/schema.json"
ROOTS = {
    "core": ("Pod", "Service", "ConfigMap", "PodTemplateSpec"),
    "apps": ("Deployment",),
    "policy": ("PodDisruptionBudget",),
    "networking": ("NetworkPolicy",),
}
# Closed lists of values that carry no mark; those of signals are 60 words for one field.
CLOSED = "ContainerRestartPolicy OSName RecursiveReadOnlyMode ResourceResizeRestartPolicy PodSELinuxChangePolicy"
OPEN = ("Signal",)
SELECTOR = "=In|NotIn|Exists|DoesNotExist"
KTHENA = {"v0.4.0": "v0.4.0", "v1.0.0": "v1.0.0", "main": "main"}
LICENCE = "SPDX-License-Identifier: GPL-3.0-or-later"
SCALARS = {"integer": "int", "boolean": "bool", "number": "number", "string": "string"}
TEXTS = ("Time", "MicroTime")
Schema = t.Mapping[str, t.Any]


def shown(clone: str, version: str, path: str) -> str:
    """A file of a clone in one version."""
    return subprocess.run(
        ["git", "-C", clone, "show", f"{version}:{path}"], capture_output=True, text=True, check=True
    ).stdout


def choices(source: str) -> dict[str, dict[str, t.Any]]:
    """``{structure: {field: "=A|B"}}`` of Go's types: constants of a type that is marked as closed."""
    marked = {*re.findall(r"\+enum\n(?://.*\n)*type (\w+) string", source), *CLOSED.split()} - {*OPEN}
    values: dict[str, list[str]] = {}
    for kind, value in re.findall(r'\n\t\w+\s+(\w+)\s*=\s*"([^"]*)"', source):
        values.setdefault(kind, []).append(value)
    found: dict[str, dict[str, t.Any]] = {}
    for name, body in re.findall(r"\ntype (\w+) struct \{\n(.*?)\n\}", source, re.S):
        for several, kind, field in re.findall(r'\n?\t\w+\s+(\[\])?\*?(?:v1\.)?(\w+) `json:"(\w+)', body):
            if kind in marked and kind in values:
                text = "=" + "|".join(values[kind])
                found.setdefault(name, {})[field] = {"list": text} if several else text
    return found


def shape(schema: Schema) -> t.Any:
    """One schema in the notation of ``walk.py``; ``$ref`` becomes the name of a definition."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition(".")[2]
        return {"Quantity": "quantity", "IntOrString": "int or string"}.get(name, "string" if name in TEXTS else name)
    if schema.get("x-kubernetes-int-or-string"):
        return "quantity" if "pattern" in schema else "int or string"
    kinds = schema.get("type", "any")
    kind = next((item for item in kinds if item != "null"), "any") if isinstance(kinds, list) else kinds
    if "items" in schema:
        keys, bounds = schema.get("x-kubernetes-list-map-keys", []), (schema.get("minItems"), schema.get("maxItems"))
        found: dict[str, t.Any] = {"list": shape(schema["items"])}
        found.update({"key": " ".join(keys)} if keys else {})
        return {**found, **{word: bound for word, bound in zip(("least", "most"), bounds, strict=True) if bound}}
    if isinstance(schema.get("additionalProperties"), dict):
        return {"*": shape(schema["additionalProperties"])}
    if "properties" in schema:
        parts, needed = schema["properties"], schema.get("required", [])  # what has a default may be left out
        fields = {
            f"{name}{'!' * (name in needed and 'default' not in parts[name])}": shape(parts[name]) for name in parts
        }
        is_template = set(parts) == {"metadata", "spec"} and "containers" in str(parts["spec"])
        return {"metadata": fields["metadata"], "spec!": "PodSpec"} if is_template else fields
    if "enum" in schema and kind == "string":
        return "=" + "|".join(schema["enum"])
    ends = [schema.get(word, "") for word in ("minimum", "maximum", "minLength", "maxLength")]
    span = ends[:2] if kind == "integer" else ends[2:]
    return SCALARS.get(kind, "any") + (f" {span[0]}..{span[1]}" if any(item != "" for item in span) else "")


def built_in(folder: pathlib.Path, clone: str) -> dict[str, t.Any]:
    """Definitions of Kubernetes: what any of its versions in the wheel knows; required is what all of them require."""
    found: dict[str, t.Any] = {}
    folders = sorted(folder.glob("**/v1.*-local"), key=lambda item: int(item.name.split(".")[1]))
    for number, one in enumerate(folders):
        schemas = json.loads((one / "_definitions.json").read_text(encoding="utf-8"))["$defs"]
        wanted = [f"io.k8s.api.{group}.v1.{kind}" for group, kinds in ROOTS.items() for kind in kinds]
        seen: dict[str, Schema] = {}
        while wanted:
            name = wanted.pop()
            parts = {key: value for key, value in schemas[name].get("properties", {}).items() if key != "status"}
            seen[name] = {**schemas[name], "properties": parts} if parts else schemas[name]
            wanted += [ref for ref in re.findall(r'"#/\$defs/([^"]+)"', json.dumps(parts)) if ref not in seen]
        for long, schema in seen.items():
            name, fields = long.rpartition(".")[2], shape(schema)
            if isinstance(fields, dict):
                found[name] = joined([found.get(name, fields), fields], ["", ""]) if number else fields
    source = "".join(shown(clone, "HEAD", f"{group}/v1/types.go") for group in ROOTS)
    for name, fields in choices(source).items():
        for field in set(fields) & {key.rstrip("!") for key in found.get(name, {})}:
            found[name][field if field in found[name] else f"{field}!"] = fields[field]
    found["LabelSelectorRequirement"]["operator!"] = SELECTOR
    return found


def joined(shapes: t.Sequence[t.Any], versions: t.Sequence[str]) -> t.Any:
    """One shape for several versions, oldest first; marks say since when a field is there, and required."""
    last = next(item for item in reversed(shapes) if item is not None)
    if not isinstance(last, dict):
        return last
    if {"list", "*"} & set(last):
        key = "list" if "list" in last else "*"
        return {**last, key: joined([item.get(key) if isinstance(item, dict) else None for item in shapes], versions)}
    known = [item if isinstance(item, dict) else {} for item in shapes]
    result = {}
    for name in dict.fromkeys(key.rstrip("!") for item in reversed(known) for key in item):
        parts = [item.get(name, item.get(f"{name}!")) for item in known]
        needed = [f"{name}!" in item for item in known]
        since = next(place for place, part in enumerate(parts) if part is not None)
        mark = "!" if all(needed[since:]) else ""
        if not mark and any(needed) and versions[0]:
            change = next(place for place in range(since + 1, len(needed)) if needed[place] != needed[place - 1])
            mark = f"!{'<' if needed[since] else ''}{versions[change]}"
        result[f"{name}{mark}{f'@{versions[since]}' if since and versions[0] else ''}"] = joined(parts, versions)
    return result


def custom(clone: str, versions: t.Mapping[str, str], path: str) -> dict[str, t.Any]:
    """The kind of a CRD, in its versions."""
    shapes, kind = [], ""
    for version in versions.values():
        crd = yaml.safe_load(shown(clone, version, path))["spec"]
        kind, schema = crd["names"]["kind"], crd["versions"][0]["schema"]["openAPIV3Schema"]
        parts = {key: value for key, value in schema["properties"].items() if key != "status"}
        fields = shape({**schema, "properties": parts})
        spec = fields.pop("spec", None) or fields["spec!"]
        shapes.append({**fields, "metadata": "ObjectMeta", "spec!": spec, "status": "any"})
    return {kind: joined(shapes, list(versions))}


def main() -> None:
    """Write the file, one definition in a line."""
    wheel, api, lws, kthena = sys.argv[1:]
    found = built_in(pathlib.Path(wheel), api)
    for kind in ("Pod", "Service", "Deployment", "PodDisruptionBudget", "NetworkPolicy"):
        found[kind].update({"status": "any", "spec!": found[kind].pop("spec", "") or found[kind]["spec!"]})
    found["PodTemplateSpec"]["spec!"] = found["PodTemplateSpec"].pop("spec")
    folder = "charts/kthena/charts"
    found.update(custom(lws, {"": "HEAD"}, "config/crd/bases/leaderworkerset.x-k8s.io_leaderworkersets.yaml"))
    for name in (
        "workload/crds/workload.serving.volcano.sh_modelservings",
        "networking/crds/networking.serving.volcano.sh_modelservers",
    ):
        found.update(custom(kthena, KTHENA, f"{folder}/{name}.yaml"))
    found.update(custom(kthena, KTHENA, f"{folder}/networking/crds/networking.serving.volcano.sh_modelroutes.yaml"))
    lines = [f'"{name}": {json.dumps(found[name], separators=(",", ":"))}' for name in sorted(found)]
    TARGET.write_text("{\n" + ",\n".join([f'"": "{LICENCE}"', *lines]) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
