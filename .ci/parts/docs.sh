#!/usr/bin/env bash
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Check the documentation of modules, filters, roles and the guides, and build the site docs/build/html from them.
# The site is built from a copy with generated pages of all rules, checks and causes, without network. Warnings are errors.
# Pages with a catalog in docs/locale/zh_CN are built in Chinese, too. A translation whose paragraph changed is an error.
. "$(dirname "$0")/../lib.sh"
use docs
dependencies=$(environment collections)
source=$(environment copy .cache/docs/source)
export ANSIBLE_COLLECTIONS_PATH=$ROOT/.cache/docs/source:$dependencies
pages=.cache/docs/pages site=docs/build/html

say "generate the pages of all rules, checks and causes"
python "$source/docs/rules_page.py" "$source/docs/docsite/rst" >/dev/null
printf '      - rules\n      - checks\n      - diagnosis\n' >>"$source/docs/docsite/extra-docs.yml"

say "antsibull-docs lint"
antsibull-docs lint-collection-docs --plugin-docs --validate-collection-refs all --disallow-unknown-collection-refs "$source"

say "antsibull-docs collection"
mkdir -p "$pages" "$(dirname "$site")"
chmod go-w "$pages"
antsibull-docs --config-file docs/site/antsibull-docs.cfg collection --cleanup everything --fail-on-error --use-current \
    --squash-hierarchy --dest-dir "$pages" ascend.inference >.cache/docs/collection.log || { cat .cache/docs/collection.log >&2; exit 1; }

# The site is for users: private filters have no pages.
rm "$pages"/_*_filter.rst
sed -i -e '/^\* :ansplugin:`_/d' -e '/^    _[a-z_]*_filter$/d' "$pages/index.rst"
grep -q launch_plan_filter "$pages/index.rst" # the pattern of the list is antsibull's, and may change
if grep -E '^    _|inference\._' "$pages/index.rst"; then exit 1; fi
# The first page begins with where to begin, above its list of contents.
guide=ansible_collections.ascend.inference.docsite
sed -i "s/^Collection version .*/Begin with the :ref:\`$guide.guide_quickstart\`, or look for your task in the :ref:\`$guide.guide_index\`.\n\n&/" "$pages/index.rst"
grep -q "^Begin with .*guide_quickstart" "$pages/index.rst"

say "sphinx-build"
rm -rf .cache/docs/pictures
cp -r docs/pictures .cache/docs/pictures # the path in the pages
sphinx-build -q -W --keep-going -b html -d .cache/docs/doctrees -c docs/site "$pages" "$site"
say "pages in Chinese"
chinese=.cache/docs/zh_CN
rm -rf "$chinese" && mkdir -p "$chinese/source" && cp -r docs/locale "$chinese/locale"
for catalog in docs/locale/zh_CN/LC_MESSAGES/*.po; do
    name=$(basename "$catalog" .po)
    cp "$pages/docsite/$name.rst" "$chinese/source/"
done
cp docs/site/zh_CN.rst "$chinese/source/index.rst"
cp -r docs/pictures "$chinese/pictures"
sphinx-build -q -W --keep-going -b gettext -D language=zh_CN -c docs/site "$chinese/source" "$chinese/messages"
python docs/translations.py check "$chinese/messages"
sphinx-build -q -W --keep-going -b html -D language=zh_CN -D locale_dirs=../locale -c docs/site "$chinese/source" "$site/zh_CN"
grep -q 'href="../zh_CN/guide_quickstart.html"' "$site/docsite/guide_quickstart.html" # each page links to the other language
grep -q 'href="../docsite/guide_quickstart.html"' "$site/zh_CN/guide_quickstart.html"
say "done: $site/index.html"
