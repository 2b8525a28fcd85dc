# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes docs/docsite/rst/recipes.rst, the list of recipes, from the catalogue.

python docs/recipes_page.py           # prints the page
python docs/recipes_page.py --write   # writes it
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = map(str, HERE.parents[3:4])  # the folder that holds ansible_collections, in an installed tree

from ansible_collections.ascend.inference.plugins.plugin_utils.recipes.catalogue import RECIPES
from ansible_collections.ascend.inference.plugins.plugin_utils.recipes.shelf import (
    family_lines,
    guide_lines,
    lines_of,
    shelf,
)

PAGE = HERE / "docsite" / "rst" / "recipes.rst"
HEAD = """\
.. Copyright (c) 2026 the ascend.inference contributors
.. GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
.. SPDX-License-Identifier: GPL-3.0-or-later
.. Written by docs/recipes_page.py from plugins/plugin_utils/recipes/catalogue_data.py. Do not edit.

.. _ansible_collections.ascend.inference.docsite.recipes:

Recipes
=======

A recipe brings sizes of pools, arguments, environment and the connector of a documented deployment. An inventory that uses one
names hosts, the model's path and the network interface. A2 is 910B, A3 is 910C:

.. code-block:: yaml

   inference_recipe: qwen3-235b-w8a8-a3
   inference_interface: enp67s0f0
   inference_model: {path: /models/Qwen3-235B-A22B-W8A8, name: qwen3}

What the inventory sets wins, value by value, for one pool as well as for all engines (``inference_args``, ``inference_env``); a null
leaves out what the recipe has. The plan's section ``recipe`` says which values came from the recipe and which were replaced.
``ansible-playbook ascend.inference.recipes`` prints these lists. With an inventory and ``-e inference_recipe_fit=true`` it prints
the recipes that fit the hosts of the inventory, by hardware and by number and memory of their NPUs, and what the others need. No host
is contacted; ``-e inference_model_facts=facts.json`` (a file of ``check``) tells the number and the memory of the NPUs.
``-e inference_recipe_show=NAME`` prints all that one recipe brings as YAML. An inventory may have it in place of ``inference_recipe``, to be changed.

Most recipes are compiled from the tutorials and the CI of vLLM-Ascend, from the source distributions of these releases:

.. code-block:: text

   {shelf}

The recipe's release is what its source is about, and the one that is planned unless the inventory sets ``inference_release``. If the
release table does not have it, the collection's default release is planned. Where a guide is in several of the releases, the recipe is
of the first. A note says what is not taken from the source, and why.

Recipes are for A2 and A3 only, as the shipped inventories are. The planner takes 950 and 310P too: write the pools, and take the
options from upstream's guide. 310P has no connector between prefill and decode.

"""
SECTIONS = (
    ("Prefill/decode", "Pools of prefill and decode, some with a KV pool or with encode:"),
    ("Mixed", "Engines that do both prefill and decode:"),
    ("Guides without a recipe", "The planner refuses what these guides say:"),
    (
        "Families of models",
        "How many recipes each family has, with prefill/decode and mixed. None means that these releases have no guide, or one of those above:",
    ),
)


def page() -> str:
    """The page's text."""
    separate = [name for name in RECIPES if len(RECIPES[name]["variables"]["inference_pools"]) > 1]
    listed = [
        [line for name in separate for line in lines_of(name, RECIPES[name])],
        [line for name in RECIPES if name not in separate for line in lines_of(name, RECIPES[name])],
        guide_lines(),
        family_lines(),
    ]
    parts = [HEAD.replace("{shelf}", shelf())]
    for (title, text), lines in zip(SECTIONS, listed, strict=True):
        block = "".join(f"   {line}\n" for line in lines)
        parts.append(f"{title}\n{'-' * len(title)}\n\n{text}\n\n.. code-block:: text\n\n{block}")
    return "\n".join(parts)


def main() -> None:
    """Print the page, or write it."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the page instead of printing it")
    if parser.parse_args().write:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        sys.stdout.write(page())


if __name__ == "__main__":
    main()
