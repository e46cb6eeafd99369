"""Pre-train the tiny VLM on the emoji pack's base split and write it where fedrand looks for it.

    python scripts/pretrain_tiny/train.py                    # all base groups -> src/fedrand/assets/tiny-vlm
    python scripts/pretrain_tiny/train.py --dev --steps 800  # a sixth of the base groups held out; prints figures
    python scripts/pretrain_tiny/check.py                    # the figures of the shipped file on the test split

Reads the splits `base` and nothing else. Needs the network once, for the tower's weights (tower.py). One thread, so
that the same seed gives the same bits; about 3 minutes for features and .3 s a step on one 2.6 GHz core.
"""

import argparse
import random
import statistics
import time
from dataclasses import fields, replace
from pathlib import Path

import torch
from assemble import IMAGE_TOKENS, new_model, tiny_processor
from card import card
from features import views
from first_layer import aim
from learner import Learner, Settings
from lessons import Mixture, Teacher, tokenizer_texts
from measure import report
from tokenizer import SPECIAL, learn
from torch import Tensor
from tower import verified_tower
from transformers import EfficientNetModel, FastVlmForConditionalGeneration, LlavaProcessor, set_seed

from fedrand.data import EmojiPack, Example, load_emoji
from fedrand.models.assembly import fold_normalisation, save
from fedrand.models.encoding import Encoder, OneLength
from fedrand.models.probe import choose_path
from fedrand.randomness import stream

FOLDER = Path(__file__).parents[2] / "src" / "fedrand" / "assets" / "tiny-vlm"
VIEWS = 6
FOLDS = 6


def rounded_tower() -> EfficientNetModel:
    """The tower as it is shipped: rounded to fp16, computed in fp32."""
    return verified_tower().half().float().eval()


def dev_groups(examples: tuple[Example, ...], fold: int) -> set[str]:
    """One sixth of the base groups, the same for every run."""
    groups = sorted({example.group for example in examples})
    stream(0, "dev groups").shuffle(groups)
    return set(groups[fold::FOLDS])


def all_views(
    tower: EfficientNetModel, processor: LlavaProcessor, examples: tuple[Example, ...], cache: Path | None
) -> Tensor:
    """Features of every view of every base drawing, [images, VIEWS, 9, 1280]; kept in `cache` between runs if given."""
    if cache is not None and cache.exists():
        return torch.load(cache, weights_only=True)
    features = views(tower, processor, [example.image.load() for example in examples], VIEWS, seed=0)
    if cache is not None:
        torch.save(features, cache)
    return features


def pretrain(
    pack: EmojiPack, chosen: list[int], features: Tensor, model: FastVlmForConditionalGeneration,
    processor: LlavaProcessor, settings: Settings, mixture: Mixture, seed: int,
) -> float:  # fmt: skip
    """Train on the chosen base drawings, fold the normalisation in; returns the mean loss of the last 50 steps."""
    examples = [pack["base"][i] for i in chosen]
    image, end = SPECIAL.index("<image>"), SPECIAL.index("</s>")
    limit = model.config.text_config.max_position_embeddings
    encoder = Encoder(processor.tokenizer, OneLength("<image>", image, IMAGE_TOKENS), end, limit)
    learner = Learner(model, encoder, features[chosen], settings, seed)
    aim(learner.projector.linear_1, learner.pooled(), [pack.items[example.id] for example in examples], settings.ridge)
    losses, started = [], time.monotonic()
    for loss in learner.run(Teacher(pack, examples, mixture, random.Random(seed)), examples):
        losses.append(loss)
        if len(losses) % 50 == 0:
            mean = statistics.fmean(losses[-50:])
            print(
                f"step {len(losses)}/{settings.steps}  loss {mean:.3f}  {time.monotonic() - started:.0f} s", flush=True
            )
    fold_normalisation(model, learner.mean, learner.std)
    return statistics.fmean(losses[-50:])


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--dev", action="store_true", help="hold a sixth of the base groups out, print figures on it, write nothing"
    )
    parser.add_argument("--fold", type=int, default=0, help="which sixth")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--cache", type=Path, help="keep the image features in this file between runs")
    for option in (*fields(Settings), *fields(Mixture)):
        parser.add_argument(f"--{option.name.replace('_', '-')}", type=option.type, default=option.default)
    return parser.parse_args()


def main() -> None:
    torch.set_num_threads(1)
    args = arguments()
    settings, mixture = (kind(**{f.name: getattr(args, f.name) for f in fields(kind)}) for kind in (Settings, Mixture))
    pack = load_emoji()
    base, held = pack["base"], dev_groups(pack["base"], args.fold) if args.dev else set()
    tokenizer = learn(tokenizer_texts(pack, base))
    processor = tiny_processor(tokenizer)
    tower = rounded_tower()
    features = all_views(tower, processor, base, args.cache)
    set_seed(args.seed)
    model = new_model(tower, len(tokenizer), args.seed)
    chosen = [i for i, example in enumerate(base) if example.group not in held]
    loss = pretrain(pack, chosen, features, model, processor, settings, mixture, args.seed)
    if not args.dev:
        return save(
            model, processor, args.out, card(pack, settings, mixture, args.seed, VIEWS, loss, model.num_parameters())
        )
    dev = replace(pack, splits={**pack.splits, "dev": tuple(example for example in base if example.group in held)})
    print(report(choose_path(model, processor, "dev"), dev, "dev"))


if __name__ == "__main__":
    main()
