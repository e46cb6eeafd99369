"""fedrand.simulate: the same federation from Python, without a run folder."""

import numpy as np
import pytest

import fedrand
from fedrand.adapter_file import load_peft
from fedrand.data import load_emoji
from fedrand.models import load_model
from fedrand.params import identical
from fedrand.train import TrainSettings


@pytest.fixture(scope="module")
def model():
    return load_model("tiny")


@pytest.fixture(scope="module")
def clients():
    examples = load_emoji()["federated"]
    return {"north": examples[:12], "south": examples[12:20], "west": examples[20:28]}


def simulated(model, clients):
    train = TrainSettings(lr=1e-3, max_steps=1)
    strategy = fedrand.fedrand(rho=0.5)
    return fedrand.simulate(model, clients, strategy, rounds=3, clients_per_round=2, seed=1, rank=4, train=train)


def test_a_simulation_trains_an_adapter_that_peft_can_read(model, clients, tmp_path):
    result = simulated(model, clients)
    result.adapter.save(tmp_path / "adapter")
    read = load_peft(tmp_path / "adapter")
    assert (read.rank, read.base_model) == (4, "tiny")
    assert identical(read.params, result.adapter.params)
    assert any(np.any(value) for key, value in read.params.items() if key.factor == "B")
    assert [line["round"] for line in result.rounds] == [0, 1, 2]
    assert result.clients.keys() == {name for line in result.rounds for name in line["clients"]}


def test_a_simulation_leaves_the_model_as_it_was_and_repeats_to_the_bit(model, clients):
    before = model.fingerprint()
    first, second = (simulated(model, clients) for _ in range(2))
    assert model.fingerprint() == before
    assert identical(first.adapter.params, second.adapter.params)


def test_a_simulation_of_fedpara_keeps_the_second_pair_at_home_and_saves_lora(model, clients, tmp_path):
    train = TrainSettings(lr=1e-3, max_steps=2)
    result = fedrand.simulate(model, clients, fedrand.fedpara(), rounds=2, clients_per_round=2, rank=4, train=train)
    assert {key.factor for key in result.adapter.params} == {"A", "B"}
    assert all({key.factor for key in one.local} == {"A", "B", "A2", "B2"} for one in result.clients.values())
    result.adapter.save(tmp_path / "adapter")
    assert identical(load_peft(tmp_path / "adapter").params, result.adapter.params)


def test_a_centralised_simulation_trains_on_everyones_examples(model, clients):
    train = TrainSettings(lr=1e-3, max_steps=1)
    result = fedrand.simulate(model, clients, fedrand.centralised(), rounds=1, clients_per_round=2, train=train)
    assert result.rounds[0]["clients"]["all"]["num_examples"] == 28


def test_what_fedrand_does_not_have_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'simulat'"):
        fedrand.simulat  # noqa: B018
