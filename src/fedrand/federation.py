"""A whole federation in this process: an iterator of rounds."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from fedrand.admission import Refused, admit
from fedrand.messages import ClientState, Download, ServerState, Upload
from fedrand.params import Keys, Params, select
from fedrand.randomness import stream
from fedrand.round import ClientError, Learner, Outcome, client_round
from fedrand.strategy import Strategy

Passed = Callable[[str, Download | Upload], None]
"""Told of a client's message as it travels, whatever becomes of it."""


def unheard(client: str, message: Download | Upload) -> None:
    """Where nobody keeps account."""


class Shelf(Protocol):
    """Where clients' private adapters lie between their rounds."""

    def load(self, client: str, round: int) -> ClientState:
        """The client's state after its last round before `round`; empty if there was none."""
        ...

    def save(self, client: str, state: ClientState) -> None: ...


@dataclass
class Memory:
    """A shelf in RAM; like the one on disk it keeps each client's last two states, so that a round can be repeated."""

    states: dict[str, tuple[ClientState, ...]] = field(default_factory=dict[str, tuple[ClientState, ...]])

    def load(self, client: str, round: int) -> ClientState:
        earlier = [state for state in self.states.get(client, ()) if state.rounds[-1] < round]
        return earlier[-1] if earlier else ClientState()

    def save(self, client: str, state: ClientState) -> None:
        kept = [old for old in self.states.get(client, ()) if old.rounds[-1] < state.rounds[-1]]
        self.states[client] = (*kept[-1:], state)


@dataclass(frozen=True)
class Round:
    """One round as it happened: `before` and `after` it, what each client did, who was refused and why.

    dropped: what clients did in a first attempt that found too few of them and was repeated with others: they trained,
    and the server got their uploads; one that a client sent again, to the same bits, is not among them. messages:
    everything that travelled, with whose it was, in both attempts.
    """

    before: ServerState
    after: ServerState
    selected: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    admitted: tuple[Upload, ...]
    refused: tuple[Refused, ...]
    seconds: float
    dropped: tuple[Outcome, ...] = ()
    messages: tuple[tuple[str, Download | Upload], ...] = ()


class TooFewClients(RuntimeError):
    """Fewer usable uploads than `min_clients`, also after the repetition."""


def select_clients(names: Sequence[str], count: int, round: int, seed: int, attempt: int = 0) -> tuple[str, ...]:
    """S_r: `count` clients uniformly without replacement, in the random order in which the server drew them."""
    rng = stream(seed, "server", round, attempt)
    return tuple(str(name) for name in rng.choice(sorted(names), size=count, replace=False))


@dataclass(frozen=True)
class Federation:
    """A server, its clients and the method that joins them."""

    strategy: Strategy
    learners: Mapping[str, Learner]
    clients_per_round: int
    seed: int
    min_clients: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.clients_per_round <= len(self.learners):
            raise ValueError(f"clients_per_round is {self.clients_per_round}; choose from 1 to {len(self.learners)}")
        if not 1 <= self.min_clients <= self.clients_per_round:
            raise ValueError(f"min_clients is {self.min_clients}; choose from 1 to {self.clients_per_round}")
        self.strategy.check(self.keys)

    @cached_property
    def keys(self) -> Keys:
        """The whole adapter's, those that stay with the clients included."""
        return frozenset(_adapter(next(iter(self.learners.values())), self.seed))

    def rounds(self, server: ServerState, shelf: Shelf, until: int, passed: Passed = unheard) -> Iterator[Round]:
        """Rounds server.round .. until - 1; each is yielded before the next one starts. passed: told of every message
        before the round it belongs to is over, which it may never be."""
        while server.round < until:
            done = self._round(server, shelf, passed)
            server = done.after
            yield done

    def _round(self, server: ServerState, shelf: Shelf, passed: Passed) -> Round:
        """One round; repeated once with other clients when fewer than `min_clients` uploads were usable."""
        begun = time.perf_counter()
        messages: list[tuple[str, Download | Upload]] = []

        def note(client: str, message: Download | Upload) -> None:
            passed(client, message)
            messages.append((client, message))

        admitted: list[Upload] = []
        refused: list[Refused] = []
        dropped: tuple[Outcome, ...] = ()
        for attempt in range(2):
            drawn = select_clients(tuple(self.learners), self.clients_per_round, server.round, self.seed, attempt)
            selected = tuple(sorted(drawn))
            outcomes, failed = self._train(drawn, server, shelf, note)
            admitted, turned_away = self._admit(outcomes, server, selected)
            refused += failed + turned_away
            if len(admitted) >= self.min_clients:
                after = self.strategy.step(server, admitted)
                seconds = time.perf_counter() - begun
                again = {outcome.upload.client: outcome.upload.params.keys() for outcome in outcomes}
                dropped = tuple(one for one in dropped if again.get(one.upload.client) != one.upload.params.keys())
                whole = (tuple(outcomes), tuple(admitted), tuple(refused))
                return Round(server, after, selected, *whole, seconds, dropped, tuple(messages))
            dropped = tuple(outcomes)
        raise TooFewClients(
            f"round {server.round}: {len(admitted)} usable uploads, min_clients is {self.min_clients}; "
            + "; ".join(str(refusal) for refusal in refused)
        )

    def _train(
        self, drawn: Sequence[str], server: ServerState, shelf: Shelf, note: Passed
    ) -> tuple[list[Outcome], list[Refused]]:
        """Each client in turn; one that breaks keeps its old state and costs the round only its upload."""
        outcomes: list[Outcome] = []
        failed: list[Refused] = []
        for name in sorted(drawn):
            try:
                outcomes.append(self._client(name, server, shelf, (drawn.index(name), len(drawn)), note))
            except ClientError as error:
                failed.append(Refused(name, str(error)))
        return outcomes, failed

    def _client(self, name: str, server: ServerState, shelf: Shelf, place: tuple[int, int], note: Passed) -> Outcome:
        def fetch(keys: Keys) -> Download:
            download = Download(server.round, select(server.params, keys))
            note(name, download)
            return download

        rng = stream(self.seed, "client", name, server.round)
        state = shelf.load(name, server.round)
        learner, strategy = self.learners[name], self.strategy
        outcome = client_round(name, server.round, strategy, self.keys, state, fetch, learner, rng, place)
        note(name, outcome.upload)
        shelf.save(name, outcome.state)
        return outcome

    def _admit(
        self, outcomes: Sequence[Outcome], server: ServerState, selected: Sequence[str]
    ) -> tuple[list[Upload], list[Refused]]:
        admitted: dict[str, Upload] = {}
        refused: list[Refused] = []
        for outcome in outcomes:
            try:
                upload = admit(outcome.upload, server, self.strategy, selected, admitted)
                admitted[upload.client] = upload
            except Refused as refusal:
                refused.append(refusal)
        return list(admitted.values()), refused


def initial_server(learner: Learner, seed: int, strategy: Strategy | None = None) -> ServerState:
    """Round 0: A_0 from the shared seed, B_0 = 0; of the factors only those that a server of `strategy` holds."""
    params = _adapter(learner, seed)
    return ServerState(0, select(params, strategy.held(frozenset(params))) if strategy else params)


def _adapter(learner: Learner, seed: int) -> Params:
    return learner.initial(stream(seed, "adapter"))
