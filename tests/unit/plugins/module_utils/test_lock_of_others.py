# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lock that another host may have written says only which of the published versions is installed."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.install.package_lock import (
    fully_hashed,
    pins,
    preferred,
    problem,
    signed,
)

HASH = "--hash=sha256:" + "a" * 64
FOLDER = "src @ file:///data/src"
WISH = {"requirements": ["a==1", FOLDER], "exclude": [], "imports": []}
GOOD = f"a==1 \\\n    {HASH} \\\n    {HASH}\nB.c[x,y]==2.0+cpu ; python_version >= '3.10' \\\n    {HASH}\n    # via a\n"


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"a==1 {HASH}\n",
        f"# uv left a word\n\n{GOOD}{FOLDER}\n",
        f"SRC[z] @ file:///data/src \\\n    {HASH}\n",
        "",
    ],
)
def test_what_uv_writes_is_a_lock(text):
    assert problem(signed(text, WISH), WISH) == ""
    assert fully_hashed(signed(text, WISH)) == (FOLDER not in text)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (f"{GOOD}evil @ http://127.0.0.1/evil-1.0-py3-none-any.whl\n", "evil @ http"),
        (f"{GOOD}evil @ http://127.0.0.1/evil.whl {HASH}\n", "evil @ http"),
        (f"{GOOD}src @ file:///tmp/src\n", "src @ file:///tmp/src"),
        (f"{FOLDER} --config-settings=x\n", "src @"),
        ("a==1\n", "a==1"),
        (f"a>=1 {HASH}\n", "a>=1"),
        (f"a {HASH}\n", "'a'"),
        ("a==1 --hash=md5:00\n", "md5"),
        (f"a==1 ; x --index-url=http://x {HASH}\n", "--index-url"),
        (f"--index-url http://x\n{GOOD}", "--index-url"),
        (f"--find-links http://x {HASH}\n", "--find-links"),
        (f"-e==1 {HASH}\n", "-e==1"),
        (f"-r other.txt\n{GOOD}", "-r other.txt"),
        ("./folder\n", "./folder"),
        ("https://x/evil.whl\n", "https://x"),
        (f"a==1 \\\n# x\n    {HASH}\n", "# x"),
        (f"# x \\\nevil @ http://x\n{GOOD}", "evil"),
        (f"# x\\\n{GOOD}", "line 3"),
        (f"a==1 \\\n    {HASH} \\", "continues"),
        (f"evil\\\n==6.6 {HASH}\n", "==6.6"),
        (f"a==1\\\n.5 {HASH}\n", ".5"),
        (f"a==1 {HASH} # x\n", "# x"),
        (f"# x\revil @ http://x\n{GOOD}", "line 2"),
        (f"# x\u2028evil\n{GOOD}", "line 2"),
        (f"a==1 {HASH} {HASH[:-1]}\n", "a==1"),
        (f"a==\uff11 {HASH}\n", "line 2"),
        ("# " + "x" * 3000 + "\n", "line 2"),
    ],
)
def test_anything_else_is_named(text, named):
    found = problem(signed(text, WISH), WISH)
    assert named in found and len(found) < 200 and found.isprintable()


def test_a_lock_of_other_requirements_or_of_any_size_is_none():
    assert "first line" in problem(signed(GOOD, {**WISH, "requirements": ["b"]}), WISH)
    assert "characters" in problem(signed(GOOD * 60000, WISH), WISH)


def test_an_address_that_an_override_names_is_the_operator_s_own():
    wish = {**WISH, "overrides": ["d @ https://x/d.whl"]}
    assert problem(signed("d @ https://x/d.whl\n", wish), wish) == ""


def test_versions_of_a_lock_are_preferred_to_those_of_an_earlier_layer():
    assert pins(GOOD) == {"a==1", "b-c==2.0+cpu"}
    assert preferred(GOOD, "A==3\nd==4\n") == "a==1\nb-c==2.0+cpu\nd==4\n"
    assert preferred("", "A==3\n") == "A==3\n"
