# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The policy as one table of nftables: its text, and what the kernel has, in one normal form for the comparison.

The chain only drops: its "accept" ends this chain, and the site's own tables still decide about the packet. So it closes ports that are
open and opens none. It filters nothing but the planned ports, and only the packet that begins a connection: the connection tracking of the
kernel knows none of those that existed before the table, and would take them for new ones.
"""

from __future__ import annotations

import ipaddress
import json

from .policy import merged, spell

FAMILIES = {4: "ip", 6: "ip6"}
PRIORITY = -10  # before the filters of the site, which have 0
BEGINS = "tcp flags & (fin | syn | rst | ack) != syn"
CHAIN = f"chain input: filter, hook input, priority {PRIORITY}, policy accept"


def table_name(deployment):
    """The deployment's table. Names of deployments have lower-case letters, digits and hyphens; nftables takes no hyphen."""
    return "ascend_inference_" + deployment.replace("-", "_")


def sets_of(policy):
    """Name -> (type, elements as texts) of every set."""
    found = {}
    for access in policy.accesses:
        if access.everyone:
            continue
        found[access.name + "_ports"] = ("inet_service", spell(access.ports).split(", "))
        for version, family in FAMILIES.items():
            networks = [network for network in access.networks if network.version == version]
            if networks:
                found[f"{access.name}_{family}"] = (f"ipv{version}_addr", [address_text(item) for item in networks])
    if policy.filtered:
        found["filtered_ports"] = ("inet_service", spell(policy.filtered).split(", "))
    return found


def address_text(network):
    """A network of one address as the address."""
    return str(network.network_address) if network.num_addresses == 1 else str(network)


def rules_of(policy):
    """The rules of the chain, in order."""
    if not policy.filtered:
        return []
    sets, found = sets_of(policy), ["iifname lo accept", f"{BEGINS} accept"]
    for access in policy.accesses:
        for family in FAMILIES.values():
            if f"{access.name}_{family}" in sets:
                found.append(f"{family} saddr @{access.name}_{family} tcp dport @{access.name}_ports accept")
    return [*found, "tcp dport @filtered_ports counter drop"]


def script(deployment, policy):
    """The file for nft: replaces the table in one transaction."""
    table = f"table inet {table_name(deployment)}"
    lines = [f"# Written by ascend.inference for the deployment {deployment}. Do not edit.", table, f"delete {table}"]
    lines.append(table + " {")
    for name, (kind, elements) in sets_of(policy).items():
        lines += [f"\tset {name} {{", f"\t\ttype {kind}", "\t\tflags interval"]
        lines += [f"\t\telements = {{ {', '.join(elements)} }}", "\t}"]
    lines += ["\tchain input {", f"\t\ttype filter hook input priority {PRIORITY}; policy accept;"]
    lines += [f"\t\t{rule}" for rule in rules_of(policy)]
    return "\n".join([*lines, "\t}", "}", ""])


def wanted(policy):
    """The normal form of a policy: lines without the counters."""
    lines = [f"set {name}: {', '.join(spelled(elements))}" for name, (_kind, elements) in sets_of(policy).items()]
    return sorted(lines) + [CHAIN] + [f"rule: {without_counter(rule)}" for rule in rules_of(policy)]


def without_counter(rule):
    """A rule as the kernel's one is spelled here."""
    return rule.replace(" counter", "").replace(BEGINS, "tcp flags != syn of ack,fin,rst,syn")


def present(listing):
    """The normal form of what ``nft --json list table`` prints; what is not ours appears as well."""
    sets, chains, rules = [], [], []
    for item in json.loads(listing)["nftables"]:
        for kind, value in item.items():
            if kind == "set":
                sets.append(f"set {value['name']}: {', '.join(spelled(value.get('elem', [])))}")
            elif kind == "chain":
                chains.append(chain_text(value))
            elif kind == "rule":
                rules.append(f"rule: {rule_text(value.get('expr', []))}")
            elif kind not in ("metainfo", "table"):
                rules.append(f"{kind}: {json.dumps(value, sort_keys=True)}")
    return sorted(sets) + sorted(chains) + rules


def chain_text(chain):
    """The normal form of a chain."""
    words = [
        chain.get("type"),
        f"hook {chain.get('hook')}",
        f"priority {chain.get('prio')}",
        f"policy {chain.get('policy')}",
    ]
    return f"chain {chain.get('name')}: " + ", ".join(str(word) for word in words)


def rule_text(expressions):
    """A rule from nft's JSON, as it is written here; an unknown expression as JSON, so that it differs."""
    parts = []
    for expression in expressions:
        for kind, value in expression.items():
            if kind == "match":
                parts.append(match_text(value))
            elif kind in ("accept", "drop"):
                parts.append(kind)
            elif kind != "counter":
                parts.append(json.dumps(expression, sort_keys=True))
    return " ".join(parts)


def match_text(match):
    """One comparison of a rule."""
    left, right, operator = match["left"], match["right"], match.get("op")
    words = list(texts_in(left))
    if "&" in left and "flags" in words:  # releases of nft nest the flags differently
        flags = sorted(set(words) - {"tcp", "flags"})
        return f"tcp flags {operator} {','.join(sorted(texts_in(right)))} of {','.join(flags)}"
    if operator == "==" and isinstance(right, str):
        if "payload" in left:
            return f"{left['payload'].get('protocol')} {left['payload'].get('field')} {right}"
        if "meta" in left:
            return f"{left['meta'].get('key')} {right}"
    return json.dumps(match, sort_keys=True)


def texts_in(value):
    """All texts within nested data, without keys."""
    if isinstance(value, str):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from texts_in(item)


def spelled(elements):
    """Elements of a set, given as texts or as nft's JSON, as sorted texts: ports as spans, addresses as networks."""
    ports, networks, others = [], [], []
    for element in elements:
        if isinstance(element, dict) and "elem" in element:
            element = element["elem"].get("val")
        first, last = ends(element)
        if first is None:
            others.append(json.dumps(element, sort_keys=True))
        elif first.isdigit() and last.isdigit():
            ports.append((int(first), int(last)))
        else:
            networks += summarized(first, last)
    texts = [str(item) for version in FAMILIES for item in ipaddress.collapse_addresses(of_version(networks, version))]
    return spell(merged(ports)).split(", ") * bool(ports) + texts + others


def of_version(networks, version):
    """The networks of one family."""
    return [network for network in networks if network.version == version]


def ends(element):
    """First and last value of an element; None twice if it is of another kind."""
    if isinstance(element, (int, str)):
        text = str(element)
        if "/" not in text and "-" in text:
            return tuple(text.split("-", 1))
        return text, text
    if isinstance(element, dict) and "range" in element:
        return tuple(str(end) for end in element["range"])
    if isinstance(element, dict) and "prefix" in element:
        text = f"{element['prefix']['addr']}/{element['prefix']['len']}"
        return text, text
    return None, None


def summarized(first, last):
    """Networks from one address, network or range of addresses."""
    if first == last:
        return [ipaddress.ip_network(first, strict=False)]
    return list(ipaddress.summarize_address_range(ipaddress.ip_address(first), ipaddress.ip_address(last)))
