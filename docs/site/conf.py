# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sphinx settings of the documentation site; `make docs` builds it."""

import re

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


def link_pages(app, name, source):
    """Turn relative links between the guides, which a code hosting page follows, into references that Sphinx checks."""
    source[0] = re.sub(r"<(\w+)\.rst(#[\w-]+)>`__", r"<\1.html\2>`__", source[0])
    source[0] = re.sub(r"`([^`<]+?)\s+<(\w+)\.rst>`__", r":doc:`\1 <\2>`", source[0])


def setup(app):
    """Show references to the documentation of other projects as text: resolving them would need the network."""

    def other_project(app_, environment, node, content):
        own = "ansible_collections.ascend.inference."
        return None if node.get("reftarget", "").startswith(own) else content

    app.connect("missing-reference", other_project)
    app.connect("source-read", link_pages)
