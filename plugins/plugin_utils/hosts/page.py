# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all HTML pages have in common: one file, escaped texts, and a policy with which a browser loads and runs nothing.

Source: Content Security Policy Level 3, https://www.w3.org/TR/CSP3/
"""

from __future__ import annotations

import html
import typing as t

from ...module_utils.tools.text import visible

POLICY = "default-src 'none'; style-src 'unsafe-inline'"  # the page's own style


def escaped(value: t.Any) -> str:
    """A value as text of a page; nothing for None. Control characters are shown as such."""
    return html.escape("" if value is None else visible(str(value)))


def whole_page(title: str, style: str, body: str) -> str:
    """The text of a page; ``title`` is escaped here, ``body`` is markup."""
    meta = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    head = f"<head>{meta}{policy}<title>{escaped(title)}</title><style>{style}</style></head>"
    return f'<!doctype html>\n<html lang="en">{head}\n<body>{body}</body></html>\n'
