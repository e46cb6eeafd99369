"""A recipe is strict: what is wrong is named by file, key and choices, in one line."""

import inspect
import re

import pytest

from fedrand.recipe import RecipeError, audited_with, differences, from_toml, load_recipe, shipped, to_toml
from fedrand.strategies import STRATEGIES

WRONG = {
    "strategy.rhoo=1": "unknown key strategy.rhoo; choose from name, rho, ",
    "strategy.rho=2": "rho is 2.0; it is a probability, choose one from 0 to 1",
    "strategy.rho='x'": 'strategy.rho is "x"; it must be a valid number',
    "strategy.draw=lay": "strategy.draw is \"lay\"; it must be 'client', 'layer' or 'stratified'",
    "strategy.normalize=1": "strategy.normalize is 1; it must be a valid boolean",
    "strategy.name=fedrnd": "unknown strategy 'fedrnd' at strategy.name; choose from fedavg, fedrand, fedper, fedpara, ",
    "strategy.name=fedpar": "did you mean 'fedpara'?",
    "adapter.kind=loha": "adapter.kind is \"loha\"; it must be 'auto', 'lora', 'hadamard' or 'hadamard+1'",
    "adapter.kind=hadamard": 'adapter.kind is "hadamard" but strategy fedrand is made for "lora"; leave adapter.kind out',
    "strategy=3": "strategy is 3; it must be a table of keys",
    "train.lr='a'": 'train.lr is "a"; it must be a valid number',
    "train.lr=true": "train.lr is true; it must be a valid number",
    "train.lr=0": "train.lr is 0; it must be greater than 0",
    "train.lr=nan": "train.lr is NaN; it must be a finite number",
    "train.rounds=2.5": "train.rounds is 2.5; it must be a valid integer",
    "train.roundz=2": "unknown key train.roundz; choose from rounds, clients_per_round, ",
    "train.clients_per_round=40": "train.clients_per_round is 40 but data.clients is 12; choose from 1 to 12",
    "train.min_clients=5": "min_clients is 5; choose from 1 to 4",
    "train=5": "train is 5; it must be a table of keys",
    "nonsense.a=1": "unknown key nonsense; choose from seed, model, ",
    "audit.k=[1, 200]": "audit.k.1 is 200; it must be less than or equal to 100",
    "audit.k=5": "audit.k is 5; it must be a list",
    "audit.level=1e-300": "audit.level is 1e-300; it must be greater than or equal to 0.5",
    "audit.level=0.9999999999999999": "it must be less than or equal to 0.999",
    "data.name=cocoa": "data.name is \"cocoa\"; it must be 'emoji', 'emoji-qa', 'folder', 'scienceqa', 'coco' or 'nocaps'",
    "data.name=coco": 'name = "coco" needs path, the folder that holds annotations/ and train2014/; give it as data.path=',
    "data.name=scienceqa": 'name = "scienceqa" needs path, the folder that holds problems.json',
    "data.name=nocaps": 'name = "nocaps" needs path',
    "data.partition=labels": "it must be 'dirichlet', 'iid', 'label' or 'client'",
    "data.label_rule=first": "it must be 'lowest', 'largest-area' or 'most-frequent'",
    "data.label_rule=largest-area": 'label_rule is for coco, not for name = "emoji"; remove it',
    "data.domain=in-domain": 'domain is for coco and nocaps, not for name = "emoji"; remove it',
    "data.sizes=[1, 2]": "data.sizes",
    "data.name=folder": 'name = "folder" needs path',
    "seed=-1": "seed is -1; it must be greater than or equal to 0",
    "preset=papr": "preset is 'papr'; choose from paper",
    "preset={}": "preset is {}; choose from paper",
    "model.name=~nouser/x": 'model.name is "~nouser/x": no path',
    "data.path=~nobody-here/x": 'data.path is "~nobody-here/x": no path',
    "data.path=a\0b": 'data.path is "a\\u0000b": no path',
    f"seed={'9' * 5000}": "not a value",
    f"seed={'[' * 5000}{']' * 5000}": "not a value",
    "seed=0\nfoo=1": "a value is one line; give --set once for each key",
    "train.threads=1025": "train.threads is 1025; it must be less than or equal to 1024",
    "train.lr=1e3": "train.lr is 1000.0; it must be less than or equal to 100",
    "train.weight_decay=101": "train.weight_decay is 101; it must be less than or equal to 100",
    "adapter.scale=1e7": "adapter.scale is 10000000.0; it must be less than or equal to 1000000",
    "train": "expected KEY=VALUE, such as strategy.rho=0.7",
}


@pytest.mark.parametrize("override", WRONG)
def test_a_wrong_value_is_named_with_what_is_allowed(override):
    with pytest.raises(RecipeError) as refused:
        load_recipe("emoji", [override])
    assert WRONG[override] in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_error_names_the_file_and_the_closest_key(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('[strategy]\nname = "fedrand"\n[train]\nround = 3\n')
    with pytest.raises(RecipeError, match=r"mine\.toml: unknown key train\.round; .*did you mean rounds\?"):
        load_recipe(path)


@pytest.mark.parametrize("text", ["a = ", "[train\n", "\xff".encode("latin-1")])
def test_what_is_not_toml_is_named(tmp_path, text):
    path = tmp_path / "mine.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(RecipeError, match=r"mine\.toml: not"):
        load_recipe(path)


def test_an_unknown_recipe_names_the_shipped_ones():
    with pytest.raises(RecipeError, match=r"no recipe 'emojy'.*emoji.*did you mean 'emoji'"):
        load_recipe("emojy")


def test_a_recipe_without_a_strategy_is_told_to_name_one(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("seed = 1\n")
    with pytest.raises(RecipeError, match="strategy is missing"):
        load_recipe(path)


@pytest.mark.parametrize("name", shipped())
def test_a_resolved_recipe_reads_back_as_it_was(tmp_path, name):
    recipe = load_recipe(name, [] if name == "emoji" else ["data.path=there"])
    (tmp_path / "recipe.toml").write_text(to_toml(recipe))
    assert from_toml(tmp_path / "recipe.toml") == recipe


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategys_options_are_its_functions_parameters(name):
    table = load_recipe("emoji", [f"strategy.name={name}"]).strategy
    defaults = {key: parameter.default for key, parameter in inspect.signature(STRATEGIES[name]).parameters.items()}
    assert table.model_dump() == {"name": name, **defaults}
    assert table.build().name == name


@pytest.mark.parametrize(
    ("overrides", "kind"),
    [
        ((), "lora"),
        (("strategy.name=fedper",), "lora"),
        (("strategy.name=fedpara",), "hadamard"),
        (("strategy.name=fedpara", "strategy.form=pfedpara"), "hadamard+1"),
        (("strategy.name=fedavg", "adapter.kind=hadamard"), "hadamard"),
        (("strategy.name=fedavg", "adapter.kind=auto"), "lora"),
    ],
)
def test_where_the_recipe_is_silent_the_strategy_chooses_the_adapter(tmp_path, overrides, kind):
    recipe = load_recipe("emoji", overrides)
    assert recipe.adapter.kind == kind
    (tmp_path / "recipe.toml").write_text(to_toml(recipe))
    assert from_toml(tmp_path / "recipe.toml") == recipe


@pytest.mark.parametrize(("name", "other"), [("fedpara", "lora"), ("fedrand", "hadamard"), ("fedpara", "hadamard+1")])
def test_a_strategy_on_an_adapter_of_another_kind_is_refused(name, other):
    with pytest.raises(RecipeError, match=f'adapter.kind is "{re.escape(other)}" but strategy {name} is made for'):
        load_recipe("emoji", [f"strategy.name={name}", f"adapter.kind={other}"])


def test_an_override_takes_a_toml_value_or_a_bare_word():
    recipe = load_recipe("emoji", ["train.lr=5e-4", "strategy.draw=layer", "audit.k=[0, 5]", "data.holdout=false"])
    assert (recipe.train.lr, recipe.strategy.draw, recipe.audit.k, recipe.data.holdout) == (
        5e-4,
        "layer",
        (0, 5),
        False,
    )


def test_the_papers_preset_gives_its_numbers_and_an_override_still_wins(tmp_path):
    mine = tmp_path / "mine.toml"
    mine.write_text('[strategy]\nname = "fedrand"\n[train]\nlr = 1e-2\n')
    assert load_recipe(mine).train.lr == 1e-2
    assert load_recipe(mine, ["preset=paper"]).train.lr == 3e-4
    assert load_recipe("emoji", ["preset=paper", "train.lr=0.5"]).train.lr == 0.5


def test_a_file_wins_over_the_preset_it_names(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('preset = "paper"\n[strategy]\nname = "fedavg"\n[train]\nrounds = 3\n')
    assert (load_recipe(path).train.rounds, load_recipe(path).train.batch_size) == (3, 8)


def test_a_folder_is_found_beside_the_recipe_that_names_it(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('[data]\nname = "folder"\npath = "images"\n[strategy]\nname = "fedavg"\n')
    assert load_recipe(path).data.path == str(tmp_path / "images")


def test_a_recipe_with_a_byte_order_mark_is_read(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('seed = 3\n[strategy]\nname = "fedavg"\n', encoding="utf-8-sig")
    assert load_recipe(path).seed == 3


def test_a_run_folders_recipe_that_is_no_text_is_named(tmp_path):
    (tmp_path / "recipe.toml").write_bytes(b"\xff")
    with pytest.raises(RecipeError, match=r"recipe\.toml: not a text file"):
        from_toml(tmp_path / "recipe.toml")


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b"])
def test_a_name_that_no_file_can_have_is_no_recipe(name):
    with pytest.raises(RecipeError, match="no recipe '"):
        load_recipe(name)


def test_odd_characters_come_back_from_a_written_recipe(tmp_path):
    made = load_recipe("emoji")
    made = made.model_copy(update={"model": made.model.model_copy(update={"name": "a\x7f# \u00e9"})})
    (tmp_path / "recipe.toml").write_text(to_toml(made), encoding="utf-8")
    assert from_toml(tmp_path / "recipe.toml") == made


def test_clients_that_the_data_name_are_no_number_of_the_recipe(tmp_path):
    named = load_recipe("emoji", ["data.partition=client", "data.clients=5"])
    assert named.data.clients == 0
    (tmp_path / "recipe.toml").write_text(to_toml(named))
    assert from_toml(tmp_path / "recipe.toml") == named
    with pytest.raises(RecipeError, match="clients is 0, which stands for those of partition"):
        load_recipe("emoji", ["data.clients=0"])


def test_where_things_lie_is_no_difference_between_recipes():
    here, there = (load_recipe("emoji", [f"memory.image_features={gib}"]).model_dump(mode="json") for gib in (4.0, 0.5))
    older = {name: table for name, table in here.items() if name != "memory"}
    assert not [*differences(here, there), *differences(older, here)]


def test_an_audit_may_be_told_other_settings_and_nothing_that_the_run_hangs_on():
    recipe = load_recipe("emoji")
    changed = audited_with(recipe, ("audit.uploads=0", "audit.level=0.9"))
    assert {*differences(recipe.model_dump(mode="json"), changed.model_dump(mode="json"))} == {
        f"audit.uploads was {recipe.audit.uploads}, is 0",
        "audit.level was 0.95, is 0.9",
    }
    for fixed, named in (("strategy.rho=0.3", "strategy"), ("seed=1", "seed")):
        with pytest.raises(RecipeError, match=f"changes .audit. and .memory.; {named} is part of the run: start a new"):
            audited_with(recipe, ("audit.uploads=0", fixed))
    with pytest.raises(RecipeError, match=r"audit\.canaries are put in before a run is trained"):
        audited_with(recipe, ("audit.canaries=9",))
    for wrong in ("audit=5", "audit='canaries'"):
        with pytest.raises(RecipeError, match=r"audit is .*; it must be a table of keys"):
            audited_with(recipe, (wrong,))
    assert audited_with(recipe, ("memory.image_features=0",)).memory.image_features == 0
    with pytest.raises(RecipeError, match=r"unknown key audit\.upload;"):
        audited_with(recipe, ("audit.upload=1",))
