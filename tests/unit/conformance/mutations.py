# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes of a documented deployment: another spelling of the same, and mistakes to be found.

Each takes an entry of a corpus, changes it in place and says whether it could: False where the entry has nothing to change.
"""

from __future__ import annotations

import json
import re
import typing as t

Entry = dict[str, t.Any]
Change = t.Callable[[Entry], bool]
SHORT = {
    "--tensor-parallel-size": "-tp",
    "--data-parallel-size": "-dp",
    "--data-parallel-size-local": "-dpl",
    "--data-parallel-start-rank": "-dpr",
    "--data-parallel-address": "-dpa",
    "--data-parallel-rpc-port": "-dpp",
    "--quantization": "-q",
}
KV = "--kv-transfer-config"


def engines(entry: Entry) -> list[Entry]:
    """The roles that have a command line."""
    return [role for role in entry["roles"] if role.get("vllm_args")]


def connectors(role: Entry) -> list[Entry]:
    """The connectors of a role, out of MultiConnector."""
    kv = role["vllm_args"].get(KV) or {}
    return (kv.get("kv_connector_extra_config") or {}).get("connectors") or [kv]


def peers(entry: Entry) -> list[tuple[Entry, Entry]]:
    """Each connector from prefill to decode, and its role."""
    pairs = [(connector, role) for role in engines(entry) for connector in connectors(role)]
    return [
        (config, role) for config, role in pairs if re.match(r"Mooncake(?!.*Store)", str(config.get("kv_connector")))
    ]


def command_line(role: Entry, joined: bool = False) -> list[str]:
    """The role's arguments as words."""
    words = [str(argument) for argument in role["argv"][:3]]
    for name, value in role["vllm_args"].items():
        text = json.dumps(value) if isinstance(value, (dict, list)) else str(value)
        if value is True:
            words.append(name)
        elif value is False:
            words.append(f"--no-{name[2:]}")
        else:
            words += [f"{name}={text}"] if joined else [name, text]
    return words


def _renamed(role: Entry, rename: t.Callable[[str], str]) -> None:
    role["vllm_args"] = {rename(name): value for name, value in role["vllm_args"].items()}


def other_interface(entry: Entry) -> bool:
    names = [
        (role["env"], name) for role in engines(entry) for name in role.get("env") or {} if name.endswith("IFNAME")
    ]
    for env, name in names:
        env[name] = "ens9f1np1"
    return bool(names)


def hosts_in_another_order(entry: Entry) -> bool:
    hosts = list(dict.fromkeys(str(role["host"]) for role in entry["roles"]))
    if len(hosts) < 2 or any(re.fullmatch(r"localhost|127\.0\.0\.1|pod|\$POD_IP|\w", host) for host in hosts):
        return False
    text = json.dumps(entry)
    for number, host in enumerate(hosts):
        text = re.sub(re.escape(json.dumps(host)[1:-1]) + r"(?!\d)", f"10.88.0.{240 - number}", text)
    entry.update(json.loads(text))
    return True


def decode_first(entry: Entry) -> bool:
    entry["roles"].sort(key=lambda role: ("decode", "encode", "prefill", "both").index(role["role"]))
    return not entry.get("declared")


def numbers_without_quotes(entry: Entry) -> bool:
    for values in [role[key] for role in engines(entry) for key in ("vllm_args", "env") if role.get(key)]:
        values.update({name: int(value) for name, value in values.items() if re.fullmatch(r"[1-9]\d{0,8}", str(value))})
    return bool(engines(entry))


def numbers_in_quotes(entry: Entry) -> bool:
    for values in [role[key] for role in engines(entry) for key in ("resolved", "parallel", "env") if role.get(key)]:
        values.update({name: str(value) for name, value in values.items() if isinstance(value, (bool, int))})
    return bool(engines(entry))


def underscores(entry: Entry) -> bool:
    for role in engines(entry):
        _renamed(role, lambda name: "--" + name[2:].replace("-", "_"))
    return bool(engines(entry))


def short_flags(entry: Entry) -> bool:
    for role in engines(entry):
        _renamed(role, lambda name: SHORT.get(name, name))
    return any(SHORT.keys() & role["vllm_args"].keys() for role in engines(entry)) or bool(engines(entry))


def words_only(entry: Entry) -> bool:
    for role in engines(entry):
        role["argv"] = command_line(role)
        del role["vllm_args"]
    return True


def words_with_equals(entry: Entry) -> bool:
    for role in engines(entry):
        role["argv"] = command_line(role, joined=True)
        del role["vllm_args"]
    return True


def json_as_text(entry: Entry) -> bool:
    for role in engines(entry):
        values = role["vllm_args"].items()
        role["vllm_args"] = {name: json.dumps(value) if isinstance(value, dict) else value for name, value in values}
    return bool(engines(entry))


def flags_in_a_variable(entry: Entry) -> bool:
    for role in engines(entry):
        role["argv"] = [*command_line(role), "${more_args}"]
        role["shell_vars"] = {**(role.get("shell_vars") or {}), "more_args": "--max-num-batched-tokens 4224 --seed 11"}
        role["vllm_args"]["--uvicorn-log-level"] = ["info", "${more_args}"]
    return bool(engines(entry))


def nothing_resolved(entry: Entry) -> bool:
    for role in engines(entry):
        if not role.get("ranks"):
            role.pop("resolved", None)
    return bool(engines(entry))


def one_variable_more(entry: Entry) -> bool:
    for role in engines(entry):
        role["env"] = {**(role.get("env") or {}), "VLLM_LOGGING_LEVEL": "DEBUG", "LD_PRELOAD": "/x/libj.so:$LD_PRELOAD"}
    return bool(engines(entry))


def proxy_as_one_line(entry: Entry) -> bool:
    proxy = entry.get("proxy")
    if proxy:
        proxy["argv"] = " ".join(str(word) for word in proxy["argv"])
    return bool(proxy)


SPELLINGS: dict[str, Change] = {
    item.__name__: item
    for item in (
        other_interface,
        hosts_in_another_order,
        decode_first,
        numbers_without_quotes,
        numbers_in_quotes,
        underscores,
        short_flags,
        words_only,
        words_with_equals,
        json_as_text,
        flags_in_a_variable,
        nothing_resolved,
        one_variable_more,
        proxy_as_one_line,
    )
}


def broken_json(entry: Entry) -> bool:
    for role in engines(entry):
        role["argv"] = command_line(role)
    texts = [role for role in engines(entry) if isinstance(role["vllm_args"].get(KV), dict)]
    for role in texts:
        role["argv"][role["argv"].index(KV) + 1] = json.dumps(role["vllm_args"][KV])[:-1] + ",}"
    return bool(texts)


def port_in_the_pool(entry: Entry) -> bool:
    for connector, dummy in peers(entry):
        connector["kv_port"] = "20007"
    return bool(peers(entry))


def ports_overlap(entry: Entry) -> bool:
    hosts = {other["host"] for other in entry["roles"]}
    here = peers(entry) if len(hosts) == 1 and hosts != {"$POD_IP"} else []
    for connector, dummy in here:
        connector["kv_port"] = "38010"
    return len(here) > 1


def _given_sizes(entry: Entry, whose: t.Callable[[Entry], str]) -> list[Entry]:
    extras = [(config.get("kv_connector_extra_config") or {}, role) for config, role in peers(entry)]
    return [extra[whose(role)] for extra, role in extras if whose(role) in extra]


def own_sizes_wrong(entry: Entry) -> bool:
    given = _given_sizes(entry, lambda role: role["role"])
    for sizes in given:
        sizes["tp_size"] = int(sizes["tp_size"]) * 2
    return bool(given)


def sizes_of_the_peer_wrong(entry: Entry) -> bool:
    shown = {role["role"] for role in entry["roles"]}
    given = _given_sizes(entry, lambda role: "prefill" if role["role"] == "decode" and "prefill" in shown else "")
    for sizes in given:
        sizes["dp_size"] = int(sizes["dp_size"]) + 1
    return bool(given)


def proxy_with_a_wrong_port(entry: Entry) -> bool:
    argv = (entry.get("proxy") or {}).get("argv") or []
    if "--decoder-ports" not in argv:
        return False
    argv[argv.index("--decoder-ports") + 1] = "7979"
    return True


def proxy_with_an_unknown_flag(entry: Entry) -> bool:
    argv = (entry.get("proxy") or {}).get("argv") or []
    argv += ["--balance-mode", "rr"]
    return "proxy" in entry


def proxy_of_another_kind(entry: Entry) -> bool:
    proxy = entry.get("proxy") or {}
    layerwise, plain = "load_balance_proxy_layerwise_server_example.py", "load_balance_proxy_server_example.py"
    if not peers(entry) or proxy.get("script") not in (layerwise, plain):
        return False
    proxy["script"] = plain if proxy["script"] == layerwise else layerwise
    return True


def another_name(entry: Entry) -> bool:
    roles = [
        role for role in engines(entry) if role["role"] == "decode" and role["vllm_args"].get("--served-model-name")
    ]
    for role in roles:
        role["vllm_args"]["--served-model-name"] = "another"
    return bool(roles)


MISTAKES: dict[str, tuple[str, Change]] = {
    function.__name__: (lint, function)
    for lint, function in (
        ("JSON-SYNTAX", broken_json),
        ("KV-PORT-RESERVED-100", port_in_the_pool),
        ("KV-PORT-OVERLAP", ports_overlap),
        ("PARALLEL-MISMATCH", own_sizes_wrong),
        ("PARALLEL-MISMATCH", sizes_of_the_peer_wrong),
        ("PROXY-ENDPOINTS", proxy_with_a_wrong_port),
        ("PROXY-UNKNOWN-FLAG", proxy_with_an_unknown_flag),
        ("PROXY-KIND", proxy_of_another_kind),
        ("SERVED-NAME-DIFFERS", another_name),
    )
}
