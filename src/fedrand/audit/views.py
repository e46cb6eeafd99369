"""What a curious server (T3) has of one client: its broadcasts, the client's uploads, and what they add up to."""

from collections.abc import Mapping
from dataclasses import dataclass

from fedrand.audit.transcript import Entry, Index
from fedrand.params import Key, Keys, Params


@dataclass(frozen=True)
class Rebuilt:
    """A client's adapter as the server can put it together.

    age: rounds since the client sent each tensor itself; None where it never did and the server's own value stands in.
    """

    params: Params
    age: Mapping[Key, int | None]

    @property
    def stale(self) -> list[int]:
        """The ages of the tensors that came from the client, each age once."""
        return sorted({age for age in self.age.values() if age is not None})


@dataclass(frozen=True)
class Update:
    """One upload as the server sees it. start: the best known adapter the client began from; change: start - end of
    what was sent (along +gradient); exact: the tensors of `start` that are known to the bit."""

    start: Params
    change: Params
    exact: Keys


@dataclass(frozen=True)
class ServerView:
    """T3 on one client. `index` must be of broadcasts and uploads alone."""

    index: Index
    client: str

    @property
    def uploads(self) -> tuple[Entry, ...]:
        """This client's uploads, oldest first; empty when it never took part."""
        return tuple(self.index.of("upload", self.client))

    def rebuilt(self) -> Rebuilt:
        """R1 (paper.md, decision 12): the newest upload, and for what it lacks the newest earlier one that held it;
        what the client never sent is taken from the broadcast of its last round."""
        last = self.uploads[-1]
        params, sent = self._known(last.round + 1, self._broadcast(last.round))
        return Rebuilt(params, {key: last.round - sent[key] if key in sent else None for key in params})

    def last_update(self) -> Update:
        """The newest upload against what the client began that round from.

        The sent part began at the broadcast. The other part's start is exact when the client's upload before this one
        held it (it switched halves in between), else it is the newest one known.
        """
        last = self.uploads[-1]
        broadcast, end = self._broadcast(last.round), self.index.read(last)
        start, sent = self._known(last.round, broadcast)
        start = {**start, **{key: broadcast[key] for key in end}}
        earlier = [entry.round for entry in self.uploads if entry.round < last.round]
        exact = frozenset(end) | {key for key, round in sent.items() if earlier and round == earlier[-1]}
        if not earlier:
            exact = frozenset(start)  # both halves came from the server
        return Update(start, {key: start[key] - value for key, value in end.items()}, exact)

    def _broadcast(self, round: int) -> Params:
        return next(self.index.read(entry) for entry in self.index.of("broadcast") if entry.round == round)

    def _known(self, before: int, fallback: Params) -> tuple[dict, dict[Key, int]]:
        """Every tensor's newest uploaded value before a round, and the round it was sent in."""
        params, sent = dict(fallback), {}
        for entry in self.uploads:
            if entry.round < before:
                upload = self.index.read(entry)
                params |= upload
                sent |= dict.fromkeys(upload, entry.round)
        return params, sent
