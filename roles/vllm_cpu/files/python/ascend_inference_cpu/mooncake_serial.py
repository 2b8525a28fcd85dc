# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""vLLM's Mooncake connector for proxies that call prefill first and decode second.

Such a proxy (vLLM-Ascend's load-balance proxy, vllm-router in its nixl mode) passes ``kv_transfer_params`` from the response of
the prefill engine to the decode engine without reading them. vLLM's own connector returns no parameters: it expects a proxy that
creates a transfer id and queries the bootstrap server. This class creates the id on the prefill engine and returns all parameters
that decode needs. The parent class implements the transfer.
"""

from __future__ import annotations

from vllm.distributed.kv_transfer.kv_connector.v1.mooncake import mooncake_connector as upstream
from vllm.utils.network_utils import get_ip

# The bootstrap server (which engine listens where) has no authentication, and vLLM opens it on every interface and registers
# over loopback: bind it to the engine's own address (VLLM_HOST_IP) and register there.
_upstream_address = upstream.get_mooncake_bootstrap_addr


def _bootstrap_address(vllm_config) -> tuple[str, int]:
    host, port = _upstream_address(vllm_config)
    return (get_ip() if host in ("127.0.0.1", "localhost") else host), port


class _OwnAddressBootstrapServer(upstream.MooncakeBootstrapServer):
    def __init__(self, host, port):
        super().__init__(get_ip() if host == "0.0.0.0" else host, port)


upstream.get_mooncake_bootstrap_addr = _bootstrap_address
upstream.MooncakeBootstrapServer = _OwnAddressBootstrapServer


class MooncakeSerialConnector(upstream.MooncakeConnector):
    """Returns from prefill the parameters that decode needs to fetch the KV cache."""

    def get_num_new_matched_tokens(self, request, num_computed_tokens):
        params = request.kv_transfer_params
        if params and params.get("do_remote_decode") and not params.get("transfer_id"):
            params["transfer_id"] = request.request_id
        return super().get_num_new_matched_tokens(request, num_computed_tokens)

    def request_finished(self, request, block_ids):
        return self._with_parameters(request, super().request_finished(request, block_ids))

    def request_finished_all_groups(self, request, block_ids):
        return self._with_parameters(request, super().request_finished_all_groups(request, block_ids))

    def _with_parameters(self, request, result):
        held, params = result
        if not held:
            return held, params
        host, port = _bootstrap_address(self._vllm_config)
        return held, {
            "do_remote_prefill": True,
            "do_remote_decode": False,
            "transfer_id": request.kv_transfer_params["transfer_id"],
            "remote_engine_id": self.engine_id,
            "remote_bootstrap_addr": f"http://{host}:{port}",
            "remote_host": host,
            "remote_port": port,
            # Proxies only test that the list is not empty; the connectors exchange the real block ids.
            "remote_block_ids": [0],
        }
