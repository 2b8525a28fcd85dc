# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The form of a cause, and how the layers below vLLM write their codes: a number matches only after the words that make it a code."""

from __future__ import annotations

from typing import NamedTuple

CAUSE = "cause"  # of a failure
START = "start"  # the same, but only of a start: after a hang it is what a process that starts again meets
WAITS = "waits"  # a process waited for another one, or for its NPU: what the other one says comes first
TRAFFIC = "traffic"  # KV or requests are lost or late; the engine goes on
LITTLE = "little"  # a number or an end that says little: shown only if nothing says more
CODE = "code"  # an exception that no message announces: said of the first error, if no line has a cause
HINT = "hint"  # harmless while an engine starts: shown last


class Cause(NamedTuple):
    """``pattern``: a regular expression of one line, case-sensitive. ``problem``: what the line says, as a sentence without its subject.

    ``kind``: CAUSE, START, WAITS, TRAFFIC, LITTLE, CODE or HINT. ``info``: also a line of the level INFO has it.
    """

    id: str
    pattern: str
    problem: str
    why: str
    fix: str
    kind: str = START
    info: bool = False


def runtime(codes, sentences=""):
    """Codes of ACL and CANN's runtime (include/external/acl/error_codes/rt_error_codes.h), or the words for them.

    ``sentences``: of torch-npu's table (NPUErrorCodes.h), which follow ``[Error]:``, and of the runtime after ``reason=``.
    """
    before = (
        r"(?:\berror code(?: is|:)? ?|\berror no is |\bruntime result ?= ?|\bfailed: ?|\bret(?:urn)?(?:Code)? ?[:=] ?|\bret\["
        r"|\b[Aa][Cc][Ll] ?[Ee]rror ?[:=]? ?"
        r"|\berror: ?|\berrno[:=]|\bErrCode=|\brtRet(?:ure)?=)"
    )
    words = (
        rf"|(?:\breason=\[?|\bretCode=0x[0-9a-f]+, ?\[|\bdesc=\[|\[Error\]: ?)(?:{sentences})(?!\w)"
        if sentences
        else ""
    )
    return rf"{before}(?:{codes})\b{words}"


def cann(codes):
    """Codes of CANN's error manager, such as EI0006 (runtime: src/dfx/error_manager/error_code.json)."""
    return rf"(?<![\w.-])(?:{codes})(?=[:\[)\s]|$)"


def hccl(number):
    """A result of HCCL (hccl_types.h), as torch-npu, HIXL and HCCL itself print it."""
    return (
        rf"\bH(?:ccl|CCL)\w*(?:\([^)]{{0,80}}\))?.{{0,200}}?\berror code:? ?(?:is )?{number}\b|\bhccl_?[rR](?:et|esult) ?(?:->|=) ?{number}\b"
        rf"|\bHCCL\(\d+,[^)]{{0,60}}\).{{0,300}}\b(?:ret|return)\[{number}\]|\berrNo\[0x0{{8}}05[0-9a-fA-F]{{4}}{int(number):02x}\]"
    )


def driver(codes):
    """Results of the driver, as CANN's runtime prints them."""
    return rf"\b(?:drvRetCode|drv_ret|drv error|drvErr)\s*[=:]\s*(?:{codes})\b"


def event(numbers):
    """Ids of a device's events (mind-cluster: faultCode.json)."""
    return rf"\b[Ee]vent ?_?id\s*[=:]\s*\[?\s*0[xX](?:{numbers})\b"
