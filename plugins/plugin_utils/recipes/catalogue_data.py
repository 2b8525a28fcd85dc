# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recipes: settings of documented deployments, by name; written by ``make releases ARGS=--write``.

SHELF: ``release date`` of the source distributions that they are compiled from.
WITHOUT: ``page|section|hardware|release`` of guides that have no recipe, and below it what the planner says against each.
"""

from __future__ import annotations

SHELF = r"""
0.23.0.post1 2026-09-22
0.30.0rc2 2026-10-13
"""

WITHOUT = r"""
docs/source/tutorials/models/Kimi-K3.md|5 Online Service Deployment / 5.1 Atlas 800 A3 Deployments / 5.1.1 Four-Node Mixed Deployment|a3|0.23.0.post1
  FLAG-REGISTERED: vLLM 0.23.0 has no reasoning-parser 'kimi_k3'
  FLAG-REGISTERED: vLLM 0.23.0 has no tool-call-parser 'kimi_k3'
docs/source/tutorials/models/Kimi-K3.md|5 Online Service Deployment / 5.2 Atlas 800 A2 Deployment / 5.2.1 Eight-Node Mixed Deployment|a2|0.23.0.post1
  FLAG-REGISTERED: vLLM 0.23.0 has no reasoning-parser 'kimi_k3'
  FLAG-REGISTERED: vLLM 0.23.0 has no tokenizer-mode 'kimi_k3'
  FLAG-REGISTERED: vLLM 0.23.0 has no tool-call-parser 'kimi_k3'
docs/source/tutorials/models/Qwen3.5-27B-Qwen3.6-27B.md|5 Online Service Deployment / 5.2 Multi-Node PD Separation Deployment|a3|0.23.0.post1
  DENSE-DP: the model is dense (as Qwen/Qwen3.5-27B) and has 8 data-parallel ranks
docs/source/tutorials/models/GLM5.2.md|5 Deployment / 5.1 Context Below 1M / 5.1.3.1 Deployment on 4 Atlas 800 A3|a3|0.30.0rc2
  KV-DTYPE-DIFFERS: --kv-cache-dtype differs: prefill has the default, decode has int8
docs/source/tutorials/models/Qwen3.5-27B-Qwen3.6-27B.md|5 Online Service Deployment / 5.2 Multi-Node PD Separation Deployment|a3|0.30.0rc2
  DENSE-DP: the model is dense (as Qwen/Qwen3.5-27B) and has 8 data-parallel ranks
tests/e2e/cases/models/configs/MiniMax/Minimax_m2.7_in3_5_tpot20.yaml||a3|0.30.0rc2
  PARALLEL-MISMATCH: pool prefill has data_parallel_size 2, not 4
  PARALLEL-MISMATCH: pool prefill has tensor_parallel_size 8, not 4
"""

RECIPES = r"""
deepseek-r1-w8a8-a3
  from a3 4 DeepSeek-R1-0528-W8A8 'main at 182b75ea84ff'
      vllm-project/vllm-ascend@182b75ea84ff:tests/e2e/nightly/multi_node/internal_dp/config/DeepSeek-R1-W8A8-EPLB.yaml
  note 'decode: its hosts differ in additional-config; here is what the first has'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true --gpu-memory-utilization=0.9 --max-model-len=36864 --quantization=ascend --seed=1024
      '--speculative-config={"method":"mtp","num_speculative_tokens":1}' --trust-remote-code DYNAMIC_EPLB=true HCCL_BUFFSIZE=1024 HCCL_DETERMINISTIC=true
      'HCCL_OP_RETRY_ENABLE=L0:0, L1:0, L2:0' OMP_NUM_THREADS=10 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1
      VLLM_ENGINE_READY_TIMEOUT_S=3000
  prefill data_parallel_size=2 instances=2 tensor_parallel_size=8
      '--additional-config={"eplb_config":{"algorithm_execution_interval":200,"dynamic_eplb":true,"expert_heat_collection_interval":2048}}' --enforce-eager
      --max-num-batched-tokens=16384 --max-num-seqs=4
  decode data_parallel_size=32 instances=1 '--additional-config={"multistream_overlap_shared_expert":true}' --max-num-batched-tokens=256
      --max-num-seqs=28
deepseek-v3-w8a8-a3
  from a3 2 DeepSeek-V3-W8A8 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/DeepSeek/DeepSeek-V3.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all data_parallel_size=2 expert_parallel=true instances=1 tensor_parallel_size=8 --enable-prefix-caching=false --gpu-memory-utilization=0.9
      --max-model-len=8192 --max-num-batched-tokens=8192 --max-num-seqs=16 --quantization=ascend --seed=1024 --trust-remote-code HCCL_BUFFSIZE=1024
      NUMEXPR_MAX_THREADS=128 OMP_NUM_THREADS=1 OMP_PROC_BIND=false TASK_QUEUE_ENABLE=1
  prefill --enforce-eager
  decode
deepseek-v3.1-terminus-w8a8-a3-layerwise
  from a3 4 DeepSeek-V3.1-Terminus-w8a8-mtp-QuaRot 0.30.0rc2 'vllm-ascend 0.30.0rc2:
      tests/e2e/cases/models/configs/DeepSeek/DeepSeek_V3.1T_layerwise_PD.yaml'
  deployment inference_kv_transfer=mooncake_layerwise
  pools prefill decode
  all expert_parallel=true load_balancing=external --enable-prefix-caching=false --max-model-len=70000 --quantization=ascend --seed=1024
      '--speculative-config={"method":"deepseek_mtp","num_speculative_tokens":1}' --trust-remote-code ASCEND_CONNECT_TIMEOUT=10000
      ASCEND_LOG_DEVICE_FLUSH_TIMEOUT=0 ASCEND_TRANSFER_TIMEOUT=10000 HCCL_CONNECT_TIMEOUT=400 HCCL_EXEC_TIMEOUT=204 HCCL_OP_EXPANSION_MODE=AIV
      OMP_NUM_THREADS=10 OMP_PROC_BIND=false PYTHONHASHSEED=0 PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1
      VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000 VLLM_RPC_TIMEOUT=3600000 VLLM_USE_V1=1
  prefill data_parallel_size=2 instances=2 tensor_parallel_size=8 '--additional-config={"enable_mlapo":true,"recompute_scheduler_enable":true}'
      --enforce-eager --gpu-memory-utilization=0.9 --max-num-batched-tokens=16384 --max-num-seqs=8 HCCL_BUFFSIZE=256
  decode data_parallel_size=32 instances=1
      '--additional-config={"enable_mlapo":true,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":true}' --async-scheduling
      '--compilation-config={"cudagraph_capture_sizes":[3,4,8,16,24,32,48,56],"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.92
      --max-num-batched-tokens=256 --max-num-seqs=28 HCCL_BUFFSIZE=1100
deepseek-v3.1-terminus-w8a8-a3-mtp1
  from a3 4 DeepSeek-V3.1-Terminus-w8a8-mtp-QuaRot 0.30.0rc2 'vllm-ascend 0.30.0rc2:
      tests/e2e/cases/models/configs/DeepSeek/DeepSeek_V3.1T_MTP1_PD.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true load_balancing=external --enable-prefix-caching=false --max-model-len=40000 --quantization=ascend --seed=1024
      '--speculative-config={"method":"deepseek_mtp","num_speculative_tokens":1}' --trust-remote-code ASCEND_LOG_DEVICE_FLUSH_TIMEOUT=0
      HCCL_CONNECT_TIMEOUT=400 HCCL_EXEC_TIMEOUT=204 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=10 OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000 VLLM_RPC_TIMEOUT=3600000 VLLM_USE_V1=1
  prefill data_parallel_size=2 instances=2 tensor_parallel_size=8
      '--additional-config={"enable_mlapo":true,"enable_shared_expert_dp":true,"recompute_scheduler_enable":true}' --enforce-eager
      --gpu-memory-utilization=0.9 --max-num-batched-tokens=16384 --max-num-seqs=8 HCCL_BUFFSIZE=256
  decode data_parallel_size=32 instances=1
      '--additional-config={"enable_mlapo":true,"finegrained_tp_config":{"lmhead_tensor_parallel_size":8},"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.94 --max-num-batched-tokens=256 --max-num-seqs=40
      HCCL_BUFFSIZE=1200
deepseek-v3.1-terminus-w8a8-a3-mtp1-128k-1k
  from a3 4 DeepSeek-V3.1-Terminus-w8a8-mtp-QuaRot 0.30.0rc2 'vllm-ascend 0.30.0rc2:
      tests/e2e/cases/models/configs/DeepSeek/DeepSeek_V3.1T_MTP1_128K_1K_PD.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true load_balancing=external --enable-prefix-caching=false --max-model-len=135000 --max-num-seqs=1 --quantization=ascend
      --seed=1024 '--speculative-config={"method":"deepseek_mtp","num_speculative_tokens":1}' --trust-remote-code HCCL_CONNECT_TIMEOUT=400
      HCCL_EXEC_TIMEOUT=204 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=10 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
      TASK_QUEUE_ENABLE=1 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000 VLLM_RPC_TIMEOUT=3600000 VLLM_USE_V1=1
  prefill data_parallel_size=2 instances=2 tensor_parallel_size=8
      '--additional-config={"enable_shared_expert_dp":true,"recompute_scheduler_enable":false}' --enforce-eager --gpu-memory-utilization=0.93
      --max-num-batched-tokens=1024 HCCL_BUFFSIZE=256
  decode data_parallel_size=32 instances=1
      '--additional-config={"enable_mlapo":true,"finegrained_tp_config":{"lmhead_tensor_parallel_size":8},"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.94 --max-num-batched-tokens=256 HCCL_BUFFSIZE=1200
deepseek-v3.1-terminus-w8a8-a3-mtp1-3.5k-1.5k
  from a3 4 DeepSeek-V3.1-Terminus-w8a8-mtp-QuaRot 0.30.0rc2 'vllm-ascend 0.30.0rc2:
      tests/e2e/cases/models/configs/DeepSeek/DeepSeek_V3.1T_MTP1_3_5K_1_5K_PD.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true load_balancing=external --enable-prefix-caching=false --max-model-len=40000 --quantization=ascend --seed=1024
      '--speculative-config={"method":"deepseek_mtp","num_speculative_tokens":1}' --trust-remote-code ASCEND_LOG_DEVICE_FLUSH_TIMEOUT=0
      HCCL_CONNECT_TIMEOUT=400 HCCL_EXEC_TIMEOUT=204 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=10 OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000 VLLM_RPC_TIMEOUT=3600000 VLLM_USE_V1=1
  prefill data_parallel_size=2 instances=2 tensor_parallel_size=8
      '--additional-config={"enable_mlapo":true,"enable_shared_expert_dp":true,"recompute_scheduler_enable":true}' --enforce-eager
      --gpu-memory-utilization=0.9 --max-num-batched-tokens=8192 --max-num-seqs=8 HCCL_BUFFSIZE=256
  decode data_parallel_size=32 instances=1
      '--additional-config={"enable_mlapo":true,"finegrained_tp_config":{"lmhead_tensor_parallel_size":8},"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.94 --max-num-batched-tokens=256 --max-num-seqs=40
      HCCL_BUFFSIZE=1200
deepseek-v3.1-terminus-w8a8-a3-mtp3
  from a3 4 DeepSeek-V3.1-Terminus-w8a8-mtp-QuaRot 0.30.0rc2 'vllm-ascend 0.30.0rc2:
      tests/e2e/cases/models/configs/DeepSeek/DeepSeek_V3.1T_MTP3_PD.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true load_balancing=external --enable-prefix-caching=false --max-model-len=40000 --quantization=ascend --seed=1024
      '--speculative-config={"method":"deepseek_mtp","num_speculative_tokens":3}' --trust-remote-code ASCEND_LOG_DEVICE_FLUSH_TIMEOUT=0
      HCCL_CONNECT_TIMEOUT=400 HCCL_EXEC_TIMEOUT=204 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=10 OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000 VLLM_RPC_TIMEOUT=3600000 VLLM_USE_V1=1
  prefill data_parallel_size=2 instances=2 tensor_parallel_size=8
      '--additional-config={"enable_mlapo":true,"enable_shared_expert_dp":true,"recompute_scheduler_enable":true}' --enforce-eager
      --gpu-memory-utilization=0.9 --max-num-batched-tokens=16384 --max-num-seqs=8 HCCL_BUFFSIZE=256
  decode data_parallel_size=32 instances=1
      '--additional-config={"enable_mlapo":true,"finegrained_tp_config":{"lmhead_tensor_parallel_size":8},"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.94 --max-num-batched-tokens=256 --max-num-seqs=40
      HCCL_BUFFSIZE=1200
deepseek-v3.1-w8a8-a2-mixed
  from a2 2 DeepSeek-V3.1-w8a8-mtp-QuaRot 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/DeepSeek-V3.1.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated data_parallel_size=4 expert_parallel=true instances=1 tensor_parallel_size=4 '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}'
      --enable-prefix-caching=false --gpu-memory-utilization=0.92 --max-model-len=16384 --max-num-batched-tokens=4096 --max-num-seqs=16
      --quantization=ascend --seed=1024 '--speculative-config={"method":"mtp","num_speculative_tokens":3}' --trust-remote-code HCCL_BUFFSIZE=200
      HCCL_INTRA_PCIE_ENABLE=1 HCCL_INTRA_ROCE_ENABLE=0 OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
      VLLM_ASCEND_BALANCE_SCHEDULING=1
deepseek-v3.1-w8a8-a3
  from a3 4 DeepSeek-V3.1-w8a8-mtp-QuaRot 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/DeepSeek-V3.1.md'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true load_balancing=external --enable-prefix-caching=false --max-model-len=65536 --quantization=ascend --seed=1024
      '--speculative-config={"method":"mtp","num_speculative_tokens":1}' --trust-remote-code HCCL_CONNECT_TIMEOUT=120 HCCL_EXEC_TIMEOUT=204
      HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=10 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1
      VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000 VLLM_RPC_TIMEOUT=3600000 VLLM_USE_V1=1
  prefill data_parallel_size=2 instances=2 tensor_parallel_size=8 --enforce-eager --gpu-memory-utilization=0.9 --max-num-batched-tokens=16384
      --max-num-seqs=8 HCCL_BUFFSIZE=256 VLLM_ASCEND_ENABLE_FLASHCOMM1=1
  decode data_parallel_size=32 instances=1
      '--additional-config={"finegrained_tp_config":{"lmhead_tensor_parallel_size":16},"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.92 --max-num-batched-tokens=256 --max-num-seqs=28
      HCCL_BUFFSIZE=1100
deepseek-v3.1-w8a8-a3-chunked-pipeline
  from a3 3 DeepSeek-V3.1-w8a8 0.30.0rc2 'vllm-ascend 0.30.0rc2: docs/source/tutorials/features/dynamic_chunked_pipeline_parallel.md'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 --max-model-len=131072 --quantization=ascend --trust-remote-code HCCL_OP_EXPANSION_MODE=AIV OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_USE_V1=1
  prefill pipeline_parallel_size=2 tensor_parallel_size=8
      '--additional-config={"enable_flashcomm1":true,"scheduler_config":{"profiling_chunk_config":{"enabled":true,"min_chunk":4096,"smooth_factor":1.0}}}'
      --async-scheduling=false --enable-chunked-prefill --enable-prefix-caching --gpu-memory-utilization=0.9 --max-num-batched-tokens=32768
      --max-num-seqs=32 ASCEND_LAUNCH_BLOCKING=0 HCCL_BUFFSIZE=2048 HCCL_CONNECT_TIMEOUT=120 HCCL_EXEC_TIMEOUT=204 OMP_NUM_THREADS=1
      VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000 VLLM_RPC_TIMEOUT=3600000
  decode data_parallel_size=32 load_balancing=external
      '--additional-config={"finegrained_tp_config":{"lmhead_tensor_parallel_size":16},"multistream_overlap_shared_expert":true,"scheduler_config":{"recompute_scheduler_enable":true}}'
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-prefix-caching=false --gpu-memory-utilization=0.94 --max-num-batched-tokens=256
      --max-num-seqs=40 --seed=1024 HCCL_BUFFSIZE=600 OMP_NUM_THREADS=10
deepseek-v3.1-w8a8-a3-mixed
  from a3 1 DeepSeek-V3.1-w8a8-mtp-QuaRot 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/DeepSeek-V3.1.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated data_parallel_size=4 expert_parallel=true instances=1 tensor_parallel_size=4 '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}'
      --enable-prefix-caching=false --gpu-memory-utilization=0.92 --max-model-len=16384 --max-num-batched-tokens=4096 --max-num-seqs=16
      --quantization=ascend --seed=1024 '--speculative-config={"method":"mtp","num_speculative_tokens":3}' --trust-remote-code HCCL_OP_EXPANSION_MODE=AIV
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True VLLM_ASCEND_BALANCE_SCHEDULING=1
deepseek-v3.2-w8a8-a2
  from a2 8 DeepSeek-V3.2-w8a8-mtp-QuaRot 0.23.0.post1 'verylucky01/MindIE-PyMotor (mirror of Ascend
      MindIE-PyMotor)@09689701476b:examples/infer_engines/vllm/models/deepseek/v3_2/user_config.json'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 '--additional-config={"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":true}'
      --async-scheduling --enable-auto-tool-choice --enable-chunked-prefill --enable-prefix-caching --gpu-memory-utilization=0.95 --max-model-len=65536
      --max-num-seqs=48 --quantization=ascend --reasoning-parser=deepseek_v3 --seed=1024
      '--speculative-config={"method":"deepseek_mtp","num_speculative_tokens":3}' --tokenizer-mode=deepseek_v32 --tool-call-parser=deepseek_v32
      --trust-remote-code
  prefill data_parallel_size=4 tensor_parallel_size=8 --enforce-eager --max-num-batched-tokens=4096
  decode data_parallel_size=8 tensor_parallel_size=4
      '--compilation-config={"cudagraph_capture_sizes":[1,4,8,12,16,20,24,28,32,36,40,48,56,64,80,96],"cudagraph_mode":"FULL_DECODE_ONLY"}'
      --max-num-batched-tokens=64
deepseek-v3.2-w8a8-a2-mixed
  from a2 2 DeepSeek-V3.2-W8A8 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/DeepSeek-V3.2.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated data_parallel_size=2 expert_parallel=true instances=1 tensor_parallel_size=8
      '--compilation-config={"cudagraph_capture_sizes":[8,16,24,32,40,48],"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-prefix-caching=false
      --gpu-memory-utilization=0.92 --max-model-len=8192 --max-num-batched-tokens=4096 --max-num-seqs=16 --quantization=ascend --seed=1024
      '--speculative-config={"method":"deepseek_mtp","num_speculative_tokens":3}' --trust-remote-code HCCL_BUFFSIZE=200 HCCL_CONNECT_TIMEOUT=120
      HCCL_INTRA_PCIE_ENABLE=1 HCCL_INTRA_ROCE_ENABLE=0 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=100 OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True VLLM_ASCEND_ENABLE_FLASHCOMM1=1 VLLM_ASCEND_ENABLE_MLAPO=1 VLLM_USE_V1=1
deepseek-v3.2-w8a8-a3
  from a3 4 DeepSeek-V3.2-w8a8-mtp-QuaRot 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/DeepSeek-V3.2.md'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --enable-prefix-caching=false --max-model-len=68000 --quantization=ascend --seed=1024
      --trust-remote-code ACL_OP_INIT_MODE=1 ASCEND_A3_ENABLE=1 ASCEND_AGGREGATE_ENABLE=1 ASCEND_TRANSPORT_PRINT=1 HCCL_BUFFSIZE=256
      HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=10 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
      VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT=480 VLLM_USE_V1=1
  prefill data_parallel_size=2 tensor_parallel_size=16 '--additional-config={"enable_dsa_cp":true,"layer_sharding":["q_b_proj","o_proj"]}'
      --enforce-eager --gpu-memory-utilization=0.82 --max-num-batched-tokens=32560 --max-num-seqs=64
      '--speculative-config={"method":"deepseek_mtp","num_speculative_tokens":1}' VLLM_ASCEND_ENABLE_FLASHCOMM1=1
  decode data_parallel_size=8 tensor_parallel_size=4 '--additional-config={"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_capture_sizes":[3,6,9,12],"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.95
      --max-num-batched-tokens=12 --max-num-seqs=4 '--speculative-config={"method":"deepseek_mtp","num_speculative_tokens":2}' TASK_QUEUE_ENABLE=1
deepseek-v3.2-w8a8-a3-mixed
  from a3 1 DeepSeek-V3.2-W8A8 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/DeepSeek-V3.2.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated data_parallel_size=2 expert_parallel=true instances=1 tensor_parallel_size=8 '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}'
      --enable-prefix-caching=false --gpu-memory-utilization=0.92 --max-model-len=8192 --max-num-batched-tokens=4096 --max-num-seqs=16 --quantization=ascend
      --seed=1024 '--speculative-config={"method":"deepseek_mtp","num_speculative_tokens":3}' --trust-remote-code HCCL_BUFFSIZE=200
      HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=10 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True VLLM_ASCEND_ENABLE_FLASHCOMM1=1
      VLLM_ASCEND_ENABLE_MLAPO=1 VLLM_USE_V1=1
deepseek-v4-flash-a3-dspark
  from a3 2 DeepSeek-V4-Flash 0.30.0rc2 'vllm-ascend 0.30.0rc2: docs/source/tutorials/models/DeepSeek-V4-Flash.md'
  deployment inference_kv_transfer=mooncake_hybrid
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --attention-config.indexer_kv_dtype=int8 --block-size=32
      --disable-hybrid-kv-cache-manager=false --enable-auto-tool-choice --max-model-len=1048576
      '--model-loader-extra-config={"enable_multithread_load":true,"num_threads":128}' --quantization=ascend --reasoning-parser=deepseek_v4 --seed=1024
      '--speculative-config={"enforce_eager":true,"method":"dspark","num_speculative_tokens":5}' --tokenizer-mode=deepseek_v4 --tool-call-parser=deepseek_v4
      --trust-remote-code HCCL_CONNECT_TIMEOUT=120 HCCL_EXEC_TIMEOUT=204 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=10 OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000 VLLM_RPC_TIMEOUT=3600000
  prefill data_parallel_size=4 tensor_parallel_size=4 '--additional-config={"enable_cpu_binding":true,"enable_dsa_cp":true,"enable_flashcomm1":true}'
      --enforce-eager --gpu-memory-utilization=0.9 --max-num-batched-tokens=8192 --max-num-seqs=16 HCCL_BUFFSIZE=1800 VLLM_ASCEND_ENABLE_FUSED_MC2=1
      VLLM_PREFIX_CACHE_RETENTION_INTERVAL=4096
  decode data_parallel_size=16
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true,"enable_static_kernel":false},"enable_cpu_binding":true,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":true}'
      --async-scheduling '--compilation-config={"cudagraph_capture_sizes":[12,24,48,96,192,256,288,360],"cudagraph_mode":"FULL_DECODE_ONLY"}'
      --enable-prefix-caching=false --gpu-memory-utilization=0.95 --max-num-batched-tokens=480 --max-num-seqs=60 HCCL_BUFFSIZE=2400
deepseek-v4-flash-a3-mixed-dspark
  from a3 1 DeepSeek-V4-Flash 0.30.0rc2 'vllm-ascend 0.30.0rc2: docs/source/tutorials/models/DeepSeek-V4-Flash.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated data_parallel_size=4 expert_parallel=true instances=1 tensor_parallel_size=4
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true,"enable_static_kernel":false},"enable_cpu_binding":true,"enable_dsa_cp":true,"multistream_overlap_shared_expert":true}'
      --attention-config.indexer_kv_dtype=int8 --block-size=32 '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-auto-tool-choice
      --gpu-memory-utilization=0.9 --max-model-len=1048576 --max-num-batched-tokens=10240 --max-num-seqs=64
      '--model-loader-extra-config={"enable_multithread_load":true,"num_threads":128}' --quantization=ascend --reasoning-parser=deepseek_v4
      '--speculative-config={"enforce_eager":true,"method":"dspark","num_speculative_tokens":7}' --tokenizer-mode=deepseek_v4 --tool-call-parser=deepseek_v4
      HCCL_BUFFSIZE=1024 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=10 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
      TASK_QUEUE_ENABLE=1 VLLM_PREFIX_CACHE_RETENTION_INTERVAL=4096
deepseek-v4-flash-dspark-w4a8-test-a2-mixed-dspark
  from a2 1 DeepSeek-V4-Flash-DSpark-w4a8-test 0.30.0rc2 'vllm-ascend 0.30.0rc2: docs/source/tutorials/models/DeepSeek-V4-Flash.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated expert_parallel=true instances=1 tensor_parallel_size=8 --attention-config.indexer_kv_dtype=int8 --block-size=128
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --disable-hybrid-kv-cache-manager=false --enable-auto-tool-choice
      --gpu-memory-utilization=0.9 --max-model-len=800000 --max-num-batched-tokens=8192 --max-num-seqs=32
      '--model-loader-extra-config={"enable_multithread_load":true,"num_threads":128}' --quantization=ascend --reasoning-parser=deepseek_v4
      '--speculative-config={"enforce_eager":true,"method":"dspark","num_speculative_tokens":7}' --tokenizer-mode=deepseek_v4 --tool-call-parser=deepseek_v4
      HCCL_BUFFSIZE=1024 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=10 PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1
deepseek-v4-flash-vision-a2-mixed
  from a2 2 DeepSeek-V4-Flash-Vision 0.30.0rc2 'vllm-ascend 0.30.0rc2: docs/source/tutorials/models/DeepSeek-V4-Flash-Vision.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated data_parallel_size=4 expert_parallel=true instances=1 tensor_parallel_size=4 --block-size=32
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.9 --max-model-len=130000 --max-num-batched-tokens=4096
      --max-num-seqs=32 '--model-loader-extra-config={"enable_multithread_load":true,"num_threads":32}' --quantization=ascend --tokenizer-mode=deepseek_v4
      HCCL_BUFFSIZE=1024 HCCL_INTRA_PCIE_ENABLE=1 HCCL_INTRA_ROCE_ENABLE=0
deepseek-v4-flash-vision-a3-mixed
  from a3 1 DeepSeek-V4-Flash-Vision 0.30.0rc2 'vllm-ascend 0.30.0rc2: docs/source/tutorials/models/DeepSeek-V4-Flash-Vision.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated data_parallel_size=4 expert_parallel=true instances=1 tensor_parallel_size=4 --block-size=32
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.9 --max-model-len=130000 --max-num-batched-tokens=4096
      --max-num-seqs=32 '--model-loader-extra-config={"enable_multithread_load":true,"num_threads":32}' --quantization=ascend --tokenizer-mode=deepseek_v4
      HCCL_BUFFSIZE=1024
deepseek-v4-flash-w8a8-a2
  from a2 8 DeepSeek-V4-Flash-w8a8-mtp 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/DeepSeek-V4-Flash.md'
  deployment inference_kv_transfer=mooncake_hybrid
  pools prefill decode
  all expert_parallel=true load_balancing=external --async-scheduling --block-size=128 --disable-hybrid-kv-cache-manager=false --enable-auto-tool-choice
      --gpu-memory-utilization=0.9 --max-model-len=135000 '--model-loader-extra-config={"enable_multithread_load":"true","num_threads":128}'
      --quantization=ascend --reasoning-parser=deepseek_v4 --safetensors-load-strategy=prefetch --seed=1024
      '--speculative-config={"enforce_eager":true,"method":"mtp","num_speculative_tokens":1}' --tokenizer-mode=deepseek_v4 --tool-call-parser=deepseek_v4
      --trust-remote-code HCCL_BUFFSIZE=1024 HCCL_CONNECT_TIMEOUT=1200 HCCL_EXEC_TIMEOUT=204 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=10
      OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000
      VLLM_RPC_TIMEOUT=3600000
  prefill data_parallel_size=8 instances=4 '--additional-config={"enable_cpu_binding":true,"enable_shared_expert_dp":true}' --enable-prefix-caching
      --enforce-eager --max-num-batched-tokens=4096 --max-num-seqs=16
  decode data_parallel_size=32 instances=1
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true,"enable_static_kernel":false},"enable_cpu_binding":true,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-prefix-caching=false --max-num-batched-tokens=60 --max-num-seqs=30
deepseek-v4-flash-w8a8-a2-mixed
  from a2 1 DeepSeek-V4-Flash-w8a8-mtp 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/DeepSeek-V4-Flash.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated expert_parallel=true instances=1 tensor_parallel_size=8
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true,"enable_static_kernel":false},"enable_cpu_binding":true,"enable_dsa_cp":true,"multistream_overlap_shared_expert":true}'
      --async-scheduling --block-size=128 '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-auto-tool-choice
      --enable-prefix-caching=false --gpu-memory-utilization=0.9 --max-model-len=133120 --max-num-batched-tokens=8192 --max-num-seqs=32
      '--model-loader-extra-config={"enable_multithread_load":"true","num_threads":128}' --quantization=ascend --reasoning-parser=deepseek_v4
      --safetensors-load-strategy=prefetch '--speculative-config={"enforce_eager":true,"method":"mtp","num_speculative_tokens":1}'
      --tokenizer-mode=deepseek_v4 --tool-call-parser=deepseek_v4 HCCL_BUFFSIZE=1024 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=10 OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_ASCEND_ENABLE_FLASHCOMM1=1
deepseek-v4-flash-w8a8-a3
  from a3 2 DeepSeek-V4-Flash-w8a8-mtp 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/DeepSeek-V4-Flash.md'
  deployment inference_kv_transfer=mooncake_hybrid
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --block-size=128 --disable-hybrid-kv-cache-manager=false --enable-auto-tool-choice
      --enable-prefix-caching=false --gpu-memory-utilization=0.9 --max-model-len=1048576
      '--model-loader-extra-config={"enable_multithread_load":"true","num_threads":128}' --quantization=ascend --reasoning-parser=deepseek_v4
      --safetensors-load-strategy=prefetch --seed=1024 '--speculative-config={"enforce_eager":true,"method":"mtp","num_speculative_tokens":1}'
      --tokenizer-mode=deepseek_v4 --tool-call-parser=deepseek_v4 --trust-remote-code HCCL_EXEC_TIMEOUT=204 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=10
      OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000
      VLLM_RPC_TIMEOUT=3600000
  prefill data_parallel_size=4 tensor_parallel_size=4
      '--additional-config={"enable_cpu_binding":true,"enable_dsa_cp":true,"enable_shared_expert_dp":true}' --enforce-eager --max-num-batched-tokens=8192
      --max-num-seqs=16 HCCL_BUFFSIZE=2560 HCCL_CONNECT_TIMEOUT=120 VLLM_ASCEND_ENABLE_FLASHCOMM1=1
  decode data_parallel_size=16
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true,"enable_static_kernel":false},"enable_cpu_binding":true,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":true}'
      --async-scheduling '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --max-num-batched-tokens=120 --max-num-seqs=60 HCCL_BUFFSIZE=1024
      HCCL_CONNECT_TIMEOUT=1200
deepseek-v4-flash-w8a8-a3-mixed
  from a3 1 DeepSeek-V4-Flash-w8a8-mtp 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/DeepSeek-V4-Flash.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated data_parallel_size=4 expert_parallel=true instances=1 tensor_parallel_size=4
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true,"enable_static_kernel":false},"enable_cpu_binding":true,"multistream_overlap_shared_expert":true}'
      --api-server-count=1 --async-scheduling --block-size=128 '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-auto-tool-choice
      --gpu-memory-utilization=0.9 --max-model-len=1048576 --max-num-batched-tokens=10240 --max-num-seqs=64
      '--model-loader-extra-config={"enable_multithread_load":"true","num_threads":128}' --quantization=ascend --reasoning-parser=deepseek_v4
      --safetensors-load-strategy=prefetch '--speculative-config={"enforce_eager":true,"method":"mtp","num_speculative_tokens":1}'
      --tokenizer-mode=deepseek_v4 --tool-call-parser=deepseek_v4 HCCL_BUFFSIZE=1024 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=10 OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_ASCEND_ENABLE_FLASHCOMM1=1
deepseek-v4-flash-w8a8-a3-no-prefix
  from a3 2 DeepSeek-V4-Flash-w8a8-mtp 0.30.0rc2 'vllm-ascend 0.30.0rc2:
      tests/e2e/cases/models/configs/DeepSeek/DeepSeek-V4-flash-w8a8-PD-no-prefix.yaml'
  deployment inference_kv_transfer=mooncake_hybrid
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --attention-config.indexer_kv_dtype=int8 --block-size=32
      --disable-hybrid-kv-cache-manager=false --enable-auto-tool-choice --enable-prefix-caching=false --max-model-len=1048576
      '--model-loader-extra-config={"enable_multithread_load":true,"num_threads":128}' --quantization=ascend --reasoning-parser=deepseek_v4 --seed=1024
      --tokenizer-mode=deepseek_v4 --tool-call-parser=deepseek_v4 --trust-remote-code HCCL_CONNECT_TIMEOUT=120 HCCL_EXEC_TIMEOUT=204 OMP_NUM_THREADS=10
      OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000 VLLM_RPC_TIMEOUT=3600000
  prefill data_parallel_size=4 tensor_parallel_size=4 '--additional-config={"enable_cpu_binding":true,"enable_dsa_cp":true,"enable_fused_mc2":1}'
      --enforce-eager --gpu-memory-utilization=0.9 --max-num-batched-tokens=8192 --max-num-seqs=16
      '--speculative-config={"method":"mtp","num_speculative_tokens":1}' HCCL_BUFFSIZE=1024 HCCL_OP_EXPANSION_MODE=AIV TASK_QUEUE_ENABLE=1
      VLLM_PREFIX_CACHE_RETENTION_INTERVAL=4096
  decode data_parallel_size=16
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true,"enable_static_kernel":false},"enable_cpu_binding":true,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":true}'
      --async-scheduling '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.95 --max-num-batched-tokens=240
      --max-num-seqs=60 '--speculative-config={"method":"mtp","num_speculative_tokens":3}' HCCL_BUFFSIZE=1500
deepseek-v4-flash-w8a8-a3-pool
  from a3 2 DeepSeek-V4-Flash-w8a8-mtp 'main at 182b75ea84ff'
      vllm-project/vllm-ascend@182b75ea84ff:tests/e2e/weekly/multi_node/external_dp/config/DeepSeek-V4-Flash-Memcache-PD-acc.yaml
  deployment inference_kv_transfer=mooncake_hybrid+store 'inference_store={"backend":"memcache"}'
  pools prefill decode
  all expert_parallel=true instances=1 'kv={"store":{"use_layerwise":true}}' load_balancing=external --block-size=32
      --disable-hybrid-kv-cache-manager=false --enable-auto-tool-choice --gpu-memory-utilization=0.9
      '--model-loader-extra-config={"enable_multithread_load":true,"num_threads":128}' --quantization=ascend --reasoning-parser=deepseek_v4 --seed=1024
      '--speculative-config={"enforce_eager":true,"method":"mtp","num_speculative_tokens":1}' --tokenizer-mode=deepseek_v4 --tool-call-parser=deepseek_v4
      --trust-remote-code HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=10 OMP_PROC_BIND=false PYTHONHASHSEED=0 PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
      TASK_QUEUE_ENABLE=1 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000 VLLM_PREFIX_CACHE_RETENTION_INTERVAL=4096 VLLM_RPC_TIMEOUT=3600000
  prefill data_parallel_size=4 tensor_parallel_size=4
      '--additional-config={"enable_cpu_binding":true,"enable_dsa_cp":true,"enable_flashcomm1":true,"enable_shared_expert_dp":true}' --enforce-eager
      --max-model-len=1048576 --max-num-batched-tokens=8192 --max-num-seqs=16 HCCL_BUFFSIZE=2560
  decode data_parallel_size=16
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true,"enable_static_kernel":false},"enable_cpu_binding":true,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-prefix-caching=false --max-model-len=37368 --max-num-batched-tokens=120
      --max-num-seqs=60 HCCL_BUFFSIZE=1024 HCCL_CONNECT_TIMEOUT=1200 VLLM_ASCEND_ENABLE_MLAPO=1
deepseek-v4-flash-w8a8-a3-prefix
  from a3 2 DeepSeek-V4-Flash-w8a8-mtp 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/DeepSeek/DS-V4-flash-w8a8-PD-prefix-weekly.yaml'
  deployment inference_kv_transfer=mooncake_hybrid
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --attention-config.indexer_kv_dtype=int8 --block-size=32
      --disable-hybrid-kv-cache-manager=false --enable-auto-tool-choice --max-model-len=1048576
      '--model-loader-extra-config={"enable_multithread_load":true,"num_threads":128}' --quantization=ascend --reasoning-parser=deepseek_v4 --seed=1024
      --tokenizer-mode=deepseek_v4 --tool-call-parser=deepseek_v4 --trust-remote-code HCCL_CONNECT_TIMEOUT=120 HCCL_EXEC_TIMEOUT=204 OMP_NUM_THREADS=10
      OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000 VLLM_RPC_TIMEOUT=3600
  prefill data_parallel_size=4 tensor_parallel_size=4 '--additional-config={"enable_cpu_binding":true,"enable_dsa_cp":true,"enable_fused_mc2":1}'
      --enforce-eager --gpu-memory-utilization=0.9 --max-num-batched-tokens=8192 --max-num-seqs=16
      '--speculative-config={"method":"mtp","num_speculative_tokens":1}' HCCL_BUFFSIZE=1024 HCCL_OP_EXPANSION_MODE=AIV TASK_QUEUE_ENABLE=1
      VLLM_PREFIX_CACHE_RETENTION_INTERVAL=4096
  decode data_parallel_size=16
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true,"enable_static_kernel":false},"enable_cpu_binding":true,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":true}'
      --async-scheduling '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-prefix-caching=false --gpu-memory-utilization=0.95
      --max-num-batched-tokens=240 --max-num-seqs=60 '--speculative-config={"method":"mtp","num_speculative_tokens":3}' HCCL_BUFFSIZE=1500
deepseek-v4-pro-a3-dspark
  from a3 4 DeepSeek-V4-Pro 0.30.0rc2 'vllm-ascend 0.30.0rc2: docs/source/tutorials/models/DeepSeek-V4-Pro.md'
  deployment inference_kv_transfer=mooncake_hybrid
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --attention-config.indexer_kv_dtype=int8 --block-size=32
      --disable-hybrid-kv-cache-manager=false --enable-auto-tool-choice --max-model-len=150000
      '--model-loader-extra-config={"enable_multithread_load":true,"num_threads":128}' --quantization=ascend --reasoning-parser=deepseek_v4 --seed=1024
      '--speculative-config={"enforce_eager":true,"method":"dspark","num_speculative_tokens":5}' --tokenizer-mode=deepseek_v4 --tool-call-parser=deepseek_v4
      --trust-remote-code HCCL_EXEC_TIMEOUT=204 HCCL_TRANSFER_TIMEOUT=600 OMP_NUM_THREADS=10 OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000 VLLM_RPC_TIMEOUT=3600000
  prefill data_parallel_size=4 tensor_parallel_size=8
      '--additional-config={"enable_cpu_binding":true,"enable_dsa_cp":true,"enable_flashcomm1":true,"enable_fused_mc2":1}' --enforce-eager
      --gpu-memory-utilization=0.94 --max-num-batched-tokens=4096 --max-num-seqs=16 HCCL_BUFFSIZE=1024 HCCL_CONNECT_TIMEOUT=6000 HCCL_OP_EXPANSION_MODE=AIV
      VLLM_PREFIX_CACHE_RETENTION_INTERVAL=4096
  decode data_parallel_size=16 tensor_parallel_size=2
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true,"enable_static_kernel":false},"enable_cpu_binding":true,"multistream_overlap_shared_expert":true,"scheduler_config":{"recompute_scheduler_enable":true}}'
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-prefix-caching=false --gpu-memory-utilization=0.95 --max-num-batched-tokens=96
      --max-num-seqs=8 HCCL_BUFFSIZE=1800 HCCL_CONNECT_TIMEOUT=1200
deepseek-v4-pro-a3-mixed-dspark
  from a3 2 DeepSeek-V4-Pro 0.30.0rc2 'vllm-ascend 0.30.0rc2: docs/source/tutorials/models/DeepSeek-V4-Pro.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated data_parallel_size=2 expert_parallel=true instances=1 tensor_parallel_size=16
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true,"enable_static_kernel":false},"enable_cpu_binding":true,"enable_flashcomm1":true,"multistream_overlap_shared_expert":true}'
      --attention-config.indexer_kv_dtype=int8 --block-size=32 '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-auto-tool-choice
      --gpu-memory-utilization=0.9 --max-model-len=135000 --max-num-batched-tokens=4096 --max-num-seqs=16
      '--model-loader-extra-config={"enable_multithread_load":true,"num_threads":128}' --quantization=ascend --reasoning-parser=deepseek_v4
      '--speculative-config={"enforce_eager":true,"method":"dspark","num_speculative_tokens":5}' --tokenizer-mode=deepseek_v4 --tool-call-parser=deepseek_v4
      ASCEND_CONNECT_TIMEOUT=10000 ASCEND_TRANSFER_TIMEOUT=10000 HCCL_BUFFSIZE=1024 HCCL_CONNECT_TIMEOUT=7200 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=10
      OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_PREFIX_CACHE_RETENTION_INTERVAL=4096
      VLLM_RPC_TIMEOUT=1800000
deepseek-v4-pro-w4a8-a2
  from a2 8 DeepSeek-V4-Pro-w4a8-mtp 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/DeepSeek-V4-Pro.md'
  deployment inference_kv_transfer=mooncake_hybrid
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --disable-hybrid-kv-cache-manager=false --enable-auto-tool-choice
      --enable-prefix-caching=false --gpu-memory-utilization=0.9 --max-model-len=133072
      '--model-loader-extra-config={"enable_multithread_load":"true","num_threads":128}' --quantization=ascend --reasoning-parser=deepseek_v4
      --safetensors-load-strategy=prefetch --seed=1024 '--speculative-config={"enforce_eager":true,"method":"mtp","num_speculative_tokens":1}'
      --tokenizer-mode=deepseek_v4 --tool-call-parser=deepseek_v4 --trust-remote-code HCCL_BUFFSIZE=1024 HCCL_CONNECT_TIMEOUT=1200 HCCL_EXEC_TIMEOUT=204
      HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=10 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1
      VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000 VLLM_RPC_TIMEOUT=3600000
  prefill data_parallel_size=4 tensor_parallel_size=8
      '--additional-config={"enable_cpu_binding":true,"enable_dsa_cp":true,"enable_shared_expert_dp":true}' --enforce-eager --max-num-batched-tokens=4096
      --max-num-seqs=16 VLLM_ASCEND_ENABLE_FLASHCOMM1=1
  decode data_parallel_size=8 tensor_parallel_size=4
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true,"enable_static_kernel":false},"enable_cpu_binding":true,"recompute_scheduler_enable":true}'
      --async-scheduling --block-size=128 '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --max-num-batched-tokens=120 --max-num-seqs=60
deepseek-v4-pro-w4a8-a2-mixed
  from a2 4 DeepSeek-V4-Pro-w4a8-mtp 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/DeepSeek-V4-Pro.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated data_parallel_size=4 expert_parallel=true instances=1 tensor_parallel_size=8
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true,"enable_static_kernel":false},"enable_cpu_binding":true,"enable_shared_expert_dp":true,"multistream_overlap_shared_expert":true}'
      --async-scheduling --block-size=128 '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-auto-tool-choice
      --enable-prefix-caching=false --gpu-memory-utilization=0.9 --max-model-len=135000 --max-num-batched-tokens=4096 --max-num-seqs=16
      '--model-loader-extra-config={"enable_multithread_load":"true","num_threads":128}' --quantization=ascend --reasoning-parser=deepseek_v4
      --safetensors-load-strategy=prefetch '--speculative-config={"enforce_eager":true,"method":"mtp","num_speculative_tokens":1}'
      --tokenizer-mode=deepseek_v4 --tool-call-parser=deepseek_v4 ACL_OP_INIT_MODE=1 ASCEND_CONNECT_TIMEOUT=10000 ASCEND_TRANSFER_TIMEOUT=10000
      HCCL_BUFFSIZE=512 HCCL_CONNECT_TIMEOUT=7200 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=10 OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_ASCEND_ENABLE_FLASHCOMM1=1 VLLM_ENGINE_READY_TIMEOUT_S=3600
      VLLM_RPC_TIMEOUT=1800000
deepseek-v4-pro-w4a8-a3
  from a3 4 DeepSeek-V4-Pro-w4a8-mtp 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/DeepSeek-V4-Pro.md'
  deployment inference_kv_transfer=mooncake_hybrid
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --block-size=128 --disable-hybrid-kv-cache-manager=false --enable-auto-tool-choice
      --max-model-len=131072 '--model-loader-extra-config={"enable_multithread_load":"true","num_threads":128}' --quantization=ascend
      --reasoning-parser=deepseek_v4 --safetensors-load-strategy=prefetch --seed=1024
      '--speculative-config={"enforce_eager":true,"method":"mtp","num_speculative_tokens":1}' --tokenizer-mode=deepseek_v4 --tool-call-parser=deepseek_v4
      --trust-remote-code HCCL_BUFFSIZE=1024 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=10 OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000 VLLM_RPC_TIMEOUT=3600000
  prefill data_parallel_size=2 tensor_parallel_size=16 '--additional-config={"enable_cpu_binding":true,"enable_dsa_cp":true}' --enforce-eager
      --gpu-memory-utilization=0.92 --max-num-batched-tokens=4096 --max-num-seqs=16 HCCL_CONNECT_TIMEOUT=120 HCCL_EXEC_TIMEOUT=204
      VLLM_ASCEND_ENABLE_FLASHCOMM1=1 VLLM_ASCEND_ENABLE_FUSED_MC2=1
  decode data_parallel_size=16 tensor_parallel_size=2
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true,"enable_static_kernel":false},"enable_cpu_binding":true,"recompute_scheduler_enable":true}'
      --async-scheduling '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-prefix-caching=false --gpu-memory-utilization=0.9
      --max-num-batched-tokens=120 --max-num-seqs=60 HCCL_CONNECT_TIMEOUT=1200 HCCL_EXEC_TIMEOUT=2000
deepseek-v4-pro-w4a8-a3-1m
  from a3 4 DeepSeek-V4-Pro-w4a8-mtp 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/DeepSeek/DeepSeek-V4-Pro-w4a8-1M-PD.yaml'
  deployment inference_kv_transfer=mooncake_hybrid
  pools prefill decode
  all data_parallel_size=2 expert_parallel=true instances=1 load_balancing=external tensor_parallel_size=16 --attention-config.indexer_kv_dtype=int8
      --block-size=128 --disable-hybrid-kv-cache-manager=false --enable-auto-tool-choice --max-model-len=1048576
      '--model-loader-extra-config={"enable_multithread_load":true,"num_threads":128}' --quantization=ascend --reasoning-parser=deepseek_v4 --seed=1024
      '--speculative-config={"enforce_eager":true,"method":"mtp","num_speculative_tokens":1}' --tokenizer-mode=deepseek_v4 --tool-call-parser=deepseek_v4
      --trust-remote-code HCCL_BUFFSIZE=1024 HCCL_EXEC_TIMEOUT=204 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=10 OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000 VLLM_RPC_TIMEOUT=3600000
  prefill '--additional-config={"enable_cpu_binding":true}' --enforce-eager --gpu-memory-utilization=0.94 --max-num-batched-tokens=2048
      --max-num-seqs=16 HCCL_CONNECT_TIMEOUT=6000
  decode
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true,"enable_static_kernel":false},"enable_cpu_binding":true,"multistream_overlap_shared_expert":false,"recompute_scheduler_enable":true}'
      --async-scheduling '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-prefix-caching=false --gpu-memory-utilization=0.95
      --max-num-batched-tokens=60 --max-num-seqs=60 HCCL_CONNECT_TIMEOUT=1200
deepseek-v4-pro-w4a8-a3-mixed
  from a3 2 DeepSeek-V4-Pro-w4a8-mtp 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/DeepSeek-V4-Pro.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated data_parallel_size=2 expert_parallel=true instances=1 tensor_parallel_size=16
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true,"enable_static_kernel":false},"enable_cpu_binding":true,"multistream_overlap_shared_expert":true}'
      --async-scheduling --block-size=128 '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-auto-tool-choice
      --gpu-memory-utilization=0.9 --max-model-len=135000 --max-num-batched-tokens=4096 --max-num-seqs=32 --quantization=ascend
      --reasoning-parser=deepseek_v4 --safetensors-load-strategy=prefetch
      '--speculative-config={"enforce_eager":true,"method":"mtp","num_speculative_tokens":1}' --tokenizer-mode=deepseek_v4 --tool-call-parser=deepseek_v4
      HCCL_BUFFSIZE=2048 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=10 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
      TASK_QUEUE_ENABLE=1 VLLM_ASCEND_ENABLE_FLASHCOMM1=1
deepseek-v4-pro-w4a8-a3-no-prefix
  from a3 4 DeepSeek-V4-Pro-w4a8-mtp 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/DeepSeek/DeepSeek-V4-Pro-w4a8-PD-no-prefix.yaml'
  deployment inference_kv_transfer=mooncake_hybrid
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --attention-config.indexer_kv_dtype=int8 --block-size=128
      --disable-hybrid-kv-cache-manager=false --enable-auto-tool-choice --enable-prefix-caching=false --max-model-len=150000
      '--model-loader-extra-config={"enable_multithread_load":true,"num_threads":128}' --quantization=ascend --reasoning-parser=deepseek_v4 --seed=1024
      --tokenizer-mode=deepseek_v4 --tool-call-parser=deepseek_v4 --trust-remote-code HCCL_EXEC_TIMEOUT=204 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=10
      OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000
      VLLM_RPC_TIMEOUT=3600000
  prefill data_parallel_size=4 tensor_parallel_size=8 '--additional-config={"enable_cpu_binding":true,"enable_dsa_cp":true,"enable_fused_mc2":1}'
      --enforce-eager --gpu-memory-utilization=0.94 --max-num-batched-tokens=4096 --max-num-seqs=16
      '--speculative-config={"method":"mtp","num_speculative_tokens":1}' HCCL_BUFFSIZE=1024 HCCL_CONNECT_TIMEOUT=6000
  decode data_parallel_size=16 tensor_parallel_size=2
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true,"enable_static_kernel":false},"enable_cpu_binding":true,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":true}'
      --async-scheduling '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.95 --max-num-batched-tokens=120
      --max-num-seqs=30 '--speculative-config={"method":"mtp","num_speculative_tokens":3}' HCCL_BUFFSIZE=1800 HCCL_CONNECT_TIMEOUT=1200
deepseek-v4-pro-w4a8-a3-prefix-cache
  from a3 4 DeepSeek-V4-Pro-w4a8-mtp 0.30.0rc2 'vllm-ascend 0.30.0rc2:
      tests/e2e/cases/models/configs/DeepSeek/DeepSeek-V4-Pro-w4a8-prefix-cache-PD.yaml'
  deployment inference_kv_transfer=mooncake_hybrid
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --attention-config.indexer_kv_dtype=int8 --block-size=32
      --disable-hybrid-kv-cache-manager=false --enable-auto-tool-choice --max-model-len=204800
      '--model-loader-extra-config={"enable_multithread_load":true,"num_threads":128}' --quantization=ascend --reasoning-parser=deepseek_v4 --seed=1024
      --tokenizer-mode=deepseek_v4 --tool-call-parser=deepseek_v4 --trust-remote-code HCCL_EXEC_TIMEOUT=204 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=10
      OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000
      VLLM_RPC_TIMEOUT=3600000
  prefill data_parallel_size=4 tensor_parallel_size=8
      '--additional-config={"enable_cpu_binding":true,"enable_dsa_cp":true,"enable_flashcomm1":true,"enable_fused_mc2":1}' --enforce-eager
      --gpu-memory-utilization=0.94 --max-num-batched-tokens=4096 --max-num-seqs=16 '--speculative-config={"method":"mtp","num_speculative_tokens":1}'
      HCCL_BUFFSIZE=1024 HCCL_CONNECT_TIMEOUT=6000 VLLM_PREFIX_CACHE_RETENTION_INTERVAL=4096
  decode data_parallel_size=16 tensor_parallel_size=2
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true,"enable_static_kernel":false},"enable_cpu_binding":true,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":true}'
      --async-scheduling '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-prefix-caching=false --gpu-memory-utilization=0.95
      --max-num-batched-tokens=120 --max-num-seqs=30 '--speculative-config={"method":"mtp","num_speculative_tokens":3}' HCCL_BUFFSIZE=1800
      HCCL_CONNECT_TIMEOUT=1200
deepseek-v4.1-flash-a2-mixed
  from a2 4 DeepSeek-V4.1-Flash 0.30.0rc2 'vllm-ascend 0.30.0rc2: docs/source/tutorials/models/DeepSeek-V4.1-Flash.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated data_parallel_size=4 expert_parallel=true instances=1 tensor_parallel_size=8
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":false,"enable_static_kernel":false},"enable_cpu_binding":true}'
      --block-size=128 '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-auto-tool-choice --gpu-memory-utilization=0.90
      --max-model-len=1048576 --max-num-batched-tokens=4096 --max-num-seqs=32
      '--model-loader-extra-config={"enable_multithread_load":true,"num_threads":128}' --quantization=ascend --reasoning-parser=deepseek_v41
      --safetensors-load-strategy=lazy '--speculative-config={"enforce_eager":true,"method":"dspark","num_speculative_tokens":5}'
      --tokenizer-mode=deepseek_v41 --tool-call-parser=deepseek_v41 --trust-remote-code VLLM_ENGINE_READY_TIMEOUT_S=3600
deepseek-v4.1-flash-a3
  from a3 2 DeepSeek-V4.1-Flash 0.30.0rc2 'vllm-ascend 0.30.0rc2: docs/source/tutorials/models/DeepSeek-V4.1-Flash.md'
  deployment inference_kv_transfer=mooncake_hybrid
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --block-size=128 --enable-auto-tool-choice
      '--engram-config={"cpu_offload":true,"dp_shared_memory":true}' --max-model-len=1048576
      '--model-loader-extra-config={"enable_multithread_load":true,"num_threads":128}' --quantization=ascend --reasoning-parser=deepseek_v41
      --safetensors-load-strategy=lazy --seed=1024 --tokenizer-mode=deepseek_v41 --tool-call-parser=deepseek_v41 --trust-remote-code
      VLLM_ENGINE_READY_TIMEOUT_S=36000 VLLM_USE_V2_MODEL_RUNNER=0
  prefill data_parallel_size=4 tensor_parallel_size=4
      '--additional-config={"enable_cpu_binding":true,"enable_dsa_cp":true,"enable_flashcomm1":true,"enable_fused_mc2":1,"enable_shared_expert_dp":true}'
      --enable-prefix-caching --enforce-eager --gpu-memory-utilization=0.9 --max-num-batched-tokens=8192 --max-num-seqs=16
      '--speculative-config={"method":"dspark","num_speculative_tokens":5}' HCCL_BUFFSIZE=1024 HCCL_OP_EXPANSION_MODE=AIV
  decode data_parallel_size=8 tensor_parallel_size=2
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true,"enable_static_kernel":false},"enable_cpu_binding":true,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":true}'
      --async-scheduling '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-prefix-caching=false --gpu-memory-utilization=0.95
      --max-num-batched-tokens=400 --max-num-seqs=32 '--speculative-config={"enforce_eager":true,"method":"dspark","num_speculative_tokens":5}'
      HCCL_BUFFSIZE=1800
deepseek-v4.1-flash-a3-mixed
  from a3 1 DeepSeek-V4.1-Flash 0.30.0rc2 'vllm-ascend 0.30.0rc2: docs/source/tutorials/models/DeepSeek-V4.1-Flash.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated data_parallel_size=4 expert_parallel=true instances=1 tensor_parallel_size=4
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true,"enable_static_kernel":false},"enable_cpu_binding":true,"enable_dsa_cp":true,"enable_flashcomm1":true,"enable_fused_mc2":1,"enable_shared_expert_dp":true}'
      --async-scheduling --block-size=128 '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-auto-tool-choice
      '--engram-config={"cpu_offload":true,"dp_shared_memory":true}' --gpu-memory-utilization=0.9 --max-model-len=150000 --max-num-batched-tokens=8192
      --max-num-seqs=32 '--model-loader-extra-config={"enable_multithread_load":true,"num_threads":128}' --quantization=ascend
      --reasoning-parser=deepseek_v41 --safetensors-load-strategy=lazy --tokenizer-mode=deepseek_v41 --tool-call-parser=deepseek_v41 HCCL_BUFFSIZE=1024
      HCCL_OP_EXPANSION_MODE=AIV VLLM_ENGINE_READY_TIMEOUT_S=36000 VLLM_USE_V2_MODEL_RUNNER=0
deepseek-v4.1-flash-w8a8-a3-prefix
  from a3 2 DeepSeek-V4.1-Flash-w8a8 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/DeepSeek/DeepSeek-V4.1-Flash-w8a8-PD-prefix.yaml'
  deployment inference_kv_transfer=mooncake_hybrid
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --block-size=128 --enable-auto-tool-choice
      '--engram-config={"cpu_offload":true,"dp_shared_memory":true}' --max-model-len=1048576 --quantization=ascend --reasoning-parser=deepseek_v41
      --safetensors-load-strategy=lazy --seed=1024 --tokenizer-mode=deepseek_v41 --tool-call-parser=deepseek_v41 --trust-remote-code
      HCCL_CONNECT_TIMEOUT=120 HCCL_EXEC_TIMEOUT=204 OMP_NUM_THREADS=10 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
      VLLM_ENGINE_READY_TIMEOUT_S=360000 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000 VLLM_RPC_TIMEOUT=3600000 VLLM_USE_V2_MODEL_RUNNER=0
  prefill data_parallel_size=4 tensor_parallel_size=4
      '--additional-config={"enable_cpu_binding":true,"enable_dsa_cp":true,"enable_flashcomm1":true,"enable_fused_mc2":1,"enable_shared_expert_dp":true}'
      --enable-prefix-caching --enforce-eager --gpu-memory-utilization=0.9 --max-num-batched-tokens=8192 --max-num-seqs=16
      '--model-loader-extra-config={"enable_multithread_load":true,"num_threads":32}' '--speculative-config={"method":"dspark","num_speculative_tokens":5}'
      HCCL_BUFFSIZE=1024 HCCL_OP_EXPANSION_MODE=AIV TASK_QUEUE_ENABLE=1
  decode data_parallel_size=8 tensor_parallel_size=2
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true,"enable_static_kernel":false},"enable_cpu_binding":true,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":true}'
      --async-scheduling '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-prefix-caching=false --gpu-memory-utilization=0.95
      --max-num-batched-tokens=400 --max-num-seqs=32 '--model-loader-extra-config={"enable_multithread_load":true,"num_threads":16}'
      '--speculative-config={"enforce_eager":true,"method":"dspark","num_speculative_tokens":5}' HCCL_BUFFSIZE=1800
glm-4.7-w8a8-a2-mixed
  from a2 2 GLM-4.7-W8A8-floatmtp 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/GLM4.x.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated data_parallel_size=2 expert_parallel=true instances=1 tensor_parallel_size=8
      '--additional-config={"ascend_fusion_config":{"fusion_ops_gmmswigluquant":false},"enable_shared_expert_dp":true}'
      '--compilation-config={"cudagraph_capture_sizes":[1,2,4,8,16,32,64,128,256,512],"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-auto-tool-choice
      --gpu-memory-utilization=0.9 --max-model-len=140000 --max-num-batched-tokens=8192 --max-num-seqs=16 --quantization=ascend --reasoning-parser=glm45
      --seed=1024 '--speculative-config={"enforce_eager":true,"method":"mtp","num_speculative_tokens":3}' --tool-call-parser=glm47 --trust-remote-code
      HCCL_BUFFSIZE=512 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
      VLLM_ASCEND_BALANCE_SCHEDULING=1 VLLM_ASCEND_ENABLE_TOPK_OPTIMIZE=1
glm-4.7-w8a8-a3
  from a3 4 GLM-4.7-W8A8-floatmtp 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/GLM4.x.md'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true load_balancing=external --gpu-memory-utilization=0.9 --max-model-len=133000 --quantization=ascend --seed=1024
      --trust-remote-code ACL_OP_INIT_MODE=1 ASCEND_A3_ENABLE=1 ASCEND_AGGREGATE_ENABLE=1 ASCEND_TRANSPORT_PRINT=1 HCCL_OP_EXPANSION_MODE=AIV
      OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True VLLM_ASCEND_ENABLE_TOPK_OPTIMIZE=1
  prefill data_parallel_size=2 instances=2 tensor_parallel_size=8
      '--additional-config={"ascend_fusion_config":{"fusion_ops_gmmswigluquant":false},"enable_shared_expert_dp":true}' --enforce-eager
      --max-num-batched-tokens=8192 --max-num-seqs=64 '--speculative-config={"enforce_eager":true,"method":"mtp","num_speculative_tokens":1}'
      HCCL_BUFFSIZE=256
  decode data_parallel_size=8 instances=1 tensor_parallel_size=4
      '--additional-config={"ascend_fusion_config":{"fusion_ops_gmmswigluquant":false},"enable_shared_expert_dp":true,"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_capture_sizes":[1,2,4,6,8,10,12,14,16,18,20,24,26,28,30,32,64,128,256,512],"cudagraph_mode":"FULL_DECODE_ONLY"}'
      --max-num-batched-tokens=128 --max-num-seqs=4 '--speculative-config={"enforce_eager":true,"method":"mtp","num_speculative_tokens":3}'
      HCCL_BUFFSIZE=512 TASK_QUEUE_ENABLE=1 VLLM_ASCEND_ENABLE_FUSED_MC2=1 VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT=480
glm-4.7-w8a8-a3-mixed
  from a3 1 GLM-4.7-W8A8-floatmtp 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/GLM4.x.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated data_parallel_size=2 expert_parallel=true instances=1 tensor_parallel_size=8
      '--additional-config={"ascend_fusion_config":{"fusion_ops_gmmswigluquant":false},"enable_shared_expert_dp":true}'
      '--compilation-config={"cudagraph_capture_sizes":[1,2,4,8,16,32,64,128,256,512],"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.9
      --max-model-len=133000 --max-num-batched-tokens=8192 --max-num-seqs=16 --quantization=ascend --seed=1024
      '--speculative-config={"enforce_eager":true,"method":"mtp","num_speculative_tokens":3}' --trust-remote-code HCCL_BUFFSIZE=512
      HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True VLLM_ASCEND_BALANCE_SCHEDULING=1
      VLLM_ASCEND_ENABLE_TOPK_OPTIMIZE=1
glm-4.7-w8a8c8-a3-layerwise
  from a3 2 GLM-4.7-W8A8C8 'main at 182b75ea84ff'
      vllm-project/vllm-ascend@182b75ea84ff:tests/e2e/weekly/multi_node/internal_dp/config/GLM-4.7-W8A8C8-Mooncake-Layerwise.yaml
  deployment inference_kv_transfer=mooncake_layerwise
  pools prefill decode
  all data_parallel_size=2 expert_parallel=true instances=1 tensor_parallel_size=8 --enable-prefix-caching=false --gpu-memory-utilization=0.9
      --max-model-len=8192 --max-num-batched-tokens=8192 --seed=1024 --trust-remote-code HCCL_BUFFSIZE=512 HCCL_OP_EXPANSION_MODE=AIV OMP_PROC_BIND=false
  prefill '--additional-config={"enable_shared_expert_dp":true}' --enforce-eager --max-num-seqs=32
  decode '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --max-num-seqs=16
glm-5-w4a8-a2
  from a2 8 GLM-5-w4a8-mtp-QuaRot 0.23.0.post1 'verylucky01/MindIE-PyMotor (mirror of Ascend
      MindIE-PyMotor)@09689701476b:examples/infer_engines/vllm/models/GLM/5/user_config.json'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 '--additional-config={"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":true}'
      --async-scheduling --enable-auto-tool-choice --enable-chunked-prefill --enable-prefix-caching --gpu-memory-utilization=0.95 --max-model-len=65536
      --max-num-seqs=48 --quantization=ascend --reasoning-parser=glm45 --seed=1024
      '--speculative-config={"method":"deepseek_mtp","num_speculative_tokens":3}' --tool-call-parser=glm47 --trust-remote-code
  prefill data_parallel_size=4 tensor_parallel_size=8 --enforce-eager --max-num-batched-tokens=4096
  decode data_parallel_size=8 tensor_parallel_size=4
      '--compilation-config={"cudagraph_capture_sizes":[1,4,8,12,16,20,24,28,32,36,40,48,56,64,80,96],"cudagraph_mode":"FULL_DECODE_ONLY"}'
      --max-num-batched-tokens=64
glm-5-w4a8-a2-mixed
  from a2 1 GLM5-w4a8 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/GLM5.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated expert_parallel=true instances=1 tensor_parallel_size=8 '--additional-config={"multistream_overlap_shared_expert":true}'
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-chunked-prefill --enable-prefix-caching --gpu-memory-utilization=0.95
      '--hf-overrides={"index_topk_freq":4,"use_index_cache":true}' --max-model-len=32768 --max-num-batched-tokens=4096 --max-num-seqs=8
      --quantization=ascend --seed=1024 '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":3}' --trust-remote-code
      HCCL_BUFFSIZE=200 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
      VLLM_ASCEND_BALANCE_SCHEDULING=1 VLLM_ASCEND_ENABLE_FLASHCOMM1=1
glm-5-w4a8-a3-mixed
  from a3 1 GLM5-w4a8 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/GLM5.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated expert_parallel=true instances=1 tensor_parallel_size=16 '--additional-config={"multistream_overlap_shared_expert":true}'
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-chunked-prefill --enable-prefix-caching --gpu-memory-utilization=0.95
      '--hf-overrides={"index_topk_freq":4,"use_index_cache":true}' --max-model-len=200000 --max-num-batched-tokens=4096 --max-num-seqs=16
      --quantization=ascend --seed=1024 '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":3}' --trust-remote-code
      HCCL_BUFFSIZE=200 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
      VLLM_ASCEND_BALANCE_SCHEDULING=1 VLLM_ASCEND_ENABLE_FLASHCOMM1=1
glm-5-w8a8-a3
  from a3 6 GLM5-w8a8 'main at 182b75ea84ff' vllm-project/vllm-ascend@182b75ea84ff:docs/source/tutorials/models/GLM5.md
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --enable-auto-tool-choice --quantization=ascend --reasoning-parser=glm45 --seed=1024
      --tool-call-parser=glm47 --trust-remote-code ACL_OP_INIT_MODE=1 ASCEND_A3_ENABLE=1 ASCEND_AGGREGATE_ENABLE=1 ASCEND_TRANSPORT_PRINT=1
      HCCL_BUFFSIZE=256 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
      VLLM_ASCEND_ENABLE_FUSED_MC2=1 VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT=480
  prefill data_parallel_size=2 tensor_parallel_size=16 '--additional-config={"enable_dsa_cp":true}' --enable-chunked-prefill --enforce-eager
      --gpu-memory-utilization=0.95 --max-model-len=131072 --max-num-batched-tokens=4096 --max-num-seqs=64
      '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":1}'
  decode data_parallel_size=16 tensor_parallel_size=4 '--additional-config={"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.92 --max-model-len=200000 --max-num-batched-tokens=32
      --max-num-seqs=8 '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":3}' TASK_QUEUE_ENABLE=1
      VLLM_ASCEND_ENABLE_MLAPO=1
glm-5.1-w8a8-a2-mixed
  from a2 2 GLM-5.1-w8a8 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/GLM/GLM5_1-W8A8-A2-dual-nodes.yaml'
  deployment inference_kv_transfer=none
  pools colocated
  colocated data_parallel_size=2 expert_parallel=true instances=1 tensor_parallel_size=8
      '--additional-config={"ascend_compilation_config":{"fuse_qknorm_rope":false},"enable_mlapo":true,"multistream_overlap_shared_expert":true,"scheduler_config":{"enable_balance_scheduling":false}}'
      '--compilation-config={"cudagraph_capture_sizes":[1,4,8,12,16,20,24,28,32,36,48,60,72],"cudagraph_mode":"FULL_DECODE_ONLY"}'
      --enable-prefix-caching=false --gpu-memory-utilization=0.95 --max-model-len=38000 --max-num-batched-tokens=4096 --max-num-seqs=64
      --quantization=ascend --seed=1024 '--speculative-config={"method":"deepseek_mtp","num_speculative_tokens":3}' --trust-remote-code HCCL_BUFFSIZE=200
      HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True VLLM_ENGINE_READY_TIMEOUT_S=3000
      VLLM_RPC_TIMEOUT=600
glm-5.1-w8a8-a3
  from a3 4 GLM-5.1-w8a8 'main at 182b75ea84ff'
      vllm-project/vllm-ascend@182b75ea84ff:tests/e2e/nightly/multi_node/internal_dp/config/GLM5_1-W8A8-EP.yaml
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 --enable-auto-tool-choice --quantization=ascend --reasoning-parser=glm45 --seed=1024
      '--speculative-config={"method":"deepseek_mtp","num_speculative_tokens":3}' --tool-call-parser=glm47 --trust-remote-code ACL_OP_INIT_MODE=1
      ASCEND_A3_ENABLE=1 ASCEND_AGGREGATE_ENABLE=1 ASCEND_TRANSPORT_PRINT=1 HCCL_BUFFSIZE=1024 HCCL_CONNECT_TIMEOUT=1200 HCCL_INTRA_PCIE_ENABLE=1
      HCCL_INTRA_ROCE_ENABLE=0 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
      VLLM_ASCEND_ENABLE_FUSED_MC2=1 VLLM_ENGINE_READY_TIMEOUT_S=3000 VLLM_NIXL_ABORT_REQUEST_TIMEOUT=300000
  prefill data_parallel_size=4 tensor_parallel_size=8 '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true}}' --enforce-eager
      --gpu-memory-utilization=0.95 --max-model-len=131072 --max-num-batched-tokens=4096 --max-num-seqs=64
  decode data_parallel_size=8 tensor_parallel_size=4
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true},"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_capture_sizes":[4,8,12,16,20,24,28,32],"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.92
      --max-model-len=202752 --max-num-batched-tokens=32 --max-num-seqs=8 TASK_QUEUE_ENABLE=1 VLLM_ASCEND_ENABLE_MLAPO=1
glm-5.1-w8a8-a3-in32k-bs16-0
  from a3 4 GLM-5.1-w8a8 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/GLM/GLM_5_1_PD_in32k_bs16-0.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --enable-auto-tool-choice --enable-prefix-caching=false --max-num-seqs=32
      --quantization=ascend --reasoning-parser=glm45 --seed=1024 '--speculative-config={"method":"mtp","num_speculative_tokens":3}' --tool-call-parser=glm47
      --trust-remote-code ACL_OP_INIT_MODE=1 ASCEND_A3_ENABLE=1 ASCEND_AGGREGATE_ENABLE=1 ASCEND_TRANSPORT_PRINT=1 HCCL_BUFFSIZE=256
      HCCL_CONNECT_TIMEOUT=1200 HCCL_INTRA_PCIE_ENABLE=1 HCCL_INTRA_ROCE_ENABLE=0 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True VLLM_ENGINE_READY_TIMEOUT_S=7200 VLLM_NIXL_ABORT_REQUEST_TIMEOUT=300000
  prefill data_parallel_size=4 tensor_parallel_size=8 '--additional-config={"enable_dsa_cp":true,"enable_fused_mc2":1}' --enforce-eager
      --gpu-memory-utilization=0.95 --max-model-len=65536 --max-num-batched-tokens=4096
  decode data_parallel_size=8 tensor_parallel_size=4 '--additional-config={"enable_fused_mc2":1,"enable_mlapo":true,"recompute_scheduler_enable":true}'
      --async-scheduling '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.92 --max-model-len=150000
      --max-num-batched-tokens=128 TASK_QUEUE_ENABLE=1
glm-5.1-w8a8-a3-in32k-bs20-90
  from a3 4 GLM-5.1-w8a8 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/GLM/GLM_5_1_PD_in32k_bs20-90.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --enable-auto-tool-choice --max-num-seqs=32 --quantization=ascend
      --reasoning-parser=glm45 --seed=1024 '--speculative-config={"method":"mtp","num_speculative_tokens":3}' --tool-call-parser=glm47 --trust-remote-code
      ACL_OP_INIT_MODE=1 ASCEND_A3_ENABLE=1 ASCEND_AGGREGATE_ENABLE=1 ASCEND_TRANSPORT_PRINT=1 HCCL_BUFFSIZE=256 HCCL_CONNECT_TIMEOUT=1200
      HCCL_INTRA_PCIE_ENABLE=1 HCCL_INTRA_ROCE_ENABLE=0 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True VLLM_ENGINE_READY_TIMEOUT_S=7200 VLLM_NIXL_ABORT_REQUEST_TIMEOUT=300000
  prefill data_parallel_size=4 tensor_parallel_size=8 '--additional-config={"enable_dsa_cp":true,"enable_fused_mc2":1}' --enforce-eager
      --gpu-memory-utilization=0.95 --max-model-len=65536 --max-num-batched-tokens=4096
  decode data_parallel_size=8 tensor_parallel_size=4 '--additional-config={"enable_fused_mc2":1,"enable_mlapo":true,"recompute_scheduler_enable":true}'
      --async-scheduling '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.92 --max-model-len=150000
      --max-num-batched-tokens=128 TASK_QUEUE_ENABLE=1
glm-5.1-w8a8-a3-in64k-bs16-90
  from a3 4 GLM-5.1-w8a8 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/GLM/GLM_5_1_PD_in64k_bs16-90.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all data_parallel_size=4 expert_parallel=true instances=1 load_balancing=external tensor_parallel_size=8 --enable-auto-tool-choice
      --max-model-len=140000 --quantization=ascend --reasoning-parser=glm45 --seed=1024 '--speculative-config={"method":"mtp","num_speculative_tokens":3}'
      --tool-call-parser=glm47 --trust-remote-code ACL_OP_INIT_MODE=1 ASCEND_A3_ENABLE=1 ASCEND_AGGREGATE_ENABLE=1 ASCEND_TRANSPORT_PRINT=1
      HCCL_BUFFSIZE=900 HCCL_CONNECT_TIMEOUT=1200 HCCL_INTRA_PCIE_ENABLE=1 HCCL_INTRA_ROCE_ENABLE=0 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1
      OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True VLLM_ENGINE_READY_TIMEOUT_S=7200 VLLM_NIXL_ABORT_REQUEST_TIMEOUT=300000
  prefill '--additional-config={"enable_dsa_cp":true,"enable_fused_mc2":1}' --enforce-eager --gpu-memory-utilization=0.95 --max-num-batched-tokens=4096
      --max-num-seqs=64
  decode '--additional-config={"enable_fused_mc2":1,"enable_mlapo":true,"recompute_scheduler_enable":true}' --async-scheduling
      '--compilation-config={"cudagraph_capture_sizes":[4,8,12,16,20,24,28,32,64,96,128],"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.92
      --max-num-batched-tokens=128 --max-num-seqs=32 TASK_QUEUE_ENABLE=1
glm-5.1-w8a8-a3-mixed
  from a3 2 GLM-5.1-w8a8 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/GLM/GLM5_1-W8A8-A3-dual-nodes.yaml'
  deployment inference_kv_transfer=none
  pools colocated
  colocated data_parallel_size=2 expert_parallel=true instances=1 tensor_parallel_size=16
      '--additional-config={"enable_mlapo":true,"multistream_overlap_shared_expert":true,"scheduler_config":{"enable_balance_scheduling":false}}'
      --async-scheduling '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-chunked-prefill --enable-prefix-caching
      --gpu-memory-utilization=0.95 --max-model-len=133120 --max-num-batched-tokens=4096 --max-num-seqs=16 --quantization=ascend --seed=1024
      '--speculative-config={"method":"deepseek_mtp","num_speculative_tokens":3}' --trust-remote-code HCCL_BUFFSIZE=200 HCCL_OP_EXPANSION_MODE=AIV
      OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True VLLM_ENGINE_READY_TIMEOUT_S=3000 VLLM_RPC_TIMEOUT=600
glm-5.1-w8a8c8-a3
  from a3 4 GLM-5.1-W8A8C8-MTP 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/GLM5.md'
  note 'prefill: no release reads fuse_muls_add of additional-config from this one on; it is left out'
  note 'decode: no release reads fuse_muls_add of additional-config from this one on; it is left out'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 'kv={"mooncake":{"prefill":{"pp_layer_partition":"41,37"}}}' --enable-auto-tool-choice
      --gpu-memory-utilization=0.92 '--hf-overrides={"index_topk_freq":4,"use_index_cache":true}' --max-model-len=202752 --quantization=ascend
      --reasoning-parser=glm45 --seed=1024 '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":3}'
      --tool-call-parser=glm47 --trust-remote-code ACL_OP_INIT_MODE=1 ASCEND_A3_ENABLE=1 HCCL_CONNECT_TIMEOUT=3600 HCCL_EXEC_TIMEOUT=3600
      HCCL_OP_EXPANSION_MODE=AIV HCCL_TRANSFER_TIMEOUT=600 OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
      VLLM_ASCEND_ENABLE_FUSED_MC2=1
  prefill pipeline_parallel_size=2 tensor_parallel_size=16
      '--additional-config={"c8_enable_reshape_optim":true,"enable_dsa_cp":true,"enable_sparse_li_c8":true,"enable_sparse_sfa_c8":true,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":false}'
      --distributed-executor-backend=mp --enable-prefix-caching --enforce-eager --max-num-batched-tokens=16384 --max-num-seqs=64 HCCL_BUFFSIZE=400
      VLLM_ASCEND_ENABLE_FLASHCOMM1=1 VLLM_PP_LAYER_PARTITION=41,37
  decode data_parallel_size=8 load_balancing=external tensor_parallel_size=4
      '--additional-config={"enable_sparse_li_c8":true,"enable_sparse_sfa_c8":true,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":true}'
      --async-scheduling '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --max-num-batched-tokens=164 --max-num-seqs=32 HCCL_BUFFSIZE=256
      TASK_QUEUE_ENABLE=1 VLLM_ASCEND_ENABLE_MLAPO=1
glm-5.1-w8a8c8-a3-128k-1k-90-50
  from a3 4 GLM-5.1-w8a8c8 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/GLM/GLM-5.1-W8A8C8-128k-1k-90-50-PD.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --attention-config.indexer_kv_dtype=int8 --enable-auto-tool-choice
      --enable-prefix-caching --gpu-memory-utilization=0.92 '--hf-overrides={"index_topk_freq":4,"use_index_cache":true}' --kv-cache-dtype=int8
      --max-model-len=202752 --quantization=ascend --reasoning-parser=glm45 --seed=1024
      '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":3}' --tool-call-parser=glm47 --trust-remote-code
      ACL_OP_INIT_MODE=1 ASCEND_A3_ENABLE=1 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
  prefill data_parallel_size=4 tensor_parallel_size=8
      '--additional-config={"ascend_compilation_config":{"fuse_muls_add":true},"enable_dsa_cp":true,"enable_fused_mc2":1,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":false}'
      --enforce-eager --max-num-batched-tokens=8192 --max-num-seqs=64 HCCL_BUFFSIZE=400 VLLM_ASCEND_ENABLE_FLASHCOMM1=1
  decode data_parallel_size=8 tensor_parallel_size=4
      '--additional-config={"ascend_compilation_config":{"fuse_muls_add":true},"enable_fused_mc2":1,"enable_mlapo":true,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":true}'
      --async-scheduling '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --max-num-batched-tokens=164 --max-num-seqs=32 HCCL_BUFFSIZE=256
      TASK_QUEUE_ENABLE=1
glm-5.1-w8a8c8-a3-3.5k-1.5k-0-20
  from a3 4 GLM-5.1-w8a8c8 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/GLM/GLM-5.1-W8A8C8-3.5k-1.5k-0-20-PD.yaml'
  note 'decode: its hosts differ in trust-remote-code; here is what the first has'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --enable-auto-tool-choice --gpu-memory-utilization=0.92
      '--hf-overrides={"index_topk_freq":4,"use_index_cache":true}' --max-model-len=18432 --quantization=ascend --reasoning-parser=glm45 --seed=1024
      '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":3}' --tool-call-parser=glm47 --trust-remote-code
      ACL_OP_INIT_MODE=1 ASCEND_A3_ENABLE=1 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
  prefill data_parallel_size=4 tensor_parallel_size=8
      '--additional-config={"ascend_compilation_config":{"fuse_muls_add":true},"enable_dsa_cp":true,"enable_fused_mc2":1,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":false}'
      --enable-prefix-caching=false --enforce-eager --max-num-batched-tokens=8192 --max-num-seqs=64 HCCL_BUFFSIZE=400 VLLM_ASCEND_ENABLE_FLASHCOMM1=1
  decode data_parallel_size=8 tensor_parallel_size=4
      '--additional-config={"ascend_compilation_config":{"fuse_muls_add":true},"enable_fused_mc2":1,"enable_mlapo":true,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":true}'
      --async-scheduling '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --max-num-batched-tokens=164 --max-num-seqs=32 HCCL_BUFFSIZE=256
      TASK_QUEUE_ENABLE=1
glm-5.1-w8a8c8-a3-3.5k-1.5k-0-50
  from a3 4 GLM-5.1-w8a8c8 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/GLM/GLM-5.1-W8A8C8-3.5k-1.5k-0-50-PD.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --enable-auto-tool-choice --gpu-memory-utilization=0.92
      '--hf-overrides={"index_topk_freq":4,"use_index_cache":true}' --max-model-len=18432 --quantization=ascend --reasoning-parser=glm45 --seed=1024
      '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":3}' --tool-call-parser=glm47 --trust-remote-code
      ACL_OP_INIT_MODE=1 ASCEND_A3_ENABLE=1 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
  prefill data_parallel_size=4 tensor_parallel_size=8
      '--additional-config={"ascend_compilation_config":{"fuse_muls_add":true},"enable_dsa_cp":true,"enable_fused_mc2":1,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":false}'
      --enable-prefix-caching=false --enforce-eager --max-num-batched-tokens=8192 --max-num-seqs=64 HCCL_BUFFSIZE=400 VLLM_ASCEND_ENABLE_FLASHCOMM1=1
  decode data_parallel_size=32
      '--additional-config={"ascend_compilation_config":{"fuse_muls_add":true},"enable_fused_mc2":1,"enable_mlapo":true,"finegrained_tp_config":{"lmhead_tensor_parallel_size":16},"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":true}'
      --async-scheduling '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --max-num-batched-tokens=164 --max-num-seqs=32 HCCL_BUFFSIZE=256
      TASK_QUEUE_ENABLE=1
glm-5.1-w8a8c8-a3-64k-1k-90-50
  from a3 4 GLM-5.1-w8a8c8 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/GLM/GLM-5.1-W8A8C8-64k-1k-90-50-PD.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --attention-config.indexer_kv_dtype=int8 --enable-auto-tool-choice
      --gpu-memory-utilization=0.92 '--hf-overrides={"index_topk_freq":4,"use_index_cache":true}' --max-model-len=133120 --quantization=ascend
      --reasoning-parser=glm45 --seed=1024 '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":3}'
      --tool-call-parser=glm47 --trust-remote-code ACL_OP_INIT_MODE=1 ASCEND_A3_ENABLE=1 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
  prefill data_parallel_size=4 tensor_parallel_size=8
      '--additional-config={"ascend_compilation_config":{"fuse_muls_add":true},"enable_dsa_cp":true,"enable_fused_mc2":1,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":false}'
      --enable-prefix-caching --enforce-eager --max-num-batched-tokens=8192 --max-num-seqs=64 HCCL_BUFFSIZE=400 VLLM_ASCEND_ENABLE_FLASHCOMM1=1
  decode data_parallel_size=8 tensor_parallel_size=4
      '--additional-config={"ascend_compilation_config":{"fuse_muls_add":true},"enable_fused_mc2":1,"enable_mlapo":true,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":true}'
      --async-scheduling '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --max-num-batched-tokens=164 --max-num-seqs=32 HCCL_BUFFSIZE=256
      TASK_QUEUE_ENABLE=1
glm-5.1-w8a8c8-a3-mixed
  from a3 2 GLM-5.1-W8A8C8-MTP 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/GLM5.md'
  note 'colocated: no release reads fuse_muls_add of additional-config from this one on; it is left out'
  deployment inference_kv_transfer=none
  pools colocated
  colocated data_parallel_size=8 expert_parallel=true instances=1 tensor_parallel_size=4
      '--additional-config={"enable_balance_scheduling":true,"enable_dsa_cp":true,"enable_sparse_li_c8":true,"enable_sparse_sfa_c8":true}'
      --async-scheduling '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-auto-tool-choice --enable-chunked-prefill
      --enable-prefix-caching --gpu-memory-utilization=0.92 '--hf-overrides={"index_topk_freq":4,"use_index_cache":true}' --quantization=ascend
      --reasoning-parser=glm45 --seed=1024 '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":3}'
      --tool-call-parser=glm47 --trust-remote-code HCCL_BUFFSIZE=400 HCCL_CONNECT_TIMEOUT=3600 HCCL_EXEC_TIMEOUT=3600 HCCL_OP_EXPANSION_MODE=AIV
      HCCL_TRANSFER_TIMEOUT=600 OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True VLLM_ASCEND_ENABLE_FLASHCOMM1=1
      VLLM_ASCEND_ENABLE_FUSED_MC2=1 VLLM_ASCEND_ENABLE_MLAPO=1
glm-5.2-a3-1m
  from a3 4 GLM5.2 0.30.0rc2 'vllm-ascend 0.30.0rc2: docs/source/tutorials/models/GLM5.2.md'
  note 'prefill: no release reads fuse_muls_add of additional-config from this one on; it is left out'
  note 'decode: no release reads fuse_muls_add of additional-config from this one on; it is left out'
  note 'prefill: its hosts differ in additional-config; here is what the first has'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --attention-config.indexer_kv_dtype=int8 --cp-kv-cache-interleave-size=128
      --enable-auto-tool-choice --kv-cache-dtype=int8 --max-model-len=1048576 --quantization=ascend --reasoning-parser=glm45
      --safetensors-load-strategy=prefetch --seed=1024 --tool-call-parser=glm47 --trust-remote-code HCCL_BUFFSIZE=400 HCCL_OP_EXPANSION_MODE=AIV
      MF_GROUP_JOIN_MAX_TIMEOUT=1200 PYTORCH_NPU_ALLOC_CONF=expandable_segments:True VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000
  prefill data_parallel_size=2 decode_context_parallel_size=16 tensor_parallel_size=16
      '--additional-config={"c8_enable_reshape_optim":true,"enable_dsa_cp":true,"enable_flashcomm1":true,"enable_fused_mc2":1,"mega_moe_max_tokens":8192,"multistream_overlap_shared_expert":true}'
      --enable-prefix-caching --enforce-eager --gpu-memory-utilization=0.85 --max-num-batched-tokens=8192 --max-num-seqs=64
      '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":1}'
  decode data_parallel_size=4 decode_context_parallel_size=8 tensor_parallel_size=8
      '--additional-config={"enable_fused_mc2":1,"enable_mlapo":true,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":true}'
      --async-scheduling '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.90 --max-num-batched-tokens=192
      --max-num-seqs=32 '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":5}'
glm-5.2-a3-mixed-1m
  from a3 1 GLM5.2 0.30.0rc2 'vllm-ascend 0.30.0rc2: docs/source/tutorials/models/GLM5.2.md'
  note 'colocated: no release reads fuse_muls_add of additional-config from this one on; it is left out'
  deployment inference_kv_transfer=none
  pools colocated
  colocated decode_context_parallel_size=16 expert_parallel=true instances=1 tensor_parallel_size=16
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true,"enable_static_kernel":false},"enable_cpu_binding":true,"enable_dsa_cp":true,"enable_flashcomm1":true,"enable_mc2_hierarchy_comm":false,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":false,"weight_nz_mode":1}'
      --api-server-count=1 --attention-config.indexer_kv_dtype=int8
      '--compilation-config={"cudagraph_capture_sizes":[4,16,128],"cudagraph_mode":"FULL_DECODE_ONLY"}' --cp-kv-cache-interleave-size=128
      --gpu-memory-utilization=0.80 --kv-cache-dtype=int8 --max-model-len=1024000 --max-num-batched-tokens=16384 --max-num-seqs=32 --quantization=ascend
      --safetensors-load-strategy=prefetch --seed=1024 '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":3}'
      HCCL_BUFFSIZE=768 HCCL_OP_EXPANSION_MODE=AIV PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
glm-5.2-w4a8c8-a2-mixed-1m
  from a2 2 GLM-5.2-w4a8c8 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/GLM5.2.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated data_parallel_size=2 expert_parallel=true instances=1 tensor_parallel_size=8
      '--additional-config={"multistream_overlap_shared_expert":true}' --api-server-count=1 --async-scheduling --block-size=128
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.95 --max-model-len=40000 --max-num-batched-tokens=4096
      --max-num-seqs=16 --quantization=ascend --safetensors-load-strategy=prefetch --seed=1024
      '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":3}' ACL_OP_INIT_MODE=1 CPU_AFFINITY_CONF=1
      HCCL_CONNECT_TIMEOUT=120 HCCL_EXEC_TIMEOUT=200 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=10 OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_ENGINE_READY_TIMEOUT_S=1200 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000
      VLLM_RPC_TIMEOUT=360000
glm-5.2-w4a8c8-a2-pool-1m
  from a2 8 GLM-5.2-w4a8c8 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/GLM5.2.md'
  deployment inference_kv_transfer=mooncake+store 'inference_store={"backend":"mooncake"}'
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --async-scheduling --enable-auto-tool-choice --enable-prefix-caching
      --gpu-memory-utilization=0.95 --max-model-len=256000 --quantization=ascend --reasoning-parser=glm45 --safetensors-load-strategy=prefetch --seed=1024
      --tool-call-parser=glm47 --trust-remote-code ACL_OP_INIT_MODE=1 HCCL_INTRA_ROCE_ENABLE=1 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=10
      OMP_PROC_BIND=false PYTHONHASHSEED=0 PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_ASCEND_ENABLE_MLAPO=1 VLLM_USE_V1=1
  prefill data_parallel_size=4 'kv={"kv_load_failure_policy":"recompute"}' tensor_parallel_size=8
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true},"enable_cpu_binding":true,"enable_dsa_cp":true,"enable_flashcomm1":true,"enable_sparse_li_c8":true,"enable_sparse_sfa_c8":true,"multistream_overlap_shared_expert":true}'
      --enable-chunked-prefill --enforce-eager --max-num-batched-tokens=8192 --max-num-seqs=256
      '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":1}' ASCEND_AGGREGATE_ENABLE=1 ASCEND_TRANSPORT_PRINT=1
      HCCL_BUFFSIZE=256 VLLM_ASCEND_ENABLE_FLASHCOMM1=1
  decode data_parallel_size=8 'kv={"kv_load_failure_policy":"recompute","store":{"load_async":true}}' tensor_parallel_size=4
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true},"enable_cpu_binding":true,"enable_sparse_li_c8":true,"enable_sparse_sfa_c8":true,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_capture_sizes":[4,8,16,24,32,40,48,56,64,96,128,160,192,224,256,298,320,352,384],"cudagraph_mode":"FULL_DECODE_ONLY"}'
      --max-num-batched-tokens=768 --max-num-seqs=128 '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":5}'
      HCCL_BUFFSIZE=2560
glm-5.2-w4a8c8-a3-1m-dcp
  from a3 4 GLM-5.2-w4a8c8 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/GLM/GLM-5.2-W4A8C8-1M-PD-DCP.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all data_parallel_size=4 decode_context_parallel_size=8 expert_parallel=true instances=1 load_balancing=external tensor_parallel_size=8
      --attention-config.indexer_kv_dtype=int8 --cp-kv-cache-interleave-size=128 --enable-auto-tool-choice --enable-prefix-caching=false
      --max-model-len=1024000 --quantization=ascend --reasoning-parser=glm45 --safetensors-load-strategy=prefetch --seed=1024 --tool-call-parser=glm47
      --trust-remote-code ASCEND_A3_ENABLE=1 HCCL_BUFFSIZE=768 HCCL_CONNECT_TIMEOUT=3600 HCCL_EXEC_TIMEOUT=3600 HCCL_OP_EXPANSION_MODE=AIV
      HCCL_TRANSFER_TIMEOUT=600 OMP_NUM_THREADS=20 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1
      VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT=480 VLLM_WORKER_MULTIPROC_METHOD=spawn
  prefill
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true},"enable_cpu_binding":true,"enable_dsa_cp":true,"enable_flashcomm1":true,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":true,"weight_nz_mode":1}'
      --enforce-eager --gpu-memory-utilization=0.75 --max-num-batched-tokens=16384 --max-num-seqs=8
      '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":1}'
  decode
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true},"enable_cpu_binding":true,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.9 --max-num-batched-tokens=128 --max-num-seqs=32
      '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":3}'
glm-5.2-w4a8c8-a3-mixed-1m
  from a3 1 GLM-5.2-w4a8c8 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/GLM5.2.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated data_parallel_size=2 expert_parallel=true instances=1 tensor_parallel_size=8
      '--additional-config={"enable_balance_scheduling":true,"enable_dsa_cp":true,"enable_sparse_li_c8":true,"multistream_overlap_shared_expert":true}'
      --api-server-count=1 '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-auto-tool-choice --gpu-memory-utilization=0.92
      --max-model-len=135000 --max-num-batched-tokens=8192 --max-num-seqs=12 --quantization=ascend --reasoning-parser=glm45 --seed=1024
      '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":3}' --tool-call-parser=glm47 --trust-remote-code
      HCCL_BUFFSIZE=200 HCCL_CONNECT_TIMEOUT=3600 HCCL_EXEC_TIMEOUT=3600 HCCL_OP_EXPANSION_MODE=AIV HCCL_TRANSFER_TIMEOUT=600 OMP_NUM_THREADS=1
      OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True VLLM_ASCEND_ENABLE_FLASHCOMM1=1 VLLM_ASCEND_ENABLE_FUSED_MC2=0
glm-5.2-w8a8-a3-mixed
  from a3 2 GLM-5.2-w8a8 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/GLM/GLM5_2-W8A8-A3-dual-nodes.yaml'
  deployment inference_kv_transfer=none
  pools colocated
  colocated data_parallel_size=2 expert_parallel=true instances=1 tensor_parallel_size=16
      '--additional-config={"enable_mlapo":true,"multistream_overlap_shared_expert":true}' '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}'
      --gpu-memory-utilization=0.95 --max-model-len=133120 --max-num-batched-tokens=4096 --max-num-seqs=16 --quantization=ascend --seed=1024
      '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":3}' --trust-remote-code HCCL_BUFFSIZE=200
      HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True VLLM_ENGINE_READY_TIMEOUT_S=3000
      VLLM_RPC_TIMEOUT=600
glm-5.2-w8a8c8-a2-pool-1m
  from a2 8 GLM-5.2-w8a8c8 0.30.0rc2 'vllm-ascend 0.30.0rc2: docs/source/tutorials/models/GLM5.2.md'
  note 'prefill: no release reads fuse_muls_add of additional-config from this one on; it is left out'
  note 'decode: no release reads fuse_muls_add of additional-config from this one on; it is left out'
  deployment inference_kv_transfer=mooncake+store 'inference_store={"backend":"mooncake"}'
  pools prefill decode
  all expert_parallel=true instances=1 'kv={"kv_load_failure_policy":"recompute"}' load_balancing=external --attention-config.indexer_kv_dtype=int8
      --enable-auto-tool-choice --enable-prefix-caching --gpu-memory-utilization=0.92 --kv-cache-dtype=int8 --max-model-len=200000 --quantization=ascend
      --reasoning-parser=glm45 --safetensors-load-strategy=prefetch --seed=1024 --tool-call-parser=glm47 --trust-remote-code HCCL_INTRA_ROCE_ENABLE=1
      HCCL_OP_EXPANSION_MODE=AIV PYTHONHASHSEED=0 PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
  prefill data_parallel_size=4 tensor_parallel_size=8
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true,"enable_static_kernel":false},"enable_cpu_binding":true,"enable_dsa_cp":true,"enable_flashcomm1":true,"enable_mc2_hierarchy_comm":false,"enable_mlapo":true,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":false}'
      --enable-chunked-prefill --enforce-eager --max-num-batched-tokens=8192 --max-num-seqs=512
      '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":1}' HCCL_BUFFSIZE=256
  decode data_parallel_size=8 tensor_parallel_size=4
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true,"enable_static_kernel":false},"enable_cpu_binding":true,"enable_dsa_cp":false,"enable_flashcomm1":false,"enable_mc2_hierarchy_comm":false,"enable_mlapo":true,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_capture_sizes":[4,8,16,24,32,40,48,56,64,96,128,160,192,224,256,298,320,352,384],"cudagraph_mode":"FULL_DECODE_ONLY"}'
      --max-num-batched-tokens=256 --max-num-seqs=256 '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":3}'
      HCCL_BUFFSIZE=2560
glm-5.2-w8a8c8-a3-128k-1k-90-50
  from a3 4 GLM-5.2-w8a8c8 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/GLM/GLM-5.2-W8A8C8-128k-1k-90-50-PD.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --attention-config.indexer_kv_dtype=int8 --enable-auto-tool-choice
      --enable-prefix-caching --gpu-memory-utilization=0.92 '--hf-overrides={"index_topk_freq":4,"use_index_cache":true}' --kv-cache-dtype=int8
      --max-model-len=202752 --quantization=ascend --reasoning-parser=glm45 --seed=1024
      '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":3}' --tool-call-parser=glm47 --trust-remote-code
      ACL_OP_INIT_MODE=1 ASCEND_A3_ENABLE=1 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
  prefill data_parallel_size=4 tensor_parallel_size=8
      '--additional-config={"ascend_compilation_config":{"fuse_muls_add":true},"enable_dsa_cp":true,"enable_fused_mc2":1,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":false}'
      --enforce-eager --max-num-batched-tokens=8192 --max-num-seqs=64 HCCL_BUFFSIZE=400 VLLM_ASCEND_ENABLE_FLASHCOMM1=1
  decode data_parallel_size=8 tensor_parallel_size=4
      '--additional-config={"ascend_compilation_config":{"fuse_muls_add":true},"enable_fused_mc2":1,"enable_mlapo":true,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":true}'
      --async-scheduling '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --max-num-batched-tokens=164 --max-num-seqs=32 HCCL_BUFFSIZE=256
      TASK_QUEUE_ENABLE=1
glm-5.2-w8a8c8-a3-1m
  from a3 4 GLM-5.2-w8a8c8 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/GLM5.2.md'
  note 'prefill: no release reads fuse_muls_add of additional-config from this one on; it is left out'
  note 'decode: no release reads fuse_muls_add of additional-config from this one on; it is left out'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 'kv={"mooncake":{"prefill":{"pp_layer_partition":"41,37"}}}' --enable-auto-tool-choice
      --gpu-memory-utilization=0.92 '--hf-overrides={"index_topk_freq":4,"use_index_cache":true}' --max-model-len=202752 --quantization=ascend
      --reasoning-parser=glm45 --seed=1024 --tool-call-parser=glm47 --trust-remote-code ACL_OP_INIT_MODE=1 ASCEND_A3_ENABLE=1 HCCL_CONNECT_TIMEOUT=3600
      HCCL_EXEC_TIMEOUT=3600 HCCL_OP_EXPANSION_MODE=AIV HCCL_TRANSFER_TIMEOUT=600 OMP_NUM_THREADS=1 OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True VLLM_ASCEND_ENABLE_FUSED_MC2=1
  prefill pipeline_parallel_size=2 tensor_parallel_size=16
      '--additional-config={"c8_enable_reshape_optim":true,"enable_dsa_cp":true,"enable_sparse_li_c8":true,"enable_sparse_sfa_c8":true,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":false}'
      --distributed-executor-backend=mp --enable-prefix-caching --enforce-eager --max-num-batched-tokens=16384 --max-num-seqs=64
      '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":1}' HCCL_BUFFSIZE=400 VLLM_ASCEND_ENABLE_FLASHCOMM1=1
      VLLM_PP_LAYER_PARTITION=41,37
  decode data_parallel_size=8 load_balancing=external tensor_parallel_size=4
      '--additional-config={"enable_sparse_li_c8":true,"enable_sparse_sfa_c8":true,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":true}'
      --async-scheduling '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --max-num-batched-tokens=164 --max-num-seqs=32
      '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":3}' HCCL_BUFFSIZE=256 TASK_QUEUE_ENABLE=1
      VLLM_ASCEND_ENABLE_MLAPO=1
glm-5.2-w8a8c8-a3-3.5k-1.5k-0-20
  from a3 4 GLM-5.2-w8a8c8 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/GLM/GLM-5.2-W8A8C8-3.5k-1.5k-0-20-PD.yaml'
  note 'decode: its hosts differ in trust-remote-code; here is what the first has'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --enable-auto-tool-choice --gpu-memory-utilization=0.92
      '--hf-overrides={"index_topk_freq":4,"use_index_cache":true}' --max-model-len=18432 --quantization=ascend --reasoning-parser=glm45 --seed=1024
      '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":3}' --tool-call-parser=glm47 --trust-remote-code
      ACL_OP_INIT_MODE=1 ASCEND_A3_ENABLE=1 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
  prefill data_parallel_size=4 tensor_parallel_size=8
      '--additional-config={"ascend_compilation_config":{"fuse_muls_add":true},"enable_dsa_cp":true,"enable_fused_mc2":1,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":false}'
      --enable-prefix-caching=false --enforce-eager --max-num-batched-tokens=8192 --max-num-seqs=64 HCCL_BUFFSIZE=400 VLLM_ASCEND_ENABLE_FLASHCOMM1=1
  decode data_parallel_size=8 tensor_parallel_size=4
      '--additional-config={"ascend_compilation_config":{"fuse_muls_add":true},"enable_fused_mc2":1,"enable_mlapo":true,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":true}'
      --async-scheduling '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --max-num-batched-tokens=164 --max-num-seqs=32 HCCL_BUFFSIZE=256
      TASK_QUEUE_ENABLE=1
glm-5.2-w8a8c8-a3-3.5k-1.5k-0-50
  from a3 4 GLM-5.2-w8a8c8 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/GLM/GLM-5.2-W8A8C8-3.5k-1.5k-0-50-PD.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --enable-auto-tool-choice --gpu-memory-utilization=0.92
      '--hf-overrides={"index_topk_freq":4,"use_index_cache":true}' --max-model-len=18432 --quantization=ascend --reasoning-parser=glm45 --seed=1024
      '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":3}' --tool-call-parser=glm47 --trust-remote-code
      ACL_OP_INIT_MODE=1 ASCEND_A3_ENABLE=1 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
  prefill data_parallel_size=4 tensor_parallel_size=8
      '--additional-config={"ascend_compilation_config":{"fuse_muls_add":true},"enable_dsa_cp":true,"enable_fused_mc2":1,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":false}'
      --enable-prefix-caching=false --enforce-eager --max-num-batched-tokens=8192 --max-num-seqs=64 HCCL_BUFFSIZE=400 VLLM_ASCEND_ENABLE_FLASHCOMM1=1
  decode data_parallel_size=32
      '--additional-config={"ascend_compilation_config":{"fuse_muls_add":true},"enable_fused_mc2":1,"enable_mlapo":true,"finegrained_tp_config":{"lmhead_tensor_parallel_size":16},"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":true}'
      --async-scheduling '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --max-num-batched-tokens=164 --max-num-seqs=32 HCCL_BUFFSIZE=256
      TASK_QUEUE_ENABLE=1
glm-5.2-w8a8c8-a3-64k-1k-90-50
  from a3 4 GLM-5.2-w8a8c8 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/GLM/GLM-5.2-W8A8C8-64k-1k-90-50-PD.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --attention-config.indexer_kv_dtype=int8 --enable-auto-tool-choice
      --gpu-memory-utilization=0.92 '--hf-overrides={"index_topk_freq":4,"use_index_cache":true}' --max-model-len=133120 --quantization=ascend
      --reasoning-parser=glm45 --seed=1024 '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":3}'
      --tool-call-parser=glm47 --trust-remote-code ACL_OP_INIT_MODE=1 ASCEND_A3_ENABLE=1 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
  prefill data_parallel_size=4 tensor_parallel_size=8
      '--additional-config={"ascend_compilation_config":{"fuse_muls_add":true},"enable_dsa_cp":true,"enable_fused_mc2":1,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":false}'
      --enable-prefix-caching --enforce-eager --max-num-batched-tokens=8192 --max-num-seqs=64 HCCL_BUFFSIZE=400 VLLM_ASCEND_ENABLE_FLASHCOMM1=1
  decode data_parallel_size=8 tensor_parallel_size=4
      '--additional-config={"ascend_compilation_config":{"fuse_muls_add":true},"enable_fused_mc2":1,"enable_mlapo":true,"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":true}'
      --async-scheduling '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --max-num-batched-tokens=164 --max-num-seqs=32 HCCL_BUFFSIZE=256
      TASK_QUEUE_ENABLE=1
glm-5.2-w8a8c8-a3-mixed-1m
  from a3 2 GLM-5.2-w8a8c8 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/GLM5.2.md'
  note 'colocated: no release reads fuse_muls_add of additional-config from this one on; it is left out'
  deployment inference_kv_transfer=none
  pools colocated
  colocated data_parallel_size=8 expert_parallel=true instances=1 tensor_parallel_size=4
      '--additional-config={"enable_balance_scheduling":true,"enable_dsa_cp":true,"enable_sparse_li_c8":true,"enable_sparse_sfa_c8":true}'
      --api-server-count=1 --async-scheduling '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-auto-tool-choice
      --enable-chunked-prefill --enable-prefix-caching --gpu-memory-utilization=0.92 --max-model-len=202752 --max-num-batched-tokens=4096 --max-num-seqs=6
      --quantization=ascend --reasoning-parser=glm45 --seed=1024
      '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":3}' --tool-call-parser=glm47 --trust-remote-code
      HCCL_BUFFSIZE=400 HCCL_CONNECT_TIMEOUT=3600 HCCL_EXEC_TIMEOUT=3600 HCCL_OP_EXPANSION_MODE=AIV HCCL_TRANSFER_TIMEOUT=600 OMP_NUM_THREADS=1
      OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True VLLM_ASCEND_ENABLE_FLASHCOMM1=1 VLLM_ASCEND_ENABLE_FUSED_MC2=1
      VLLM_ASCEND_ENABLE_MLAPO=1
glm-5.3-a3
  from a3 4 GLM5.3 0.30.0rc2 'vllm-ascend 0.30.0rc2: docs/source/tutorials/models/GLM5.3.md'
  deployment inference_kv_transfer=mooncake_v2
  pools prefill decode
  all expert_parallel=true instances=1 'kv={"mooncake_v2":{"prefill":{"pp_layer_partition":"42,36"}}}' --async-scheduling
      --attention-config.indexer_kv_dtype=int8 --enable-auto-tool-choice --enable-chunked-prefill --enable-prefix-caching --gpu-memory-utilization=0.92
      --kv-cache-dtype=int8 --max-model-len=200000 --max-num-seqs=64 --quantization=ascend --reasoning-parser=glm47 --safetensors-load-strategy=prefetch
      --seed=1024 --tool-call-parser=glm47 --trust-remote-code 'ASCEND_LOCAL_COMM_RES={"version":"1.2"}' ASCEND_TRANSFER_TIMEOUT=10000 HCCL_BUFFSIZE=1024
      HCCL_CONNECT_TIMEOUT=1800 HCCL_EXEC_TIMEOUT=1800 HCCL_OP_EXPANSION_MODE=AIV PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1
      VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000 VLLM_USE_V2_MODEL_RUNNER=0
  prefill pipeline_parallel_size=2 tensor_parallel_size=16 '--additional-config={"enable_dsa_cp":true,"enable_flashcomm1":true,"enable_fused_mc2":1}'
      --distributed-executor-backend=mp --enforce-eager --max-num-batched-tokens=16384
      '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":1}' VLLM_PP_LAYER_PARTITION=42,36 VLLM_USE_FASTOKENS=1
  decode data_parallel_size=16 load_balancing=external tensor_parallel_size=2
      '--additional-config={"enable_fused_mc2":1,"recompute_scheduler_enable":true}' '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}'
      --max-num-batched-tokens=256 '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":5}'
glm-5.3-a3-pool
  from a3 4 GLM5.3 0.30.0rc2 'vllm-ascend 0.30.0rc2: docs/source/tutorials/models/GLM5.3.md'
  deployment inference_kv_transfer=mooncake_v2+store 'inference_store={"backend":"memcache"}'
  pools prefill decode
  all expert_parallel=true instances=1 'kv={"mooncake_v2":{"prefill":{"pp_layer_partition":"42,36"}},"store":{"use_layerwise":false}}'
      --async-scheduling --attention-config.indexer_kv_dtype=int8 --enable-auto-tool-choice --enable-chunked-prefill --enable-prefix-caching
      --gpu-memory-utilization=0.92 --kv-cache-dtype=int8 --max-model-len=200000 --max-num-seqs=64 --quantization=ascend --reasoning-parser=glm47
      --safetensors-load-strategy=prefetch --seed=1024 --tool-call-parser=glm47 --trust-remote-code ACL_OP_INIT_MODE=1
      'ASCEND_LOCAL_COMM_RES={"version":"1.2"}' ASCEND_TRANSFER_TIMEOUT=10000 HCCL_BUFFSIZE=1024 HCCL_CONNECT_TIMEOUT=1800 HCCL_EXEC_TIMEOUT=1800
      HCCL_OP_EXPANSION_MODE=AIV PYTHONHASHSEED=0 PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1
      VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000 VLLM_USE_V2_MODEL_RUNNER=0
  prefill pipeline_parallel_size=2 tensor_parallel_size=16 '--additional-config={"enable_dsa_cp":true,"enable_flashcomm1":true,"enable_fused_mc2":1}'
      --distributed-executor-backend=mp --enforce-eager --max-num-batched-tokens=16384
      '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":1}' VLLM_PP_LAYER_PARTITION=42,36 VLLM_USE_FASTOKENS=1
  decode data_parallel_size=16 load_balancing=external tensor_parallel_size=2
      '--additional-config={"enable_fused_mc2":1,"recompute_scheduler_enable":true}' '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}'
      --max-num-batched-tokens=256 '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":5}'
glm-5.3-flash-a2
  from a2 4 GLM5.3-Flash 0.30.0rc2 'vllm-ascend 0.30.0rc2: docs/source/tutorials/models/GLM5.3-Flash.md'
  deployment inference_kv_transfer=mooncake_v2
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --async-scheduling --enable-auto-tool-choice --enable-chunked-prefill
      --enable-prefix-caching --max-model-len=200000 --quantization=ascend --reasoning-parser=glm45 --safetensors-load-strategy=prefetch --seed=1024
      '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":3}' --tool-call-parser=glm47 --trust-remote-code
      HCCL_BUFFSIZE=1024 HCCL_CONNECT_TIMEOUT=1200 HCCL_EXEC_TIMEOUT=3600 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=10 OMP_PROC_BIND=false
      VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=3000 VLLM_RPC_TIMEOUT=3600000 VLLM_USE_V2_MODEL_RUNNER=0
  prefill data_parallel_size=2 tensor_parallel_size=8 --enforce-eager --gpu-memory-utilization=0.92 --max-num-batched-tokens=8192 --max-num-seqs=64
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
  decode data_parallel_size=8 tensor_parallel_size=2 '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.85
      '--limit-mm-per-prompt={"image":1,"video":0}' --max-num-batched-tokens=1024 --max-num-seqs=32 --skip-mm-profiling HCCL_HOST_SOCKET_PORT_RANGE=0-0
      HCCL_NPU_SOCKET_PORT_RANGE=0-0 PYTORCH_NPU_ALLOC_CONF=expandable_segments:True,pin_memory_expandable_segments:True
glm-5.3-flash-a2-mixed
  from a2 2 GLM5.3-Flash 0.30.0rc2 'vllm-ascend 0.30.0rc2: docs/source/tutorials/models/GLM5.3-Flash.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated data_parallel_size=2 expert_parallel=true instances=1 tensor_parallel_size=8 --api-server-count=1
      '--compilation-config={"cudagraph_capture_sizes":[4,8,16,32,64,96,128],"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.85
      '--limit-mm-per-prompt={"image":1,"video":0}' --max-model-len=133120 --max-num-batched-tokens=8192 --max-num-seqs=32 --quantization=ascend
      --safetensors-load-strategy=prefetch --seed=1024 '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":3}'
      --trust-remote-code HCCL_BUFFSIZE=1024 HCCL_CONNECT_TIMEOUT=1200 HCCL_EXEC_TIMEOUT=3600 HCCL_OP_EXPANSION_MODE=AIV
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=3000 VLLM_RPC_TIMEOUT=3600000 VLLM_USE_V2_MODEL_RUNNER=0
glm-5.3-flash-a3
  from a3 2 GLM5.3-Flash 0.30.0rc2 'vllm-ascend 0.30.0rc2: docs/source/tutorials/models/GLM5.3-Flash.md'
  deployment inference_kv_transfer=mooncake_v2
  pools prefill decode
  all expert_parallel=true instances=1 --enable-auto-tool-choice --gpu-memory-utilization=0.92 '--limit-mm-per-prompt={"image":1,"video":0}'
      --max-model-len=133120 --quantization=ascend --reasoning-parser=glm45 --safetensors-load-strategy=prefetch --seed=1024
      '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":5}' --tool-call-parser=glm47 --trust-remote-code
      HCCL_BUFFSIZE=1024 HCCL_OP_EXPANSION_MODE=AIV PYTORCH_NPU_ALLOC_CONF=expandable_segments:True VLLM_USE_V2_MODEL_RUNNER=0
  prefill '--additional-config={"enable_flashcomm1":true,"multistream_overlap_shared_expert":true}' --enforce-eager --max-num-batched-tokens=8192
      --max-num-seqs=32
  decode '--additional-config={"ascend_compilation_config":{"enable_static_kernel":true},"multistream_overlap_shared_expert":true}'
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --max-num-batched-tokens=60 --max-num-seqs=10
glm-5.3-flash-w8a8-a3-mixed
  from a3 1 GLM-5.3-Flash-w8a8 0.30.0rc2 'vllm-ascend 0.30.0rc2: docs/source/tutorials/models/GLM5.3-Flash.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated expert_parallel=true instances=1 tensor_parallel_size=16 '--additional-config={"multistream_overlap_shared_expert":true}'
      --api-server-count=1 '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.92
      '--limit-mm-per-prompt={"image":1,"video":0}' --max-model-len=133120 --max-num-batched-tokens=8192 --max-num-seqs=32 --quantization=ascend
      --safetensors-load-strategy=prefetch --seed=1024 '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":5}'
      --trust-remote-code HCCL_BUFFSIZE=400 HCCL_OP_EXPANSION_MODE=AIV PYTORCH_NPU_ALLOC_CONF=expandable_segments:True VLLM_USE_V2_MODEL_RUNNER=0
glm-5.3-w8a8c8-a2-mixed-1m
  from a2 4 GLM-5.3-w8a8c8 0.30.0rc2 'vllm-ascend 0.30.0rc2: docs/source/tutorials/models/GLM5.3.md'
  note 'colocated: no release reads fuse_muls_add of additional-config from this one on; it is left out'
  deployment inference_kv_transfer=none
  pools colocated
  colocated data_parallel_size=4 expert_parallel=true instances=1 tensor_parallel_size=8
      '--additional-config={"enable_balance_scheduling":true,"enable_dsa_cp":true,"enable_flashcomm1":true,"multistream_overlap_shared_expert":true}'
      --api-server-count=1 --async-scheduling --attention-config.indexer_kv_dtype=int8 '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}'
      --enable-prefix-caching --gpu-memory-utilization=0.92 --kv-cache-dtype=int8 --max-model-len=135000 --max-num-batched-tokens=8192 --max-num-seqs=128
      --quantization=ascend --reasoning-parser=glm47 --safetensors-load-strategy=prefetch --seed=1024
      '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":3}' --trust-remote-code ACL_OP_INIT_MODE=1
      CPU_AFFINITY_CONF=1 HCCL_CONNECT_TIMEOUT=120 HCCL_EXEC_TIMEOUT=200 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=10 OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True VLLM_ASCEND_ENABLE_MLAPO=1 VLLM_ENGINE_READY_TIMEOUT_S=1200 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000
      VLLM_RPC_TIMEOUT=360000
glm-5.3-w8a8c8-a3-mixed-1m
  from a3 2 GLM-5.3-w8a8c8 0.30.0rc2 'vllm-ascend 0.30.0rc2: docs/source/tutorials/models/GLM5.3.md'
  note 'colocated: its hosts differ in async-scheduling; here is what the first has'
  note 'colocated: its hosts differ in enable-chunked-prefill; here is what the first has'
  note 'colocated: its hosts differ in enable-prefix-caching; here is what the first has'
  note 'colocated: its hosts differ in gpu-memory-utilization; here is what the first has'
  note 'colocated: its hosts differ in safetensors-load-strategy; here is what the first has'
  deployment inference_kv_transfer=none
  pools colocated
  colocated data_parallel_size=8 expert_parallel=true instances=1 tensor_parallel_size=4
      '--additional-config={"enable_balance_scheduling":true,"enable_dsa_cp":true,"enable_flashcomm1":true,"enable_fused_mc2":1}' --api-server-count=1
      --attention-config.indexer_kv_dtype=int8 '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-auto-tool-choice
      --gpu-memory-utilization=0.90 --kv-cache-dtype=int8 --max-model-len=202752 --max-num-batched-tokens=4096 --max-num-seqs=6 --quantization=ascend
      --reasoning-parser=glm47 --safetensors-load-strategy=prefetch --seed=1024
      '--speculative-config={"enforce_eager":true,"method":"deepseek_mtp","num_speculative_tokens":3}' --tool-call-parser=glm47 --trust-remote-code
      HCCL_BUFFSIZE=400 HCCL_CONNECT_TIMEOUT=3600 HCCL_EXEC_TIMEOUT=3600 HCCL_OP_EXPANSION_MODE=AIV HCCL_TRANSFER_TIMEOUT=600 OMP_NUM_THREADS=1
      OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True VLLM_ASCEND_ENABLE_MLAPO=1
hy3-preview-a3-mixed
  from a3 1 Hy3-preview 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/Hy3-preview.md'
  note 'this release refuses method mtp for this model when an engine starts; set inference_args: {speculative-config: null}'
  deployment inference_kv_transfer=none
  pools colocated
  colocated expert_parallel=true instances=1 tensor_parallel_size=16 --enable-auto-tool-choice --enable-ep-weight-filter --max-model-len=32768
      --max-num-seqs=8 --reasoning-parser=hy_v3 --speculative-config.method=mtp --speculative-config.num_speculative_tokens=1 --tool-call-parser=hy_v3
hy4-preview-a3-mixed
  from a3 1 Hy4-preview 0.30.0rc2 'vllm-ascend 0.30.0rc2: docs/source/tutorials/models/Hy4-preview.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated expert_parallel=true instances=1 tensor_parallel_size=16
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true},"enable_fused_mc2":1,"enable_mlapo":true}'
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.92 --max-model-len=512 --max-num-batched-tokens=512
      --max-num-seqs=8 --quantization=ascend --seed=1024 '--speculative-config={"method":"mtp","num_speculative_tokens":3}' --trust-remote-code
      HCCL_BUFFSIZE=128 PYTORCH_NPU_ALLOC_CONF=expandable_segments:True VLLM_LOGGING_LEVEL=INFO
kimi-k2.5-w4a8-a2-mixed
  from a2 2 Kimi-K2.5-w4a8 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/Kimi-K2.5.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated data_parallel_size=4 expert_parallel=true instances=1 tensor_parallel_size=4 '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}'
      --enable-prefix-caching=false --gpu-memory-utilization=0.9 --max-model-len=32768 --max-num-batched-tokens=16384 --max-num-seqs=16
      --mm-encoder-tp-mode=data --quantization=ascend --seed=1024
      '--speculative-config={"method":"eagle3","model":"lightseekorg/kimi-k2.5-eagle3","num_speculative_tokens":3}' --trust-remote-code HCCL_BUFFSIZE=1024
      HCCL_INTRA_PCIE_ENABLE=1 HCCL_INTRA_ROCE_ENABLE=0 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_ASCEND_BALANCE_SCHEDULING=1 VLLM_ASCEND_ENABLE_FLASHCOMM1=1
      VLLM_ASCEND_ENABLE_MLAPO=1
kimi-k2.5-w4a8-a3
  from a3 4 Kimi-K2.5-w4a8 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/Kimi-K2.5.md'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true load_balancing=external --enable-prefix-caching=false --max-model-len=32768 --quantization=ascend --seed=1024
      --trust-remote-code HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
      TASK_QUEUE_ENABLE=1 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000 VLLM_RPC_TIMEOUT=3600000
  prefill data_parallel_size=2 instances=2 tensor_parallel_size=8 --enforce-eager --gpu-memory-utilization=0.8 --max-num-batched-tokens=16384
      --max-num-seqs=8 --mm-encoder-tp-mode=data
      '--speculative-config={"method":"eagle3","model":"lightseekorg/kimi-k2.5-eagle3","num_speculative_tokens":1}' HCCL_BUFFSIZE=256
      VLLM_ASCEND_ENABLE_FLASHCOMM1=1
  decode data_parallel_size=32 instances=1 '--additional-config={"multistream_overlap_shared_expert":false,"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.95 --max-num-batched-tokens=256 --max-num-seqs=48
      '--speculative-config={"method":"eagle3","model":"lightseekorg/kimi-k2.5-eagle3","num_speculative_tokens":3}' HCCL_BUFFSIZE=1100
      VLLM_ASCEND_ENABLE_MLAPO=1
kimi-k2.5-w4a8-a3-128k-1k-tpot50
  from a3 4 Kimi-K2.5-W4A8 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/Kimi/Kimi-K2.5-W4A8-128k-1k-TPOT50.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true load_balancing=external tensor_parallel_size=4 --enable-prefix-caching=false --quantization=ascend --seed=1024
      --trust-remote-code HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
      TASK_QUEUE_ENABLE=1 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000 VLLM_RPC_TIMEOUT=3600000
  prefill data_parallel_size=4 instances=2 '--additional-config={"enable_fused_mc2":1,"enable_shared_expert_dp":true}' --enforce-eager
      --gpu-memory-utilization=0.92 --max-model-len=133120 --max-num-batched-tokens=16384 --max-num-seqs=1
      '--speculative-config={"method":"eagle3","model":"lightseekorg/kimi-k2.5-eagle3","num_speculative_tokens":1}' HCCL_BUFFSIZE=1536
  decode data_parallel_size=8 instances=1 '--additional-config={"enable_fused_mc2":1,"enable_mlapo":true,"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.91 --max-model-len=133720 --max-num-batched-tokens=32
      --max-num-seqs=8 '--speculative-config={"method":"eagle3","model":"lightseekorg/kimi-k2.5-eagle3","num_speculative_tokens":3}' HCCL_BUFFSIZE=800
kimi-k2.5-w4a8-a3-16k-1k-tpot50
  from a3 4 Kimi-K2.5-W4A8 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/Kimi/Kimi-K2.5-W4A8-16k-1k-TPOT50.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true load_balancing=external --enable-prefix-caching=false --max-model-len=32768 --quantization=ascend --seed=1024
      '--speculative-config={"method":"eagle3","model":"lightseekorg/kimi-k2.5-eagle3","num_speculative_tokens":3}' --trust-remote-code
      HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1
      VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000 VLLM_RPC_TIMEOUT=3600000
  prefill data_parallel_size=2 instances=2 tensor_parallel_size=8 '--additional-config={"enable_flashcomm1":true,"enable_shared_expert_dp":true}'
      --enforce-eager --gpu-memory-utilization=0.8 --max-num-batched-tokens=16384 --max-num-seqs=8 HCCL_BUFFSIZE=256
  decode data_parallel_size=32 instances=1
      '--additional-config={"enable_mlapo":true,"multistream_overlap_shared_expert":false,"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_capture_sizes":[4,8,16,32,48,64,80,96,112,128,144,160],"cudagraph_mode":"FULL_DECODE_ONLY"}'
      --gpu-memory-utilization=0.95 --max-num-batched-tokens=256 --max-num-seqs=48 HCCL_BUFFSIZE=1800
kimi-k2.5-w4a8-a3-mixed
  from a3 1 Kimi-K2.5-w4a8 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/Kimi-K2.5.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated data_parallel_size=4 expert_parallel=true instances=1 tensor_parallel_size=4 '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}'
      --enable-prefix-caching=false --gpu-memory-utilization=0.9 --max-model-len=32768 --max-num-batched-tokens=16384 --max-num-seqs=64
      --mm-encoder-tp-mode=data --quantization=ascend --seed=1024
      '--speculative-config={"method":"eagle3","model":"lightseekorg/kimi-k2.5-eagle3","num_speculative_tokens":3}' --trust-remote-code HCCL_BUFFSIZE=800
      HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1
      VLLM_ASCEND_BALANCE_SCHEDULING=1 VLLM_ASCEND_ENABLE_FLASHCOMM1=1 VLLM_ASCEND_ENABLE_MLAPO=1
kimi-k2.6-w4a8-a3
  from a3 4 Kimi-K2.6-W4A8 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/Kimi-K2.6.md'
  note 'decode: its hosts differ in max-num-batched-tokens; here is what the first has'
  note 'decode: its hosts differ in HCCL_BUFFSIZE; here is what the first has'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true load_balancing=external tensor_parallel_size=4 --enable-prefix-caching=false --max-model-len=32768 --quantization=ascend
      --seed=1024 --trust-remote-code HCCL_BUFFSIZE=800 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000 VLLM_RPC_TIMEOUT=3600000
  prefill data_parallel_size=4 instances=2 --enforce-eager --gpu-memory-utilization=0.95 --max-num-batched-tokens=16384 --max-num-seqs=4
      --mm-encoder-tp-mode=data '--speculative-config={"method":"eagle3","model":"lightseekorg/kimi-k2.6-eagle3","num_speculative_tokens":1}'
      VLLM_ASCEND_ENABLE_FLASHCOMM1=1
  decode data_parallel_size=8 instances=1 '--additional-config={"multistream_overlap_shared_expert":false,"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.91 --max-num-batched-tokens=32 --max-num-seqs=8
      '--speculative-config={"method":"eagle3","model":"lightseekorg/kimi-k2.6-eagle3","num_speculative_tokens":3}' VLLM_ASCEND_ENABLE_MLAPO=1
kimi-k2.6-w4a8-a3-128k-1k-tpot50
  from a3 2 Kimi-K2.6-w4a8 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/Kimi/Kimi-K2.6-W4A8-128k-1k-TPOT50-PD.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --max-model-len=133120 --safetensors-load-strategy=prefetch --seed=1024
      --trust-remote-code HCCL_CONNECT_TIMEOUT=120 HCCL_EXEC_TIMEOUT=204 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000 VLLM_RPC_TIMEOUT=3600000
  prefill data_parallel_size=2 tensor_parallel_size=8 '--additional-config={"enable_fused_mc2":1,"enable_mlapo":true}' --enforce-eager
      --gpu-memory-utilization=0.9 --max-num-batched-tokens=8192 --max-num-seqs=8
      '--speculative-config={"method":"dflash","model":"z-lab/Kimi-K2.5-DFlash","num_speculative_tokens":1}' HCCL_BUFFSIZE=512
  decode data_parallel_size=4 tensor_parallel_size=4 '--additional-config={"enable_fused_mc2":1,"enable_mlapo":true,"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.92 --max-num-batched-tokens=256 --max-num-seqs=16
      '--speculative-config={"method":"dflash","model":"z-lab/Kimi-K2.5-DFlash","num_speculative_tokens":15}' HCCL_BUFFSIZE=800
kimi-k2.6-w4a8-a3-254k-1k-tpot20
  from a3 2 Kimi-K2.6-w4a8 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/Kimi/Kimi-K2.6-W4A8-254k-1k-TPOT20-PD.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 tensor_parallel_size=16 --gpu-memory-utilization=0.95 --max-model-len=262144 --max-num-seqs=1
      --reasoning-parser=kimi_k2 --safetensors-load-strategy=prefetch --seed=1024 --tool-call-parser=kimi_k2 --trust-remote-code HCCL_CONNECT_TIMEOUT=120
      HCCL_EXEC_TIMEOUT=204 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
      TASK_QUEUE_ENABLE=1 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000 VLLM_RPC_TIMEOUT=3600000
  prefill '--additional-config={"enable_fused_mc2":1,"enable_mlapo":true}' --enforce-eager --max-num-batched-tokens=8192
      '--speculative-config={"method":"dflash","model":"z-lab/Kimi-K2.5-DFlash","num_speculative_tokens":1}' HCCL_BUFFSIZE=512
  decode '--additional-config={"enable_fused_mc2":1,"enable_mlapo":true,"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --max-num-batched-tokens=64
      '--speculative-config={"method":"dflash","model":"z-lab/Kimi-K2.5-DFlash","num_speculative_tokens":7}' HCCL_BUFFSIZE=800
kimi-k2.6-w4a8-a3-3.5k-1.5k-tpot50
  from a3 2 Kimi-K2.6-w4a8 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/Kimi/Kimi-K2.6-W4A8-3.5k-1.5k-TPOT50-PD.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --enable-prefix-caching=false --max-model-len=20000 --max-num-seqs=32
      --safetensors-load-strategy=prefetch --seed=1024 --trust-remote-code HCCL_CONNECT_TIMEOUT=120 HCCL_EXEC_TIMEOUT=204 HCCL_OP_EXPANSION_MODE=AIV
      OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000
      VLLM_RPC_TIMEOUT=3600000
  prefill data_parallel_size=2 tensor_parallel_size=8 '--additional-config={"enable_fused_mc2":1,"enable_mlapo":true}' --enforce-eager
      --gpu-memory-utilization=0.94 --max-num-batched-tokens=8192
      '--speculative-config={"method":"dflash","model":"z-lab/Kimi-K2.5-DFlash","num_speculative_tokens":1}' HCCL_BUFFSIZE=512
  decode data_parallel_size=4 tensor_parallel_size=4 '--additional-config={"enable_fused_mc2":1,"enable_mlapo":true,"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.92 --max-num-batched-tokens=2048
      '--speculative-config={"method":"dflash","model":"z-lab/Kimi-K2.5-DFlash","num_speculative_tokens":7}' HCCL_BUFFSIZE=800
kimi-k2.6-w4a8-a3-64k-1k-tpot50
  from a3 2 Kimi-K2.6-w4a8 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/Kimi/Kimi-K2.6-W4A8-64k-1k-TPOT50-PD.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --max-model-len=68000 --max-num-seqs=16 --safetensors-load-strategy=prefetch --seed=1024
      --trust-remote-code HCCL_CONNECT_TIMEOUT=120 HCCL_EXEC_TIMEOUT=204 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000 VLLM_RPC_TIMEOUT=3600000
  prefill data_parallel_size=2 tensor_parallel_size=8 '--additional-config={"enable_fused_mc2":1,"enable_mlapo":true}' --enforce-eager
      --gpu-memory-utilization=0.94 --max-num-batched-tokens=8192
      '--speculative-config={"method":"dflash","model":"z-lab/Kimi-K2.5-DFlash","num_speculative_tokens":1}' HCCL_BUFFSIZE=512
  decode data_parallel_size=4 tensor_parallel_size=4 '--additional-config={"enable_fused_mc2":1,"enable_mlapo":true,"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.92 --max-num-batched-tokens=256
      '--speculative-config={"method":"dflash","model":"z-lab/Kimi-K2.5-DFlash","num_speculative_tokens":15}' HCCL_BUFFSIZE=800
kimi-k2.6-w4a8-a3-mixed
  from a3 1 Kimi-K2.6-W4A8 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/Kimi-K2.6.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated data_parallel_size=4 expert_parallel=true instances=1 tensor_parallel_size=4 '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}'
      --enable-prefix-caching=false --gpu-memory-utilization=0.9 --max-model-len=32768 --max-num-batched-tokens=16384 --max-num-seqs=4
      --mm-encoder-tp-mode=data --mm-processor-cache-gb=0 --quantization=ascend --seed=42
      '--speculative-config={"method":"dflash","model":"z-lab/Kimi-K2.5-DFlash","num_speculative_tokens":15}' --trust-remote-code HCCL_BUFFSIZE=800
      HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1
      VLLM_ASCEND_BALANCE_SCHEDULING=1 VLLM_ASCEND_ENABLE_FLASHCOMM1=1 VLLM_ASCEND_ENABLE_MLAPO=1
kimi-k2.7-code-w4a8-a3-128k-1k-tpot50
  from a3 2 Kimi-K2.7-Code-w4a8 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/Kimi/Kimi-K2.7-W4A8-128k-1k-TPOT50-PD.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --max-model-len=133120 --safetensors-load-strategy=prefetch --seed=1024
      --trust-remote-code HCCL_CONNECT_TIMEOUT=120 HCCL_EXEC_TIMEOUT=204 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000 VLLM_RPC_TIMEOUT=3600000
  prefill data_parallel_size=2 tensor_parallel_size=8 '--additional-config={"enable_fused_mc2":1,"enable_mlapo":true}' --enforce-eager
      --gpu-memory-utilization=0.9 --max-num-batched-tokens=8192 --max-num-seqs=8
      '--speculative-config={"method":"dflash","model":"z-lab/Kimi-K2.5-DFlash","num_speculative_tokens":1}' HCCL_BUFFSIZE=512
  decode data_parallel_size=4 tensor_parallel_size=4 '--additional-config={"enable_fused_mc2":1,"enable_mlapo":true,"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.92 --max-num-batched-tokens=256 --max-num-seqs=16
      '--speculative-config={"method":"dflash","model":"z-lab/Kimi-K2.5-DFlash","num_speculative_tokens":15}' HCCL_BUFFSIZE=800
kimi-k2.7-code-w4a8-a3-254k-1k-tpot20
  from a3 2 Kimi-K2.7-Code-w4a8 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/Kimi/Kimi-K2.7-W4A8-254k-1k-TPOT20-PD.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 tensor_parallel_size=16 --gpu-memory-utilization=0.95 --max-model-len=262144 --max-num-seqs=1
      --reasoning-parser=kimi_k2 --safetensors-load-strategy=prefetch --seed=1024 --tool-call-parser=kimi_k2 --trust-remote-code HCCL_CONNECT_TIMEOUT=120
      HCCL_EXEC_TIMEOUT=204 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
      TASK_QUEUE_ENABLE=1 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000 VLLM_RPC_TIMEOUT=3600000
  prefill '--additional-config={"enable_fused_mc2":1,"enable_mlapo":true}' --enforce-eager --max-num-batched-tokens=8192
      '--speculative-config={"method":"dflash","model":"z-lab/Kimi-K2.5-DFlash","num_speculative_tokens":1}' HCCL_BUFFSIZE=512
  decode '--additional-config={"enable_fused_mc2":1,"enable_mlapo":true,"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --max-num-batched-tokens=64
      '--speculative-config={"method":"dflash","model":"z-lab/Kimi-K2.5-DFlash","num_speculative_tokens":7}' HCCL_BUFFSIZE=800
kimi-k2.7-code-w4a8-a3-3.5k-1.5k-tpot50
  from a3 2 Kimi-K2.7-Code-w4a8 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/Kimi/Kimi-K2.7-W4A8-3.5k-1.5k-TPOT50-PD.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --enable-prefix-caching=false --max-model-len=20000 --max-num-seqs=32
      --safetensors-load-strategy=prefetch --seed=1024 --trust-remote-code HCCL_CONNECT_TIMEOUT=120 HCCL_EXEC_TIMEOUT=204 HCCL_OP_EXPANSION_MODE=AIV
      OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000
      VLLM_RPC_TIMEOUT=3600000
  prefill data_parallel_size=2 tensor_parallel_size=8 '--additional-config={"enable_fused_mc2":1,"enable_mlapo":true}' --enforce-eager
      --gpu-memory-utilization=0.94 --max-num-batched-tokens=8192
      '--speculative-config={"method":"dflash","model":"z-lab/Kimi-K2.5-DFlash","num_speculative_tokens":1}' HCCL_BUFFSIZE=512
  decode data_parallel_size=4 tensor_parallel_size=4 '--additional-config={"enable_fused_mc2":1,"enable_mlapo":true,"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.92 --max-num-batched-tokens=2048
      '--speculative-config={"method":"dflash","model":"z-lab/Kimi-K2.5-DFlash","num_speculative_tokens":7}' HCCL_BUFFSIZE=800
kimi-k2.7-code-w4a8-a3-64k-1k-tpot50
  from a3 2 Kimi-K2.7-Code-w4a8 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/Kimi/Kimi-K2.7-W4A8-64k-1k-TPOT50-PD.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --max-model-len=68000 --max-num-seqs=16 --safetensors-load-strategy=prefetch --seed=1024
      --trust-remote-code HCCL_CONNECT_TIMEOUT=120 HCCL_EXEC_TIMEOUT=204 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000 VLLM_RPC_TIMEOUT=3600000
  prefill data_parallel_size=2 tensor_parallel_size=8 '--additional-config={"enable_fused_mc2":1,"enable_mlapo":true}' --enforce-eager
      --gpu-memory-utilization=0.94 --max-num-batched-tokens=8192
      '--speculative-config={"method":"dflash","model":"z-lab/Kimi-K2.5-DFlash","num_speculative_tokens":1}' HCCL_BUFFSIZE=512
  decode data_parallel_size=4 tensor_parallel_size=4 '--additional-config={"enable_fused_mc2":1,"enable_mlapo":true,"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.92 --max-num-batched-tokens=256
      '--speculative-config={"method":"dflash","model":"z-lab/Kimi-K2.5-DFlash","num_speculative_tokens":15}' HCCL_BUFFSIZE=800
kimi-k3-a3
  from a3 16 Kimi-K3 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/Kimi-K3.md'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all data_parallel_size=8 expert_parallel=true instances=1 load_balancing=external tensor_parallel_size=16
      '--additional-config={"recompute_scheduler_enable":false}' --enable-prefix-caching --gpu-memory-utilization=0.9
      '--limit-mm-per-prompt={"vision_chunk":2}' --mamba-cache-mode=align --max-model-len=133120 --max-num-batched-tokens=8192 --max-num-seqs=16
      --mm-encoder-tp-mode=data --safetensors-load-strategy=prefetch --seed=1024 --skip-mm-profiling --trust-remote-code HCCL_BUFFSIZE=1024
      HCCL_CONNECT_TIMEOUT=120 HCCL_EXEC_TIMEOUT=204 OMP_NUM_THREADS=10 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
      TASK_QUEUE_ENABLE=1 VLLM_ASCEND_ENABLE_MLAPO=1 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000 VLLM_RPC_TIMEOUT=3600000 VLLM_USE_V1=1
  prefill --enforce-eager ACL_OP_INIT_MODE=1 PYTHONHASHSEED=0
  decode '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' HCCL_OP_EXPANSION_MODE=AIV
kimi-k3-a3-mixed
  from a3 4 Kimi-K3 0.30.0rc2 'vllm-ascend 0.30.0rc2: docs/source/tutorials/models/Kimi-K3.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated data_parallel_size=4 expert_parallel=true instances=1 tensor_parallel_size=16 '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}'
      --enable-auto-tool-choice --enable-prefix-caching --gpu-memory-utilization=0.85 --max-model-len=133120 --max-num-batched-tokens=8192 --max-num-seqs=16
      --quantization=ascend --reasoning-parser=kimi_k3 --safetensors-load-strategy=lazy --tokenizer-mode=kimi_k3 --tool-call-parser=kimi_k3
      HCCL_BUFFSIZE=1024 HCCL_BUFFSIZE_EP=2048 HCCL_INTRA_PCIE_ENABLE=1 HCCL_INTRA_ROCE_ENABLE=0 HCCL_OP_EXPANSION_MODE=AIV OMP_PROC_BIND=false
      OPENBLAS_NUM_THREADS=1 PYTORCH_NPU_ALLOC_CONF=expandable_segments:True VLLM_ENGINE_READY_TIMEOUT_S=7200 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=3000
minimax-m2-a2-mixed
  from a2 1 MiniMax-M2 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/MiniMax-M2.md'
  note 'colocated: --speculative-config names something of the site; it is left out'
  deployment inference_kv_transfer=none
  pools colocated
  colocated expert_parallel=true instances=1 tensor_parallel_size=8 '--additional-config={"enable_cpu_binding":true,"enable_flashcomm1":true}'
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.85 --max-num-batched-tokens=32768 --max-num-seqs=32
      '--model-loader-extra-config={"enable_multithread_load":true,"num_threads":16}' --quantization=ascend --seed=1024 --trust-remote-code
      HCCL_BUFFSIZE=512 HCCL_INTRA_PCIE_ENABLE=1 HCCL_INTRA_ROCE_ENABLE=0 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1
minimax-m2-a3
  from a3 2 MiniMax-M2 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/MiniMax-M2.md'
  note 'prefill: --speculative-config names something of the site; it is left out'
  note 'decode: --speculative-config names something of the site; it is left out'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all data_parallel_size=2 expert_parallel=true instances=1 load_balancing=external tensor_parallel_size=8
      '--additional-config={"enable_cpu_binding":true}' --gpu-memory-utilization=0.75 --max-model-len=200000 --max-num-batched-tokens=16384
      --quantization=ascend --trust-remote-code HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 PYTHONHASHSEED=0
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_ASCEND_ENABLE_FUSED_MC2=1
  prefill --enforce-eager --max-num-seqs=64 HCCL_BUFFSIZE=1024 VLLM_ASCEND_ENABLE_FLASHCOMM1=1
  decode --async-scheduling '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-prefix-caching=false --max-num-seqs=16
      HCCL_BUFFSIZE=2048 VLLM_ASCEND_ENABLE_FLASHCOMM1=0
minimax-m2-a3-mixed
  from a3 1 MiniMax-M2 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/MiniMax-M2.md'
  note 'colocated: --speculative-config names something of the site; it is left out'
  deployment inference_kv_transfer=none
  pools colocated
  colocated data_parallel_size=4 expert_parallel=true instances=1 tensor_parallel_size=4
      '--additional-config={"enable_cpu_binding":true,"enable_flashcomm1":true,"enable_fused_mc2":true,"weight_nz_mode":true}' --async-scheduling
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.85 --max-model-len=40690 --max-num-batched-tokens=16384
      --max-num-seqs=48 --quantization=ascend --trust-remote-code HCCL_BUFFSIZE=1024 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_ASCEND_BALANCE_SCHEDULING=0
minimax-m2.5-w8a8-a3-in32k-bs4-1
  from a3 3 MiniMax-M2.5-w8a8-QuaRot 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/MiniMax/MiniMax-PD-in32k-bs4-1.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all data_parallel_size=4 expert_parallel=true load_balancing=external tensor_parallel_size=4 --enable-prefix-caching=false --max-model-len=40960
      --quantization=ascend '--speculative-config={"method":"eagle3","model":"vllm-ascend/MiniMax-M2.5-eagle-model-0318","num_speculative_tokens":3}'
      --trust-remote-code HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1
  prefill instances=1 '--additional-config={"enable_fused_mc2":1}' --enforce-eager --gpu-memory-utilization=0.8 --max-num-batched-tokens=16384
      --max-num-seqs=32 HCCL_BUFFSIZE=1200
  decode instances=2 '--additional-config={"enable_fused_mc2":1,"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.9 --max-num-batched-tokens=256 --max-num-seqs=16
      HCCL_BUFFSIZE=512
minimax-m2.5-w8a8-a3-step
  from a3 2 MiniMax-M2.5-w8a8-QuaRot 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/MiniMax/MiniMax-M2.5-w8a8-QuaRot-step.yaml'
  note 'prefill: --speculative-config names something of the site; it is left out'
  note 'decode: --speculative-config names something of the site; it is left out'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --max-model-len=8192 --quantization=ascend --trust-remote-code HCCL_OP_EXPANSION_MODE=AIV
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_ASCEND_ENABLE_FLASHCOMM1=1 VLLM_ASCEND_ENABLE_FUSED_MC2=1
  prefill data_parallel_size=8 tensor_parallel_size=2 '--additional-config={"recompute_scheduler_enable":true}' --enable-prefix-caching=false
      --enforce-eager --gpu-memory-utilization=0.7 --max-num-batched-tokens=16384 --max-num-seqs=104 HCCL_BUFFSIZE=1200
  decode data_parallel_size=16 '--additional-config={"multistream_overlap_shared_expert":true,"recompute_scheduler_enable":true}' --async-scheduling
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.8 --max-num-batched-tokens=256 --max-num-seqs=52
      HCCL_BUFFSIZE=1024
minimax-m2.7-w8a8-a3-in128k-1k-prefix90-tpot50
  from a3 2 MiniMax-M2.7-w8a8-QuaRot 0.30.0rc2 'vllm-ascend 0.30.0rc2:
      tests/e2e/cases/models/configs/MiniMax/Minimax_m2.7_in128k_1k_prefix90_tpot50.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all data_parallel_size=2 expert_parallel=true instances=1 load_balancing=external tensor_parallel_size=8 --gpu-memory-utilization=0.8
      --max-model-len=199608 --max-num-batched-tokens=16384 --max-num-seqs=24 --quantization=ascend
      '--speculative-config={"method":"eagle3","model":"Eco-Tech/MiniMax-M2.7-eagle-model-short","num_speculative_tokens":3}' --trust-remote-code
      HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 PYTHONHASHSEED=0 PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1
  prefill '--additional-config={"enable_cpu_binding":true,"enable_fused_mc2":1,"recompute_scheduler_enable":true}' --enforce-eager HCCL_BUFFSIZE=1024
  decode
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true,"enable_static_kernel":false},"enable_cpu_binding":true,"enable_fused_mc2":1,"recompute_scheduler_enable":true}'
      --async-scheduling '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' HCCL_BUFFSIZE=2048
minimax-m2.7-w8a8-a3-in198-prefix99
  from a3 3 MiniMax-M2.7-w8a8-QuaRot 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/MiniMax/Minimax_m2.7_in198_prefix99.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external tensor_parallel_size=8 --max-model-len=204800 --max-num-seqs=16 --quantization=ascend
      '--speculative-config={"method":"eagle3","model":"Eco-Tech/MiniMax-M2.7-eagle-model-short","num_speculative_tokens":3}' --trust-remote-code
      HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 PYTHONHASHSEED=0 PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1
  prefill data_parallel_size=2 '--additional-config={"enable_cpu_binding":true,"enable_fused_mc2":1,"recompute_scheduler_enable":true}' --enforce-eager
      --gpu-memory-utilization=0.7 --max-num-batched-tokens=32768 HCCL_BUFFSIZE=1024
  decode data_parallel_size=4
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true,"enable_static_kernel":false},"enable_cpu_binding":true,"enable_fused_mc2":1,"recompute_scheduler_enable":true}'
      --async-scheduling '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.8 --max-num-batched-tokens=16384
      HCCL_BUFFSIZE=2048 VLLM_ASCEND_ENABLE_FLASHCOMM1=0
minimax-m2.7-w8a8-a3-in3.5-tpot50
  from a3 3 MiniMax-M2.7-w8a8-QuaRot 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/MiniMax/Minimax_m2.7_in3_5_tpot50.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --enable-prefix-caching=false --gpu-memory-utilization=0.8 --max-model-len=40000
      --max-num-batched-tokens=16384 --quantization=ascend
      '--speculative-config={"method":"eagle3","model":"Eco-Tech/MiniMax-M2.7-eagle-model-short","num_speculative_tokens":3}' --trust-remote-code
      HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 PYTHONHASHSEED=0 PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1
  prefill data_parallel_size=2 tensor_parallel_size=8
      '--additional-config={"enable_cpu_binding":true,"enable_fused_mc2":1,"recompute_scheduler_enable":true}' --enforce-eager --max-num-seqs=300
      HCCL_BUFFSIZE=1024
  decode data_parallel_size=16 tensor_parallel_size=2
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true,"enable_static_kernel":false},"enable_cpu_binding":true,"enable_fused_mc2":1,"recompute_scheduler_enable":true}'
      --async-scheduling '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --max-num-seqs=75 HCCL_BUFFSIZE=2048
minimax-m2.7-w8a8-a3-in64k-1k-prefix90-tpot50
  from a3 2 MiniMax-M2.7-w8a8-QuaRot 0.30.0rc2 'vllm-ascend 0.30.0rc2:
      tests/e2e/cases/models/configs/MiniMax/Minimax_m2.7_in64k_1k_prefix90_tpot50.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all data_parallel_size=2 expert_parallel=true instances=1 load_balancing=external tensor_parallel_size=8 --gpu-memory-utilization=0.8
      --max-model-len=70000 --max-num-batched-tokens=16384 --max-num-seqs=48 --quantization=ascend
      '--speculative-config={"method":"eagle3","model":"Eco-Tech/MiniMax-M2.7-eagle-model-short","num_speculative_tokens":3}' --trust-remote-code
      HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 PYTHONHASHSEED=0 PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1
  prefill '--additional-config={"enable_cpu_binding":true,"enable_fused_mc2":1,"recompute_scheduler_enable":true}' --enforce-eager HCCL_BUFFSIZE=1024
  decode
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true,"enable_static_kernel":false},"enable_cpu_binding":true,"enable_fused_mc2":1,"recompute_scheduler_enable":true}'
      --async-scheduling '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' HCCL_BUFFSIZE=2048
minimax-m3-a3
  from a3 2 MiniMax-M3 0.30.0rc2 'vllm-ascend 0.30.0rc2: docs/source/tutorials/models/MiniMax-M3.md'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 'kv={"mooncake":{"prefill":{"pp_layer_partition":"30,30"}}}' load_balancing=external tensor_parallel_size=4
      --distributed-executor-backend=mp --gpu-memory-utilization=0.92 '--limit-mm-per-prompt={"image":1,"video":0}' --max-model-len=263000
      --max-num-batched-tokens=32768 --quantization=ascend --reasoning-parser=minimax_m3 --seed=1024
      '--speculative-config={"method":"eagle3","model":"/models/MiniMax-M3-EAGLE3-GQA","num_speculative_tokens":3}' --trust-remote-code
      HCCL_OP_EXPANSION_MODE=AIV PYTORCH_NPU_ALLOC_CONF=expandable_segments:True VLLM_USE_V2_MODEL_RUNNER=1
  prefill data_parallel_size=2 pipeline_parallel_size=2
      '--additional-config={"ascend_compilation_config":{"fuse_norm_quant":false},"enable_cpu_binding":true,"enable_flashcomm1":true,"enable_shared_expert_dp":true,"multistream_overlap_shared_expert":true,"weight_nz_mode":2}'
      --enable-chunked-prefill --enable-prefix-caching --enforce-eager --long-prefill-token-threshold=2048 --max-num-seqs=32 HCCL_BUFFSIZE=1024
      VLLM_PP_LAYER_PARTITION=30,30
  decode data_parallel_size=4
      '--additional-config={"ascend_compilation_config":{"fuse_norm_quant":false},"enable_cpu_binding":true,"enable_shared_expert_dp":true,"multistream_overlap_shared_expert":true,"weight_nz_mode":2}'
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --max-num-seqs=128 HCCL_BUFFSIZE=2048
minimax-m3-a3-mixed
  from a3 1 MiniMax-M3 0.30.0rc2 'vllm-ascend 0.30.0rc2: docs/source/tutorials/models/MiniMax-M3.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated expert_parallel=true instances=1 tensor_parallel_size=16
      '--additional-config={"ascend_compilation_config":{"fuse_norm_quant":false},"enable_cpu_binding":true,"enable_flashcomm1":true,"multistream_overlap_shared_expert":true,"weight_nz_mode":2}'
      --distributed-executor-backend=mp --enable-chunked-prefill --enable-prefix-caching --gpu-memory-utilization=0.92
      '--limit-mm-per-prompt={"image":1,"video":0}' --max-model-len=43008 --max-num-seqs=16 --reasoning-parser=minimax_m3 --trust-remote-code
      HCCL_OP_EXPANSION_MODE=AIV PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
minimax-m3-a3-pool
  from a3 2 MiniMax-M3 0.30.0rc2 'vllm-ascend 0.30.0rc2: docs/source/tutorials/models/MiniMax-M3.md'
  deployment inference_kv_transfer=mooncake+store 'inference_store={"backend":"mooncake"}'
  pools prefill decode
  all expert_parallel=true instances=1 'kv={"mooncake":{"prefill":{"pp_layer_partition":"30,30"}}}' load_balancing=external tensor_parallel_size=4
      --distributed-executor-backend=mp --gpu-memory-utilization=0.92 --max-model-len=263000 --max-num-batched-tokens=32768 --quantization=ascend
      --reasoning-parser=minimax_m3 --seed=1024
      '--speculative-config={"method":"eagle3","model":"/models/MiniMax-M3-EAGLE3-GQA","num_speculative_tokens":3}' --trust-remote-code ACL_OP_INIT_MODE=1
      ASCEND_ENABLE_USE_FABRIC_MEM=1 HCCL_OP_EXPANSION_MODE=AIV PYTHONHASHSEED=0 PYTORCH_NPU_ALLOC_CONF=expandable_segments:True VLLM_USE_V2_MODEL_RUNNER=1
  prefill data_parallel_size=2 pipeline_parallel_size=2
      '--additional-config={"ascend_compilation_config":{"fuse_norm_quant":false},"enable_cpu_binding":true,"enable_flashcomm1":true,"enable_shared_expert_dp":true,"multistream_overlap_shared_expert":true,"weight_nz_mode":2}'
      --enable-chunked-prefill --enable-prefix-caching --enforce-eager --long-prefill-token-threshold=2048 --max-num-seqs=32 HCCL_BUFFSIZE=1024
      VLLM_PP_LAYER_PARTITION=30,30
  decode data_parallel_size=4
      '--additional-config={"ascend_compilation_config":{"fuse_norm_quant":false},"enable_cpu_binding":true,"enable_shared_expert_dp":true,"multistream_overlap_shared_expert":true,"weight_nz_mode":2}'
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --max-num-seqs=128 HCCL_BUFFSIZE=2048
qwen2.5-vl-7b-a3-encode
  from a3 1 Qwen2.5-VL-7B-Instruct 'main at 182b75ea84ff'
      vllm-project/vllm-ascend@182b75ea84ff:tests/e2e/weekly/single_node/configs/Qwen2.5-VL-7B-Instruct-EPD.yaml
  deployment 'inference_encoder_cache={"path":"/dev/shm/epd/storage"}' inference_kv_transfer=none
  pools encode colocated
  all instances=1 --enforce-eager --max-model-len=10000 --max-num-batched-tokens=10000
  encode --enable-prefix-caching=false --gpu-memory-utilization=0.01 --max-num-seqs=1
  colocated --gpu-memory-utilization=0.95 --max-num-seqs=128
qwen2.5-vl-7b-a3-single-host
  from a3 1 Qwen2.5-VL-7B-Instruct 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/features/pd_disaggregation_mooncake_single_node.md'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all instances=1 --enable-prefix-caching=false --gpu-memory-utilization=0.9 --max-model-len=40000 --max-num-batched-tokens=40000 --seed=1024
      --trust-remote-code OMP_NUM_THREADS=10 OMP_PROC_BIND=false
  prefill
  decode
qwen3-235b-a2-mixed
  from a2 1 Qwen3-235B-A22B 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/Qwen3-235B-A22B.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated expert_parallel=true instances=1 tensor_parallel_size=8 '--additional-config={"enable_flashcomm1":true}' --async-scheduling
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.95
      '--hf-overrides={"rope_parameters":{"factor":4,"original_max_position_embeddings":32768,"rope_theta":1000000,"rope_type":"yarn"}}'
      --max-model-len=131072 --max-num-batched-tokens=8096 --max-num-seqs=32 --quantization=ascend --seed=1024 --trust-remote-code HCCL_BUFFSIZE=512
      OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1
qwen3-235b-a3-mixed
  from a3 1 Qwen3-235B-A22B 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/Qwen3-235B-A22B.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated expert_parallel=true instances=1 tensor_parallel_size=8 '--additional-config={"enable_flashcomm1":true}' --async-scheduling
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.95
      '--hf-overrides={"rope_parameters":{"factor":4,"original_max_position_embeddings":32768,"rope_theta":1000000,"rope_type":"yarn"}}'
      --max-model-len=131072 --max-num-batched-tokens=8096 --max-num-seqs=32 --quantization=ascend --seed=1024 --trust-remote-code HCCL_BUFFSIZE=512
      OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1
qwen3-235b-w8a8-a3
  from a3 3 Qwen3-235B-A22B-w8a8-rot 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/Qwen3-235B-A22B.md'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --enable-prefix-caching=false --gpu-memory-utilization=0.9 --max-model-len=40960
      --quantization=ascend --trust-remote-code HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
      TASK_QUEUE_ENABLE=1
  prefill data_parallel_size=2 tensor_parallel_size=8 '--additional-config={"enable_flashcomm1":true,"enable_fused_mc2":1}' --enforce-eager
      --max-num-batched-tokens=16384 --max-num-seqs=24 HCCL_BUFFSIZE=512
  decode data_parallel_size=8 tensor_parallel_size=4 '--additional-config={"enable_flashcomm1":true,"enable_fused_mc2":2}' --async-scheduling
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --max-num-batched-tokens=512 --max-num-seqs=128 HCCL_BUFFSIZE=1024
qwen3-235b-w8a8-a3-3.5k-1.5k
  from a3 3 Qwen3-235B-A22B-W8A8 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/Qwen/QWEN3_235B_PD_3_5K_1_5k.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --enable-prefix-caching=false --gpu-memory-utilization=0.9 --max-model-len=36864
      --quantization=ascend --seed=1024 --trust-remote-code HCCL_OP_EXPANSION_MODE=AIV PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
      VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000
  prefill data_parallel_size=2 tensor_parallel_size=8
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true,"enable_static_kernel":true},"enable_flashcomm1":true}'
      --enable-chunked-prefill --enforce-eager --max-num-batched-tokens=16384 --max-num-seqs=16 HCCL_BUFFSIZE=256
  decode data_parallel_size=32
      '--additional-config={"ascend_compilation_config":{"enable_npugraph_ex":true,"enable_static_kernel":true},"enable_flashcomm1":true,"eplb_config":{"algorithm_execution_interval":200,"dynamic_eplb":true,"expert_heat_collection_interval":4000,"num_redundant_experts":0},"finegrained_tp_config":{"lmhead_tensor_parallel_size":8}}'
      --max-num-batched-tokens=4096 --max-num-seqs=15 DYNAMIC_EPLB=true EXPERT_MAP_RECORD=true HCCL_BUFFSIZE=1024
qwen3-30b-a2-mixed
  from a2 1 Qwen3-30B-A3B 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/Qwen3-30B-A3B.md'
  note 'colocated: --speculative-config names something of the site; it is left out'
  deployment inference_kv_transfer=none
  pools colocated
  colocated expert_parallel=true instances=1 tensor_parallel_size=4 '--additional-config={"enable_flashcomm1":true,"weight_nz_mode":2}'
      --async-scheduling '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --distributed-executor-backend=mp --enable-prefix-caching=false
      --gpu-memory-utilization=0.95 --max-model-len=40960 --max-num-batched-tokens=16384 --max-num-seqs=100 --quantization=ascend --trust-remote-code
      HCCL_BUFFSIZE=1024 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
qwen3-30b-a3-mixed
  from a3 1 Qwen3-30B-A3B 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/Qwen3-30B-A3B.md'
  note 'colocated: --speculative-config names something of the site; it is left out'
  deployment inference_kv_transfer=none
  pools colocated
  colocated expert_parallel=true instances=1 tensor_parallel_size=4 '--additional-config={"enable_flashcomm1":true,"weight_nz_mode":2}'
      --async-scheduling '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --distributed-executor-backend=mp --enable-prefix-caching=false
      --gpu-memory-utilization=0.95 --max-model-len=40960 --max-num-batched-tokens=16384 --max-num-seqs=100 --quantization=ascend --trust-remote-code
      HCCL_BUFFSIZE=1024 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
qwen3-30b-a3b-a2-llmdatadist
  from a2 3 Qwen3-30B-A3B 0.11.0 vllm-project/vllm-ascend@b30408353a83:docs/source/tutorials/multi_node_pd_disaggregation_llmdatadist.md
  deployment inference_kv_transfer=llmdatadist
  pools prefill decode
  all expert_parallel=true tensor_parallel_size=2 --enable-prefix-caching=false --gpu-memory-utilization=0.9 --max-model-len=6144
      --max-num-batched-tokens=6144 --seed=1024 --trust-remote-code OMP_NUM_THREADS=10 OMP_PROC_BIND=false VLLM_USE_V1=1
  prefill instances=1 --enforce-eager
  decode instances=2
qwen3-8b-a3-layerwise
  from a3 2 qwen3_8B 0.23.0.post1 'verylucky01/MindIE-PyMotor (mirror of Ascend
      MindIE-PyMotor)@09689701476b:examples/infer_engines/vllm/user_config.json'
  deployment inference_kv_transfer=mooncake_layerwise
  pools prefill decode
  all instances=1 tensor_parallel_size=2 --gpu-memory-utilization=0.9 --max-model-len=2048
  prefill --enforce-eager
  decode
qwen3-coder-30b-a2-mixed
  from a2 1 Qwen3-Coder-30B-A3B 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/Qwen3-Coder-30B-A3B.md'
  note 'colocated: --speculative-config names something of the site; it is left out'
  deployment inference_kv_transfer=none
  pools colocated
  colocated expert_parallel=true instances=1 tensor_parallel_size=4 '--additional-config={"enable_flashcomm1":true,"weight_nz_mode":2}'
      --async-scheduling '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --distributed-executor-backend=mp --enable-prefix-caching=false
      --gpu-memory-utilization=0.95 --max-model-len=40960 --max-num-batched-tokens=16384 --max-num-seqs=100 --quantization=ascend --trust-remote-code
      HCCL_BUFFSIZE=1024 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
qwen3-coder-30b-a3-mixed
  from a3 1 Qwen3-Coder-30B-A3B 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/Qwen3-Coder-30B-A3B.md'
  note 'colocated: --speculative-config names something of the site; it is left out'
  deployment inference_kv_transfer=none
  pools colocated
  colocated expert_parallel=true instances=1 tensor_parallel_size=4 '--additional-config={"enable_flashcomm1":true,"weight_nz_mode":2}'
      --async-scheduling '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --distributed-executor-backend=mp --enable-prefix-caching=false
      --gpu-memory-utilization=0.95 --max-model-len=40960 --max-num-batched-tokens=16384 --max-num-seqs=100 --quantization=ascend --trust-remote-code
      HCCL_BUFFSIZE=1024 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
qwen3-vl-235b-a3
  from a3 2 Qwen3-VL-235B-A22B-Instruct 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/Qwen/Qwen3-VL-235B-disagg-pd.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 --enable-prefix-caching=false --gpu-memory-utilization=0.9 --max-model-len=8192 --max-num-batched-tokens=8192
      --max-num-seqs=32 --seed=1024 --trust-remote-code HCCL_BUFFSIZE=1024 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1
  prefill data_parallel_size=2 tensor_parallel_size=8
  decode data_parallel_size=4 tensor_parallel_size=4 '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}'
qwen3-vl-235b-w8a8-a2-mixed
  from a2 2 Qwen3-VL-235B-A22B-Instruct-w8a8-QuaRot 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/Qwen3-VL-235B-A22B-Instruct.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated data_parallel_size=2 expert_parallel=true instances=1 tensor_parallel_size=8
      '--additional-config={"enable_cpu_binding":true,"enable_flashcomm1":true}' --api-server-count=2
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-prefix-caching=false --gpu-memory-utilization=0.9 --limit-mm-per-prompt.image=1
      --limit-mm-per-prompt.video=0 --max-model-len=262144 --max-num-batched-tokens=4096 --max-num-seqs=16 --mm-processor-cache-gb=0 --quantization=ascend
      --seed=1024 --trust-remote-code HCCL_BUFFSIZE=1024 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1
qwen3-vl-235b-w8a8-a3
  from a3 2 Qwen3-VL-235B-A22B-Instruct-w8a8-QuaRot 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/Qwen3-VL-235B-A22B-Instruct.md'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 --enable-prefix-caching=false --gpu-memory-utilization=0.9 --max-model-len=8192 --max-num-batched-tokens=8192
      --max-num-seqs=32 --quantization=ascend --seed=1024 --trust-remote-code HCCL_BUFFSIZE=1024 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1
      OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1
  prefill data_parallel_size=2 tensor_parallel_size=8
  decode data_parallel_size=4 tensor_parallel_size=4 '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}'
qwen3-vl-235b-w8a8-a3-mixed
  from a3 1 Qwen3-VL-235B-A22B-Instruct-w8a8-QuaRot 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/Qwen3-VL-235B-A22B-Instruct.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated data_parallel_size=4 expert_parallel=true instances=1 tensor_parallel_size=4
      '--compilation-config={"cudagraph_capture_sizes":[1,2,4,8,16,24,32],"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-prefix-caching=false
      --gpu-memory-utilization=0.92 --limit-mm-per-prompt.image=1 --limit-mm-per-prompt.video=0 --max-model-len=32768 --max-num-batched-tokens=16384
      --max-num-seqs=32 --mm-processor-cache-gb=0 --quantization=ascend --seed=1024 --trust-remote-code HCCL_BUFFSIZE=1536 HCCL_OP_EXPANSION_MODE=AIV
      OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_ASCEND_BALANCE_SCHEDULING=1
      VLLM_ASCEND_ENABLE_FLASHCOMM1=1 VLLM_ASCEND_ENABLE_FUSED_MC2=1
qwen3-vl-30b-a3-mixed
  from a3 1 Qwen3-VL-30B-A3B-Instruct 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/Qwen3-VL-30B-A3B-Instruct.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated expert_parallel=true instances=1 tensor_parallel_size=2
      '--compilation-config={"cudagraph_capture_sizes":[1,2,4,8,16,24,32],"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-prefix-caching=false
      --gpu-memory-utilization=0.9 --limit-mm-per-prompt.image=1 --limit-mm-per-prompt.video=0 --max-model-len=32768 --max-num-batched-tokens=16384
      --max-num-seqs=32 --mm-processor-cache-gb=0 --seed=1024 HCCL_BUFFSIZE=1024 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_ASCEND_ENABLE_FLASHCOMM1=1 VLLM_ASCEND_ENABLE_FUSED_MC2=1
qwen3-vl-8b-a2-mixed
  from a2 1 Qwen3-VL-8B-Instruct 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/Qwen-VL-Dense.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated instances=1 --async-scheduling '--compilation-config={"cudagraph_capture_sizes":[1,2,4,8,16,32],"cudagraph_mode":"FULL_DECODE_ONLY"}'
      --dtype=bfloat16 --enable-prefix-caching=false --gpu-memory-utilization=0.91 --max-model-len=32768 --max-num-batched-tokens=16384 --max-num-seqs=128
      --mm-processor-cache-gb=0 --trust-remote-code HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1
qwen3-vl-8b-a3-mixed
  from a3 1 Qwen3-VL-8B-Instruct 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/Qwen-VL-Dense.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated instances=1 --async-scheduling '--compilation-config={"cudagraph_capture_sizes":[1,2,4,8,16,32],"cudagraph_mode":"FULL_DECODE_ONLY"}'
      --dtype=bfloat16 --enable-prefix-caching=false --gpu-memory-utilization=0.91 --max-model-len=32768 --max-num-batched-tokens=16384 --max-num-seqs=128
      --mm-processor-cache-gb=0 --trust-remote-code HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1
qwen3.5-122b-w4a8-a3-128k-1k
  from a3 3 Qwen3.5-122B-A10B-w4a8 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/Qwen/Qwen3.5-122B-A10B-w4a8-128k-1k-PD.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all data_parallel_size=8 expert_parallel=true load_balancing=external tensor_parallel_size=2 --async-scheduling
      --disable-hybrid-kv-cache-manager=false --distributed-executor-backend=mp --enable-prefix-caching --gpu-memory-utilization=0.9 --max-model-len=140000
      --max-num-batched-tokens=8192 --max-num-seqs=24 --mm-encoder-tp-mode=data --mm-processor-cache-gb=0 --quantization=ascend --seed=1024
      --trust-remote-code ASCEND_BUFFER_POOL=4:8 HCCL_BUFFSIZE=1024 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_ASCEND_ENABLE_FLASHCOMM1=1 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000
      VLLM_RPC_TIMEOUT=3600000 VLLM_USE_V1=1
  prefill instances=2 '--additional-config={"enable_cpu_binding":true,"enable_fused_mc2":1}' --enforce-eager
      '--speculative-config={"enforce_eager":true,"method":"qwen3_5_mtp","num_speculative_tokens":3}'
  decode instances=1 '--additional-config={"enable_cpu_binding":true,"enable_fused_mc2":1,"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_capture_sizes":[4,8,12,16,20,24,28,32,36,40,44,48,52,56,60,64,68,72,76,80,84,88,92,96],"cudagraph_mode":"FULL_DECODE_ONLY"}'
      '--speculative-config={"method":"qwen3_5_mtp","num_speculative_tokens":3}'
qwen3.5-122b-w4a8-a3-16k-1k
  from a3 2 Qwen3.5-122B-A10B-w4a8 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/Qwen/Qwen3.5-122B-A10B-w4a8-16k-1k-PD.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all data_parallel_size=8 expert_parallel=true instances=1 load_balancing=external tensor_parallel_size=2 --async-scheduling
      --disable-hybrid-kv-cache-manager=false --distributed-executor-backend=mp --enable-prefix-caching=false --max-num-batched-tokens=8192
      --max-num-seqs=32 --mm-encoder-tp-mode=data --mm-processor-cache-gb=0 --quantization=ascend --seed=1024 --trust-remote-code HCCL_BUFFSIZE=1024
      HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1
      VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000 VLLM_RPC_TIMEOUT=3600000 VLLM_USE_V1=1
  prefill '--additional-config={"enable_cpu_binding":true,"enable_fused_mc2":0}' --enforce-eager --gpu-memory-utilization=0.8 --max-model-len=70000
      '--speculative-config={"enforce_eager":true,"method":"qwen3_5_mtp","num_speculative_tokens":3}' ASCEND_BUFFER_POOL=4:8 VLLM_ASCEND_ENABLE_FLASHCOMM1=1
  decode '--additional-config={"enable_cpu_binding":true,"enable_fused_mc2":0,"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_capture_sizes":[4,8,12,16,20,24,28,32,36,40,44,48,52,56,60,64,68,72,76,80,84,88,92,96,100,104,108,112,116,120,124,128],"cudagraph_mode":"FULL_DECODE_ONLY"}'
      --gpu-memory-utilization=0.9 --max-model-len=18432 '--speculative-config={"method":"qwen3_5_mtp","num_speculative_tokens":3}'
      VLLM_ASCEND_SKIP_LOW_BLOCKS=0
qwen3.5-122b-w4a8-a3-984k-1k-0
  from a3 2 Qwen3.5-122B-A10B-w4a8 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/Qwen/Qwen3.5-122B-A10B-w4a8-984k-1k-0-PD.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all data_parallel_size=8 expert_parallel=true instances=1 load_balancing=external tensor_parallel_size=2 --async-scheduling
      --disable-hybrid-kv-cache-manager=false --distributed-executor-backend=mp --enable-prefix-caching=false
      '--hf-overrides={"text_config":{"rope_parameters":{"factor":4.0,"mrope_interleaved":true,"mrope_section":[11,11,10],"original_max_position_embeddings":262144,"partial_rotary_factor":0.25,"rope_theta":10000000,"rope_type":"yarn"}}}'
      --max-model-len=1010000 --max-num-batched-tokens=16384 --max-num-seqs=32 --mm-encoder-tp-mode=data --mm-processor-cache-gb=0 --quantization=ascend
      --seed=1024 --trust-remote-code HCCL_BUFFSIZE=1024 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000
      VLLM_RPC_TIMEOUT=3600000 VLLM_USE_V1=1
  prefill '--additional-config={"enable_cpu_binding":true,"enable_fused_mc2":0}' --enforce-eager --gpu-memory-utilization=0.8
      '--speculative-config={"enforce_eager":true,"method":"qwen3_5_mtp","num_speculative_tokens":3}' ASCEND_BUFFER_POOL=4:8 VLLM_ASCEND_ENABLE_FLASHCOMM1=1
  decode '--additional-config={"enable_cpu_binding":true,"enable_fused_mc2":0,"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_capture_sizes":[4,8,12,16,20,24,28,32,36,40,44,48,52,56,60,64,68,72,76,80,84,88,92,96,100,104,108,112,116,120,124,128],"cudagraph_mode":"FULL_DECODE_ONLY"}'
      --gpu-memory-utilization=0.9 '--speculative-config={"method":"qwen3_5_mtp","num_speculative_tokens":3}' VLLM_ASCEND_SKIP_LOW_BLOCKS=0
qwen3.5-27b-w8a8-a2-mixed
  from a2 1 Qwen3.5-27B-w8a8-mtp 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/Qwen3.5-27B-Qwen3.6-27B.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated instances=1 tensor_parallel_size=2 '--additional-config={"enable_cpu_binding":true}' --async-scheduling
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-prefix-caching=false --gpu-memory-utilization=0.90 --max-model-len=133000
      --max-num-batched-tokens=16384 --max-num-seqs=32 --quantization=ascend --seed=1024
      '--speculative-config={"enforce_eager":true,"method":"qwen3_5_mtp","num_speculative_tokens":3}' --trust-remote-code HCCL_BUFFSIZE=512
      OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1
qwen3.5-27b-w8a8-a3-mixed
  from a3 1 Qwen3.5-27B-w8a8-mtp 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/Qwen3.5-27B-Qwen3.6-27B.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated instances=1 tensor_parallel_size=2 '--additional-config={"enable_cpu_binding":true}' --async-scheduling
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-prefix-caching=false --gpu-memory-utilization=0.90 --max-model-len=133000
      --max-num-batched-tokens=16384 --max-num-seqs=32 --quantization=ascend --seed=1024
      '--speculative-config={"enforce_eager":true,"method":"qwen3_5_mtp","num_speculative_tokens":3}' --trust-remote-code HCCL_BUFFSIZE=512
      OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1
qwen3.5-397b-w4a8-a3-128k-1k-90-50
  from a3 3 Qwen3.5-397B-A17B-w4a8-mtp 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/Qwen/Qwen3.5-397B-w4a8_128k-1k-90-50-PD.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all data_parallel_size=8 expert_parallel=true load_balancing=external tensor_parallel_size=2 --async-scheduling
      --disable-hybrid-kv-cache-manager=false --distributed-executor-backend=mp --enable-prefix-caching --gpu-memory-utilization=0.9 --max-model-len=140000
      --max-num-batched-tokens=8192 --max-num-seqs=24 --mm-encoder-tp-mode=data --mm-processor-cache-gb=0 --quantization=ascend --seed=1024
      --trust-remote-code DYNAMIC_EPLB=true HCCL_BUFFSIZE=1024 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_USE_V1=1
  prefill instances=2
      '--additional-config={"enable_cpu_binding":true,"enable_fused_mc2":0,"eplb_config":{"algorithm_execution_interval":20,"dynamic_eplb":true,"eplb_policy_type":2,"expert_heat_collection_interval":50,"num_redundant_experts":32}}'
      --enforce-eager '--speculative-config={"enforce_eager":true,"method":"qwen3_5_mtp","num_speculative_tokens":3}' VLLM_ASCEND_ENABLE_FLASHCOMM1=1
  decode instances=1
      '--additional-config={"enable_cpu_binding":true,"enable_fused_mc2":0,"eplb_config":{"algorithm_execution_interval":50,"dynamic_eplb":true,"eplb_policy_type":2,"expert_heat_collection_interval":600,"num_redundant_experts":32},"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_capture_sizes":[4,8,12,16,20,24,28,32,36,40,44,48,52,56,60,64,68,72,76,80,84,88,92,96],"cudagraph_mode":"FULL_DECODE_ONLY"}'
      '--speculative-config={"method":"qwen3_5_mtp","num_speculative_tokens":3}' VLLM_ASCEND_SKIP_LOW_BLOCKS=0
qwen3.5-397b-w4a8-a3-3.5k-1.5k-0-50
  from a3 2 Qwen3.5-397B-A17B-w4a8-mtp 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/Qwen/Qwen3.5-397B-w4a8_3.5k-1.5k-0-50-PD.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all data_parallel_size=8 expert_parallel=true instances=1 load_balancing=external tensor_parallel_size=2 --async-scheduling
      --disable-hybrid-kv-cache-manager=false --distributed-executor-backend=mp --enable-prefix-caching=false --max-model-len=70000
      --max-num-batched-tokens=8192 --max-num-seqs=24 --mm-encoder-tp-mode=data --mm-processor-cache-gb=0 --quantization=ascend --seed=1024
      --trust-remote-code HCCL_BUFFSIZE=1024 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_USE_V1=1
  prefill '--additional-config={"enable_cpu_binding":true}' --enforce-eager --gpu-memory-utilization=0.8
      '--speculative-config={"enforce_eager":true,"method":"qwen3_5_mtp","num_speculative_tokens":3}'
  decode '--additional-config={"enable_cpu_binding":true,"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_capture_sizes":[4,8,12,16,20,24,28,32,36,40,44,48,52,56,60,64,68,72,76,80,84,88,92,96],"cudagraph_mode":"FULL_DECODE_ONLY"}'
      --gpu-memory-utilization=0.9 '--speculative-config={"method":"qwen3_5_mtp","num_speculative_tokens":3}' VLLM_ASCEND_SKIP_LOW_BLOCKS=0
qwen3.5-397b-w4a8-a3-64k-1k-90-50
  from a3 3 Qwen3.5-397B-A17B-w4a8-mtp 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/Qwen/Qwen3.5-397B-w4a8_64k-1k-90-50-PD.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all data_parallel_size=8 expert_parallel=true instances=1 load_balancing=external --async-scheduling --disable-hybrid-kv-cache-manager=false
      --distributed-executor-backend=mp --enable-prefix-caching --max-model-len=70000 --max-num-batched-tokens=8192 --max-num-seqs=32
      --mm-encoder-tp-mode=data --mm-processor-cache-gb=0 --quantization=ascend --seed=1024 --trust-remote-code HCCL_BUFFSIZE=1024
      HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_USE_V1=1
  prefill tensor_parallel_size=4 '--additional-config={"enable_cpu_binding":true}' --enforce-eager --gpu-memory-utilization=0.8
      '--speculative-config={"enforce_eager":true,"method":"qwen3_5_mtp","num_speculative_tokens":3}'
  decode tensor_parallel_size=2 '--additional-config={"enable_cpu_binding":true,"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_capture_sizes":[4,8,12,16,20,24,28,32,36,40,44,48,52,56,60,64,68,72,76,80,84,88,92,96,100,104,108,112,116,120,124,128],"cudagraph_mode":"FULL_DECODE_ONLY"}'
      --gpu-memory-utilization=0.9 '--speculative-config={"method":"qwen3_5_mtp","num_speculative_tokens":3}' VLLM_ASCEND_SKIP_LOW_BLOCKS=0
qwen3.5-397b-w4a8-a3-986k-function
  from a3 2 Qwen3.5-397B-A17B-w4a8-mtp 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/Qwen/Qwen3.5-397B-w4a8_986k-function-PD.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all data_parallel_size=8 expert_parallel=true instances=1 load_balancing=external tensor_parallel_size=2 --async-scheduling
      --disable-hybrid-kv-cache-manager=false --distributed-executor-backend=mp --enable-prefix-caching --gpu-memory-utilization=0.9
      '--hf-overrides={"text_config":{"rope_parameters":{"factor":4.0,"mrope_interleaved":true,"mrope_section":[11,11,10],"original_max_position_embeddings":262144,"partial_rotary_factor":0.25,"rope_theta":10000000,"rope_type":"yarn"}}}'
      --max-model-len=1010000 --max-num-batched-tokens=8192 --max-num-seqs=24 --mm-encoder-tp-mode=data --mm-processor-cache-gb=0 --quantization=ascend
      --seed=1024 --trust-remote-code HCCL_BUFFSIZE=1024 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 VLLM_USE_V1=1
  prefill '--additional-config={"enable_cpu_binding":true}' --enforce-eager
      '--speculative-config={"enforce_eager":true,"method":"qwen3_5_mtp","num_speculative_tokens":1}'
  decode '--additional-config={"enable_cpu_binding":true,"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_capture_sizes":[4,8,12,16,20,24,28,32,36,40,44,48,52,56,60,64,68,72,76,80,84,88,92,96],"cudagraph_mode":"FULL_DECODE_ONLY"}'
      '--speculative-config={"method":"qwen3_5_mtp","num_speculative_tokens":3}'
qwen3.5-397b-w8a8-a2-mixed
  from a2 2 Qwen3.5-397B-A17B-w8a8-mtp 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/Qwen3.5-397B-A17B.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated data_parallel_size=2 expert_parallel=true instances=1 tensor_parallel_size=8
      '--additional-config={"enable_cpu_binding":true,"multistream_overlap_shared_expert":true}' --api-server-count=2
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-prefix-caching=false --gpu-memory-utilization=0.9 --max-model-len=32768
      --max-num-batched-tokens=4096 --max-num-seqs=16 --quantization=ascend --seed=1024
      '--speculative-config={"method":"qwen3_5_mtp","num_speculative_tokens":3}' --trust-remote-code HCCL_BUFFSIZE=1024 OMP_NUM_THREADS=1
      OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1
qwen3.5-397b-w8a8-a3
  from a3 3 Qwen3.5-397B-A17B-w8a8-mtp 0.30.0rc2 'vllm-ascend 0.30.0rc2: tests/e2e/cases/models/configs/Qwen/Qwen-3.5-397B-A17B-W8A8-PD.yaml'
  deployment inference_kv_transfer=mooncake
  pools prefill decode
  all expert_parallel=true instances=1 load_balancing=external --disable-hybrid-kv-cache-manager=false --distributed-executor-backend=mp
      --enable-prefix-caching=false --max-num-seqs=16 --quantization=ascend --seed=1024
      '--speculative-config={"method":"qwen3_5_mtp","num_speculative_tokens":3}' --trust-remote-code HCCL_BUFFSIZE=1536 HCCL_CONNECT_TIMEOUT=1200
      HCCL_EXEC_TIMEOUT=2000 HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
      TASK_QUEUE_ENABLE=1 VLLM_ENGINE_READY_TIMEOUT_S=7200 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=30000 VLLM_NIXL_ABORT_REQUEST_TIMEOUT=300000
      VLLM_RPC_TIMEOUT=3600 VLLM_USE_V1=1
  prefill data_parallel_size=2 tensor_parallel_size=8 '--additional-config={"enable_fused_mc2":1}' --api-server-count=1 --enforce-eager
      --gpu-memory-utilization=0.9 --max-model-len=67000 --max-num-batched-tokens=16384
  decode data_parallel_size=32 '--additional-config={"enable_cpu_binding":true,"enable_fused_mc2":1,"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_capture_sizes":[4,8,16,24,32,40,48,56,64],"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.95
      --max-model-len=34816 --max-num-batched-tokens=128
qwen3.5-397b-w8a8-a3-layerwise
  from a3 2 Qwen3.5-397B-A17B-w8a8-mtp 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/Qwen3.5-397B-A17B.md'
  deployment inference_kv_transfer=mooncake_layerwise
  pools prefill decode
  all expert_parallel=true instances=1 tensor_parallel_size=16 --api-server-count=1 --disable-hybrid-kv-cache-manager=false
      --distributed-executor-backend=mp --enable-prefix-caching=false --max-model-len=16384 --quantization=ascend --seed=1024 --trust-remote-code
      HCCL_BUFFSIZE=1536 HCCL_OP_EXPANSION_MODE=AIV PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1 VLLM_ENGINE_READY_TIMEOUT_S=30000
      VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT=480 VLLM_USE_V1=1
  prefill '--additional-config={"enable_cpu_binding":true}' --enforce-eager --gpu-memory-utilization=0.9 --max-num-batched-tokens=4096 --max-num-seqs=64
      '--speculative-config={"enforce_eager":true,"method":"qwen3_5_mtp","num_speculative_tokens":3}'
  decode '--additional-config={"enable_cpu_binding":true,"recompute_scheduler_enable":true}'
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --gpu-memory-utilization=0.96 --max-num-batched-tokens=128 --max-num-seqs=32
      '--speculative-config={"method":"qwen3_5_mtp","num_speculative_tokens":3}'
qwen3.5-397b-w8a8-a3-mixed
  from a3 1 Qwen3.5-397B-A17B-w8a8-mtp 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/Qwen3.5-397B-A17B.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated expert_parallel=true instances=1 tensor_parallel_size=16 '--additional-config={"enable_cpu_binding":true}'
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-prefix-caching --gpu-memory-utilization=0.90 --max-model-len=133000
      --max-num-batched-tokens=16384 --max-num-seqs=128 --quantization=ascend --seed=1024
      '--speculative-config={"method":"qwen3_5_mtp","num_speculative_tokens":3}' --trust-remote-code HCCL_BUFFSIZE=1024 HCCL_OP_EXPANSION_MODE=AIV
      OMP_NUM_THREADS=1 PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1
qwen3.5-397b-w8a8-a3-pool
  from a3 1 Qwen3.5-397B-A17B-w8a8-mtp 'main at 182b75ea84ff'
      vllm-project/vllm-ascend@182b75ea84ff:tests/e2e/weekly/single_node/configs/Qwen3.5-397B-Memcache-perf.yaml
  deployment inference_kv_transfer=store 'inference_store={"backend":"memcache"}'
  pools colocated
  colocated expert_parallel=true instances=1 tensor_parallel_size=16
      '--additional-config={"enable_cpu_binding":true,"enable_flashcomm1":true,"enable_fused_mc2":1}'
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-prefix-caching --gpu-memory-utilization=0.90 --max-model-len=133000
      --max-num-batched-tokens=16384 --max-num-seqs=128 --quantization=ascend --seed=1024
      '--speculative-config={"enforce_eager":true,"method":"qwen3_5_mtp","num_speculative_tokens":3}' --trust-remote-code HCCL_BUFFSIZE=1024
      HCCL_OP_EXPANSION_MODE=AIV OMP_NUM_THREADS=1 PYTHONHASHSEED=0 PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1
qwen3.6-27b-w8a8-a2-mixed
  from a2 1 Qwen3.6-27B-w8a8 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/Qwen3.5-27B-Qwen3.6-27B.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated instances=1 tensor_parallel_size=2 '--additional-config={"enable_cpu_binding":true}' --async-scheduling
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-prefix-caching=false --gpu-memory-utilization=0.90 --max-model-len=262144
      --max-num-batched-tokens=16384 --max-num-seqs=32 --quantization=ascend --seed=1024
      '--speculative-config={"enforce_eager":true,"method":"qwen3_5_mtp","num_speculative_tokens":3}' --trust-remote-code HCCL_BUFFSIZE=512
      OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1
qwen3.6-27b-w8a8-a3-mixed
  from a3 1 Qwen3.6-27B-w8a8 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/Qwen3.5-27B-Qwen3.6-27B.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated instances=1 tensor_parallel_size=2 '--additional-config={"enable_cpu_binding":true}' --async-scheduling
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-prefix-caching=false --gpu-memory-utilization=0.90 --max-model-len=262144
      --max-num-batched-tokens=16384 --max-num-seqs=32 --quantization=ascend --seed=1024
      '--speculative-config={"enforce_eager":true,"method":"qwen3_5_mtp","num_speculative_tokens":3}' --trust-remote-code HCCL_BUFFSIZE=512
      OMP_NUM_THREADS=1 OMP_PROC_BIND=false PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1
qwen3.6-35b-w8a8-a2-mixed
  from a2 1 Qwen3.6-35B-A3B-w8a8 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/Qwen3.6-35B-A3B.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated expert_parallel=true instances=1 tensor_parallel_size=2
      '--additional-config={"enable_cpu_binding":true,"enable_flashcomm1":true,"multistream_overlap_shared_expert":true}' --async-scheduling
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-prefix-caching --gpu-memory-utilization=0.90 --max-model-len=262144
      --max-num-batched-tokens=16384 --max-num-seqs=128 --quantization=ascend --seed=1024 --trust-remote-code HCCL_BUFFSIZE=1024 HCCL_OP_EXPANSION_MODE=AIV
      OMP_NUM_THREADS=1 PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1
qwen3.6-35b-w8a8-a3-mixed
  from a3 1 Qwen3.6-35B-A3B-w8a8 0.23.0.post1 'vllm-ascend 0.23.0.post1: docs/source/tutorials/models/Qwen3.6-35B-A3B.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated expert_parallel=true instances=1 tensor_parallel_size=2
      '--additional-config={"enable_cpu_binding":true,"enable_flashcomm1":true,"multistream_overlap_shared_expert":true}' --async-scheduling
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-prefix-caching --gpu-memory-utilization=0.90 --max-model-len=262144
      --max-num-batched-tokens=16384 --max-num-seqs=128 --quantization=ascend --seed=1024 --trust-remote-code HCCL_BUFFSIZE=1024 HCCL_OP_EXPANSION_MODE=AIV
      OMP_NUM_THREADS=1 PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1
qwen3.8-2.4t-a2-mixed
  from a2 8 Qwen3.8-2.4T-A95B 0.30.0rc2 'vllm-ascend 0.30.0rc2: docs/source/tutorials/models/Qwen3.8-2.4T-A95B.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated data_parallel_size=8 expert_parallel=true instances=1 tensor_parallel_size=8
      '--additional-config={"enable_cpu_binding":true,"enable_fused_mc2":1}' '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}'
      --enable-prefix-caching --gpu-memory-utilization=0.92 --max-model-len=262144 --max-num-batched-tokens=4096 --max-num-seqs=8 --quantization=ascend
      --safetensors-load-strategy=lazy '--speculative-config={"method":"qwen3_5_mtp","num_speculative_tokens":1}' --trust-remote-code HCCL_BUFFSIZE=1024
      HCCL_BUFFSIZE_EP=2048 HCCL_CONNECT_TIMEOUT=1800 HCCL_EXEC_TIMEOUT=1800 HCCL_INTRA_PCIE_ENABLE=1 HCCL_INTRA_ROCE_ENABLE=0 HCCL_OP_EXPANSION_MODE=AIV
      OMP_NUM_THREADS=1 OMP_PROC_BIND=false OPENBLAS_NUM_THREADS=1 PYTORCH_NPU_ALLOC_CONF=expandable_segments:True TASK_QUEUE_ENABLE=1
      VLLM_ENGINE_READY_TIMEOUT_S=7200 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=3000
qwen3.8-2.4t-a3-mixed
  from a3 4 Qwen3.8-2.4T-A95B 0.30.0rc2 'vllm-ascend 0.30.0rc2: docs/source/tutorials/models/Qwen3.8-2.4T-A95B.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated data_parallel_size=4 expert_parallel=true instances=1 tensor_parallel_size=16
      '--additional-config={"enable_cpu_binding":true,"enable_fused_mc2":1}' '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}'
      --enable-prefix-caching --gpu-memory-utilization=0.85 --max-model-len=131072 --max-num-batched-tokens=16384 --max-num-seqs=8 --quantization=ascend
      --safetensors-load-strategy=lazy '--speculative-config={"method":"qwen3_5_mtp","num_speculative_tokens":1}' --trust-remote-code HCCL_BUFFSIZE=1024
      HCCL_BUFFSIZE_EP=2048 HCCL_INTRA_ROCE_ENABLE=0 HCCL_OP_EXPANSION_MODE=AIV OPENBLAS_NUM_THREADS=1 PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
      VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=3000
qwen3.8-27b-w8a8-a2-mixed
  from a2 1 Qwen3.8-27B-w8a8 0.30.0rc2 'vllm-ascend 0.30.0rc2: docs/source/tutorials/models/Qwen3.8-27B.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated instances=1 tensor_parallel_size=2 '--additional-config={"enable_cpu_binding":true}'
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-prefix-caching --gpu-memory-utilization=0.85 --max-model-len=131072
      --max-num-batched-tokens=16384 --max-num-seqs=32 --quantization=ascend
      '--speculative-config={"enforce_eager":true,"method":"qwen3_5_mtp","num_speculative_tokens":3}' --trust-remote-code HCCL_BUFFSIZE=512
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
qwen3.8-27b-w8a8-a3-mixed
  from a3 1 Qwen3.8-27B-w8a8 0.30.0rc2 'vllm-ascend 0.30.0rc2: docs/source/tutorials/models/Qwen3.8-27B.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated instances=1 tensor_parallel_size=2 '--additional-config={"enable_cpu_binding":true}'
      '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-prefix-caching --gpu-memory-utilization=0.85 --max-model-len=131072
      --max-num-batched-tokens=16384 --max-num-seqs=32 --quantization=ascend
      '--speculative-config={"enforce_eager":true,"method":"qwen3_5_mtp","num_speculative_tokens":3}' --trust-remote-code HCCL_BUFFSIZE=512
      PYTORCH_NPU_ALLOC_CONF=expandable_segments:True
qwen3.8-flash-next-w8a8-a3-mixed
  from a3 1 Qwen3.8-Flash-Next-w8a8-mtp 0.30.0rc2 'vllm-ascend 0.30.0rc2: docs/source/tutorials/models/Qwen3.8-Flash-Next.md'
  deployment inference_kv_transfer=none
  pools colocated
  colocated expert_parallel=true instances=1 tensor_parallel_size=8
      '--additional-config={"ascend_compilation_config":{"fuse_norm_quant":false},"enable_cpu_binding":true}'
      '--compilation-config={"cudagraph_capture_sizes":[4,8,12,16,20,24,28,32],"cudagraph_mode":"FULL_DECODE_ONLY"}' --enable-auto-tool-choice
      --enable-prefix-caching --gpu-memory-utilization=0.93 --mamba-cache-mode=align --max-model-len=135168 --max-num-batched-tokens=4096 --max-num-seqs=8
      --quantization=ascend --reasoning-parser=qwen3 '--speculative-config={"enforce_eager":true,"method":"qwen3_5_mtp","num_speculative_tokens":3}'
      --tool-call-parser=qwen3_xml --trust-remote-code VLLM_ASCEND_ENABLE_QSA_E3V=1 VLLM_ASCEND_ENABLE_QSA_LIGHTNING_INDEXER=1
"""
