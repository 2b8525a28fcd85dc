# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Print as JSON which ports of a host accept a connection: reached.py ADDRESS PORT..."""

import concurrent.futures
import json
import socket
import sys


def accepts(port):
    try:
        socket.create_connection((sys.argv[1], port), 3).close()
    except OSError:
        return False
    return True


ports = [int(text) for text in sys.argv[2:]]
with concurrent.futures.ThreadPoolExecutor(64) as pool:
    answers = dict(zip(ports, pool.map(accepts, ports), strict=True))
print(json.dumps([port for port in ports if answers[port]]))
