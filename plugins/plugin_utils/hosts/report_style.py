# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The style of the check's page. All pairs of text and background have a contrast of at least 4.5 (WCAG AA)."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --text: #1b1f23; --back: #ffffff; --line: #c4ccd4; --soft: #f3f5f7;
  --ok: #d5efdc; --ok-text: #0b3d1e; --warning: #ffe7a3; --warning-text: #4a3400; --error: #b3261e; --error-text: #ffffff;
  --idle: #e8ebee; --idle-text: #47525d; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e9ec; --back: #15181b; --line: #46505a; --soft: #1f2428;
  --ok: #174a2a; --ok-text: #d5f5df; --warning: #6b4e00; --warning-text: #fff1c9; --error: #c2332b; --error-text: #ffffff;
  --idle: #2b3136; --idle-text: #b4bec8; } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0; background: var(--back); color: var(--text); }
main { max-width: 80rem; margin: 1.5rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; } h3 { font-size: 1rem; margin: 0 0 .3rem; }
p { margin: .3rem 0; }
.verdict { padding: .6rem 1rem; font-weight: 600; border-radius: 6px; }
.run { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; margin: .6rem 0; } .run dt { font-weight: 600; }
.run dd { margin: 0; overflow-wrap: anywhere; }
.ok { background: var(--ok); color: var(--ok-text); } .warning { background: var(--warning); color: var(--warning-text); }
.error { background: var(--error); color: var(--error-text); }
.idle, .remark, .accepted { background: var(--idle); color: var(--idle-text); }
.cell { display: inline-block; border-radius: 5px; padding: .1rem .45rem; text-decoration: none; }
a.cell { text-decoration: underline; outline-offset: 2px; }
.cell i { display: block; font: 11px/1.25 system-ui, sans-serif; }
.key .cell { margin-right: .3rem; }
.hosts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 36rem), 1fr)); gap: 0 2rem; }
section { display: flex; flex-wrap: wrap; gap: .4rem .8rem; padding: .5rem 0; border-top: 1px solid var(--line); break-inside: avoid; }
.name { flex: 0 0 8rem; } .name .cell { min-width: 7rem; overflow-wrap: anywhere; }
.services { display: flex; flex-wrap: wrap; gap: .4rem .8rem; flex: 1 1 18rem; }
.services > div > div { display: flex; flex-wrap: wrap; gap: 3px; } .services .cell { min-width: 2.3rem; padding: .1rem .3rem; }
@media (max-width: 30rem) { .services > div { width: 100%; } .services .cell { min-width: 0; padding: .1rem .15rem; }
  .services > div > div { display: grid; grid-template-columns: repeat(8, 1fr); gap: 2px; } }
article { border: 1px solid var(--line); border-radius: 6px; padding: .6rem .9rem; margin: .6rem 0; overflow-wrap: anywhere;
  break-inside: avoid; }
article:target { outline: 3px solid var(--error); }
code { background: var(--soft); padding: 0 .25rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; }
.plain th, .plain td { padding: .2rem .7rem .2rem 0; text-align: left; white-space: nowrap; border-bottom: 1px solid var(--line); }
.matrix { font-size: 11px; } .matrix td { min-width: 1.6rem; text-align: center; border: 1px solid var(--back); padding: 0 2px; }
.matrix th[scope=row] { text-align: right; padding-right: .4rem; white-space: nowrap; }
.matrix th[scope=col] span { writing-mode: vertical-rl; white-space: nowrap; }
@media print { body { font-size: 11px; } .scroll { overflow: visible; } * { print-color-adjust: exact; } tr { break-inside: avoid; }
  .plain th, .plain td { white-space: normal; } }
"""
