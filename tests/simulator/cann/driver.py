# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Install a simulated driver on a node: ``python driver.py VERSION [ROOT]``.

Writes version files, empty libraries, /etc/ascend_install.info, an empty /etc/hccn.conf (if it does not exist, like the real
installer), and, if the simulated tools are in the parent folder, ``npu-smi`` and ``hccn_tool`` at their default paths.
"""

from __future__ import annotations

import os
import pathlib
import sys

TOOLS = pathlib.Path(__file__).resolve().parents[1] / "ascend_tools.py"
STATE = "/var/lib/ascend-simulator/host.json"
LIBRARIES = {"common": ["libc_sec.so"], "driver": ["libascend_hal.so", "libdrvdsmi_host.so", "libdcmi.so"]}
INSTALLED = """\
UserName=HwHiAiUser
UserGroup=HwHiAiUser
Firmware_Install_Type=full
Firmware_Install_Path_Param=/usr/local/Ascend
Driver_Install_Type=full
Driver_Install_Path_Param=/usr/local/Ascend
Driver_Install_For_All=yes
Driver_Install_Mode=normal
Driver_Install_Status=complete
"""


def _write(path, text, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink() or path.exists():
        path.unlink()
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)


def install(version="25.5.1", root="/", state=STATE, python=sys.executable, firmware="7.8.0.2.212"):
    """Write the tree below ``root`` -> the driver's folder.  The tools read ``state`` unless the environment sets another file."""
    root = pathlib.Path(root)
    ascend = root / "usr/local/Ascend"
    driver = ascend / "driver"
    _write(driver / "version.info", f"Version={version}\nascendhal_version=7.35.23\npackage_version={version}\n", 0o444)
    _write(
        ascend / "firmware/version.info",
        f"Version={firmware}\nfirmware_version=1.0\npackage_version={version}\n",
        0o444,
    )
    for folder, names in LIBRARIES.items():
        for name in names:
            _write(driver / "lib64" / folder / name, "simulated, not a library\n", 0o444)
    _write(root / "usr/local/dcmi/libdcmi.so", "simulated, not a library\n", 0o444)
    _write(root / "etc/ascend_install.info", INSTALLED)
    hccn = root / "etc/hccn.conf"
    if not hccn.exists():
        _write(hccn, "", 0o640)
    places = {
        "npu-smi": ["usr/local/bin/npu-smi", "usr/local/sbin/npu-smi"],
        "hccn_tool": ["usr/local/Ascend/driver/tools/hccn_tool"],
    }
    for tool, paths in places.items():
        text = (
            "#!/bin/sh\n# The ascend.inference simulator, not a vendor tool.\n"
            f'ASCEND_SIMULATOR_STATE="${{ASCEND_SIMULATOR_STATE:-{state}}}" exec {python} -S {TOOLS} --as {tool} "$@"\n'
        )
        for path in paths:
            _write(root / path, text, 0o555)
    link = root / "usr/bin/hccn_tool"
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink() and not link.exists():
        os.symlink("/usr/local/Ascend/driver/tools/hccn_tool", link)
    return driver


if __name__ == "__main__":
    print(install(*sys.argv[1:]))
