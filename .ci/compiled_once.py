# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""In each environment of the tests: sources for which Python keeps no compiled code are compiled once, and not at each start.

These are the modules that Ansible sends to a host, with all that they import, in an archive, and what Ansible's loader of collections imports on the
controller: half of a module's processor time, and a quarter of that in which ansible-playbook starts. env.py installs this file, and Python loads it at
its start. The code that runs is the same. Python 3.7 compiles archives as before.
"""

import _frozen_importlib_external as importers
import _imp
import marshal
import os
import sys
import zipimport

FOLDER = os.path.join(sys.prefix, "compiled")
LOADER = "ansible.utils.collection_loader._collection_finder"


def once(source, filename, mode, flags=0, dont_inherit=False):
    """As ``compile``, with the code of the same bytes from the folder, if it is there."""
    if not (isinstance(source, bytes) and mode == "exec" and flags == 0 and dont_inherit):
        return compile(source, filename, mode, flags, dont_inherit)
    file = os.path.join(FOLDER, f"{_imp.source_hash(0, source).hex()}-{len(source)}-{sys.flags.optimize}")
    try:
        with open(file, "rb") as known:
            code = marshal.load(known)
        _imp._fix_co_filename(code, filename)  # tracebacks name it
        return code
    except (OSError, EOFError, ValueError, TypeError):
        code = compile(source, filename, mode, flags, dont_inherit)
    try:
        unfinished = f"{file}.{os.getpid()}"
        with open(unfinished, "xb") as kept:
            kept.write(marshal.dumps(code))
        os.replace(unfinished, file)
    except OSError:  # another user must not write there
        pass
    return code


class Finder:
    """Gives Ansible's loader of collections ``once`` in place of ``compile`` when it is imported."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        """The usual spec, whose loader does that."""
        if name != LOADER:
            return None
        sys.meta_path.remove(cls)
        spec = importers.PathFinder.find_spec(name, path, target)
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            module.compile = once

        spec.loader.exec_module = exec_module
        return spec


if os.path.isdir(FOLDER):
    zipimport.compile = once
    sys.meta_path.insert(0, Finder)
