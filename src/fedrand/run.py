"""A run from recipe to results, and going on with one that was stopped."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedrand.accountant import COVERS, NAME, by_client, epsilon
from fedrand.audit.transcript import TranscriptWriter, received, refuse_lost_uploads, transcript
from fedrand.errors import InputError
from fedrand.ledger import totals
from fedrand.messages import ServerState
from fedrand.plan import describe
from fedrand.progress import Progress
from fedrand.provenance import environment
from fedrand.recipe import Recipe
from fedrand.recorded import federate
from fedrand.runfolder import RunFolder, RunFolderError
from fedrand.tensorfile import to_bytes

if TYPE_CHECKING:
    from fedrand.world import World

SILENT = Progress()
Results = dict[str, Any]


def run(recipe: Recipe, out: Path, progress: Progress = SILENT, world: "World | None" = None) -> Results:
    """A new run in the folder `out`; returns what results.json holds. world: the recipe's, where it is built already."""
    folder = RunFolder.create(out, recipe)
    with folder.locked():
        return _go_on(folder, progress, world)


def resume(path: Path, progress: Progress = SILENT, world: "World | None" = None) -> Results:
    """Go on where a run was stopped, to the same bits; a finished one is left as it is."""
    folder = RunFolder.open(path)
    with folder.locked():
        if folder.begun:
            folder.check_recipe()
        if folder.finished:
            progress.say(f"{path} is finished already; nothing to do")
            return folder.read_json("results.json")
        return _go_on(folder, progress, world)


def _go_on(folder: RunFolder, progress: Progress, world: "World | None") -> Results:
    from fedrand.evaluate import results, server_loss
    from fedrand.export import save_adapter, untrained
    from fedrand.world import build

    recipe = folder.recipe
    _refuse_no_guarantee(recipe)
    world = world or build(recipe, progress)
    world.look(world.used, progress)
    _begin(folder, world, progress)
    progress.say(describe(world.strategy, world.adapter.shapes, world.clients_per_round))
    if kept := sum(len(data.held_out) for data in world.clients.values()):
        progress.say(
            f"{kept} of the clients' examples are never trained on, for the audit; data.holdout = false trains on all"
        )
    writer = TranscriptWriter(folder.transcript)

    def figures(server: ServerState) -> Mapping[str, float]:
        return server_loss(world, server)

    server = federate(folder, world.federation(), writer, recipe.train.rounds, progress, figures)
    if idle := untrained(server):
        progress.say("note: no B was averaged in any round, so the server's adapter is the base model")
    save_adapter(folder.adapter, folder, server, trained=not idle)
    last = list(folder.metrics()[-1]["clients"])
    found = results(world, server, folder.shelf(), last, progress)
    refuse_lost_uploads(folder)
    made = _named(folder, recipe, server, found)
    folder.write_json("results.json", made)
    return made


def _begin(folder: RunFolder, world: "World", progress: Progress) -> None:
    about = environment(world.identity(), world.recipe.seed, world.recipe.train.threads)
    if not folder.begun:
        folder.begin(about, world.split(), world.initial())
        return
    folder.check_world(about, world.split())
    _refuse_lost_states(folder)
    refuse_lost_uploads(folder)
    began = folder.read_json("environment.json")["versions"]
    for package, version in about["versions"].items():
        if began.get(package) != version:
            progress.say(f"note: the run began with {package} {began.get(package)}, this is {version}; bits may differ")
    progress.say(f"going on with {folder.path}: {folder.server().round} of {world.recipe.train.rounds} rounds are done")


def _refuse_no_guarantee(recipe: Recipe) -> None:
    """Noise that promises nothing is refused before any training, as is noise without its accountant."""
    table, rounds = recipe.privacy, recipe.train.rounds
    if table.noise and not math.isfinite(epsilon(table.noise, rounds, table.delta)):
        raise InputError(f"privacy.noise is {table.noise}: epsilon is infinite after {rounds} uploads; raise the noise")


def _paid(folder: RunFolder, recipe: Recipe) -> Results:
    """What noise on uploads guarantees each client, where there is any: it pays for whatever reached the server."""
    if not recipe.privacy.noise:
        return {}
    sent = received(transcript(folder.transcript))
    uploads = {name: sent[name] for name in folder.split()}
    table = recipe.privacy
    spent = by_client(table.noise, table.delta, uploads)
    return {
        "privacy": {**table.model_dump(), "epsilon": spent, "accountant": NAME, "covers": COVERS, "uploads": uploads}
    }


def _refuse_lost_states(folder: RunFolder) -> None:
    """A client without its last state would start from an older one or none, and the run end in other bits."""
    until = folder.server().round
    done = [line for line in folder.metrics() if line["round"] < until]
    for name, round in {name: line["round"] for line in done for name in line["clients"]}.items():
        if folder.shelf().load(name, until).rounds[-1:] < (round,):
            raise RunFolderError(
                f"{folder.path}: client '{name}' trained in round {round}, but clients/{name} has no state of it; put it back"
            )


def _named(folder: RunFolder, recipe: Recipe, server: ServerState, found: Results) -> Results:
    """The results with what every figure must name: method, seed, rounds, bytes, seconds."""
    whole = len(to_bytes(server.params, {"round": server.round}))
    train = sum(line["seconds"] for line in folder.metrics())
    evaluation = found.pop("evaluation_seconds")
    return {
        "method": recipe.strategy.name,
        "options": recipe.strategy.model_dump(exclude={"name"}),
        "model": recipe.model.name,
        "data": recipe.data.path or recipe.data.name,
        "seed": recipe.seed,
        "rounds": server.round,
        **found,
        **_paid(folder, recipe),
        "bytes": totals(folder.ledger(), whole, len(server.params)),
        "seconds": {"train": train, "evaluate": evaluation},
    }
