# Copyright (c) 2026 the ascend.inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pseudonyms of addresses in masked archives: one for all spellings, and networks stay networks."""

from __future__ import annotations

import ipaddress
import random

import pytest
from ansible_collections.ascend.inference.plugins.module_utils.support.mask import Masker

SPELLINGS = [  # of one address each
    [
        "fd12:3456:789a:1::a4bb:6d01",
        "FD12:3456:789A:1::A4BB:6D01",
        "fd12:3456:789a:0001:0:0:a4bb:6d01",
        "fd12:3456:789a:1::164.187.109.1",
    ],
    ["2400:cb00:0:7::5", "2400:CB00::7:0:0:0:5", "2400:cb00:0000:0007:0000:0000:0000:0005"],
    ["fe80::a4bb:6dff:fe00:1", "FE80:0:0:0:A4BB:6DFF:FE00:1", "fe80:0000:0000:0000:a4bb:6dff:fe00:0001"],
    ["::ffff:10.1.2.3", "::FFFF:A01:203", "0000:0000:0000:0000:0000:ffff:0a01:0203"],
    ["64:ff9b::10.1.2.3", "64:FF9B::a01:203"],
    ["ff02::1:ff00:a4bb", "FF02:0:0:0:0:1:ff00:A4BB"],
]
AROUND = [
    "{}",
    "[{}]:8000",
    "{}%eth0",
    "{}/64",
    "ping {}: no route",
    "{}: x",
    "src={},",
    "addr:{}:",
    "{}:eth0",
    "IP6 {}.443 >",
    "http://[{}]/",
    "{}.",
]


@pytest.mark.parametrize("spellings", SPELLINGS, ids=lambda words: words[0])
@pytest.mark.parametrize("around", AROUND)
def test_all_spellings_of_an_ipv6_address_have_one_pseudonym(spellings, around):
    masker = Masker([], key=b"key")
    (pseudonym,) = {masker(word) for word in spellings}
    assert pseudonym not in spellings
    assert {masker(around.format(word)) for word in spellings} == {around.format(pseudonym)}


def test_addresses_of_ipv6_keep_their_networks():
    """As many leading bits are common to two pseudonyms as to their addresses, for random ones and for those that differ in one bit."""
    masker, chance = Masker([], key=b"key"), random.Random(4)
    first = int(ipaddress.IPv6Address("fd12:3456:789a:1:a4bb:6dff:fe00:1"))
    others = [first ^ 1 << place for place in range(100)] + [
        first ^ chance.getrandbits(chance.randrange(1, 100)) for dummy in range(50)
    ]
    real = [first, *sorted(set(others) - {first})]
    masked = [int(ipaddress.IPv6Address(masker(str(ipaddress.IPv6Address(number))))) for number in real]
    assert len(set(masked)) == len(real) and not set(masked) & set(real)
    for number, pseudonym in zip(real, masked):
        assert (number ^ real[0]).bit_length() == (pseudonym ^ masked[0]).bit_length()


def test_kinds_of_addresses_of_ipv6_stay():
    masker = Masker([], key=b"key")
    assert masker("fd12:3456::1").startswith("fd") and masker("fe80::a4bb:1").startswith("fe80::")
    inner = masker("10.1.2.3")
    assert masker("::ffff:a01:203 64:ff9b::a01:203") == f"::ffff:{inner} 64:ff9b::{inner}"
    for word in ("::1", "::", "ff02::1", "[::]:8000", "[::1]:8000", "::1/128"):
        assert masker(word) == word


@pytest.mark.parametrize(
    "text", ["fd12:3456::/32", "fd12:3456:789a:1::/64", "10.16.0.0/12", "10.1.2.0/24", "10.0.0.0/8", "2400:cb00::/32"]
)
def test_a_network_is_one_after_it_is_masked_too(text):
    masker = Masker([], key=b"key")
    network, masked = ipaddress.ip_network(text), ipaddress.ip_network(masker(text))
    assert masked.prefixlen == network.prefixlen
    assert ipaddress.ip_address(masker(str(network[9]))) in masked


@pytest.mark.parametrize(("name", "other"), [("10.1.2.3", "::ffff:10.1.2.3"), ("fd12:3456::5", "FD12:3456:0::5")])
def test_a_host_that_is_named_by_its_address_is_masked_once(name, other):
    """Masked twice it would be in another network than its neighbours, and not be the host of the printed table."""
    masker = Masker([name, "node1"], key=b"key")
    pseudonym = masker.hosts[name]
    assert masker(name) == pseudonym == Masker([], key=b"key")(name) and masker(other).endswith(pseudonym)


@pytest.mark.parametrize(("word", "stays"), [("8.221.4.7", 1), ("10.1.2.3", 1), ("172.20.3.9", 1), ("192.168.7.25", 2)])
def test_of_an_ipv4_address_the_first_and_the_last_number_stay(word, stays):
    """As the page of evidence says, which names what else is in a masked archive."""
    numbers, masked = word.split("."), Masker([], key=b"key")(word).split(".")
    assert masked[:stays] == numbers[:stays] and masked[3] == numbers[3] and masked != numbers


def test_names_of_other_machines_and_texts_of_switches_are_not_found():
    text = "https://mirror.other.example/pypi\nPort Description TLV\n\tto the rack of a customer\n"
    assert Masker(["node1.rack.site.example"], key=b"key")(text) == text
