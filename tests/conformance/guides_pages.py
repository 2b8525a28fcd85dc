# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deployments that the tutorials of a vLLM-Ascend release describe, from its source distribution, as entries that read_entry reads.

A page shows scripts in blocks of code: one for each node, or a template that a launcher starts once for each rank. Nothing is run:
exports, assignments and the command are read. Where a page leaves open how ranks lie on hosts, each host is filled before the next.
"""

from __future__ import annotations

import dataclasses
import pathlib
import re
import typing as t

from ansible_collections.ascend.inference.tests.conformance.guides_text import OPEN, Block, blocks, script
from ansible_collections.ascend.inference.tests.conformance.meaning import everywhere, expanded, from_argv

PAGES = "docs/source/tutorials"
DEPLOY = re.compile(r"deploy|separation|disaggregat", re.IGNORECASE)
OTHER = re.compile(r"tuning|accuracy|parser|faq|evaluation|performance", re.IGNORECASE)
HARDWARE = {"A2": r"\bA2\b|910B", "A3": r"\bA3\b|910C", "950": r"950(DT|PR)|\b950\b", "310P": r"300I|310P"}
DEVICES = {"A2": 8, "A3": 16, "950": 8, "310P": 8}
SIZES = {
    "dp_size": "data-parallel-size",
    "tp_size": "tensor-parallel-size",
    "pp_size": "pipeline-parallel-size",
    "pcp_size": "prefill-context-parallel-size",
}
KINDS = {"kv_producer": "prefill", "kv_consumer": "decode"}
Entry = dict[str, t.Any]


@dataclasses.dataclass
class Role:
    """One command of a page."""

    kind: str
    model: str
    args: dict[str, t.Any]
    env: dict[str, str]
    variables: dict[str, str]
    argv: list[str]
    count: int  # instances, where the page says how many share the script

    def size(self, flag: str, default: int = 1) -> int:
        """A size of the command; 0 for one that a launcher fills in."""
        value = str(self.args.get(flag, default))
        return int(value) if value.isdigit() else 0


def entries(folder: pathlib.Path, release: str) -> t.Iterator[Entry]:
    """The deployments of all tutorials of a release's unpacked source distribution."""
    for path in sorted((folder / PAGES).glob("*/*.md")):
        page = str(path.relative_to(folder))
        found = deployments(path.read_text(encoding="utf-8"))
        for number, (soc, section, roles, launchers) in enumerate(item for item in found if _meant(item, found)):
            yield _entry(f"{path.stem} {number}", page, release, soc, section, roles, launchers)


def deployments(text: str) -> list[tuple[str, tuple[str, ...], list[Role], list[Entry]]]:
    """Hardware, section, commands and launchers of each deployment of a page."""
    found: list[tuple[str, tuple[str, ...], list[Role], list[Entry]]] = []
    shared: dict[str, str] = {}
    read: list[Block] = []
    for block in blocks(text):
        read.append(block)
        env, variables, commands = script(block.text)
        if not commands and env:
            shared = env
        if OTHER.search(" ".join(block.headings[1:2])) or not DEPLOY.search(" ".join(block.headings[1:])):
            continue
        for command in commands:
            if command[0] == "launch_online_dp.py":
                _launch(found, block, from_argv(command[1:]))
            else:
                role = _role(command, {**({} if len(env) > 1 else shared), **env}, variables, block)
                _place(found, block, role, _hardware(block, read))
    return found


def _meant(deployment: t.Any, found: list[t.Any]) -> bool:
    """Whether a deployment is for its hardware, where its page names several: it fits one host, or launchers that are named fit."""
    soc, dummy, roles, launchers = deployment
    others = [item for item in found if item[2] is roles and item is not deployment]
    first = roles[0]
    devices = (
        first.size("data-parallel-size") * first.size("tensor-parallel-size") * first.size("pipeline-parallel-size")
    )
    local = first.size("data-parallel-size-local", 0) or first.size("data-parallel-size")
    if devices // max(1, first.size("data-parallel-size")) * local > DEVICES[soc] * first.size("nnodes"):
        return False
    fitting = [
        item
        for item in (deployment, *others)
        if all(any(_fits(launcher, _sizes(role, roles)) for launcher in item[3]) for role in roles)
    ]
    return not fitting or deployment in fitting


def _place(found: list[t.Any], block: Block, role: Role, socs: list[str]) -> None:
    """Add a command to the deployment that it belongs to, or begin one."""
    last = found[-1] if found and found[-1][1] == block.section else None  # those of other hardware share its commands
    kinds = [item.kind for item in last[2]] if last else []
    follows = any(flag in role.args for flag in ("headless",)) or role.size("node-rank", 0) > 0
    follows = follows or str(role.args.get("data-parallel-start-rank", "0")) != "0"
    begins = not last or (role.kind == "both" and not follows) or (role.kind == "prefill" and "decode" in kinds)
    begins = begins or (role.kind == "both") != ("both" in kinds)
    if begins:
        roles = [role]
        found += [(soc, block.section, roles, []) for soc in socs]
    else:
        last[2].append(role)


def _launch(found: list[t.Any], block: Block, sizes: Entry) -> None:
    """Give a launcher's sizes to the deployments of its section whose hardware it is for."""
    named = [soc for soc, pattern in HARDWARE.items() if re.search(pattern, " ".join(block.tabs))]
    for soc, section, dummy, launchers in found:
        if section[:2] == block.section[:2] and (not named or soc in named):
            launchers.append({**sizes, "own": section == block.section})


def _hardware(block: Block, read: list[Block]) -> list[str]:
    """The hardware that a block is for: by its tabs, its headings from the last on, or the nearest text of its section."""
    around = [item.before for item in reversed(read) if item.headings[:3] == block.headings[:3]]
    for text in (" ".join(block.tabs), *reversed(block.headings[1:]), *around):
        named = [soc for soc, pattern in HARDWARE.items() if re.search(pattern, text)]
        if named:
            return named
    return ["A3"]


def _role(command: list[str], env: dict[str, str], variables: dict[str, str], block: Block) -> Role:
    known = {**variables, **env}
    command = [re.sub(r":\s*\$\d", ": 0", word) for word in command if not re.fullmatch(r"\$\{\w+:-\}", word)]
    args = everywhere(from_argv(command[2:]), known)
    kv = args.get("kv-transfer-config")
    role = KINDS.get(str(kv.get("kv_role")) if isinstance(kv, dict) else "", "both")
    model = expanded(str(args.get("model") or command[2]), known)
    share = re.search(r"\((\d+) [PD] nodes share", block.before)
    return Role(role, model, args, env, variables, command, int(share[1]) if share else 0)


def _entry(
    name: str, page: str, release: str, soc: str, section: tuple[str, ...], roles: list[Role], launchers: list[Entry]
) -> Entry:
    """The entry of one deployment: a role for each host."""
    hosts: list[Entry] = []
    for kind in dict.fromkeys(role.kind for role in roles):
        own = [role for role in roles if role.kind == kind]
        hosts += _hosts(kind, own, roles, launchers, DEVICES[soc], len(hosts))
    if "single_node" in page:
        hosts = [{**host, "host": "localhost"} for host in hosts]
    title = pathlib.PurePath(page).stem
    model = next(
        (role.model for role in roles if not OPEN.search(role.model)), f"/models/{title}" if "/models/" in page else ""
    )
    left_open = (
        not model
        or not launchers
        and any("data-parallel-rank" in role.args and not _told(roles, role.kind) for role in roles)
    )
    for host in hosts if not left_open else ():
        host["argv"] = [*host["argv"][:2], model, *host["argv"][3:]]
    return {
        "id": name,
        "section": " / ".join(section),
        "source": {"repo": "vllm-ascend", "tag": release, "ref": f"v{release}", "path": page},
        "model": model,
        "hardware": {"soc": soc},
        "npu_per_node": DEVICES[soc],
        "num_nodes": len({host["host"] for host in hosts}),
        "roles": [] if left_open else hosts,
    }


def _told(roles: list[Role], kind: str) -> Entry:
    """The sizes of one side that the connectors of a deployment are told."""
    for role in roles:
        kv = role.args.get("kv-transfer-config")
        kv = kv if isinstance(kv, dict) else {}
        for child in (*(kv.get("kv_connector_extra_config") or {}).get("connectors", ()), kv):
            told = (child.get("kv_connector_extra_config") or {}).get(kind)
            if isinstance(told, dict):
                return told
    return {}


def _hosts(
    kind: str, own: list[Role], roles: list[Role], launchers: list[Entry], devices: int, before: int
) -> list[Entry]:
    """The roles of all hosts of one kind."""
    first = own[0]
    sizes = _sizes(first, roles)
    template = not str(first.args.get("data-parallel-rank", 0)).isdigit()
    own_launchers = [item for item in launchers if item["own"]]
    fits = [item for item in own_launchers or launchers if _fits(item, sizes)] if template else []
    if template and launchers and not fits and (kind == "both" or 0 in _told(roles, kind).values()):
        fits = own_launchers or launchers
        sizes.update(dp_size=_whole(fits[0], "dp-size", 1), tp_size=_whole(fits[0], "tp-size", 1))
    rank = sizes["tp_size"] * sizes["pp_size"] * sizes["pcp_size"]
    local = _whole(fits[0], "dp-size-local", 0) if fits else first.size("data-parallel-size-local", 0)
    local = min(local or sizes["dp_size"], max(1, devices // rank))
    nodes = first.size("nnodes", 0) or -(-sizes["dp_size"] // local)
    same = _told(roles, "prefill") == _told(roles, "decode")
    starts = sum(1 for item in fits if not _whole(item, "dp-rank-start", 0)) // (2 if same and kind != "both" else 1)
    shared = first.count // nodes if first.count else 0
    instances = shared or starts or max(1, (0 if template else len(own)) // nodes)
    found = []
    for number in range(instances * nodes):
        node, address = number % nodes, f"${{NODE_{before + number - number % nodes}_IP}}"
        role = own[min(number, len(own) - 1)] if len(own) >= instances * nodes else own[min(node, len(own) - 1)]
        item = {
            "role": kind,
            "host": f"${{NODE_{before + number}_IP}}",
            "shell_vars": role.variables,
            "env": dict(role.env),
        }
        if not template and "$" in role.env.get("ASCEND_RT_VISIBLE_DEVICES", ""):
            del item["env"]["ASCEND_RT_VISIBLE_DEVICES"]
        if template:
            item["parallel"] = {**sizes, "dp_size_local": local, "dp_rank_start": node * local, "dp_address": address}
            item["parallel"].update(dp_rpc_port=12321, port_start=7100)
        words = _filled(role, sizes)
        item["argv"] = words if template else _placed(words, node, nodes, local, address)
        found.append(item)
    return found


def _sizes(role: Role, roles: list[Role]) -> dict[str, int]:
    """The sizes of a command; those that a launcher fills in are what the connectors are told."""
    told = _told(roles, role.kind)
    return {short: role.size(flag) or int(told.get(short) or 1) for short, flag in SIZES.items()}


def _fits(launcher: Entry, sizes: t.Mapping[str, int]) -> bool:
    return _whole(launcher, "dp-size", 1) == sizes["dp_size"] and _whole(launcher, "tp-size", 1) == sizes["tp_size"]


def _whole(launcher: Entry, flag: str, default: int) -> int:
    value = str(launcher.get(flag, default))
    return int(value) if value.isdigit() else default


def _filled(role: Role, sizes: t.Mapping[str, int]) -> list[str]:
    """A template's command with its sizes; the launcher's ranks have those of data parallel, and an API each."""
    given = {SIZES[short]: str(sizes[short]) for short in sizes if short != "dp_size"}
    if "data-parallel-rank" in role.args:
        own = {"--headless", *(f"${{{name}}}" for name, value in role.variables.items() if value.startswith("--"))}
    else:
        own = set()
        given[SIZES["dp_size"]] = str(sizes["dp_size"])
    pairs = [
        (flag.lstrip("-"), word) for flag, word in zip(["", *role.argv], role.argv, strict=False) if word not in own
    ]
    words = [given.get(flag, word) if word.startswith("$") else word for flag, word in pairs]
    return [re.sub(r'"(\w+_size)": 0', lambda found: f'"{found[1]}": {sizes.get(found[1], 0)}', word) for word in words]


def _placed(argv: list[str], node: int, nodes: int, local: int, address: str) -> list[str]:
    """A node's command with what places it: the first rank, the node's number, the address of the first."""
    given = from_argv(argv[2:])
    flags: dict[str, t.Any] = {}
    if "data-parallel-size" in given:
        flags = {"data-parallel-address": address, "data-parallel-start-rank": node * local}
    if "nnodes" in given:
        flags = {"master-addr": address, "node-rank": node}
    kept = []
    words = iter(argv)
    for word in words:
        if word.lstrip("-").partition("=")[0].replace("_", "-") in flags:
            if "=" not in word:
                next(words, "")
            continue
        kept.append(word)
    kept += [part for flag, value in flags.items() if nodes > 1 for part in (f"--{flag}", str(value))]
    return kept + (["--headless"] if flags and node and "headless" not in given else [])
