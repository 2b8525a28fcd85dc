# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""npu-smi, simulated: the table in the layouts of several drivers and generations, and the ``info`` queries."""

from __future__ import annotations

from simulated_host import complain, say

HEALTH_WORDS = ("OK", "Warning", "Alarm", "Critical", "UNKNOWN")
LAYOUTS = {  # inner widths of the cells, widths of the values in the third cell, of 'used' in huge pages
    "98": ((27, 15, 52), (12, 18), 5),
    "116": ((27, 15, 70), (21, 24), 5),
    "106": ((31, 17, 54), (13, 18), 6),
    "99": ((8, 18, 15, 53), (12, 18), 6),
}
PROCESS_WIDTHS = {"98": (27, 15, 26, 25), "116": (27, 15, 20, 23, 25), "106": (31, 17, 26, 27), "99": (27, 15, 26, 26)}


def layout(host):
    """Which table width this generation and driver print."""
    if host.state["generation"] in ("310p", "950"):
        return {"310p": "106", "950": "99"}[host.state["generation"]]
    return "116" if int(host.state["driver"].split(".")[0]) >= 26 else "98"


def rule(widths, fill):
    return "+" + "+".join(fill * width for width in widths) + "+\n"


def row(widths, cells):
    return "|" + "|".join((" " + cell).ljust(width) for width, cell in zip(widths, cells)) + "|\n"


def wide(text, widths):
    return "| " + text.ljust(sum(widths) + len(widths) - 2) + "|\n"


def pair(used_total, pad=5):
    used, total = used_total
    return f"{used:<{pad}}/ {total}"


def answer(host, args):
    failure = _driver_failure(host)
    if failure:
        return failure
    if args == ["-v"]:
        return say(f"npu-smi version: {host.state['tool']}\n")
    if args == ["info"]:
        return say(table(host))
    if args == ["info", "-l"]:
        return say(_list(host))
    if args == ["info", "-m"]:
        return say(_mapping(host))
    if args[:2] == ["info", "-t"] and len(args) > 2:
        return _typed(host, args[2], args[3:])
    return say("Command or option is not found.\nUsage: npu-smi info <watch|proc|-h|-m|-l|-t type> [Options...]\n", 211)


def _driver_failure(host):
    driver = host.behaviour["driver"]
    if driver == "not_loaded":
        return say("dcmi module initialize failed. ret is -8005\n", 187)
    if driver == "container_used":
        return say(
            "dcmi model initialized failed, because the device is used. ret is -8020\nnpu get board type failed. ret is -9005\n",
            211,
        )
    if driver == "loader":
        return complain(
            "npu-smi: error while loading shared libraries: libascend_hal.so: cannot open shared object file: No such file or directory\n",
            127,
        )
    if driver == "no_npu":
        return say("There is no NPU card on this server.\n")
    return None


def table(host):
    kind = layout(host)
    widths, _columns, _pad = LAYOUTS[kind]
    bars = (27, *widths[2:]) if kind == "99" else widths
    text = "+" + "-" * (sum(widths) + len(widths) - 1) + "+\n"
    version = 48 if kind == "106" else 32
    text += wide(f"npu-smi {host.state['tool']}".ljust(version + 1) + f"Version: {host.state['driver']}", widths)
    text += rule(bars, "-") + _headers(host, kind) + rule(widths, "=")
    chips = [device for device in host.devices if device["present"]]
    for index, device in enumerate(chips):
        text += _chip(host, device, kind)
        same = index + 1 < len(chips) and chips[index + 1]["npu"] == device["npu"] and host.state["generation"] == "a3"
        text += "+" + "-" * (sum(widths) + len(widths) - 1) + "+\n" if same else rule(widths, "=")
    text += _processes(host, kind)
    if host.behaviour["incomplete"]:
        text += "[WARNING]The driver package may not be completely installed, which may cause function abnormal. Please reinstall it.\n"
    return text


def _headers(host, kind):
    widths, (first, second), _pad = LAYOUTS[kind]
    load = "NPU Util(%)" if kind == "99" else "AICore(%)"
    third = "Power(W)".ljust(first) + "Temp(C)".ljust(second) + "Hugepages-Usage(page)"
    fourth = load.ljust(first) + "Memory-Usage(MB)".ljust(second) + ("" if kind == "106" else "HBM-Usage(MB)")
    if kind == "99":
        return row(widths, ["NPU ID", "Name", "Health", third]) + row(widths, ["", "", "Bus-Id", fourth])
    step = 8 if kind == "106" else 6
    ids = {"a3": "Chip".ljust(step) + "Phy-ID", "310p": "Chip".ljust(step) + "Device"}.get(
        host.state["generation"], "Chip"
    )
    return row(widths, ["NPU".ljust(step) + "Name", "Health", third]) + row(widths, [ids, "Bus-Id", fourth])


def _chip(host, device, kind):
    widths, (first, second), pad = LAYOUTS[kind]
    card = str(device["power"]).ljust(first) + str(device["temp"]).ljust(second) + pair(device["hugepages"], pad)
    chip = (
        str(device["aicore"]).ljust(first)
        + pair(device["memory"]).ljust(second)
        + ("" if kind == "106" else pair(device["hbm"]))
    )
    if kind == "99":
        rows = [[str(device["npu"]), device["name"], device["health"], card], ["", "", device["bus"], chip]]
    else:
        step = 8 if kind == "106" else 6
        ids = str(device["chip"]).ljust(step) + (
            str(device["id"]) if host.state["generation"] in ("a3", "310p") else ""
        )
        rows = [[str(device["npu"]).ljust(step) + device["name"], device["health"], card], [ids, device["bus"], chip]]
    if device["health"] not in HEALTH_WORDS:
        rows = rows[1:]  # the tool omits the card row of a chip with an unknown health value
    return "".join(row(widths, cells) for cells in rows)


def _processes(host, kind):
    widths = PROCESS_WIDTHS[kind]
    chips = [device for device in host.devices if device["present"]]
    titles = [
        "NPU ID" if kind == "99" else "NPU     Chip",
        "Process id",
        "Process name",
        "Process memory(MB)",
        "Process id in container",
    ]
    bars = (27, *LAYOUTS[kind][0][2:]) if kind == "99" else LAYOUTS[kind][0]
    text = rule(bars, "-") + row(widths, titles) + rule(bars, "=")
    for npu in sorted({device["npu"] for device in chips}):
        mine = [(device, process) for device in chips if device["npu"] == npu for process in device["processes"][:8]]
        for device, process in mine:
            ids = str(npu) if kind == "99" else f"{npu:<8}{device['chip']}"
            cells = [
                ids,
                str(process["pid"]),
                process["name"],
                str(process["memory"]),
                str(process.get("container_pid", "NA")),
            ]
            text += row(widths, cells)
        if not mine:
            text += wide(f"No running processes found in NPU {npu}", LAYOUTS[kind][0])
        text += rule(bars, "=")
    return text


def keys(pairs):
    return "".join(f"\t{key:<30} : {value}\n" for key, value in pairs)


def _list(host):
    npus = sorted({device["npu"] for device in host.devices if device["present"]})
    blocks = [
        keys([("NPU ID", npu), ("Chip Count", sum(device["npu"] == npu for device in host.devices))]) for npu in npus
    ]
    return keys([("Total Count", len(npus))]) + "\n" + "\n".join(blocks)


def _mapping(host):
    a3 = host.state["generation"] == "a3"
    titles = ["NPU ID", "Chip ID", "Chip Logic ID"] + (["Chip Phy-ID"] if a3 else []) + ["Chip Name"]
    text = "\t" + " ".join(title.ljust(30) for title in titles) + "\n"
    for logic, device in enumerate(device for device in host.devices if device["present"]):
        cells = [device["npu"], device["chip"], logic] + ([device["id"]] if a3 else []) + [device["name"]]
        text += "\t" + " ".join(str(cell).ljust(30) for cell in cells) + "\n"
    for npu in sorted({device["npu"] for device in host.devices if device["present"]}):
        cells = [npu, 2 if a3 else 1, "-"] + (["-"] if a3 else []) + ["Mcu"]
        text += "\t" + " ".join(str(cell).ljust(30) for cell in cells) + "\n"
    return text


def _typed(host, kind, args):
    if kind == "topo":
        return say(_topology(host))
    options = dict(zip(args[::2], args[1::2]))
    chips = [device for device in host.devices if device["present"] and str(device["npu"]) == options.get("-i")]
    if "-c" in options:
        chips = [device for device in chips if str(device["chip"]) == options["-c"]]
    if "-i" not in options:
        return say("\nThis command must input card id.\n\n", 215)
    if not chips:
        return say(f"Invalid card id.\nError parameter of -i\nUsage: npu-smi info -t {kind} [Options...]\n", 215)
    writer = {
        "board": _board,
        "health": _health,
        "usages": _usages,
        "common": _common,
        "memory": _memory,
        "ecc": _ecc,
        "spod-info": _superpod,
    }.get(kind)
    if not writer:
        return say(f"Error parameter of -t\nThis device does not support querying {kind}.\n", 215)
    return writer(host, chips[0], "-c" in options)


def _head(device, per_chip):
    return "" if per_chip else keys([("NPU ID", device["npu"]), ("Chip Count", 1)]) + "\n"


def _ecc(host, device, per_chip):
    counts = {"Single Bit Error Count": 0, "Double Bit Error Count": 0, "Single Bit Aggregate Total Err Cnt": 0}
    counts["Double Bit Aggregate Total Err Cnt"] = 0
    counts["Single Bit Isolated Pages Count"] = counts["Double Bit Isolated Pages Count"] = 0
    counts.update(device.get("ecc", {}))
    return say(
        _head(device, per_chip)
        + keys([*((f"HBM {name}", count) for name, count in counts.items()), ("Chip ID", device["chip"])])
    )


def _board(host, device, per_chip):
    return say(
        keys(
            [
                ("NPU ID", device["npu"]),
                ("Software Version", host.state["driver"]),
                ("Firmware Version", host.state["firmware"]),
                ("Compatibility", "OK"),
                ("Board ID", "0x30"),
                ("PCB ID", "NA"),
                ("PCIe Bus Info", device["bus"]),
                ("PCI Vendor ID", "0x19e5"),
                ("Chip Count", 1),
            ]
        )
    )


def _health(host, device, per_chip):
    codes = device["error_codes"]
    status = (
        device["health"] if device["health"] in HEALTH_WORDS else "OK"
    )  # -t health prints OK if there is no error code
    text = keys([("Health Status", status), ("Error Code", " ".join(codes) or "NA")])
    messages = [f"simulated fault {code}" for code in codes] or ["NA"]
    return say(
        text
        + keys([("Error Information", messages[0])])
        + "".join("\n" + keys([("", message)]) for message in messages[1:])
    )


def _usages(host, device, per_chip):
    used, total = device["hbm"]
    percent = round(100 * used / total) if total else 0
    return say(
        _head(device, per_chip)
        + keys([("DDR Capacity(MB)", device["memory"][1]), ("HBM Capacity(MB)", total), ("HBM Usage Rate(%)", percent)])
        + keys([("Aicore Usage Rate(%)", device["aicore"]), ("Aicpu Usage Rate(%)", 0), ("Chip ID", device["chip"])])
    )


def _common(host, device, per_chip):
    return say(
        _head(device, per_chip)
        + keys([("Chip ID", device["chip"]), ("Aicore Usage Rate(%)", device["aicore"]), ("Aicore Count", 24)])
        + keys([("Temperature(C)", device["temp"]), ("NPU Real-time Power(W)", device["power"])])
        + ("" if per_chip else "\n" + keys([("Chip Name", "mcu"), ("Temperature(C)", 38)]))
    )


def _memory(host, device, per_chip):
    return say(
        keys(
            [
                ("DDR Capacity(MB)", device["memory"][1]),
                ("HBM Capacity(MB)", device["hbm"][1]),
                ("HBM Temperature(C)", 50),
            ]
        )
    )


def _superpod(host, device, per_chip):
    pod = host.state["super_pod"]
    if not pod:
        return say("This device does not support querying spod-info.\n")
    index = pod["server_index"]
    return say(
        keys(
            [
                ("SDID", device["sdid"]),
                ("Super Pod Size", pod["size"]),
                ("Super Pod ID", pod["id"]),
                ("Server Index", index),
            ]
        )
    )


def _topology(host):
    chips = [device for device in host.devices if device["present"]]
    prefix = "Phy-ID" if host.state["generation"] == "a3" else "NPU"
    text = "\t   " + " ".join(f"{prefix}{device['id']}".ljust(10) for device in chips).rstrip() + "\n"
    for chip in chips:
        links = ["X" if chip is other else "SIO" if chip["npu"] == other["npu"] else "HCCS" for other in chips]
        text += " ".join([f"{prefix}{chip['id']}".ljust(10)] + [link.ljust(10) for link in links]).rstrip() + "\n"
    return (
        text
        + "\nLegend:\n\n  X    = Self\n  HCCS = Connection traversing HCCS.\n  SIO  = Path traversing the SIO bus\n"
    )
