# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the entry answers itself, in the form of the OpenAI API. ``%[...]`` are values of a request, which HAProxy fills in."""

from __future__ import annotations

import json


def error(message: str, kind: str = "invalid_request_error", code: str = "") -> str:
    """An error as the OpenAI API has it. In a configuration it stands between single quotes."""
    return json.dumps({"error": {"message": message, "type": kind, "param": None, "code": code or None}})


ERRORS = {
    "MALFORMED": error("the request cannot be read"),
    "SLOW": error("the request did not arrive in time"),
    "BROKEN": error("the entry failed", "server_error"),
    "ENDED": error("the router ended during the request", "server_error"),
    "SILENT": error("no router of this model answers", "server_error"),
    "LATE": error("the router did not answer in time", "server_error"),
    "NOPATH": error("there is no such path"),
    "UNKNOWN": error("unknown API key", "authentication_error", "invalid_api_key"),
    "BUSY": error("too many requests without a known API key from this address", "authentication_error"),
    "BODILESS": error("a request of this path has no body"),
    "METHOD": error("this path has another method"),
    "HEADERS": error("the headers are larger than 64 KiB"),
    "FULL": error("the requests that arrive at the same time have no more room", "server_error"),
    "FOREIGN": error("this API key may not use the model %[var(txn.model)]", "permission_error", "model_not_allowed"),
    "FAULT": error("%[var(txn.fault)]"),
    "NOMODEL": error("the model %[var(txn.model)] does not exist", code="model_not_found"),
}
SPENT = error("the tokens of this team are used up for this period", "insufficient_quota", "insufficient_quota")


def parallel(whose: str) -> str:
    """``whose``: this team, or this API key."""
    return error(f"too many requests of {whose} at a time", "rate_limit_error", "rate_limit_exceeded")


def busy(whose: str) -> str:
    """As ``parallel``."""
    return error(f"too many requests of {whose} in a minute", "rate_limit_error", "rate_limit_exceeded")
