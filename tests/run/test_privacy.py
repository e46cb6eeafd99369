"""Protections in a recipe: what is refused, what a draw allows, and the accountant's known answers."""

import json
from dataclasses import asdict

import pytest

from fedrand.accountant import by_client, epsilon
from fedrand.audit.transcript import Entry, received, transcript
from fedrand.recipe import RecipeError, load_recipe
from fedrand.release import AsTrained, ClippedGaussian


@pytest.mark.parametrize(("noise", "known"), [(1, 19.05), (2, 8.08), (4, 3.62), (8, 1.67)])
def test_ten_gaussian_uploads_cost_the_known_epsilon(noise, known):
    assert epsilon(noise, 10, 1e-5) == pytest.approx(known, abs=0.005)


def test_a_client_pays_for_its_own_uploads_alone():
    paid = by_client(2.0, 1e-5, {"north": 10, "south": 0, "west": 1})
    assert paid["north"] == pytest.approx(8.08, abs=0.005)
    assert 0 == paid["south"] < paid["west"] < paid["north"]


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["privacy.noise=1.0"], "noise is 1.0 but clip is 0"),
        (["privacy.clip=-1.0"], "privacy.clip is -1.0"),
        (["privacy.clip=nan"], "privacy.clip is NaN"),
        (["privacy.clip=1.0", "privacy.noise=inf"], "privacy.noise is Infinity"),
        (["privacy.delta=0.0"], "privacy.delta is 0.0"),
        (["privacy.delta=1.0"], "privacy.delta is 1.0"),
        (["privacy.epsilon=3"], "unknown key privacy.epsilon; choose from clip, noise, delta"),
        (["strategy.draw=stratified", "strategy.min_group=3"], "of 4 clients a round only 2 send the rarer half"),
    ],
)
def test_a_protection_that_protects_nothing_is_refused(overrides, said):
    with pytest.raises(RecipeError) as caught:
        load_recipe("emoji", overrides)
    assert said in str(caught.value)


@pytest.mark.parametrize(("clients", "group"), [(4, 2), (5, 2), (6, 3), (8, 3)])
def test_a_stratified_draw_asks_for_three_where_the_clients_per_round_allow_it(clients, group):
    recipe = load_recipe("emoji", ["strategy.draw=stratified", f"train.clients_per_round={clients}"])
    assert recipe.method().aggregation.min_group == group


def test_the_papers_draw_has_no_smallest_group_and_no_noise():
    method = load_recipe("emoji").method()
    assert (method.aggregation.min_group, method.release) == (1, AsTrained())
    noised = load_recipe("emoji", ["privacy.clip=0.5", "privacy.noise=2.0"]).method()
    assert noised.release == ClippedGaussian(0.5, 2.0)


def test_a_client_pays_for_uploads_that_were_refused_or_not_used_too(tmp_path):
    sent = [(0, "upload", "north"), (1, "upload", "north"), (1, "refused", "south"), (2, "refused", "north")]
    entries = [Entry(0, "broadcast", "", 0, "all", "r0000/broadcast.safetensors", "")]
    entries += [Entry(r, kind, name, 1, "A", f"r{r:04d}/{kind}.{name}.safetensors", "") for r, kind, name in sent]
    (tmp_path / "index.jsonl").write_text("".join(json.dumps(asdict(entry)) + "\n" for entry in entries))
    assert received(transcript(tmp_path)) == {"north": 3, "south": 1}
