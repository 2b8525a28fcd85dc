# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the module python_venv and the stamp that belongs to them, for the module and its action plugin."""

from __future__ import annotations

import os

from .package_lock import digest

ARGUMENTS = {
    "path": {"type": "path", "required": True},
    "layer": {"type": "str", "default": "base"},
    "requirements": {"type": "list", "elements": "str", "required": True},
    "exclude": {"type": "list", "elements": "str", "default": []},
    "overrides": {"type": "list", "elements": "str", "default": []},
    "imports": {"type": "list", "elements": "str", "default": []},
    "python": {"type": "str", "default": ""},
    "tools": {"type": "str", "default": ""},
    "index_url": {"type": "str", "default": ""},
    "extra_index_urls": {"type": "list", "elements": "str", "default": []},
    "fallback_index_urls": {"type": "list", "elements": "str", "default": []},
    "package_indexes": {"type": "dict", "default": {}},
    "metadata": {"type": "dict", "default": {}},
    "find_links": {"type": "list", "elements": "str", "default": []},
    "index_strategy": {
        "type": "str",
        "choices": ["first-index", "unsafe-first-match", "unsafe-best-match"],
        "default": "first-index",
    },
    "no_index": {"type": "bool", "default": False},
    "no_binary": {"type": "list", "elements": "str", "default": []},
    "sdists": {"type": "dict", "default": {}},
    "build_with_environment": {"type": "bool", "default": False},
    "build_user": {"type": "str", "default": ""},
    "environment": {"type": "dict", "default": {}},
    "sources": {"type": "list", "elements": "path", "default": []},
    "check": {"type": "bool", "default": False},
    "lock": {"type": "str", "default": ""},
    "hashes": {"type": "str", "default": ""},
    "confirm_hashes": {"type": "bool", "default": False},
    "return_hashes": {"type": "bool", "default": False},
    "lock_timeout": {"type": "int", "default": 3600},
    "advice": {"type": "str", "default": ""},
    "installed": {"type": "dict", "default": {}},
}
# Options that affect the result are part of the stamp, but only if set, so that older stamps stay valid.
SELDOM = ("overrides", "no_binary", "build_with_environment", "environment", "check", "lock")


def wanted(params):
    """The expected content of the stamp, from validated options."""
    wish = {
        "requirements": sorted(params["requirements"]),
        "exclude": sorted(params["exclude"]),
        "imports": params["imports"],
    }
    wish.update((name, params[name]) for name in SELDOM if params[name])
    return wish


def result(params, before):
    """The module's result before any change; ``before`` is the layer's stamp, or None."""
    wish = wanted(params)
    return {
        "changed": before != wish,
        "path": params["path"],
        "python": params["path"] + "/bin/python",
        "diff": {
            "before": before or {},
            "after": wish,
            "before_header": params["path"],
            "after_header": params["path"],
        },
    }


def lock_name(params):
    """The file name of a layer's lock in a folder of locks. Other requirements have another name."""
    name = os.path.basename(params["path"].rstrip("/"))
    return "{}-{}-{}.txt".format(name, params["layer"], digest(wanted(params)))
