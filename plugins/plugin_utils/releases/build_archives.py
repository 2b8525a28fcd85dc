# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Archives that vLLM-Ascend fetches while it compiles, read in csrc/cmake/third_party of its source distributions.

0.20.2rc1 to 0.30.0rc2 name the same; older ones fetch nothing. The SHA-256 is that of URL_HASH; a source states none for the others.
"""

from __future__ import annotations

from .version import numbers

FIRST = "0.20.2rc1"
MAKESELF = "bfa730a5763cdb267904a130e02b2e48e464986909c0733ff1c96495f620369a"
SERVER = "https://gitcode.com/cann-src-third-party"
ARCHIVES = {
    f"{SERVER}/abseil-cpp/releases/download/20230802.1/abseil-cpp-20230802.1.tar.gz": "",
    f"{SERVER}/json/releases/download/v3.11.3/include.zip": "",
    f"{SERVER}/makeself/releases/download/release-2.5.0-patch1.0/makeself-release-2.5.0-patch1.tar.gz": MAKESELF,
    f"{SERVER}/protobuf/releases/download/v25.1/protobuf-25.1.tar.gz": "",
}
# Files of CMake whose archives only tests use, which the builds leave out: build.sh --pkg of vLLM-Ascend, BUILD_UNIT_TESTS=OFF of Mooncake.
OF_TESTS = ("gtest.cmake", "ut.cmake", "FindGTest.cmake")


def build_archives(release: str) -> dict[str, str]:
    """{address: SHA-256 or an empty text} of what the build of a release fetches, as far as it is known before its sources are there."""
    return dict(ARCHIVES) if numbers(release) >= numbers(FIRST) else {}
