# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Classifies Ansible's messages about unreachable hosts: problem and fix."""

from __future__ import annotations

import re

from ansible.module_utils import basic
from ansible.release import __version__ as CORE

# The limit of the modules of this ansible-core, which has no public name.
OLDEST = ".".join(map(str, getattr(basic, "_PY_MIN", (3, 7))))
ANOTHER = (
    ", or run the collection with ansible-core 2.17, which manages hosts with Python 3.7" if OLDEST != "3.7" else ""
)

# A task's limit of time in ansible-core 2.19 and later, in earlier ones, and ssh with ServerAliveInterval
FROZEN = (
    r"Timed out after \d+ second|in the expected\s+time frame|Timeout, server .* not responding|during banner exchange"
)
CAUSES = (
    (
        r"Missing (?:sudo|become|su|doas) password|password is required|Incorrect sudo password|sudo: a (?:terminal|password)",
        "the connected user needs a password for sudo, and none or a wrong one was given",
        "Run with --ask-become-pass, set ansible_become_password, or allow the user to run sudo without a password.",
    ),
    (
        r"/\S*python[\d.]*: (?:not found|No such file)|interpreter .*not found|No such file or directory.*python|rc.?: ?127",
        "the Python set with ansible_python_interpreter does not exist",
        f"Set ansible_python_interpreter to a Python of the host ({OLDEST} or newer), or remove the variable: Ansible then searches for one.",
    ),
    (
        r"requires? a? ?(?:minimum|at least) .*[Pp]ython|Ansible requires Python|SyntaxError|future feature annotations is not defined",
        f"the host's Python is too old: ansible-core {CORE} on the controller manages hosts with Python {OLDEST} or newer",
        f"Install Python {OLDEST} or newer on the host and set ansible_python_interpreter to it{ANOTHER}.",
    ),
    (
        r"Could not resolve hostname|Name or service not known|nodename nor servname",
        "the host's name does not resolve to an address",
        "Set ansible_host of the host to its address, or correct DNS.",
    ),
    (
        r"Permission denied \(|Too many authentication failures|Authentication failure",
        "the SSH server refuses the login",
        "Check ansible_user and the key: connect with ssh as the same user.",
    ),
    (
        r"Host key verification failed|REMOTE HOST IDENTIFICATION",
        "the host's SSH key does not match known_hosts",
        "Check that it is the right machine, then update known_hosts.",
    ),
    (
        r"Connection refused",
        "nothing listens on the SSH port",
        "Start the SSH server of the host, or correct ansible_port.",
    ),
    (
        FROZEN,
        "the host takes connections, and does not answer in time: it may be frozen or overloaded",
        "Look at the console of the host, and restart it if nothing else helps.",
    ),
    (
        r"timed out|No route to host|Network is unreachable",
        "the host's address does not respond",
        "Check that the host is up, ansible_host, routes and firewall.",
    ),
    (
        r"create temporary directory|No space left on device|Read-only file system",
        "Ansible cannot write its temporary folder on the host",
        "Free space there, or set ansible_remote_tmp to a writable folder.",
    ),
)
OTHER = (
    "the host cannot be reached",
    "Run ansible -m ansible.builtin.ping HOST with the same options, and fix the error that it reports.",
)


def cause(message: str) -> tuple[str, str]:
    """(problem, fix) for a message of Ansible's connection or of a module that could not start."""
    for pattern, problem, fix in CAUSES:
        if re.search(pattern, message, re.IGNORECASE | re.DOTALL):
            return problem, fix
    return OTHER


def hangs(message: str) -> bool:
    """Whether a host took the connection and did not answer in time."""
    return re.search(FROZEN, message, re.IGNORECASE | re.DOTALL) is not None


def known(message: str) -> bool:
    """Whether the message is a connection error."""
    return any(re.search(pattern, message, re.IGNORECASE | re.DOTALL) for pattern, _problem, _fix in CAUSES[:3])


def in_one_line(message: str) -> str:
    """The message on one line, without repeated spaces."""
    return " ".join(message.split())
