"""What a curious server (T3) has of one client: its broadcasts, the client's uploads, and what they add up to."""

from collections.abc import Mapping
from dataclasses import dataclass

from fedrand.audit.transcript import Entry, Index
from fedrand.params import Key, Keys, Params
from fedrand.randomness import stream
from fedrand.strategy import Sharing, Turn


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
    """T3 on one client. `index` must be of broadcasts and uploads alone; final: the server's adapter after the last
    round."""

    index: Index
    client: str
    final: Params

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

    def last_update(self, sharing: Sharing) -> Update:
        """The newest upload against what the client began that round from, as far as the method tells.

        The sent part began at the broadcast. The rest did too where the method says so; else its start is exact when
        the client's upload before this one held it (it switched halves in between), else it is the newest one known.
        """
        last = self.uploads[-1]
        broadcast, end = self._broadcast(last.round), self.index.read(last)
        earlier = [entry.round for entry in self.uploads if entry.round < last.round]
        turn = Turn(last.round, first=not earlier, last=earlier[-1] if earlier else None)
        method = sharing.split(frozenset(broadcast), turn, stream(0, "method"))
        known, sent = self._known(last.round, broadcast)
        rest = method.private and method.private <= method.from_server - method.fresh
        start = dict(broadcast) if rest else {**known, **{key: broadcast[key] for key in end}}
        exact = frozenset() if method.shared & method.fresh else frozenset(end)
        exact |= frozenset(start) if rest else {key for key, round in sent.items() if round in earlier[-1:]}
        change = {key: start[key] - value for key, value in end.items()}
        stand_ins = self._stand_ins(start, frozenset(end), last.round)
        return Update({**start, **stand_ins}, change, exact - stand_ins.keys())

    def _stand_ins(self, start: Params, sent: Keys, round: int) -> Params:
        """Of what was not sent, the tensors that start at zero, as the server had them one round later: at B = 0 the
        gradient of A is zero, and only the first step of the round was taken there."""
        later = next((e for e in self.index.of("broadcast") if e.round > round), None)
        after = self.index.read(later) if later else self.final
        return {key: after[key] for key in start.keys() - sent if not start[key].any()}

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
