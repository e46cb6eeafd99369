"""Everything that can be checked before a run: data, model, labels, what travels, time and memory."""

import os
import resource
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from fedrand.audit.statistics import Planned, planned
from fedrand.cost import Forecast, forecast, measured_rate
from fedrand.datasets import Dataset, load_dataset
from fedrand.dealing import ClientData
from fedrand.errors import InputError
from fedrand.models import load_model
from fedrand.models.features import Room, room, told
from fedrand.models.runtime import torch
from fedrand.plan import describe
from fedrand.progress import Progress
from fedrand.randomness import stream
from fedrand.recipe import Recipe
from fedrand.report.dealt import dealt
from fedrand.report.theme import style
from fedrand.round import ClientError
from fedrand.tensorfile import write_atomic
from fedrand.train import LocalLearner
from fedrand.world import World, build, holdings, train_settings

STEPS = 4


def examine(recipe: Recipe, progress: Progress, out: Path | None = None) -> dict[str, Any]:
    """Foretell the costs, build the recipe's world and try a few training steps; InputError says what is wrong and what
    to do. Without weights, or with more than this machine can hold, the foretold costs are all.

    out: a folder for clients.svg, the picture of who holds what.
    """
    torch.set_num_threads(recipe.train.threads)
    with _both_told(recipe):
        dataset = load_dataset(recipe.data, recipe.seed, progress)
        clients = holdings(recipe, dataset)
    foretold = _foretold(recipe, dataset, clients, progress)
    if foretold and (reason := _no_trial(recipe, foretold)):
        progress.say(f"no training step is tried: {reason}")
        return {"forecast": asdict(foretold)}
    with _both_told(recipe):
        world = build(recipe, progress, dataset)
    classes = {name: dict(Counter(e.label for e in data.members)) for name, data in world.clients.items()}
    progress.say(_table(world, classes))
    if out:
        write_atomic(out / "clients.svg", dealt(classes, style("drawing.css")))
        progress.say(f"picture: {out / 'clients.svg'}")
    foreseen = shows(world)
    progress.say(_told(foreseen))
    progress.say(_labels(world))
    progress.say(describe(world.strategy, world.adapter.shapes, world.clients_per_round))
    progress.say(f"{_look(world, progress)} image files can be read")
    seconds = _seconds_per_step(world)
    batch, train = recipe.train.batch_size, recipe.train
    steps = sum(-(-len(data.members) // batch) for data in world.clients.values()) / len(world.clients)
    whole = seconds * steps * train.epochs * world.clients_per_round * train.rounds
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    length = f"at that pace about {whole:.0f} s of training for {train.rounds} rounds"
    progress.say(
        f"measured, {STEPS} trial steps: {1000 * seconds:.0f} ms a step, {length}; {peak:.1f} GiB at most so far"
    )
    disk = _disk_bytes(world)
    progress.say(f"disk: about {disk / 2**20:.0f} MiB in the run's folder")
    images = _store(world)
    progress.say(f"image features: {told(images, world.features.folder)}{world.features.lacking(images)}")
    return {
        "forecast": asdict(foretold) if foretold else None,
        "clients": classes,
        "seconds_per_step": seconds,
        "training_seconds": whole,
        "peak_gib": peak,
        "disk_bytes": disk,
        "audit": foreseen and foreseen._asdict(),
        "image_features": images._asdict(),
    }


def _foretold(
    recipe: Recipe, dataset: Dataset, clients: Mapping[str, ClientData], progress: Progress
) -> Forecast | None:
    """What the recipe's configuration alone tells; what is wrong with it is told again, with more, by those who need it."""
    try:
        found = forecast(recipe, dataset, clients, progress)
    except InputError as error:
        progress.say(f"no forecast: {error}")
        return None
    rate = measured_rate()
    progress.say(
        f"{found}; about {found.seconds(rate):,.0f} s of training and image features if all ran at the "
        f"{rate / 1e9:.0f} GFLOP/s of a matrix product here"
    )
    return found


def _no_trial(recipe: Recipe, foretold: Forecast) -> str:
    folder = Path(recipe.model.name).expanduser()
    if folder.is_dir() and not [*folder.glob("*.safetensors"), *folder.glob("*.bin")]:
        return f"{folder} holds no weights"
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if recipe.model.device == "cpu" and foretold.memory > memory:
        return f"this machine has {memory / 2**30:.1f} GiB of memory, too little"
    return ""


@contextmanager
def _both_told(recipe: Recipe) -> Iterator[None]:
    """Where the recipe cannot be used: one error that names what is wrong with the data and with the model."""
    try:
        yield
    except InputError as first:
        model = recipe.model
        try:
            load_model(model.name, revision=model.revision, dtype=model.dtype, device=model.device)
        except InputError as second:
            if str(second) != str(first):
                raise InputError(f"{first}; moreover, {second}") from first
        raise


def _disk_bytes(world: World) -> int:
    """Transcript with oracle, and the last two states of each client, if every upload held the whole adapter."""
    train, whole = world.recipe.train, world.adapter.flat.numel() * 4
    return whole * (train.rounds * (1 + 2 * world.clients_per_round) + 2 * len(world.clients))


def _look(world: World, progress: Progress) -> int:
    """How many images the run will use; DataError names one that cannot be read."""
    images = {example.image.key: example.image for example in world.used if example.image is not None}
    for image in progress.track(images.values(), "images", len(images)):
        image.load()
    return len(images)


def _store(world: World) -> Room:
    """What the features of all images will take, by those that the trial steps looked at."""
    count = len({example.image.key for example in world.used if example.image is not None})
    each = sum(world.features.size) / max(1, len(world.features))
    return room(round(count * each), world.features.memory)


def _table(world: World, classes: dict[str, dict[str, int]]) -> str:
    lines = [f"data: {len(world.clients)} clients; training examples by class, and held out"]
    for name, counts in classes.items():
        text = ", ".join(f"{label or 'no label'} {count}" for label, count in sorted(counts.items()))
        lines.append(f"  {name}: {text}; held out {len(world.clients[name].held_out)}")
    lines += [f"  {name}: {len(examples)}" for name, examples in world.splits.items()]
    return "\n".join(lines)


def shows(world: World) -> Planned | None:
    """What an audit can show at best: of clients that do not differ, by groups, of which variants of one thing are one."""
    share = -(-world.recipe.audit.sample // len(world.clients))
    sizes = [tuple(len({e.unit for e in side}) for side in (d.members, d.held_out)) for d in world.clients.values()]
    able = [(min(m, share or m), min(n, share or n)) for m, n in sizes if m and n]
    return planned(able) if able else None


def _told(found: Planned | None) -> str:
    if found is None:
        return "audit: nobody holds examples back, so members have nothing to be compared with; set data.holdout = true"
    return (
        f"audit: at best an interval of 0.5 -+ {found.half_width:.3f} where nothing leaks; an AUROC of {found.detectable:.3f} "
        "would show in 8 of 10 audits"
    )


def _labels(world: World) -> str:
    """One example as the model sees it, the tokens that are learnt in brackets."""
    example = next(e for data in world.clients.values() for e in data.members)
    encoded = world.vlm.encode(example)
    read, learnt = encoded.input_ids[: encoded.answer_start], encoded.input_ids[encoded.answer_start :]
    decode = world.vlm.tokenizer.decode
    return f"example {example.id}: {decode(read)!r} learns [{decode(learnt)!r}], {len(learnt)} of {len(encoded)} tokens"


def _seconds_per_step(world: World) -> float:
    settings = replace(train_settings(world.recipe), max_steps=STEPS)
    data = max(world.clients.values(), key=lambda data: len(data.members))
    some = data.members[: STEPS * settings.batch_size]
    world.look(some)
    learner = LocalLearner(world.vlm, world.adapter, world.features, world.encoded(some), settings)
    begun = time.perf_counter()
    start = world.adapter.initial(stream(0, "doctor", "adapter"))
    try:
        trained = learner.train(start, frozenset(start), stream(0, "doctor"), 0.0)
    except ClientError as error:
        raise InputError(f"a trial step gave nothing usable: {error}") from error
    return (time.perf_counter() - begun) / trained.steps
