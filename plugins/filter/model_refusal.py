# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter _model_refusal: whether a model on a hub fits the plan."""

from __future__ import annotations

DOCUMENTATION = """
name: _model_refusal
short_description: Judge a model against the plan before its weights are fetched
extends_documentation_fragment: [ascend.inference.private]
"""

import typing as t

from ansible.errors import AnsibleFilterError
from ansible.utils.unsafe_proxy import wrap_var

from ..plugin_utils.description.loader import plain
from ..plugin_utils.description.values import listed as entries
from ..plugin_utils.hosts import model_listed


def model_refusal(
    listed: t.Any, plan: t.Any, source: str, npus: t.Any = None, repair: t.Any = False, ignored: t.Any = ()
) -> dict[str, t.Any]:
    """Adapter: ``refusal`` is a text, empty if the model may be fetched; ``warnings`` are texts."""
    planned, accepted = plain(plan), entries(ignored)
    known = {str(host): plain(facts) for host, facts in (npus or {}).items()}
    try:
        found = model_listed.listed_findings(planned, plain(listed), known, bool(repair), accepted)
    except model_listed.WRONG_FORM as error:
        raise AnsibleFilterError(
            f"{source} has a configuration that cannot be judged ({type(error).__name__}: {error}). No weights were fetched. "
            "Fix: do not use this model, or report it with its config.json"
        ) from error
    warnings = [f"{each.id}: {each.problem}. {each.fix}" for each in found if each.severity == "warning"]
    return wrap_var({"refusal": model_listed.refusal(found, str(source), planned), "warnings": warnings})


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """The filters of this file."""
        return {"_model_refusal": model_refusal}
