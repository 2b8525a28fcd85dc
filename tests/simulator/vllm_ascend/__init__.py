# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulator of ``vllm serve`` with vLLM-Ascend: no NPU, no torch, no weights.

It takes the release's real flags, wants what the real engine wants, binds what it binds, speaks the connectors'
protocols and moves real bytes from prefill to decode.  What it can't show is in ../README.md.
"""
