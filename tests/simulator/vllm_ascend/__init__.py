# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulator of ``vllm serve`` with vLLM-Ascend: no NPU, no torch, no weights.

It accepts the release's real flags, has the same requirements and binds the same ports as the real engine, implements the
connectors' protocols and transfers real bytes from prefill to decode.  ../README.md lists its limits.
"""
