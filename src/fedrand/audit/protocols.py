"""Who is compared with whom: P1, a client with its own held-out half; P0, the paper's way, with a domain shift; P2, with
other clients' data; P4, where nothing can be found."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from fedrand.audit.bench import Bench
from fedrand.audit.models import REFERENCE, THREAT, Models
from fedrand.audit.rows import Row, Sides, sampled
from fedrand.audit.scoring import scored
from fedrand.data.example import Example

TITLES = {
    "P1": "Members against the same client's held-out half, drawn by a coin before training",
    "P0": "The paper's protocol: members against images of kinds that no client holds",
    "P2": "Members against other clients' training data: whose record is it?",
    "P4": "Null: nothing was trained on, so every interval should hold 0.5",
}
BANNER = (
    "Members are compared with images of kinds that no client holds, as in the paper. Such an AUROC measures "
    "the domain shift as well as membership; the base model, trained on neither side, shows how much of it is shift."
)


def same_distribution(models: Models) -> Iterator[Row]:
    """P1 on the models; the untrained base model's rows belong to P4."""
    yield from models.rows(dict.fromkeys(("server", "client", "oracle"), models.bench.sides))


def domain_shift(models: Models) -> Iterator[Row]:
    """P0: all clients together where they share one model, else each with its share of the shifted images."""
    bench = models.bench
    together = {"all": Sides(tuple(e for sides in bench.sides.values() for e in sides.members), bench.shifted)}
    apart = {name: Sides(sides.members, bench.dealt[name]) for name, sides in bench.sides.items()}
    yield from models.rows({"base": together, "server": together, "client": apart, "oracle": apart})


def strangers(models: Models) -> Iterator[Row]:
    """P2 on the server's model and the rebuilt clients, by the reference attack."""
    bench = models.bench
    units = {name: Sides(sides.members, bench.strangers(name)) for name, sides in bench.sides.items()}
    apart = _asked_of_strangers(models, units)
    strange = {client: {example.id for example in sides.others} for client, sides in units.items()}
    for model in ("server", "client"):

        def score(client: str, example: Example, model=model) -> float:
            return (apart if example.id in strange[client] else models).reference(model, client, example)

        yield Row(THREAT[model], model, *REFERENCE, sampled(units, score), headline=True)


def null(models: Models) -> Iterator[Row]:
    """P4: the base model, which was trained on neither side; and the held-out half against itself."""
    bench = models.bench
    yield from models.rows({"base": bench.sides})
    halves = {name: _halved(bench, name, sides) for name, sides in bench.sides.items()}
    samples = sampled(halves, lambda client, example: models.reference("server", client, example))
    yield Row("control", "server", "reference", "pseudo-members", samples)


def _halved(bench: Bench, client: str, sides: Sides) -> Sides:
    """The held-out half, parted once more by a coin per group."""
    groups = sorted({example.unit for example in sides.others})
    inside = {
        group for group, coin in zip(groups, bench.rng("pseudo", client).random(len(groups)), strict=True) if coin < 0.5
    }
    parts = (tuple(e for e in sides.others if (e.unit in inside) == side) for side in (True, False))
    return Sides(*parts)


def _asked_of_strangers(models: Models, units: Mapping[str, Sides]) -> Models:
    """The same models, the rebuilt clients scored on other clients' members, which they have not been asked about."""
    attack = [one for one in models.attacks if (one.name, one.slice) == REFERENCE]
    rest = {
        client: scored(models.bench.world, sides.others, models.known[client], attack)
        for client, sides in units.items()
    }
    return replace(models, scores={**models.scores, "client": rest})
