# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kinds of services that are engines. A pool has the kind of its engines as its name."""

from __future__ import annotations

ENGINE_KINDS = ("encode", "prefill", "decode", "colocated")  # in the order in which a request passes them
ANSWERING_KINDS = ("prefill", "decode", "colocated")  # with KV cache and completions; encode has neither
