# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Known error texts of npu-smi and hccn_tool, with fixes.

Exit statuses are ambiguous (the low byte of several code families) and 0 does not mean success, so the text is used. Texts and
numbers: hicann/driver@ef377e9 npucli and network/hccn, the vendor's FAQ pages, and outputs of drivers 23.x to 26.x.
"""

from __future__ import annotations

import re
from collections import namedtuple

from .text import ParseError, chatter

# kind: driver, container, loader, permission, busy, unset, unsupported, absent, usage, refused, hung, failed
Finding = namedtuple("Finding", "kind message")


class ToolError(Exception):
    """A vendor tool failed; the message contains the fix, ``kind`` is the kind of a :class:`Finding`."""

    def __init__(self, message, kind="failed"):
        super().__init__(message)
        self.kind = kind


def _rule(kind, pattern, advice):
    return kind, re.compile(pattern, re.IGNORECASE), advice


_NO_DRIVER = (
    "the NPU driver does not respond. Become root or join the group HwHiAiUser; check that the driver is loaded (lsmod | grep drv) "
    "and, in a container, that /dev/davinci_manager is mounted; after a driver or firmware upgrade reboot the host"
)

RULES = (
    _rule(
        "loader",
        r"error while loading shared libraries: (?P<what>[^:\s]+)",
        "the loader cannot find {what}. Check that the driver is installed (/usr/local/Ascend/driver/lib64 and its folders common "
        "and driver), mount that folder if this is a container, and add the three folders to LD_LIBRARY_PATH",
    ),
    _rule(
        "loader",
        r"(?P<what>lib\w+\.so[\w.]*): cannot open shared object file",
        "the loader cannot find {what}. Check that the driver is installed (/usr/local/Ascend/driver/lib64), mount that folder if "
        "this is a container, and add it to LD_LIBRARY_PATH",
    ),
    _rule(
        "container",
        r"because the device is used|ret is -8020\b|Container ID verify failed",
        "an NPU is in use by another container. Stop that container, or pass other /dev/davinci devices to this one",
    ),
    _rule(
        "driver",
        r"dcmi mod\w+ initialized? failed|ret is -8005\b",
        _NO_DRIVER,
    ),
    _rule(
        "absent",
        r"There is no NPU card on this server",
        "the driver finds no NPU: check lspci -d 19e5: and the host's slots",
    ),
    _rule(
        "unsupported",
        r"This command cannot be executed on a \w+",
        "run this on the host or in a privileged container",
    ),
    _rule(
        "unsupported",
        r"This device do(?:es|se) not support (?:(?:querying|setting) )?(?P<what>.+?)\.",
        "this device does not support {what}",
    ),
    _rule(
        "unsupported",
        r"hccn_tool -mode -cmd -npu_info",
        "this is the hccn_tool of a 950, which has ports instead of devices; this collection does not support it",
    ),
    _rule(
        "unsupported",
        r"The command is not supported on this product|The VM does not support this command|in (?:SMP|docker) mode, does not support",
        "skip this query",
    ),
    _rule(
        "busy",
        r"hccn_tool is busy|ret is -9020\b|The device is occupied",
        "another process is using the tool: try again, or stop the exporter",
    ),
    _rule(
        "permission",
        r"permission denied|not permitted|can be executed only by (?:an administrator|the root user)",
        "run this as root (become: true)",
    ),
    _rule("unset", r"no ip was preset there|no gateway was preset there", "nothing is configured"),
    _rule("unset", r"ip is not configured", "configure the device's address first"),
    _rule(
        "absent",
        r"The device is not exist|Get invalid device id|Invalid (?:card|chip) id|There is no NPU chip on this card|ret is -900[78]\b",
        "no such device: compare with npu-smi info -m; a chip that dropped off the bus needs a reset or service",
    ),
    _rule(
        "hung",
        r"The cmd line execute timeout|Control link unreachable",
        "the chip does not respond: check it with npu-smi info -t health",
    ),
    _rule(
        "refused",
        r"ip address configured is conflicted",
        "another device of this host has the address, or it is in the reserved 192.168.1.0/24",
    ),
    _rule("refused", r"segment of configured gateway doesn't match", "the gateway is outside of the device's network"),
    _rule(
        "refused",
        r"ip address you configured is invalid|address.*mask.*mismatch",
        "correct the address and the netmask",
    ),
    _rule(
        "refused",
        r"hccn\.conf can't access|config file failed|Open file failed",
        "check /etc/hccn.conf: owner root, mode 0640, not a directory or link",
    ),
    _rule("refused", r"User aborts command", "a prompt of the tool was answered with no"),
    _rule("unset", r"Optical module is not present", "no optical module is plugged in"),
    _rule("unset", r"No certificate found", "no TLS certificate is installed on the device"),
    _rule(
        "usage",
        r"Get invalid (?:major cmd|parameters|input)|Get unknown option|count of input parameters is wrong|Error parameter of -|"
        r"Command or option is not found|must input (?:card|phy) id|does not support (?:entering|input) card id",
        "this version of the tool does not support the command: compare the driver's version with the collection's support matrix",
    ),
    _rule(
        "driver",
        r"The driver package may not be completely installed",
        "reinstall the driver; according to /etc/ascend_install.info it is incomplete",
    ),
    # printed by a library before the tool's own output
    _rule("driver", r"DrvMngGetConsoleLogLevel failed", _NO_DRIVER),
    _rule(
        "failed",
        r"Comm?and execute failed|Cmd execut(?:e|ion) failed|Failed to (?:query|execute|get|alloc)|info fail(?:ed)?!|"
        r"(?:ret|err) is -\d+",
        "see /var/log/hccn_tool and npu-smi info -t health",
    ),
)


def first_line(output):
    """The first non-empty line of stderr, else of stdout (the tools use both)."""
    for stream in (output.stderr, output.stdout):
        for line in stream.splitlines():
            if line.strip():
                return line.strip()[:200]
    return ""


def known_error(output):
    """The :class:`Finding` that an Output contains, or None if none of the known error texts is in it."""
    if output.timed_out:
        return Finding(
            "hung",
            f"{_command(output)} exceeded the timeout and was killed; check the chip with npu-smi info -t health, or raise 'timeout'",
        )
    text = output.stderr + "\n" + output.stdout
    for kind, pattern, advice in RULES:
        match = pattern.search(text)
        if match:
            line = next(line for line in text.splitlines() if match.group(0).splitlines()[0] in line).strip()
            return Finding(kind, f"{_command(output)}: {advice.format(**match.groupdict())} (output: {line[:200]})")
    return None


def failure(output, why=""):
    """The ToolError of a failed Output: the known error, else ``why`` or exit status and first line."""
    found = known_error(output)
    if found:
        return ToolError(found.message, found.kind)
    error_line = next((line.strip()[:200] for line in output.stderr.splitlines() if line.strip()), "")
    if why and error_line:
        why = f"{why} (stderr: {error_line})"
    return ToolError(f"{_command(output)}: exit status {output.rc}, {why or first_line(output) or 'no output'}")


def _command(output):
    return " ".join([output.argv[0].rsplit("/", 1)[-1]] + list(output.argv[1:]))


def answer(tool, args, parse, stdin=None):
    """Run ``tool`` and parse its standard output: ``(value, warnings)``. Raises ToolError for unknown output.

    ``unset`` errors ("no ip was preset there") are results, too: the value is then None.
    """
    output = tool(args, stdin)
    if output.timed_out:
        raise failure(output)
    try:
        value = parse(output.stdout)
    except ParseError as error:
        found = known_error(output)
        if found and found.kind == "unset":
            return None, []
        raise failure(output, str(error)) from error
    # the table's parser warns of further output itself
    notes = [] if isinstance(value, dict) and "warnings" in value else chatter(output.stdout)
    if output.rc == 0:
        return value, notes
    return value, notes + [f"{_command(output)} succeeded with exit status {output.rc}: {first_line(output)}"]
