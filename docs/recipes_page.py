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

from ansible_collections.ascend.inference.plugins.module_utils.tools.how_many import how_many
from ansible_collections.ascend.inference.plugins.plugin_utils.recipes.apply import sizes
from ansible_collections.ascend.inference.plugins.plugin_utils.recipes.catalogue import RECIPES

PAGE = HERE / "docsite" / "rst" / "recipes.rst"
HEAD = """\
.. Copyright (c) 2026 the ascend.inference contributors
.. GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
.. SPDX-License-Identifier: GPL-3.0-or-later
.. Written by docs/recipes_page.py from plugins/plugin_utils/recipes/catalogue.py. Do not edit.

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
``ansible-playbook ascend.inference.recipes`` prints this list.

The recipe's release is what its source is about. Unless the recipe names one of the release table, the collection's default
release is planned, and its rules judge the settings.

"""


def page() -> str:
    """The page's text."""
    parts = [HEAD]
    for name, recipe in RECIPES.items():
        transfer = recipe["variables"].get("inference_kv_transfer", "none")
        parts += [
            f"{name}\n{'-' * len(name)}\n",
            f"* Model: {recipe['model']}",
            f"* Pools: {sizes(recipe)}, on {how_many(recipe['hosts'], recipe['hardware'].upper() + ' host')}",
            f"* KV transfer: ``{transfer}``",
            f"* Release of the source: {recipe['release']}",
            f"* Source: ``{recipe['source']}``\n",
        ]
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
