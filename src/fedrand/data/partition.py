"""Who holds what: examples dealt out to clients, groups whole, every example once.

Each function returns an array of indices per client, ascending.
"""

from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from fedrand.data.example import DataError

Partition = tuple[NDArray[np.intp], ...]


def dirichlet(
    labels: Sequence[str],
    clients: int,
    alpha: float,
    rng: np.random.Generator,
    *,
    groups: Sequence[str] | None = None,
    min_size: int = 10,
    max_tries: int = 1000,
) -> Partition:
    """FedML's rule: per label, shares p ~ Dir(alpha); a client that holds N / clients already gets none.

    The whole draw is repeated until every client holds `min_size` examples; DataError after `max_tries`. A
    group goes to one client whole, under its first example's label. Small alpha: skewed; large: even.
    """
    _check(labels, clients, min_size, "Dirichlet")
    if not 0 < alpha < float("inf"):
        raise DataError(f"alpha must be a finite number above 0, not {alpha}")
    units, sizes = _units(groups if groups is not None else range(len(labels)))
    classes = _classes(labels, units)
    holders = _until_large_enough(
        lambda: _draw(classes, sizes, clients, alpha, rng),
        sizes,
        clients,
        min_size,
        max_tries,
        f"raise alpha (now {alpha:g})",
    )
    return _dealt(units, holders, clients)


def by_label(
    labels: Sequence[str],
    clients: int,
    rng: np.random.Generator,
    *,
    groups: Sequence[str] | None = None,
    min_size: int = 10,
    max_tries: int = 1000,
) -> Partition:
    """Whole classes: the labels shuffled and dealt out evenly, anew until every client holds `min_size` examples.

    A group goes to one client whole, under its first example's label. DataError after `max_tries`, or with fewer classes
    than clients.
    """
    _check(labels, clients, min_size, "label")
    units, sizes = _units(groups if groups is not None else range(len(labels)))
    classes = _classes(labels, units)
    if clients > len(classes):
        raise DataError(
            f"{len(classes)} classes cannot give {clients} clients one each; take at most {len(classes)} clients, or "
            'use partition = "dirichlet" with a small alpha'
        )

    def draw() -> NDArray[np.intp]:
        holders = np.empty(len(units), dtype=np.intp)
        for members, client in zip(classes, rng.permutation(np.arange(len(classes)) % clients), strict=True):
            holders[members] = client
        return holders

    remedy = 'use partition = "dirichlet"'
    return _dealt(units, _until_large_enough(draw, sizes, clients, min_size, max_tries, remedy), clients)


def _until_large_enough(
    draw: Callable[[], NDArray[np.intp]],
    sizes: NDArray[np.intp],
    clients: int,
    min_size: int,
    max_tries: int,
    remedy: str,
) -> NDArray[np.intp]:
    """unit -> client, the first draw that gives everybody `min_size` examples."""
    best = 0
    for _ in range(max_tries):
        holders = draw()
        held = int(np.bincount(holders, weights=sizes, minlength=clients).min())
        if held >= min_size:
            return holders
        best = max(best, held)
    raise DataError(
        f"{max_tries} draws left some client below {min_size} examples (at best {best}); "
        f"{remedy}, take fewer clients (now {clients}), or lower min_size to {best}"
    )


def _draw(
    classes: Sequence[NDArray[np.intp]],
    sizes: NDArray[np.intp],
    clients: int,
    alpha: float,
    rng: np.random.Generator,
) -> NDArray[np.intp]:
    """unit -> client, one attempt."""
    holders = np.empty(len(sizes), dtype=np.intp)
    held = np.zeros(clients)
    for members in classes:
        order = rng.permutation(members)
        room = held < sizes.sum() / clients
        shares = rng.dirichlet(np.full(clients, alpha)) * room
        if shares.sum() == 0:  # a very small alpha may give all of p to clients that are full
            shares = room.astype(float)
        cuts = (np.cumsum(shares / shares.sum()) * len(order)).astype(int)[:-1]
        for client, part in enumerate(np.split(order, cuts)):
            holders[part] = client
            held[client] += sizes[part].sum()
    return holders


def iid(groups: Sequence[str], clients: int, rng: np.random.Generator) -> Partition:
    """Groups shuffled and dealt out evenly; `groups` names the group of each example."""
    units, _ = _units(groups)
    if not 1 <= clients <= len(units):
        raise DataError(f"{len(units)} groups cannot be dealt to {clients} clients; ask for 1 to {len(units)}")
    holders = rng.permutation(np.arange(len(units)) % clients)
    return _dealt(units, holders, clients)


def by_client(names: Sequence[str]) -> Partition:
    """As the data says: a client per distinct name, in alphabetical order."""
    if missing := sum(not name for name in names):
        raise DataError(f"{missing} of {len(names)} examples name no client; fill the column 'client'")
    order, holders = np.unique(np.asarray(names), return_inverse=True)
    return tuple(np.flatnonzero(holders == client) for client in range(len(order)))


def _check(labels: Sequence[str], clients: int, min_size: int, rule: str) -> None:
    if missing := sum(not label for label in labels):
        raise DataError(
            f"{missing} of {len(labels)} examples have no label, which a {rule} partition needs; "
            "fill the column 'label' or use partition = \"iid\""
        )
    if clients < 1:
        raise DataError(f"cannot deal to {clients} clients; ask for 1 or more")
    if clients * max(min_size, 1) > len(labels):
        able, smallest = len(labels) // max(min_size, 1), len(labels) // clients
        ways = [f"data.clients = {able}"] * bool(able) + [f"data.min_size = {smallest}"] * bool(smallest)
        remedy = f"at most {' or '.join(ways)}" if ways else "raise data.limit or add data"
        raise DataError(f"{len(labels)} examples cannot give {clients} clients {min_size} each; {remedy}")


def _units(groups: Sequence[Hashable]) -> tuple[list[NDArray[np.intp]], NDArray[np.intp]]:
    """The indices of each group, groups in order of first appearance; and how many."""
    found: dict[Hashable, list[int]] = {}
    for index, group in enumerate(groups):
        found.setdefault(group, []).append(index)
    units = [np.array(indices) for indices in found.values()]
    return units, np.array([len(unit) for unit in units])


def _classes(labels: Sequence[str], units: Sequence[NDArray[np.intp]]) -> list[NDArray[np.intp]]:
    """The units of each label, labels in alphabetical order."""
    own = np.asarray(labels)[[unit[0] for unit in units]]
    return [np.flatnonzero(own == label) for label in np.unique(own)]


def _dealt(units: list[NDArray[np.intp]], holders: NDArray[np.intp], clients: int) -> Partition:
    own = [[unit for unit, holder in zip(units, holders, strict=True) if holder == c] for c in range(clients)]
    return tuple(np.sort(np.concatenate(parts)) if parts else np.empty(0, np.intp) for parts in own)
