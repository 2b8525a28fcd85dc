# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of services' logs without what clients write into them, so that no client decides what a log says about the service.

vLLM logs the names of a request's unknown fields (as a warning up to 0.11), the name of a model that it does not have, and requests with their
prompts (by default up to 0.9, else with --enable-log-requests); uvicorn logs the path and the query of each request, also of one without a key.
Sources: vllm/entrypoints/openai/protocol.py, serving_chat.py, vllm/entrypoints/logger.py; uvicorn/protocols/http.
"""

from __future__ import annotations

import re

_REQUESTED = re.compile(r'"[A-Z]{3,7} [^ ]* HTTP/\d(?:\.\d)?"')
_QUOTED = re.compile(
    r"(?:\bThe following fields were present in the request but ignored:|\bError with model "
    r"|\bReceived request [^ ]+: |\bRequest [^ ]+ details: |\bGenerated response [^ ]+ ).*",
    re.DOTALL,
)


def without_clients(line):
    """The line without the request that it names, and up to the place from which on it quotes one.

    >>> without_clients('INFO: 10.0.0.9:3 - "GET /SEGMENT_NOT_FOUND HTTP/1.1" 404 Not Found')
    'INFO: 10.0.0.9:3 -  404 Not Found'
    """
    return _QUOTED.sub("", _REQUESTED.sub("", line))
