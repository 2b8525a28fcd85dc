# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What belongs into a bundle follows from the plan, and for each package the file that a host of the platform would take."""

from __future__ import annotations

import hashlib
import json
import pathlib
import subprocess
import tarfile
import types

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.ascend.inference.plugins.module_utils.install import package_lock
from ansible_collections.ascend.inference.plugins.module_utils.install.resolution import Unresolved
from ansible_collections.ascend.inference.plugins.module_utils.install.venv_options import ARGUMENTS, lock_name, wanted
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle import (
    apt,
    checkouts,
    controller,
    distribution,
    packages,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.contents import (
    Environment,
    PlannedImage,
    contents,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.manifest import (
    MANIFEST,
    BundleError,
    item,
    manifest,
    serving,
    write,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.placing import (
    MARGIN,
    checksums_of_cann,
    files_of_host,
    from_bundle,
    has_packages,
    keys_of_packages,
    lacking_of_cann,
    lacking_space,
    packages_of_host,
    refused_of_dnf,
)
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.platform import Platform
from ansible_collections.ascend.inference.plugins.plugin_utils.bundle.text import table
from ansible_collections.ascend.inference.plugins.plugin_utils.plan.planner import launch_plan
from ansible_collections.ascend.inference.plugins.plugin_utils.releases.cann import cann_packages
from ansible_collections.ascend.inference.plugins.plugin_utils.runtimes.registry import runtimes
from ansible_collections.ascend.inference.tests.unit.plugins.plugin_utils.rules.families import family

ROLES = pathlib.Path(distribution.__file__).parents[3] / "roles"
GIVEN = {"machine": "aarch64", "python": "3.11", "glibc": "2.34"}
ARM = Platform(**GIVEN)
INTEL = Platform("x86_64", "3.11", "2.36")


def options(**given):
    """Options of python_venv with their defaults."""
    checked = ArgumentSpecValidator(ARGUMENTS).validate({"path": "/venvs/e", "requirements": ["a==1"], **given})
    assert not checked.error_messages
    return checked.validated_parameters


def listed(changes=None, **known):
    plan = launch_plan(*family("p2p", changes or {}))
    hosts = {host["name"]: {"platform": GIVEN, "environments": [options()], **known} for host in plan["hosts"]}
    return plan, contents(plan, hosts)


def test_the_plan_s_environments_are_listed_once_for_all_hosts_of_a_platform():
    _plan, found = listed()
    titles = [(each.title, bool(each.lock)) for each in found.environments]
    assert titles.count(("e, layer base", True)) == 1 and titles.count(("uv", False)) == 1
    assert found.findings == []


def test_packages_of_cann_come_from_where_the_role_takes_them():
    plan, found = listed(cann_source="https://example.org/cann/")
    version = plan["software"]["cann"]["version"]
    toolkit = f"Ascend-cann-toolkit_{version}_linux-aarch64.run"
    assert [file.origin for file in found.files if file.name == toolkit] == [f"https://example.org/cann/{toolkit}"]
    assert [file.sha256 for file in found.files] == [""] * 3
    _plan, found = listed(cann_source="x", cann_checksums={toolkit: "sha256:" + "a" * 64})
    assert {file.name: file.sha256 for file in found.files}[toolkit] == "a" * 64


def test_what_a_bundle_does_not_hold_is_named():
    _plan, found = listed()
    text = "\n".join(found.missing)
    assert "cann_source is not set" in text and "driver and firmware" in text and "packages of the distribution" in text
    _plan, found = listed(cann_source="/nfs", cann_source_on_host=True)
    assert found.files == [] and "folder of the hosts" in "\n".join(found.missing)


def test_packages_of_the_distribution_are_named_as_the_roles_install_them():
    def defaults(role):
        return yaml.safe_load((ROLES / role / "defaults" / "main.yml").read_text())

    for record in runtimes():
        own = {family: list(names) for family, names in record.packages.items()}
        role = record.packages_variable.removesuffix("_packages")
        assert own == (defaults(role)[record.packages_variable] if role else {})
        assert set(own) in (set(), set(distribution.SYSTEMS)), "both families"
        assert bool(own) == bool(record.packages_variable)
    libraries = defaults("mooncake")["mooncake_libraries"].values()
    assert distribution.PACKAGES["mooncake"] == {
        family: [each[family] for each in libraries] for family in distribution.SYSTEMS
    }
    name = defaults("router")["router_haproxy_package"]
    assert distribution.PACKAGES[name] == {family: [name] for family in distribution.SYSTEMS}
    assert defaults("firewall")["firewall_packages"] == {
        name: distribution.PACKAGES[name]["Debian"] for name in ("nftables", "firewalld")
    }
    assert all(
        name in (ROLES / "etcd/tasks/main.yml").read_text() for (name,) in distribution.PACKAGES["etcd"].values()
    )
    plan, found = listed()
    plan["software"]["router"]["frontend"] = "haproxy"
    plan["firewall"] = {"state": "present", "backend": "auto"}
    debian, other = distribution.packages(plan, {})
    assert debian.endswith(": haproxy, libcurl4, libibverbs1, libnuma1, librdmacm1, nftables, python3-venv")
    assert "numactl-libs" in other and any("libnuma1, librdmacm1, make, python3-venv" in line for line in found.missing)


CARRIED = {
    "container_runtime",
    "etcd",
    "firewall",
    "model",
    "mooncake",
    "router",
    "virtual_address",
}  # packages of these roles are in PACKAGES
NOT_CARRIED = {
    "cann": "a bundle has CANN's own packages as files",
    "entry": "its hosts need not be of a deployment, and the bundle has what a deployment needs",
    "monitoring": "the host of Prometheus is none of the deployment",
    "vllm_ascend": "compilers for a build from source, which needs the internet",
}


def test_a_bundle_has_the_packages_of_each_role_that_installs_some():
    """Otherwise a host without internet would miss them after a bundle was made and verified."""
    found = {
        path.relative_to(ROLES).parts[0]
        for path in ROLES.glob("*/tasks/**/*.yml")
        if "name: ascend.inference.system_packages" in path.read_text(encoding="utf-8")
    }
    assert found - {*CARRIED, *NOT_CARRIED} == set(), (
        "add the packages to PACKAGES and purposes of bundle/distribution.py, or the reason here"
    )
    assert {*CARRIED, *NOT_CARRIED} - found == set()


def test_packages_of_a_named_distribution_are_wished_for_all_its_hosts():
    plan, found = listed(platform={**GIVEN, "distribution": "debian 12"})
    (wish,) = found.wishes
    assert (wish.distribution.title, wish.distribution.platform) == ("debian 12 on aarch64", "aarch64-debian-12")
    assert {"libnuma1", "python3-venv"} <= {*wish.names} and not any(
        "of the distribution" in line for line in found.missing
    )
    _plan, found = listed(platform={**GIVEN, "distribution": "openEuler 22.03"})
    (wish,) = found.wishes
    assert wish.distribution.title == "openEuler 22.03 on aarch64" and "numactl-libs" in wish.names
    assert not any("packages of" in line for line in found.missing)
    first, *others = (host["name"] for host in plan["hosts"])
    hosts = {name: {"platform": {**GIVEN, "distribution": "debian 12"}} for name in others}
    hosts[first] = {"platform": {**GIVEN, "distribution": "debian 12"}, "sources": ["a.list"]}
    assert {each.id for each in contents(plan, hosts).findings} == {"bundle_sources"}
    same = dict.fromkeys(others, {**hosts[first], "sources": ["a.list"]})
    found = contents(plan, {**same, first: {**hosts[first], "sources": "a.list"}})
    assert found.findings == [] and [wish.sources for wish in found.wishes] == [("a.list",)]
    hosts[first] = {"platform": GIVEN}  # one host that is not named
    found = contents(plan, hosts)
    assert len(found.wishes) == 1 and any("packages of the distribution" in line for line in found.missing)
    hosts[first] = {"platform": {**GIVEN, "distribution": "debian"}}
    assert "ID and VERSION_ID" in contents(plan, hosts).findings[0].problem


def test_a_host_needs_the_packages_of_its_own_services():
    services = [{"host": "a", "kind": "prefill"}, {"host": "b", "kind": "frontend"}, {"host": "c", "kind": "etcd"}]
    software = {"router": {"frontend": "haproxy", "balancer": "haproxy"}, "mooncake": {"needed": True}}
    plan = {
        "runtime": "systemd",
        "hosts": [],
        "services": services,
        "software": software,
        "runtime_facts": {"contained": False},
    }
    software["mooncake"]["package"] = "a-wheel"

    def of(host, **known):
        return set(distribution.names(plan, host, "Debian", known))

    assert (
        "libnuma1" in of("a") and of("b") == {"python3-venv", "haproxy"} and of("c") == {"python3-venv", "etcd-server"}
    )
    assert of("b", router_haproxy_package="haproxy28") == {"python3-venv", "haproxy28"}
    assert of("c", etcd_package="etcd") == {"python3-venv", "etcd"}
    assert of("b", model_origin="https://example.org/model.tar.XZ") == {"python3-venv", "haproxy", "xz-utils"}
    assert "zstd" in of("b", model_origin="/nfs/model.tar.zst") and "unzip" in of("b", model_origin="a.zip")
    plan["firewall"] = {"state": "present", "backend": "firewalld"}
    assert "firewalld" in of("b") and "fw" in of("b", firewall_packages={"firewalld": ["fw"]})
    plan.update(runtime="docker", runtime_facts={"contained": True})
    assert "docker.io" in of("a") and "libnuma1" not in of("a") and "python3-venv" not in of("a")
    assert "mine" in of("a", container_runtime_packages={"Debian": ["mine"]})
    unpackers = yaml.safe_load((ROLES / "model/vars/main.yml").read_text())["__model_unpackers"]
    assert unpackers == distribution.UNPACKERS


def test_a_host_that_lacks_packages_gets_those_of_its_distribution():
    debian, bookworm = distribution.Distribution("debian", "12", "x86_64"), "x86_64-debian-12"
    entries = [item(kind, name, "o", sha * 64, 1, f"blobs/{sha * 64}/{name}", platforms=[bookworm]) for kind, name, sha in
               (("deb", "nginx.deb", "a"), ("repository", "Packages", "b"))]  # fmt: skip
    data = {"items": entries, "distributions": [{**debian.as_dict(), "names": ["nginx"]}]}
    assert set(packages_of_host(data, debian, ["nginx"], "h")) == {"nginx.deb", "Packages"}
    assert packages_of_host(data, debian, [], "h") == {}
    assert (
        packages_of_host({"items": entries}, None, ["nginx"], "h") == {}
    )  # a bundle without packages: as without a bundle
    for other in (
        distribution.Distribution("debian", "12", "aarch64"),
        distribution.Distribution("debian", "13", "x86_64"),
        None,
    ):
        with pytest.raises(BundleError, match=r"h lacks .*\(nginx\).*debian 12 on x86_64\. \[bundle_distribution\]"):
            packages_of_host(data, other, ["nginx"], "h")
    with pytest.raises(BundleError, match=r"haproxy\. \[bundle_stale\]"):
        packages_of_host(data, debian, ["haproxy", "nginx"], "h")


def test_packages_for_dnf_come_with_their_keys():
    euler = distribution.Distribution("openEuler", "22.03", "aarch64")
    kinds = (("rpm", "nginx.rpm", "a"), ("repository", "repomd.xml", "b"), ("key", "RPM-GPG-KEY-1", "c"))
    entries = [item(kind, name, "o", sha * 64, 1, f"blobs/{sha * 64}/{name}", platforms=[euler.platform]) for kind, name, sha in
               kinds]  # fmt: skip
    data = {"items": entries, "distributions": [{**euler.as_dict(), "names": ["nginx"]}]}
    found = packages_of_host(data, euler, ["nginx"], "h")
    assert set(found) == {"nginx.rpm", "repomd.xml", "RPM-GPG-KEY-1"}
    assert keys_of_packages(data, found) == ["RPM-GPG-KEY-1"] and keys_of_packages(data, {}) == []
    assert has_packages(data, euler) and not has_packages({}, euler)
    assert not has_packages(data, distribution.Distribution("openEuler", "24.03", "aarch64"))


def test_packages_that_no_source_of_a_host_with_dnf_offers_are_named_with_a_way_out():
    euler = distribution.Distribution("openEuler", "22.03", "aarch64")
    refused_of_dnf(euler, [], "h")
    with pytest.raises(
        BundleError, match=r"h has openEuler 22\.03 on aarch64 .*\[bundle_distribution\].*dnf install etcd nginx"
    ):
        refused_of_dnf(euler, ["etcd", "nginx"], "h")


def test_records_of_an_index_keep_their_continuation_lines():
    text = "Package: a\nVersion: 1:2\nTag: x,\n y\n\n\nPackage: b\nVersion: 3\n\nN: noise\n"
    assert apt.parsed(text) == [{"Package": "a", "Version": "1:2", "Tag": "x,\n y"}, {"Package": "b", "Version": "3"}]


def test_sources_of_builds_are_listed_as_the_roles_clone_them():
    def of(role):
        return yaml.safe_load((ROLES / role / "defaults" / "main.yml").read_text())

    defaults = {**of("vllm_ascend"), **of("mooncake")}
    assert {name: defaults[name] for name in checkouts.DEFAULTS} == checkouts.DEFAULTS
    assert not any(defaults[name] for name in {*checkouts.VARIABLES} - {*checkouts.DEFAULTS} - {"mooncake_method"})
    plan, found = listed(mooncake_method="source")
    version = plan["software"]["mooncake"]["version"]
    assert [(each.folder, each.origin) for each in found.checkouts if not each.python] == [
        (f"Mooncake-v{version}", defaults["mooncake_repository"]),
        ("yalantinglibs-0.5.6", defaults["mooncake_yalantinglibs_repository"]),
    ]
    assert all(each.fetches for each in found.checkouts if not each.python), "CMake builds them on hosts"
    assert found.findings == [] and any("libboost-all-dev" in line for line in found.missing)
    _plan, found = listed(mooncake_method="source", mooncake_ref="feature/x", mooncake_dependencies=False)
    assert [each.archive for each in found.checkouts if not each.python] == ["Mooncake-feature-x.sources.tar.gz"]
    plan["software"]["mooncake"]["package"] = ""
    hosts = {host["name"]: {"platform": GIVEN} for host in plan["hosts"]}
    assert len([each for each in contents(plan, hosts).checkouts if not each.python]) == 2
    wheels = {name: {**known, "mooncake_method": "wheel"} for name, known in hosts.items()}
    assert not [each for each in contents(plan, wheels).checkouts if not each.python]


def test_an_engine_that_is_built_comes_with_its_sources_and_compilers():
    plan, found = listed(platform={**GIVEN, "distribution": "debian 12"}, vllm_ascend_vllm_ref="releases/v0.9.1")
    engine = plan["software"]["engine"]
    assert [each.folder for each in found.checkouts] == ["vllm-releases-v0.9.1", f"vllm-ascend-v{engine['release']}"]
    assert {"git", "g++"} <= set(found.wishes[0].names)
    folder = "/venvs/e-source/vllm-releases-v0.9.1"
    _plan, found = listed(environments=[options(requirements=[f"vllm @ file://{folder}"])])
    assert {each.id for each in found.findings} == {"bundle_checkout"}, "its checkout is another one"
    given = [options(requirements=[f"vllm @ file://{folder}"])]
    _plan, found = listed(environments=given, vllm_ascend_vllm_ref="releases/v0.9.1")
    assert found.findings == [] and any(each.lock for each in found.environments)
    assert packages.lock_text([], given[0]).endswith(f"\nvllm @ file://{folder}\n")
    plan, found = listed({"inference_engine_install": "site"})
    assert found.checkouts == []


@pytest.mark.parametrize("metadata", [{}, {"vllm==0.24.0": []}])
def test_sources_whose_requirements_are_not_known_make_no_incomplete_bundle(tmp_path, metadata):
    given = options(requirements=["vllm @ file:///venvs/e-source/vllm-v0.24.0"], metadata=metadata)
    resolution = packages.Resolution("uv", lambda *_given: pytest.fail("uv was asked"), str(tmp_path), "")
    with pytest.raises(Unresolved, match=r"not known what vllm @ file:\S+ requires(.|\n)*Fix: use a stable release"):
        resolution.files(Environment("e", ARM, given))


def test_a_package_that_is_built_is_asked_for_requirements_that_were_not_collected(tmp_path):
    """An empty list would mean that it requires nothing, and the lock would lack what it does."""
    asked = []

    def run(_argv, _env):
        asked.append((tmp_path / "pyproject.toml").read_text())
        return 1, "no version"

    metadata = {"vllm==0.24.0": [], "other==1": ["a"]}
    with pytest.raises(Unresolved):
        packages.Resolution("uv", run, str(tmp_path), "").files(
            Environment("e", ARM, options(requirements=["vllm==0.24.0"], metadata=metadata))
        )
    assert 'name = "vllm"' not in asked[0] and 'name = "other"' in asked[0]


def test_what_mooncake_s_own_script_downloads_is_in_no_bundle():
    plan, found = listed(mooncake_method="source", mooncake_dependencies_method="script")
    assert {(each.id, each.path) for each in found.findings} == {
        ("bundle_script", each["name"]) for each in plan["hosts"]
    }
    assert listed(mooncake_dependencies_method="script")[1].findings == [], "nothing is built"


def test_other_ways_of_roles_are_named():
    _plan, found = listed(cann_method="package_manager", router_script_image="quay.io/ascend/vllm-ascend:v1")
    text = "\n".join(found.missing)
    assert "CANN from the package manager" in text and "image quay.io/ascend/vllm-ascend:v1, from which" in text


DOCKER = {"inference_runtime": "docker", "inference_image": "quay.io/ascend/vllm-ascend:v0.23.0-a3"}


def test_images_of_a_plan_are_listed_once_for_a_machine():
    plan, found = listed(DOCKER, platform={"machine": "aarch64"})
    assert (found.images, found.findings) == ([PlannedImage(DOCKER["inference_image"], "aarch64")], [])
    assert found.environments == [] and any("docker.io" in line for line in found.missing)
    hosts = {host["name"]: {"platform": {"machine": "x86_64"}} for host in plan["hosts"][:1]}
    hosts.update({host["name"]: {"platform": {"machine": "aarch64"}} for host in plan["hosts"][1:]})
    assert {image.machine for image in contents(plan, hosts).images} == {"aarch64", "x86_64"}
    assert (
        "machine is missing"
        in contents(plan, dict.fromkeys(hosts, {"platform": {"python": "3.11"}})).findings[0].problem
    )


def test_an_image_is_listed_by_its_digest():
    image = "quay.io/ascend/vllm-ascend@sha256:" + 64 * "0"
    _plan, found = listed({**DOCKER, "inference_image": image})
    assert (found.images, found.findings) == ([PlannedImage(image, "aarch64")], [])


def test_a_cluster_pulls_its_images_itself():
    plan, _found = listed(DOCKER)
    found = contents({**plan, "runtime_facts": {"contained": True, "in_cluster": True}}, {})
    assert [finding.id for finding in found.findings] == ["bundle_cluster"] and "skopeo" in found.findings[0].fix


@pytest.mark.parametrize(
    ("known", "id_", "text"),
    [
        ({"platform": None}, "bundle_platform_unknown", "is not set"),
        ({"platform": {**GIVEN, "machine": "arm64"}}, "bundle_platform_unknown", "machine is arm64"),
        (
            {"platform": {**GIVEN, "python": 3.10}},
            "bundle_platform_unknown",
            "3.10 without quotes is the number 3.1 in",
        ),
        ({"platform": {**GIVEN, "glibc": 2.40}}, "bundle_platform_unknown", "2.40 without quotes is the number 2.4 in"),
        ({"platform": {**GIVEN, "python": "3"}}, "bundle_platform_unknown", "python is 3; expected 3.MINOR"),
        ({"platform": {"machine": "aarch64", "python": "3.11"}}, "bundle_platform_unknown", "glibc is missing"),
        ({"platform": {**GIVEN, "libc": "x"}}, "bundle_platform_unknown", "unknown keys: libc"),
        ({"environments": [options(requirements=["vllm @ file:///src"])]}, "bundle_checkout", "vllm @ file:///src"),
    ],
)
def test_what_prevents_a_bundle_is_found_for_each_host(known, id_, text):
    plan, found = listed(**known)
    assert {(each.id, each.path) for each in found.findings} == {(id_, host["name"]) for host in plan["hosts"]}
    assert all(text in each.problem and each.fix for each in found.findings)


@pytest.mark.parametrize(
    ("platform", "expected"),
    [
        (ARM, "a-1-cp311-cp311-manylinux_2_34_aarch64.whl"),
        (Platform("aarch64", "3.11", "2.28"), "a-1-cp311-cp311-manylinux_2_17_aarch64.manylinux2014_aarch64.whl"),
        (Platform("aarch64", "3.12", "2.34"), "a-1-cp39-abi3-manylinux_2_17_aarch64.whl"),
        (Platform("x86_64", "3.12", "2.34"), "a-1-py3-none-any.whl"),
    ],
)
def test_the_best_wheel_of_a_platform(platform, expected):
    wheels = [
        "a-1-py3-none-any.whl",
        "a-1-cp311-cp311-manylinux_2_35_aarch64.whl",
        "a-1-cp311-cp311-manylinux_2_34_aarch64.whl",
        "a-1-cp311-cp311-manylinux_2_17_aarch64.manylinux2014_aarch64.whl",
        "a-1-cp39-abi3-manylinux_2_17_aarch64.whl",
        "a-1-cp312-cp312-win_amd64.whl",
        "a-1-cp311-cp311-musllinux_1_2_aarch64.whl",
    ]
    assert platform.best(wheels) == expected
    assert platform.best(["a-1-cp310-cp310-win_amd64.whl"]) == ""


def test_uv_s_platform_is_never_newer_than_the_host():
    assert ARM.uv_options() == ["--python-platform", "aarch64-manylinux_2_34", "--python-version", "3.11"]
    assert "aarch64-manylinux_2_28" in Platform("aarch64", "3.11", "2.30").uv_options()


ENTRY = {
    "name": "a",
    "version": "1",
    "sdist": {"url": "https://me:secret@host/a-1.tar.gz", "size": 5, "hashes": {"sha256": "5" * 64}},
    "wheels": [
        {"url": "https://host/a-1-cp311-cp311-manylinux_2_17_x86_64.whl", "hashes": {"sha256": "6" * 64}},
        {
            "url": "https://host/a-1%2Bcpu-cp311-cp311-manylinux_2_17_aarch64.whl",
            "size": 7,
            "hashes": {"sha256": "7" * 64},
        },
    ],
}


def test_a_package_s_file_is_the_wheel_or_what_hosts_build():
    environment = Environment("e", ARM, options())
    wheel = packages.chosen(ENTRY, environment, False, "/")
    assert (wheel.name, wheel.size, wheel.sha256, wheel.built) == (
        "a-1+cpu-cp311-cp311-manylinux_2_17_aarch64.whl",
        7,
        "7" * 64,
        False,
    )
    sdist = packages.chosen(ENTRY, environment, True, "/")
    assert (sdist.name, sdist.built, sdist.origin) == ("a-1.tar.gz", True, "https://host/a-1.tar.gz")
    with pytest.raises(Unresolved, match="a 1 has no file for aarch64-python3.11-glibc2.34"):
        packages.chosen({**ENTRY, "sdist": None, "wheels": ENTRY["wheels"][:1]}, environment, False, "/")


def test_files_of_an_index_with_a_password_are_fetched_with_it(tmp_path):
    """uv leaves user and password out of a lock."""
    file = 'url = "https://{}/a-1-py3-none-any.whl", hashes = {{ sha256 = "{}" }}'

    def uv(argv, env):
        if "--output-file" not in argv:
            return 0, "a==1\nb==1\nc==1\n"
        entries = [
            f'[[packages]]\nname = "{name}"\nversion = "1"\nwheels = [{{ {file.format(host, "6" * 64)} }}]\n'
            for name, host in (("a", "own.example/a"), ("b", "main.example/b"), ("c", "other.example/c"))
        ]
        pathlib.Path(argv[argv.index("--output-file") + 1]).write_text("\n".join(entries))
        return 0, ""

    given = options(
        index_url="https://u:p1@main.example/simple",
        package_indexes={"https://u:p2@own.example/simple": ["a"]},
        requirements=["a"],
    )
    resolution = packages.Resolution("uv", uv, str(tmp_path), "")
    found = {item.package: item for item in resolution.files(Environment("e", ARM, given))}
    assert found["a"].address == "https://u:p2@own.example/a/a-1-py3-none-any.whl"
    assert found["b"].address.startswith("https://u:p1@main.example/")
    assert found["c"].address.startswith("https://other.example/")
    assert found["a"].origin == "https://own.example/a/a-1-py3-none-any.whl"


@pytest.mark.parametrize(
    "url", ["https://host/..%2F..%2Fx.whl", "https://host/", "https://host/.x.whl", "https://host/a%00.whl"]
)
def test_an_index_cannot_name_a_path(url):
    with pytest.raises(ValueError, match="names a file"):
        packages.named({"url": url})


def test_the_lock_has_only_the_files_of_the_bundle_and_belongs_to_its_requirements():
    given = options()
    text = packages.lock_text([packages.chosen(ENTRY, Environment("e", ARM, given), False, "/")], given)
    assert package_lock.belongs(text, wanted(given)) and package_lock.fully_hashed(text)
    assert not package_lock.belongs(text, wanted(options(requirements=["a==2"])))
    assert package_lock.HASH.findall(text) == ["7" * 64]


def test_locks_of_layers_are_merged_by_package():
    one = 'lock-version = "1.0"\n\n[[packages]]\nname = "a"\nversion = "1"\n\n[[packages]]\nname = "b"\nversion = "1"\n'
    two = 'lock-version = "1.0"\n\n[[packages]]\nname = "b"\nversion = "2"\n'
    merged = packages.tomllib.loads(packages.merged(one, two))
    assert {each["name"]: each["version"] for each in merged["packages"]} == {"a": "1", "b": "2"}


def manifest_of(*platforms, **files):
    items = [
        item("cann" if name.endswith("run") else "wheel", name, "", "0" * 64, size, "p", platforms=[ARM.name])
        for name, size in files.items()
    ]
    return {"platforms": [each.as_dict() for each in platforms], "items": items}


def test_versions_of_the_c_library_are_numbers():
    platforms = [Platform("aarch64", "3.11", version) for version in ("2.9", "2.34", "2.101")]
    data = manifest_of(*platforms, x=1)
    hosts = {
        version: serving(data, Platform("aarch64", "3.11", version)) for version in ("2.9", "2.34", "2.100", "2.102")
    }
    assert [name.rpartition("glibc")[2] for name in hosts.values()] == ["2.9", "2.34", "2.34", "2.101"]


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ({**GIVEN, "glibc": "2.38"}, ARM.name),
        (GIVEN, ARM.name),
        ({**GIVEN, "glibc": "2.28"}, ""),
        ({**GIVEN, "python": "3.12"}, ""),
        ({**GIVEN, "machine": "x86_64"}, ""),
        ({**GIVEN, "glibc": ""}, ""),
    ],
)
def test_a_host_of_another_platform_is_named_before_anything_is_copied(host, expected):
    data = manifest_of(ARM, Platform("aarch64", "3.11", "2.31"), x=1)
    if expected:
        assert files_of_host(data, host, "node1")[0] == expected == serving(data, Platform(**host))
    else:
        with pytest.raises(BundleError, match=r"node1 has machine .*\[bundle_platform\].*Fix: "):
            files_of_host(data, host, "node1")


def test_a_full_disk_is_named_before_anything_is_copied():
    _name, files = files_of_host(manifest_of(ARM, x=1000, y=10**12), GIVEN, "node1")
    lacking_space(files, ["x"], 2000 + MARGIN, "/cache", "node1")
    lacking_space(files, [], 0, "/cache", "node1")
    with pytest.raises(BundleError, match=r"node1 has 0 MiB free for /cache.*\[bundle_space\]"):
        lacking_space(files, ["x"], 1999, "/cache", "node1")
    lacking_space(files, ["x"], 1000 + MARGIN, "/cache", "node1", archived=False)  # fetched one by one
    with pytest.raises(BundleError, match=r"\[bundle_space\]"):
        lacking_space(files, ["x"], 999 + MARGIN, "/cache", "node1", archived=False)


def test_checksums_of_cann_are_those_of_its_packages_only():
    data = manifest_of(ARM, **{"toolkit.run": 1, "x.whl": 1})
    _name, files = files_of_host(data, GIVEN, "node1")
    assert checksums_of_cann(data, files) == {"toolkit.run": "sha256:" + "0" * 64}


def bundle_with_lock(folder, given, text="lock"):
    """A bundle with the lock of an environment -> what a run knows of it."""
    path = folder / "locks" / ARM.name / lock_name(given)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    place = f"locks/{ARM.name}/{lock_name(given)}"
    entry = item("lock", lock_name(given), "", sha256, len(text), place, platforms=[ARM.name])
    write(str(folder), manifest({}, [entry], [ARM]))
    digest = hashlib.sha256((folder / MANIFEST).read_bytes()).hexdigest()
    return path, {"platform": ARM.name, "directory": "/cache", "manifest_sha256": digest}


def test_a_host_lacks_the_packages_of_cann_of_its_chip_that_are_not_installed():
    plan, _found = listed()
    cann, host = plan["software"]["cann"], plan["services"][0]["host"]
    names = lacking_of_cann(plan, host, "aarch64", {}, {})
    assert names == cann_packages(cann["version"], "a3", "aarch64") and len(names) == 3
    assert lacking_of_cann(plan, host, "aarch64", {"cann_method": "none"}, {}) == []
    assert lacking_of_cann({**plan, "services": []}, host, "aarch64", {}, {}) == []
    assert lacking_of_cann({**plan, "engine_facts": {"npus": False}}, host, "aarch64", {}, {}) == []
    there = {kind: {cann["version"]: {}} for kind in ("toolkit", "kernels", "nnal")}
    for gone, left in ((None, []), ("nnal", names[2:])):
        found = {"interrupted": [], "installed": {**there, **({gone: {}} if gone else {})}}
        assert lacking_of_cann(plan, host, "aarch64", {}, {"cann": {cann["path"]: found}}) == left


def test_a_lock_that_is_swapped_after_the_verification_installs_nothing(tmp_path):
    given = options()
    path, host = bundle_with_lock(tmp_path, given)
    path.write_text("evil")
    found, problem = from_bundle(str(tmp_path), host, given)
    assert "[bundle_swapped]" in problem and found["hashes"] == ""
    bundle_with_lock(tmp_path, given, "evil")
    found, problem = from_bundle(str(tmp_path), host, given)
    assert "[bundle_swapped]" in problem and MANIFEST in problem and found["hashes"] == ""
    path.unlink()
    _path, host = bundle_with_lock(tmp_path, given)
    path.unlink()
    assert "cannot be read" in from_bundle(str(tmp_path), host, given)[1]


def test_environments_are_installed_from_the_bundle_or_not_at_all(tmp_path):
    given = options()
    assert "did not copy" in from_bundle(str(tmp_path), None, given)[1]
    _path, host = bundle_with_lock(tmp_path, given)
    found, problem = from_bundle(str(tmp_path), host, given)
    assert problem == "" and found["hashes"] == "lock" and found["no_index"] and found["find_links"] == ["/cache"]
    assert found["index_url"] == "" and not any(
        found[name] for name in ("extra_index_urls", "fallback_index_urls", "package_indexes")
    )
    assert "[bundle_stale]" in from_bundle(str(tmp_path), host, options(requirements=["a==2"]))[1]
    assert "[bundle_stale]" in from_bundle(str(tmp_path), {**host, "platform": INTEL.name}, given)[1]


def test_the_list_says_what_is_unknown_and_what_is_missing():
    row = {"kind": "wheel", "name": "a.whl", "size": 3 * 2**20, "sha256": "x", "origin": "https://host/a.whl"}
    text = table([row, {**row, "size": None, "sha256": "", "name": "b.whl"}], ["the model /m"])
    assert "3.0 MiB  a.whl (host)" in text and "unknown  b.whl (host, without a published checksum)" in text
    assert "2 wheels: 3.0 MiB and 1 of unknown size" in text and "- the model /m" in text


def test_installed_collections_are_packed_in_the_same_way_each_time_and_clones_are_named(tmp_path, monkeypatch):
    places = {}
    for name, declared in (("a.one", {"a.two": "*"}), ("a.two", {}), ("a.clone", None)):
        place = tmp_path / name
        (place / "plugins" / "__pycache__").mkdir(parents=True)
        (place / "plugins" / "x.py").write_text("x = 1")
        (place / "plugins" / "__pycache__" / "x.pyc").write_text("")
        if declared is None:
            (place / "galaxy.yml").write_text("dependencies: {a.one: '*'}")
        else:
            info = {"namespace": "a", "name": name[2:], "version": "1.0.0", "dependencies": declared}
            (place / "MANIFEST.json").write_text(json.dumps({"collection_info": info}))
        places[f"ansible_collections.{name}"] = types.SimpleNamespace(__path__=[str(place)])

    def imported(name):
        if name not in places:
            raise ImportError(name)
        return places[name]

    monkeypatch.setattr(controller.importlib, "import_module", imported)
    made = []
    for number in (1, 2):
        (tmp_path / str(number)).mkdir()
        archives, absent = controller.collections(["a.clone", "a.absent"], str(tmp_path / str(number)))
        assert absent == ["a.absent", "a.clone"]
        made.append([pathlib.Path(path).read_bytes() for path in archives])
    assert [pathlib.Path(path).name for path in archives] == ["a-one-1.0.0.tar.gz", "a-two-1.0.0.tar.gz"]
    assert made[0] == made[1]
    with tarfile.open(archives[0]) as opened:
        assert opened.getnames() == [f"ansible_collections/a/one/{name}" for name in ("MANIFEST.json", "plugins/x.py")]


@pytest.mark.parametrize("archives", [[], ["a-one-1.0.0.tar.gz", "a-two-1.0.0.tar.gz"]])
def test_the_script_of_the_controller_is_valid_shell(archives):
    text = controller.script(INTEL, archives)
    assert subprocess.run(["sh", "-n"], input=text, text=True, check=False).returncode == 0
    assert (
        f"locks/{INTEL.name}/controller.txt" in text and "python3.11" in text and all(name in text for name in archives)
    )


class Answers:
    """Answers of apt for one package; keeps the commands."""

    def __init__(self):
        self.asked = []

    def __call__(self, argv, timeout, env, cwd=None):
        self.asked.append(argv)
        text = ""
        if "--print-uris" in argv:
            text = "Reading lists\n'http://u:p@mirror.example/pool/a_1%3a2_all.deb' a_1%3a2_all.deb 5 MD5Sum:0\n"
        if "show" in argv:
            shas = {"a": "b" * 64, "pool/a_1:2_all.deb": "a" * 64}
            text = "\n".join(
                f"Package: a\nVersion: 1:2\nArchitecture: all\nFilename: {path}\nSize: 5\nSHA256: {sha}\n"
                for path, sha in shas.items()
            )
        return types.SimpleNamespace(rc=0, stdout=text, stderr="", timed_out=False)


def test_apt_is_asked_for_the_machine_and_sources_of_the_hosts_alone(tmp_path):
    (tmp_path / "hosts.list").write_text("deb http://mirror.example ./\n")
    given = distribution.Distribution("ubuntu", "22.04", "aarch64")
    wish, run = distribution.Wish(given, ("a",), (str(tmp_path / "hosts.list"),)), Answers()
    (tmp_path / given.platform / "lists").mkdir(parents=True)
    (tmp_path / given.platform / "lists/mirror.example_InRelease").write_text(
        "Hash: SHA512\n\nOrigin: Ubuntu\nVersion: 22.04\n"
    )
    (deb,) = apt.Apt(str(tmp_path), run).closure(wish)
    assert (deb.name, deb.sha256, deb.size) == ("a_1_2_all.deb", "a" * 64, 5)
    assert deb.origin == "http://mirror.example/pool/a_1%3a2_all.deb" and "Filename: ./a_1_2_all.deb\n" in deb.record
    place = tmp_path / given.platform
    for argv in run.asked:
        assert {"APT::Architecture=arm64", "APT::Architectures=arm64", "Dir::Etc::sourcelist=/dev/null"} <= {*argv}
        assert {f"Dir::State::status={place}/status", f"Dir::Etc::sourceparts={place}/sources"} <= {*argv}
    assert [argv[-2:] for argv in run.asked if "--print-uris" in argv] == [["a", "python3-apt"]]
    assert (place / "status").read_text() == "" and (place / "sources/hosts.list").exists()


DEBIAN_12 = distribution.Distribution("debian", "12", "x86_64")
OF_DEBIAN = {"Origin": "Debian", "Version": "12.15", "Codename": "bookworm"}
OF_DOCKER = {"Origin": "Docker", "Suite": "stable"}


@pytest.mark.parametrize(
    ("heads", "problem"),
    [
        ([OF_DEBIAN], ""),
        ([OF_DEBIAN, {"Origin": "Debian", "Version": "12-updates", "Codename": "bookworm-updates"}], ""),
        ([OF_DEBIAN, OF_DOCKER, {}], ""),
        ([{"Origin": "site", "Codename": "bookworm"}], ""),
        ([{"Suite": "bookworm-security"}], ""),
        ([], "unknown release"),
        ([{}], "unknown release"),
        ([OF_DOCKER], "unknown release"),
        ([{"Origin": "site", "Version": "12"}], "unknown release"),
        ([OF_DEBIAN, {"Origin": "Debian", "Codename": "sid"}], "Debian no version (sid)"),
        ([OF_DEBIAN, {"Origin": "Docker", "Suite": "trixie"}], "of Docker no version (no codename)"),
        ([{"Origin": "Debian", "Version": "120"}], "Debian 120"),
        ([{"Origin": "Debian", "Version": "13.1", "Codename": "trixie"}, OF_DEBIAN], "Debian 13.1 (trixie)"),
        ([{"Origin": "Ubuntu", "Version": "22.04", "Codename": "jammy"}], "Ubuntu 22.04 (jammy)"),
    ],
)
def test_indexes_have_to_say_that_they_are_of_the_release(heads, problem):
    found = apt.unfit_release(DEBIAN_12, heads)
    assert problem in found and bool(problem) == bool(found)
