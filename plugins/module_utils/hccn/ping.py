# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of the module ``hccn_ping``: reachability of peers by device, with loss and times."""

from __future__ import annotations

import ipaddress
from concurrent.futures import ThreadPoolExecutor

from ..tools.errors import failure
from ..tools.text import ParseError
from .measures import parse_hccs_ping, parse_ping

GIVE_UP = 2  # consecutive timeouts of a device before its other pings are skipped
ROCE_PACKETS = 3  # -ping always sends three: it is repeated for more


def peer_errors(peers, kind):
    """All problems of the option ``peers``: a list of sentences."""
    found = []
    for number, peer in enumerate(peers):
        try:
            if peer.get("address"):
                ipaddress.ip_address(peer["address"])
        except ValueError:
            found.append(f"peers[{number}].address: {peer['address']!r} is not an IP address")
        if not peer.get("address") and (kind == "roce" or peer.get("sdid") is None):
            found.append(f"peers[{number}]: specify address" + (" or sdid" if kind == "hccs" else ""))
    names = [peer_name(peer) for peer in peers]
    found += [f"peers: {name} is listed twice" for name in sorted(set(names)) if names.count(name) > 1]
    return found


def peer_name(peer):
    """The name of a peer in the matrix: its address, else its SDID."""
    return peer.get("address") or str(peer.get("sdid"))


def pairs(devices, peers):
    """(device, peer) of every ping: a peer's own ``devices`` if it has any, else all."""
    return [
        (device, peer) for peer in peers for device in (devices if peer.get("devices") is None else peer["devices"])
    ]


def ping_all(retrying_tool, todo, kind, count, workers, max_loss, max_time):
    """Ping every pair -> dict(matrix={device: {peer: result}}, unreachable=[...], given_up=[...]).

    The pings of a device run one after the other. A device whose pings time out (a chip that dropped off the bus) is
    skipped after GIVE_UP consecutive timeouts, because each costs a whole timeout.
    """
    by_device = {}
    for device, peer in todo:
        by_device.setdefault(device, []).append(peer)

    given_up = []

    def ping_device(device):
        results, timeouts = [], 0
        for peer in by_device[device]:
            if timeouts >= GIVE_UP:
                break
            found = _ping(retrying_tool, device, peer, kind, count)
            timeouts = timeouts + 1 if found.pop("timed_out") else 0
            results.append((peer, _judge(found, max_loss, max_time)))
        if len(results) < len(by_device[device]):
            given_up.append(dict(device_id=device, pinged=len(results), planned=len(by_device[device])))
        return results

    with ThreadPoolExecutor(max_workers=max(1, min(workers, len(by_device) or 1))) as pool:
        answers = list(zip(sorted(by_device), pool.map(ping_device, sorted(by_device))))
    matrix = {str(device): {peer_name(peer): result for peer, result in results} for device, results in answers}
    unreachable = [
        dict(device_id=device, address=peer.get("address"), sdid=peer.get("sdid"), reason=result["reason"])
        for device, results in answers
        for peer, result in results
        if not result["reachable"]
    ]
    return dict(matrix=matrix, unreachable=unreachable, given_up=sorted(given_up, key=lambda entry: entry["device_id"]))


def _ping(retrying_tool, device, peer, kind, count):
    """One pair's raw result: counts, times in ms, plane errors, and the tool's message if it printed no figures."""
    target = ["address", peer["address"]] if peer.get("address") else ["sdid", str(peer["sdid"])]
    calls = [["-ping", "-g"] + target] * -(-count // ROCE_PACKETS)
    if kind == "hccs":
        calls = [["-hccs_ping", "-g"] + target + ["cnt", str(count)]]
    total = dict(transmitted=0, received=0, times=[], plane_errors=[], message=None, timed_out=False)
    for call in calls:
        output = retrying_tool(["-i", str(device)] + call)
        try:
            if output.timed_out:
                total["timed_out"] = True
                raise ParseError("exceeded the timeout", output.stdout)
            ping = parse_hccs_ping(output.stdout) if kind == "hccs" else parse_ping(output.stdout)
            _about(ping, device, target[1], output.stdout)
        except ParseError as error:
            total["message"] = str(failure(output, str(error)))
            break
        total["transmitted"] += ping["transmitted"]
        total["received"] += ping["received"]
        total["times"] += ping["times_ms"]
        total["plane_errors"] += ping["plane_errors"]
    return total


def _about(ping, device, target, text):
    if ping["device_id"] != device or ping["target"].split(" ")[0] not in (target, ""):
        raise ParseError(f"the output is not for device {device} and {target}", text)


def _judge(total, max_loss, max_time):
    times, sent = total["times"] if total["received"] else [], total["transmitted"]
    loss = round(100.0 * (sent - total["received"]) / sent, 2) if sent else None
    average = round(sum(times) / len(times), 6) if times else None
    reason = total["message"]
    if reason is None and loss > max_loss:
        reason = f"{loss:g} % of {sent} packets lost (allowed: {max_loss:g} %)"
    elif reason is None and total["plane_errors"]:
        reason = f"the L1 plane check reports {', '.join(sorted(set(total['plane_errors'])))}"
    elif reason is None and max_time is not None and (average is None or average > max_time):
        reason = f"the average time is {average} ms (allowed: {max_time:g} ms)"
    return dict(
        reachable=reason is None,
        reason=reason,
        transmitted=sent,
        received=total["received"],
        loss_percent=loss,
        min_ms=min(times) if times else None,
        average_ms=average,
        max_ms=max(times) if times else None,
        plane_errors=total["plane_errors"],
    )
