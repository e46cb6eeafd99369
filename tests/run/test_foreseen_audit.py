"""What `fedrand doctor` foretells of an audit: by groups, by client, and nothing where nobody holds examples back."""

from types import SimpleNamespace

import pytest

from fedrand.audit.statistics import planned
from fedrand.dealing import ClientData
from fedrand.doctor import shows


def world(members, held_out, clients=2, sample=0):
    def some(count, tag):  # two variants of each thing
        return tuple(SimpleNamespace(unit=f"{tag}{number // 2}") for number in range(2 * count))

    data = {f"c{number}": ClientData(some(members, "m"), some(held_out, "o")) for number in range(clients)}
    return SimpleNamespace(clients=data, recipe=SimpleNamespace(audit=SimpleNamespace(sample=sample)))


def test_an_audit_is_foreseen_by_groups_and_clients():
    assert shows(world(30, 20)) == planned([(30, 20), (30, 20)])
    assert shows(world(300, 300, clients=1)).detectable == pytest.approx(0.566, abs=5e-4)


def test_a_sample_is_what_is_attacked():
    assert shows(world(300, 300, sample=100)) == planned([(50, 50), (50, 50)])


def test_nothing_is_foreseen_where_nobody_holds_examples_back():
    assert shows(world(30, 0)) is None
