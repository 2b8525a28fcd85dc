# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collector of release facts, on a made-up source distribution, and what it says about a row."""

from __future__ import annotations

import hashlib

import pytest
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.release import ORDER
from ansible_collections.ascend.inference.tests.releases import compare, images, known, sources

PROXY = 'parser.add_argument("--port", type=int)\nparser.add_argument("--decoder-hosts", nargs="+")\n'
FILES = {
    "PKG-INFO": "Metadata-Version: 2.4\nName: vllm_ascend\nVersion: 0.99.0\nRequires-Python: >=3.10\n",
    "requirements.txt": "cmake>=3.26\ntorch==2.10.0\ntorch-npu==2.10.0.post4\nfastapi<0.124.0\ntorchvision\n",
    "Dockerfile": 'ARG CANN_VERSION="9.2.0_20260930"\nFROM example.test/cann:${CANN_VERSION}-910b-ubuntu22.04-py3.12\n'
    'ARG MOONCAKE_TAG=0.3.11.post1\nARG VLLM_TAG=v0.99.0\nARG SOC_VERSION="ascend910b1"\nARG BUILD_TYPE="release"\n'
    'ARG TORCH_NPU_VERSION="26.2.0"\nARG TORCH_NPU_DATE="20260926"\n'
    "RUN python3 -m pip install mooncake-transfer-engine-npu==${MOONCAKE_TAG}\n",
    "Dockerfile.a5": "FROM example.test/cann:9.2.0-a5-ubuntu22.04-py3.12\n",
    "Dockerfile.a3": 'ARG FLA_VERSION="26.9.1+dev1"\nFROM example.test/cann:9.2.0-a3-ubuntu22.04-py3.12\nARG VLLM_TAG=v0.98.0\n'
    'RUN FLA_WHL="flash_linear_attention_npu_a3-${FLA_VERSION}-py3-none-any.whl"; \\\n    python3 -m pip install /tmp/${FLA_WHL} && \\\n'
    "    python3 -m pip install 'ray>=2.47' concurrent-log-handler --extra-index-url https://example.test/simple && \\\n"
    "    python3 -m pip install -e /vllm-workspace/vllm/\n",
    ".github/workflows/schedule_image_build_and_push.yaml": "suffix: [a3]\n",
    "examples/disaggregated_prefill_v1/load_balance_proxy_server_example.py": PROXY,
    "vllm_ascend/envs.py": 'env_variables = {"VLLM_ASCEND_ENABLE_NZ": lambda: 1, "MAX_JOBS": lambda: None}\n',
    "vllm_ascend/distributed/kv_transfer/__init__.py": 'KVConnectorFactory.register_connector("MooncakeConnectorV1", "a.b", "C")\n',
    "vllm_ascend/worker/worker.py": "check_ascend_device_type()\n",
    "vllm_ascend/ops/gdn.py": "import os\nimport torch_npu\nfrom fla_npu.ops import chunk\ntry:\n    import optional\nexcept ImportError:\n    pass\n"
    'fast = os.getenv("VLLM_ASCEND_ENABLE_FLASHCOMM1", "0")\nhome = os.environ["ASCEND_HOME_PATH"]\nos.environ["VLLM_ASCEND_SET"] = "1"\n',
    "vllm_ascend/distributed/store.py": "class MooncakeStoreConfig:\n    def from_file(path):\n"
    '        return [config.get("tenant_id", ""), other.get("not_ours")]\n',
    "docs/source/community/versioning_policy.md": "| vLLM Ascend | vLLM | Python | Stable CANN | PyTorch/torch_npu | Triton Ascend | Mooncake |\n"
    "| v0.23.0 | v0.23.0 | >= 3.10, < 3.12 | 9.2.0 | 2.10.0 / 2.10.0.post4 | N/A | v0.3.11.post1 |\n",
    "docs/source/user_guide/release_notes.md": "# Release Notes\n\n## v0.99.0 - 2026.12.01\n\n### Dependencies\n\n- vLLM: v0.99.0\n\n"
    "## v0.23.0 - 2026.08.16\n\n- CANN: 1.0\n\n### Dependencies\n\n- **CANN**: Upgraded to 9.0.0.\n- Ascend HDK: 26.0.RC1\n\n### Known Issues\n",
    "vllm_ascend/ascend_config.py": "@config\nclass AscendConfig:\n    enable_mlapo: bool = True\n    derived: int = field(init=False)\n",
    "vllm_ascend/platform.py": 'refresh = additional_config.get("refresh", False)\nother = kwargs.get("not_ours")\n'
    'class NPUPlatform:\n    supported_quantization: list[str] = [ASCEND_METHOD, "fp8"]\n',
    "vllm_ascend/models/__init__.py": 'ModelRegistry.register_model("OwnForCausalLM", "a.b:C")\n',
    "vllm_ascend/quantization/methods/w8a8.py": '@register_scheme("W8A8_DYNAMIC", "moe")\nclass Scheme:\n    pass\n',
    "vllm_ascend/quantization/quant_config.py": 'ASCEND_QUANTIZATION_METHOD_MAP: Dict[str, Dict] = {"W8A8": {"linear": 1}}\n',
    "vllm_ascend/_310p/quantization/methods/w8a8s.py": '@register_scheme("W8A8S", "linear")\nclass Scheme:\n    pass\n',
    "vllm_ascend/utils.py": 'ASCEND_METHOD = "ascend"\n',
    "docs/source/user_guide/configuration/additional_config.md": "| `VLLM_ASCEND_ENABLE_NZ` | `weight_nz_mode` | Integer |\n",
}


@pytest.fixture(name="folder")
def _folder(tmp_path):
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    return tmp_path


def test_a_source_distribution_says_what_a_row_needs(folder):
    facts = sources.read(folder)
    assert compare.row(facts) == (
        *("0.99.0", "0.99.0", "3.12", "9.2.0", "2.10.0", "2.10.0.post4", "", "0.3.11.post1", "<0.124.0"),
    )
    assert facts["connectors"] == ["MooncakeConnectorV1"]
    assert facts["mooncake_install"] == "package"
    # builds that no index has: dated ones, and a wheel of each chip
    builds = {"a2": ["cann 9.2.0_20260930", "torch_npu 26.2.0"], "a3": ["flash_linear_attention_npu 26.9.1+dev1"]}
    assert facts["image_builds"] == builds
    assert facts["image_packages"] == ["concurrent-log-handler", "mooncake-transfer-engine-npu", "ray"]
    assert facts["imports"] == ["fla_npu"]  # requirements.txt has torch-npu; what is below try may be missing
    assert facts["environment"] == [
        "ASCEND_HOME_PATH",
        "MAX_JOBS",
        "VLLM_ASCEND_ENABLE_FLASHCOMM1",
        "VLLM_ASCEND_ENABLE_NZ",
    ]
    assert facts["store_keys"] == ["tenant_id"]
    assert facts["notes"]["0.23.0"] == {"date": "2026-08-16", "cann": "9.0.0", "hdk": "26.0.RC1"}
    assert facts["image_hardware"] == ["a2", "a3"]  # there is a Dockerfile.a5, but upstream publishes no such image
    assert facts["chip_checked"] is True
    assert facts["additional_config"] == ["enable_mlapo", "refresh"]
    assert facts["replaced_environment"] == {"VLLM_ASCEND_ENABLE_NZ": "weight_nz_mode"}
    assert facts["quantization"] == ["ascend", "fp8"]
    assert facts["architectures"] == ["OwnForCausalLM"]
    assert facts["schemes"] == ["W8A8", "W8A8_DYNAMIC"]
    proxy = facts["proxies"]["load_balance"]
    assert proxy["flags"] == ["--decoder-hosts", "--port"]
    assert proxy["sha256"] == hashlib.sha256(PROXY.encode()).hexdigest()


@pytest.mark.parametrize(
    ("base", "cann", "python"),
    [
        ("quay.io/ascend/cann:8.2.rc1-910b-ubuntu22.04-py3.11", "8.2.RC1", "3.11"),
        ("quay.io/ascend/cann:8.5.0-a3-ubuntu22.04-py3.11", "8.5.0", "3.11"),
        ("quay.io/ascend/cann:9.0.0.beta1-910b-openeuler24.03-py3.12", "9.0.0", "3.12"),
    ],
)
def test_the_base_image_names_cann_and_python(base, cann, python):
    image = images.Dockerfile(f"FROM {base}\n")
    assert (image.cann, image.python) == (cann, python)


def test_a_row_that_differs_from_its_sources_is_found(folder):
    facts = sources.read(folder)
    lines = compare.differences("0.30.0rc2", facts)
    assert "vllm is '0.30.0' in the row, '0.99.0' in the sources" in lines
    assert any(line.startswith("connectors is") for line in lines)
    assert any(line.startswith("SHA-256 of proxy load_balance is") for line in lines)
    assert "vllm of the image for a3 is '0.30.0' in the row, '0.98.0' in the sources" in lines
    assert any(line.startswith("image_builds for a3 is") for line in lines)


def test_a_package_and_an_import_that_nothing_requires_are_found(folder):
    """A release whose workers import what only its images have starts nowhere else: fla_npu of 0.30.0rc1."""
    facts = sources.read(folder)
    facts.update(image_packages=["unheard-of"], imports=["fla_npu", "unheard_of"])
    lines = compare.differences("0.23.0", facts)
    assert [line.split()[3] for line in lines if line.startswith("the image installs")] == ["unheard-of,"]
    assert [line.split()[3] for line in lines if line.startswith("its code imports")] == ["fla_npu,", "unheard_of,"]
    lines = compare.differences("0.30.0rc1", facts)  # its row has the build that brings fla_npu
    assert [line.split()[3] for line in lines if line.startswith("its code imports")] == ["unheard_of,"]


def test_the_newest_documents_are_compared_with_all_rows(folder):
    lines = compare.documented(sources.read(folder))
    assert lines == [
        "0.23.0: cann is '9.1.0' in the row, '9.2.0' in the matrix of 0.99.0",
        "0.23.0: python_range is '3.13' in the row, '3.12' in the matrix of 0.99.0",
        "0.23.0: cann is '9.1.0' in the row, '9.0.0' in the notes of 0.99.0",
        "0.23.0: hdk is '25.5' in the row, '26.0.RC1' in the notes of 0.99.0",
    ]


def test_a_newer_vllm_without_options_is_named():
    assert compare.newer_engines(["0.9.0", "0.33.0", "0.99.0rc1"]) == []  # known.ENGINES has a reason for 0.33.0
    assert compare.newer_engines(["0.99.0"]) == [
        "vLLM 0.99.0 is published; options and values are collected up to 0.32.0"
    ]


def test_each_known_difference_has_a_reason():
    for table in (known.FACTS, known.PACKAGES, known.IMPORTS, known.ENGINES):
        assert all(len(reason) > 10 for reason in table.values())
    assert {name for name, _fact in known.FACTS} <= set(ORDER)


def test_releases_of_the_index_without_a_row_are_named():
    assert compare.unknown(["0.7.1rc1", "0.23.0", "0.99.0"]) == ["0.99.0"]


def test_a_new_row_stands_behind_the_last_of_its_line(tmp_path):
    path = tmp_path / "matrix.py"
    path.write_text('ROWS = (\n    ("0.30.0rc2", "a"),\n    ("main", "b"),\n)\n')
    compare.add_row(path, ("0.30.0", "0.30.0"))
    assert path.read_text() == 'ROWS = (\n    ("0.30.0rc2", "a"),\n    ("0.30.0", "0.30.0"),\n    ("main", "b"),\n)\n'


def test_spans_close_where_a_name_goes_and_open_where_it_comes_back():
    found = compare.spans({"1": ["a", "b"], "2": ["b"], "3": ["a", "b"]})
    assert found == ["a||1", "a|3", "b"]  # an empty bound is open
