# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build simulated CANN packages: ``python packages.py DIRECTORY VERSION HARDWARE [ARCH]`` writes the three packages of a version."""

from __future__ import annotations

import hashlib
import io
import os
import pathlib
import platform
import re
import sys
import tarfile

SCRIPT = pathlib.Path(__file__).with_name("package.sh")
TOOLKIT_ENVIRONMENT = """\
# simulated CANN toolkit
export ASCEND_TOOLKIT_HOME="@HOME@"
export ASCEND_HOME_PATH="@HOME@"
export ASCEND_OPP_PATH="@HOME@/opp"
export ASCEND_AICPU_PATH="@HOME@"
driver_path=$(grep -i driver_install_path_param "${ASCEND_SIMULATOR_ROOT:-}/etc/ascend_install.info" 2>/dev/null | cut -d= -f2)
for folder in "${ASCEND_SIMULATOR_ROOT:-}${driver_path}"/driver/lib64/driver "${ASCEND_SIMULATOR_ROOT:-}${driver_path}"/driver/lib64/common "@HOME@/lib64"; do
    export LD_LIBRARY_PATH="${folder}:${LD_LIBRARY_PATH:-}"
done
export PYTHONPATH="@HOME@/python/site-packages:${PYTHONPATH:-}"
export PATH="@HOME@/bin:${PATH}"
unset driver_path folder
"""
ATB_ENVIRONMENT = """\
# simulated NNAL
cxx_abi=0
for option in "$@"; do
    case "$option" in --cxx_abi=*) cxx_abi=${option#*=} ;; esac
done
export ATB_HOME_PATH="@ATB@/latest/atb/cxx_abi_${cxx_abi}"
export LD_LIBRARY_PATH="${ATB_HOME_PATH}/lib:${LD_LIBRARY_PATH:-}"
unset cxx_abi option
"""
CONTENTS = {
    "toolkit": {
        "lib64/libhccl.so": "",
        "lib64/libascendcl.so": "",
        "python/site-packages/te/__init__.py": "",
        "set_env.in": TOOLKIT_ENVIRONMENT,
    },
    "kernels": {"opp/built-in/op_impl/ai_core/kernel.txt": ""},
    "nnal": {
        "atb/cxx_abi_0/lib/libatb.so": "",
        "atb/cxx_abi_1/lib/libatb.so": "",
        "set_env.in": ATB_ENVIRONMENT,
    },
}
CHIPS = {"a2": "910b", "a3": "A3", "910a": "910", "310p": "310p", "950": "950"}
LABELS = {"toolkit": "Toolkit", "nnal": "Nnal"}


def layout(version):
    """ "new" from CANN 8.5 on (cann-<version>, kernels called ops), else "old".

    >>> layout("8.3.RC1"), layout("8.5.0"), layout("9.1.0-beta.1")
    ('old', 'new', 'new')
    """
    major, minor = (int(part) for part in re.match(r"(\d+)\.(\d+)", version).groups())
    return "new" if (major, minor) >= (8, 5) else "old"


def name(kind, version, hardware, arch):
    """File name without ``.run`` as the vendor names it.

    >>> name("kernels", "8.2.RC1", "a3", "aarch64"), name("kernels", "9.0.0", "a2", "x86_64")
    ('Atlas-A3-cann-kernels_8.2.RC1_linux-aarch64', 'Ascend-cann-910b-ops_9.0.0_linux-x86_64')
    """
    chip = CHIPS[hardware]
    if kind != "kernels":
        stem = f"Ascend-cann-{kind}"
    elif layout(version) == "new":
        stem = f"Ascend-cann-{chip}-ops"
    else:
        stem = "Atlas-A3-cann-kernels" if hardware == "a3" else f"Ascend-cann-kernels-{chip}"
    return f"{stem}_{version}_linux-{arch}"


def _archive(contents):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as files:
        for path, text in sorted(contents.items()):
            data = (text or "simulated, not a library\n").encode()
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(data), 0o644
            files.addfile(entry, io.BytesIO(data))
    return stream.getvalue()


def build(folder, kind, version, hardware="a2", arch=None):
    """Write one package -> its path. ``kind`` is toolkit, kernels or nnal."""
    arch = arch or platform.machine()
    data = _archive(CONTENTS[kind])
    values = {
        "KIND": kind,
        "VERSION": version,
        "ARCH": arch,
        "NAME": name(kind, version, hardware, arch),
        "LABEL": LABELS.get(kind, f"ops_{CHIPS[hardware]}" if layout(version) == "new" else "Kernels"),
        "LAYOUT": layout(version),
        "SUM": hashlib.sha256(data).hexdigest(),
    }
    script = SCRIPT.read_text(encoding="utf-8")
    values["LINE"] = str(script.count("\n") + 1)
    head, rest = script.split("\nROOT=", 1)  # values are inserted only into the line of assignments
    for key, value in values.items():
        head = head.replace(f"={'@'}{key}@", f"={value}")
    path = pathlib.Path(folder) / (values["NAME"] + ".run")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes((head + "\nROOT=" + rest).encode() + data)
    os.chmod(path, 0o755)
    return path


def build_all(folder, version, hardware="a2", arch=None):
    """The three packages of a version -> their paths, in the order of installation."""
    return [build(folder, kind, version, hardware, arch) for kind in ("toolkit", "kernels", "nnal")]


if __name__ == "__main__":
    for made in build_all(*sys.argv[1:]):
        print(made)
