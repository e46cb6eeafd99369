"""The demo's learning rate, chosen on the emoji pack's validation split (no client and no test holds its concepts).

python scripts/choose_rate.py            # the server's validation figures after 30 rounds, per method and rate

The rule: of the rates that lower the loss by more than 0.1 nat with both methods, the one with the best CIDEr-D over both.
"""

from dataclasses import replace

from fedrand.data import load_emoji
from fedrand.federation import Memory
from fedrand.generate import captions
from fedrand.metrics import caption_scores
from fedrand.params import Params
from fedrand.recipe import load_recipe
from fedrand.score import nll, token_scores
from fedrand.world import World, build

RATES = (1e-4, 3e-4, 1e-3, 3e-3)
METHODS = ("fedavg", "fedrand")


def figures(world: World, params: Params) -> str:
    """Loss in nats per answer token, and CIDEr-D x 100 of greedy captions."""
    world.adapter.load(params)
    examples = load_emoji()["validation"]
    loss = nll(token_scores(world.vlm, world.features, world.encoded(examples)))
    said = captions(world.vlm, world.features, world.encoded(examples, with_answer=False))
    cider = caption_scores(said, [example.references for example in examples]).cider_d
    return f"NLL {loss:.3f}, CIDEr-D {100 * cider:.1f}"


def main() -> None:
    world = build(load_recipe("emoji"))
    print(f"before {figures(world, world.initial().params)}")
    for method in METHODS:
        for rate in RATES:
            recipe = load_recipe("emoji", [f"strategy.name={method}", f"train.lr={rate}"])
            trial = replace(world, recipe=recipe)
            *_, last = trial.federation().rounds(trial.initial(), Memory(), recipe.train.rounds)
            print(f"{method} lr {rate:g}: {figures(trial, last.after.params)}", flush=True)


if __name__ == "__main__":
    main()
