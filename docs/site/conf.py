# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sphinx settings of the documentation site; `make docs` builds it.

The site is in English. Pages with a catalog in docs/locale/zh_CN are built a second time, in Chinese (`-D language=zh_CN`), into the
folder zh_CN; paragraphs that a catalog lacks are shown in English there.
"""

import os
import pathlib
import re

from docutils import nodes
from sphinx.util import logging

project = "ascend.inference"
author = "the ascend.inference contributors"
project_copyright = "2026 the ascend.inference contributors"
html_title = "ascend.inference"
html_short_title = "ascend.inference"
extensions = ["sphinx_antsibull_ext"]
html_theme = "sphinx_ansible_theme"
html_theme_options = {"display_version": False, "vcs_pageview_mode": "blob", "documentation_home_url": "index.html"}
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_use_index = False
pygments_style = "ansible"
highlight_language = "yaml"
default_role = "code"

gettext_compact = False
CATALOGS = pathlib.Path(__file__).resolve().parent.parent / "locale" / "zh_CN" / "LC_MESSAGES"
TRANSLATED = {path.stem for path in CATALOGS.glob("*.po")}


def in_chinese(app):
    """Whether this build is that of the pages in Chinese."""
    return app.config.language == "zh_CN"


def link_pages(app, doctree, name):
    """Turn relative links between the guides, which a code hosting page follows, into links of the site."""
    for node in doctree.findall(nodes.reference):
        linked = re.fullmatch(r"(\w+)\.rst(#[\w-]+)?", node.get("refuri", ""))
        if not linked:
            continue
        folder = name.rpartition("/")[0]
        page = f"{folder}/{linked[1]}" if folder else linked[1]
        if page in app.env.found_docs:
            node["refuri"] = app.builder.get_relative_uri(name, page) + (linked[2] or "")
        elif in_chinese(app):
            node["refuri"] = f"../docsite/{linked[1]}.html{linked[2] or ''}"
        else:
            logging.getLogger(__name__).warning("there is no page %s", linked[0], location=node)


def name_language(app, name, template, context, doctree):
    """Put a link to the same page in the other language above each page, or to the first page of that language."""
    if "body" not in context:
        return
    page = name.rpartition("/")[2]
    if in_chinese(app):
        target, text, language = (f"docsite/{page}" if page in TRANSLATED else "index"), "English", "en"
        target = f"../{target}.html"
    else:
        target, text, language = f"zh_CN/{page if page in TRANSLATED else 'index'}.html", "中文", "zh-CN"
        target = os.path.relpath(target, os.path.dirname(name) or ".")
    link = f'<a href="{target}" hreflang="{language}" lang="{language}">{text}</a>'
    context["body"] = f'<p class="language">{link}</p>{context["body"]}'


def setup(app):
    """Show references to the documentation of other projects as text: resolving them would need the network."""

    def other_project(app_, environment, node, content):
        own = "ansible_collections.ascend.inference.docsite."
        target = node.get("reftarget", "")
        if in_chinese(app) and target.startswith(own):
            page = target.removeprefix(own)
            return nodes.reference("", "", content, internal=False, refuri=f"../docsite/{page}.html")
        return None if target.startswith("ansible_collections.ascend.inference.") else content

    # Pages are written again when this changes: each has a link to the other language.
    app.add_config_value("pages_in_chinese", sorted(TRANSLATED), "html")
    app.connect("missing-reference", other_project)
    app.connect("doctree-resolved", link_pages)
    app.connect("html-page-context", name_language)
