"""What a recipe will cost, counted without weights: the numbers of the real computation, and of sums done by hand."""

import shutil
from dataclasses import replace

import pytest
from tiny_families import save_family
from tiny_models import save_model
from tiny_tinyllava import save_tinyllava

from fedrand.cost import bare_adapter, drawn, forecast, image_cost, step_cost, steps
from fedrand.counting import Count
from fedrand.datasets import load_dataset
from fedrand.doctor import examine
from fedrand.lora import Adapter
from fedrand.models import ModelError, load_model
from fedrand.models.load import quiet
from fedrand.models.outline import outline
from fedrand.models.runtime import torch
from fedrand.progress import Progress
from fedrand.recipe import load_recipe
from fedrand.world import holdings

F = torch.nn.functional
SPARE = {"fast_vlm": 0.15, "llava": 0.15, "tinyllava": 0.0}  # transformers' Llama repeats its keys on fake tensors only
SMALL = [
    "data.limit=240",
    "data.clients=3",
    "train.clients_per_round=2",
    "train.rounds=5",
    "evaluate.client_captions=2",
]


def test_a_product_takes_two_operations_for_each_of_its_terms():
    with Count() as count:
        torch.ones(2, 3) @ torch.ones(3, 4)
        torch.addmm(torch.ones(4), torch.ones(2, 3), torch.ones(3, 4))
        torch.ones(5, 2, 3) @ torch.ones(5, 3, 4)
        F.conv2d(torch.ones(1, 6, 4, 4), torch.ones(8, 3, 3, 3), groups=2)
    assert count.flops == 2 * 24 + 2 * 24 + 5 * 2 * 24 + 2 * (8 * 2 * 2) * (3 * 3 * 3)


def test_attention_takes_two_products_a_head_and_five_more_on_the_way_back():
    query, key, value = (torch.rand(2, 3, tokens, 8, requires_grad=True) for tokens in (5, 7, 7))
    with Count() as count:
        seen = F.scaled_dot_product_attention(query, key, value)
        assert count.flops == 2 * (2 * 2 * 3 * 5 * 7 * 8)
        seen.sum().backward()
    assert count.flops == 7 * (2 * 2 * 3 * 5 * 7 * 8)


def test_the_peak_counts_what_is_alive_at_once():
    held = torch.zeros(100)
    with Count([held]) as count:
        one = torch.zeros(50)
        del one
        two = torch.zeros(30)
        view = two[:10]
        three = held + 1
        del two
    assert count.peak == 4 * (100 + 30 + 100)
    assert view.numel() == 10 and three.numel() == 100


def save(family, folder):
    with quiet():
        return save_tinyllava(folder) if family == "tinyllava" else save_model(folder, family)


@pytest.mark.parametrize("family", ["fast_vlm", "llava", "tinyllava"])
def test_an_outline_counts_what_the_real_model_does(family, tmp_path, examples):
    folder = str(save(family, tmp_path))
    real, bare = load_model(folder), outline(folder)
    batch = [real.encode(example) for example in examples[:4]]
    assert [bare.encode(example).input_ids.tolist() for example in examples[:4]] == [
        one.input_ids.tolist() for one in batch
    ]
    adapter = Adapter.attach(real)
    adapter.train_only(adapter.keys)
    there, here = step_cost(real, adapter, batch), step_cost(bare, bare_adapter(bare, 8), batch)
    assert here.flops == there.flops
    assert here.held == there.held >= 4 * sum(value.numel() for value in real.model.parameters())
    assert here.resident == int(here.peak + 0.25 * (here.peak - here.held))
    assert here.peak == pytest.approx(there.peak, rel=SPARE[family])
    assert image_cost(bare, examples[0].image).flops == image_cost(real, examples[0].image).flops


def test_operations_of_a_step_are_those_of_its_matrices(tmp_path, examples):
    """Forward: every linear and its pair. Backward: both again for the input, which the first layer's does not need,
    and two thin products for the pair's own gradient."""
    vlm = outline(str(save_tinyllava(tmp_path)))
    adapter, batch = bare_adapter(vlm, 4), [vlm.encode(examples[0])] * 2
    tokens, labels = 2 * len(batch[0]), 2 * (len(batch[0]) - batch[0].answer_start)
    config, rows = vlm.model.config.text_config, 0
    for number, name in enumerate(adapter.layers):
        linear = vlm.model.get_submodule(name)
        wide, thin = linear.in_features * linear.out_features, 4 * (linear.in_features + linear.out_features)
        rows += wide + thin + (wide + 4 * linear.in_features if number else 0) + 4 * linear.out_features + thin
    attention = 7 * 2 * 2 * len(batch[0]) ** 2 * config.head_dim * sum(config.num_query_heads)
    head = 2 * 2 * labels * config.model_dim * config.vocab_size
    assert step_cost(vlm, adapter, batch).flops == 2 * tokens * rows + attention + head


def bare(folder):
    for path in folder.glob("*.safetensors"):
        path.unlink()
    return folder


def foretold(*overrides):
    recipe = load_recipe("emoji", [*SMALL, *overrides])
    dataset = load_dataset(recipe.data, recipe.seed, Progress())
    return forecast(recipe, dataset, holdings(recipe, dataset))


def test_a_recipe_is_foretold_from_a_folder_without_weights(tmp_path):
    folder = save_tinyllava(tmp_path)
    whole = foretold(f"model.name={folder}")
    assert foretold(f"model.name={bare(folder)}") == whole
    assert whole.traffic == pytest.approx(4 * whole.adapter * (1 + 0.5) * 2 * 5, rel=0.02)  # down all of it, up a half
    assert whole.memory > 4 * (whole.parameters + 6 * whole.adapter)


def test_steps_are_counted_client_by_client_up_to_the_bound():
    recipe = load_recipe("emoji", [*SMALL, "train.epochs=2", "train.max_steps=5"])
    members = {"a": 8, "b": 9, "c": 100}
    asked = [name for names in drawn(recipe, list(members)) for name in names]
    assert len(asked) == 2 * 5 and len(set(asked)) == 3
    assert steps(recipe, members) == sum({"a": 2, "b": 4, "c": 5}[name] for name in asked)


def test_one_client_with_all_the_data_makes_every_round_s_steps_alone():
    recipe = load_recipe("emoji", [*SMALL, "strategy.name=centralised"])
    assert steps(recipe, {"all": 81}) == 11 * 5


def test_an_outline_reads_text_only_models_and_says_where_the_fast_path_cannot_hold(tmp_path, examples):
    with quiet():
        text, varying = (save_family(tmp_path / family, family) for family in ("llama", "qwen2_vl"))
    vlm, batch = outline(str(text)), [load_model(str(text)).encode(replace(examples[0], image=None))]
    assert step_cost(vlm, bare_adapter(vlm, 2), batch).flops > 0
    with pytest.raises(ModelError, match="its images take a varying number of tokens"):
        outline(str(varying))


def test_the_foretold_adapter_and_step_are_of_the_strategy_s_kind(tmp_path, examples):
    folder = str(save_tinyllava(tmp_path))
    plain, product = outline(folder), outline(folder)
    one, two = bare_adapter(plain, 4), bare_adapter(product, 4, "hadamard")
    batch = [plain.encode(examples[0])]
    assert two.flat.numel() == 2 * one.flat.numel()
    assert step_cost(product, two, batch).flops > step_cost(plain, one, batch).flops


def test_the_doctor_loads_the_data_once(tmp_path, monkeypatch):
    loaded = []
    for place in ("fedrand.doctor", "fedrand.world"):
        monkeypatch.setattr(f"{place}.load_dataset", lambda *given: loaded.append(given) or load_dataset(*given))
    examine(load_recipe("emoji", [*SMALL, "data.limit=60", f"model.name={save_tinyllava(tmp_path)}"]), Progress())
    assert len(loaded) == 1


def test_the_doctor_of_a_model_without_weights_tells_its_costs_and_stops(tmp_path):
    folder = bare(save_tinyllava(tmp_path))
    found = examine(load_recipe("emoji", [*SMALL, f"model.name={folder}"]), Progress())
    assert set(found) == {"forecast"}
    assert found["forecast"]["adapter"] > 0


def test_the_doctor_of_a_model_that_does_not_fit_tells_its_costs_and_stops(monkeypatch, tmp_path):
    recipe, heard = load_recipe("emoji", [*SMALL, f"model.name={save_tinyllava(tmp_path)}"]), []
    monkeypatch.setattr("os.sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 2}.get)
    assert set(examine(recipe, Progress(lambda event: heard.append(event.text)))) == {"forecast"}
    assert any("no training step is tried: this machine has 0.0 GiB of memory" in text for text in heard)


@pytest.mark.slow
def test_the_doctor_of_a_whole_model_tells_foretold_and_measured():
    found = examine(load_recipe("emoji", SMALL), Progress())
    assert 4.8e6 < found["forecast"]["parameters"] < 5e6
    assert found["seconds_per_step"] > 0


def test_an_outline_without_a_processor_is_one_line(tmp_path):
    save_tinyllava(tmp_path)
    shutil.move(tmp_path / "config.json", tmp_path / "elsewhere.json")
    with pytest.raises(ModelError, match="its config and processor are needed") as error:
        outline(str(tmp_path))
    assert "\n" not in str(error.value)
