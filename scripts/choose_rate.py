"""The demo's learning rate, chosen on the emoji pack's validation split (no client and no test holds its concepts).

python scripts/choose_rate.py            # prints the server's validation loss after 30 rounds per method and rate
"""

from dataclasses import replace

from fedrand.data import load_emoji
from fedrand.federation import Memory
from fedrand.recipe import load_recipe
from fedrand.score import nll, token_scores
from fedrand.world import World, build

RATES = (3e-4, 1e-3, 2e-3, 4e-3)
METHODS = ("fedavg", "fedrand")


def validation_loss(world: World, params) -> float:
    """Nats per answer token."""
    world.adapter.load(params)
    return nll(token_scores(world.vlm, world.features, world.encoded(load_emoji()["validation"])))


def main() -> None:
    world = build(load_recipe("emoji"))
    print(f"before {validation_loss(world, world.initial().params):.3f}")
    for method in METHODS:
        for rate in RATES:
            recipe = load_recipe("emoji", [f"strategy.name={method}", f"train.lr={rate}"])
            trial = replace(world, recipe=recipe)
            *_, last = trial.federation().rounds(trial.initial(), Memory(), recipe.train.rounds)
            print(f"{method} lr {rate:g}: {validation_loss(trial, last.after.params):.3f}", flush=True)


if __name__ == "__main__":
    main()
