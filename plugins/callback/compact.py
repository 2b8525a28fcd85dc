# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Callback compact: Ansible's default output without what does nothing."""

from __future__ import annotations

DOCUMENTATION = r"""
name: compact
type: stdout
short_description: Ansible's default output without plays and includes that print nothing
version_added: 0.1.0
author:
  - The ascend.inference contributors (@ascend-inference)
description:
  - Prints what P(ansible.builtin.default#callback) prints, but no play without hosts or without a result that is shown, and no line for included files.
  - Playbooks of this collection have plays for NPUs, containers, bundles and Kubernetes, which match no host in a deployment without them.
  - A deployment that changes nothing prints two thirds of the lines, with C(display_ok_hosts=false) half of them.
  - A text with which a task fails on several hosts is printed once, with one line for each other host; C(-v) shows them all.
  - A refusal is its text, without the lines of the playbook that ansible-core 2.19 and later quote; C(-v) shows them.
extends_documentation_fragment:
  - default_callback
  - result_format_callback
requirements:
  - set as stdout in configuration
seealso:
  - plugin: ansible.builtin.default
    plugin_type: callback
"""

import re
import typing as t

from ansible import constants
from ansible.playbook.task_include import TaskInclude
from ansible.plugins.callback.default import CallbackModule as Default

# A task of these says itself what is wrong. Where it stands in our playbooks and which condition it has helps nobody to mend that.
REFUSALS = ("ansible.builtin.assert", "ansible.builtin.fail", "assert", "fail")
QUOTED = ("exception", "assertion", "evaluated_to")
# A filter that refuses the settings of a playbook says everything itself. ansible-core leads its report with the names of filter and variable.
REPORT = re.compile(r"\A.*?(?=\bRefused: \d+ error)", re.S)
UNSHOWN = ("invocation", "start", "end", "delta")  # differ on hosts that fail alike; the first is not printed


class CallbackModule(Default):
    """As the default, with the heading of a play printed with its first task."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "ascend.inference.compact"
    _begun: t.Any = None
    _said: tuple[t.Any, dict[str, str]] = (None, {})  # a task, and the first host of each answer with which it failed

    def v2_playbook_on_play_start(self, play: t.Any) -> None:
        """Wait for what the play prints."""
        self._begun, self._play = play, play

    def v2_playbook_on_no_hosts_matched(self) -> None:
        """Say nothing: the play is for hosts that this deployment does not have."""

    def v2_playbook_on_no_hosts_remaining(self) -> None:
        """All hosts have failed."""
        self._announce()
        super().v2_playbook_on_no_hosts_remaining()

    def v2_playbook_on_include(self, included_file: t.Any) -> None:
        """Say nothing: the tasks of the file follow."""

    def v2_runner_on_ok(self, result: t.Any) -> None:
        """As the default, but for includes."""
        if not isinstance(_task(result), TaskInclude):
            super().v2_runner_on_ok(result)

    def v2_runner_on_failed(self, result: t.Any, ignore_errors: bool = False) -> None:
        """As the default, but a refusal without our source, and a text once for all hosts."""
        answer = getattr(result, "result", None) or result._result  # before ansible-core 2.19
        reported = REPORT.match(str(answer.get("msg", "")))
        if reported and not self._display.verbosity:
            answer["msg"] = answer["msg"][reported.end() :]
        if (reported or _task(result).action in REFUSALS) and not self._display.verbosity:
            for key in QUOTED:
                answer.pop(key, None)
        host, text = _host(result), _shown(answer)
        if self._said[0] != _task(result)._uuid:
            self._said = (_task(result)._uuid, {})
        first = self._said[1].setdefault(text, host) if text and "results" not in answer else host
        if first != host and not self._display.verbosity:
            after = " (ignored)" if ignore_errors else ""
            self._display.display(f"fatal: [{host}]: as on {first}{after}", color=constants.COLOR_ERROR)
            return
        super().v2_runner_on_failed(result, ignore_errors=ignore_errors)

    def _print_task_banner(self, task: t.Any) -> None:
        self._announce()
        super()._print_task_banner(task)

    def _announce(self) -> None:
        if self._begun:
            super().v2_playbook_on_play_start(self._begun)
        self._begun = None


def _task(result: t.Any) -> t.Any:
    return getattr(result, "task", None) or result._task  # before ansible-core 2.19


def _host(result: t.Any) -> str:
    return str((getattr(result, "host", None) or result._host).get_name())  # before ansible-core 2.19


def _shown(answer: t.Mapping[str, t.Any]) -> str:
    """All that is printed of a failure: the same message may have another error output, or another warning."""
    shown = {key: value for key, value in answer.items() if key not in UNSHOWN and not key.startswith("_ansible_")}
    return repr(sorted(shown.items())) if answer.get("msg") else ""
