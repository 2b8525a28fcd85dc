#!/usr/bin/env bash
# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Run one part of the tests: script.sh NAME [ARGUMENT...]
# NAME is a folder of tests/, with a program run.py or files test_*.py for pytest; e2e-local is tests/e2e/test_local.py.
# Provides ansible, pytest, uv and all collections, and the Debian packages that the tests need.
. "$(dirname "$0")/../lib.sh"
name=$1
shift
if [ -f "tests/$name/run.py" ]; then
    program=(python "tests/$name/run.py")
elif [ -f "tests/${name%%-*}/test_${name#*-}.py" ]; then
    program=(python -m pytest -v "tests/${name%%-*}/test_${name#*-}.py")
elif compgen -G "tests/$name/test_*.py" >/dev/null; then
    program=(python -m pytest -v "tests/$name")
else
    echo "tests/ has no program and no tests for $name" >&2
    exit 2
fi

case $name in
    integration)
        # RUNLEVEL=1: servers of installed packages are not started.
        RUNLEVEL=1 .ci/apt cmake docker-registry etcd-server gcc git haproxy iproute2 keepalived libc6-dev libibverbs1 libnuma1 librdmacm1 make minisign nftables prometheus rsync skopeo
        [ -z "${LONG:-}" ] || .ci/apt chromium createrepo-c dnf dnf-plugins-core gpg nodejs npm rpm # test_pages, test_bundle_rpms
        .ci/docker-up
        ;;
    parsers)
        RUNLEVEL=1 .ci/apt etcd-server libibverbs1 libnuma1 librdmacm1 # mooncake_master is linked against the libraries
        [ -z "${LONG:-}" ] || set -- --releases all "$@"
        ;;
    judge)
        [ -z "${LONG:-}" ] || set -- --releases all --plans 0 --random 100 "$@"
        ;;
esac
# Environments of the local deployments are in this checkout, unless the path of their sockets would be too long.
if [ ${#ROOT} -le 50 ]; then export INFERENCE_E2E_ROOT=${INFERENCE_E2E_ROOT:-$ROOT/.cache/e2e}; fi

use programs
with_collections
share_built_modules
PYTHONPATH=$(environment tree)
[ "$name" != judge ] || PYTHONPATH=$PYTHONPATH:$ROOT/tests/parsers # whose releases it judges by
export PYTHONPATH
exec "${program[@]}" "$@"
