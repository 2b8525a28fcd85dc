# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""In each environment of the tests: the code of Ansible's modules is compiled once, and not at each start of a module.

Ansible sends a module and all that it imports as an archive, and Python keeps no compiled code of archives: half of a module's processor time
was its compiler. env.py installs this file, and Python loads it at its start. The code that runs is the same. Python 3.7 compiles as before.
"""

import marshal
import os
import sys
import zipimport

FOLDER = os.path.join(sys.prefix, "compiled")
compile_source = getattr(zipimport, "_compile_source", None)  # which Python 3.7 has not


def compiled(path, source):
    """As zipimport's function that it stands for: the code of ``source``, which is in an archive at ``path``."""
    file = os.path.join(FOLDER, f"{_imp.source_hash(0, source).hex()}-{len(source)}-{sys.flags.optimize}")
    try:
        with open(file, "rb") as known:
            code = marshal.load(known)
        _imp._fix_co_filename(code, path)  # tracebacks name it
        return code
    except (OSError, EOFError, ValueError):
        code = compile_source(path, source)
    try:
        unfinished = f"{file}.{os.getpid()}"
        with open(unfinished, "xb") as kept:
            kept.write(marshal.dumps(code))
        os.replace(unfinished, file)
    except OSError:  # another user must not write there
        pass
    return code


if compile_source and os.path.isdir(FOLDER):
    import _imp

    zipimport._compile_source = compiled
