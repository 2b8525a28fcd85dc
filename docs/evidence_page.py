# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes docs/docsite/rst/evidence.rst and the tables of the READMEs, from the archives of acceptances in docs/evidence/.

python docs/evidence_page.py           # prints the page
python docs/evidence_page.py --write   # writes it, and the tables

An archive that does not replay to what its report says has no row: the program ends with 1 and names it.
"""

from __future__ import annotations

import argparse
import re
import sys
import typing as t
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = map(str, HERE.parents[3:4])  # the folder that holds ansible_collections, in an installed tree

from ansible_collections.ascend.inference.tests.conformance.shelf import archives, judged

PAGE = HERE / "docsite" / "rst" / "evidence.rst"
# The languages of the READMEs: what stands there without an archive, and the table's head.
READMES = {
    "README.md": ("None so far.", "| release | NPUs | connector | runtime | date | what ran | verdict |"),
    "README.zh-CN.md": ("目前还没有。", "| 版本 | NPU | connector | 运行时 | 日期 | 执行内容 | 结论 |"),
}
BEGIN, END = "<!-- evidence -->", "<!-- end of evidence -->"
HEAD = """\
.. Copyright (c) 2026 the ascend.inference contributors
.. GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
.. SPDX-License-Identifier: GPL-3.0-or-later
.. Written by docs/evidence_page.py from docs/evidence/. Do not edit.

.. _ansible_collections.ascend.inference.docsite.evidence:

Evidence from racks
===================

For those who ask on which hardware this collection has run, and for those who can show it. The tests of the collection simulate NPUs. A row of this
table is the archive of a handover (``acceptance``) of a real rack, which everybody can replay.
No row comes from a simulator, from a report of a user in words, or from a claim of a guide.

What was proven
---------------

"""
EMPTY = """\
Nothing so far: nobody has handed in an archive.
"""
TAIL = """\

Hand in an archive
------------------

One command proves the rack and writes the archive, see `handing over a rack <guide_operations.rst#handing-over-a-rack>`__:

.. code-block:: shell

   mkdir handover
   ansible-playbook -i hosts.yml --become ascend.inference.acceptance -e '{"inference_acceptance": {"folder": "handover", "mask": true}}'

``handover/DEPLOYMENT-acceptance.tar.gz`` is what to hand in; the page beside it has the real names and stays. The archive has

* what ``npu-smi`` and ``hccn_tool`` printed on each host, and ``/etc/hccn.conf``;
* the report: stages, figures of ``verify`` and ``bench``, versions, deviations and verdict;
* the plan and the inventory, without ``inference_secrets``, passwords in URLs and values whose names say that they are secret.

Masked are addresses, names of hosts and switches, the domain of a host's full name, serial numbers and MAC addresses. Not masked are versions, paths,
the names of the deployment, the model and the services, the first and the last number of an IPv4 address (of private networks also what makes them private),
and names that are words of the tools or of the archive's documents; the playbook lists these names.
Not found are names of other machines, such as a mirror's in a URL, and what a switch says about itself and its ports besides its name.
The archive has no logs, prompts or answers. Unpack it and look through it before it leaves the site.

In a clone, this says whether the archive may be on the shelf, and shows its row or all that is wrong with it:

.. code-block:: shell

   make conformance ARGS="--archive handover/inference-acceptance.tar.gz"

An archive is refused if it is not masked, if a host has no record, if its verdict is *not passed*, if the outputs are not of
tools in the driver's folders, or if the replay contradicts the report: the plan's digest, the versions of driver
and firmware, each finding about NPUs, links and pings, in both directions.
The replay cannot check facts of the machines, the verification and the figures of the benchmark: those are the report's.

Add it to ``docs/evidence/`` with a file ``NAME.tar.gz.license``, and run ``make renew ARGS=pages``. ``make conformance``
replays all archives of the shelf each time.
"""


def rows() -> tuple[list[dict[str, str]], list[str]]:
    """(rows of the shelf's archives, what is wrong with archives)."""
    found = [(path, *judged(path)) for path in archives()]
    wrong = [f"{path.name}: {problem}" for path, _row, problems in found for problem in problems]
    return [row for _path, row, problems in found if not problems], wrong


def cells(row: t.Mapping[str, str]) -> list[str]:
    """The columns of both tables."""
    npus = f"{row['hardware']}, {row['devices']}"
    return [row["release"], npus, row["connector"], row["runtime"], row["date"], row["run"], row["verdict"]]


def page(found: t.Sequence[t.Mapping[str, str]]) -> str:
    """The page's text."""
    if not found:
        return HEAD + EMPTY + TAIL
    titles = ["Release", "NPUs", "Connector", "Runtime", "Date", "What ran", "Verdict", "Archive"]
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for columns in (titles, *([*cells(row), f"``{row['file']}``"] for row in found)):
        lines += [f"   {'*' if number == 0 else ' '} - {cell}" for number, cell in enumerate(columns)]
    return HEAD + "\n".join(lines) + "\n" + TAIL


def readme(text: str, name: str, found: t.Sequence[t.Mapping[str, str]]) -> str:
    """The text of a README with the table between its marks."""
    empty, head = READMES[name]
    lines = [head, "|---" * (head.count("|") - 1) + "|", *(f"| {' | '.join(cells(row))} |" for row in found)]
    shown = "\n".join(lines) if found else empty
    return re.sub(f"{BEGIN}.*?{END}", lambda _mark: f"{BEGIN}\n{shown}\n{END}", text, flags=re.DOTALL)


def main() -> int:
    """Print the page, or write it and the tables."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument(
        "--write", action="store_true", help="write the page and the tables instead of printing the page"
    )
    asked = parser.parse_args()
    found, wrong = rows()
    for text in wrong:
        sys.stderr.write(f"{text}\n")
    if asked.write:
        PAGE.write_text(page(found), encoding="utf-8")
        for name in READMES:
            path = HERE.parent / name
            path.write_text(readme(path.read_text(encoding="utf-8"), name, found), encoding="utf-8")
    else:
        sys.stdout.write(page(found))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
