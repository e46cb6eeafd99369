"""What one adversary has: a transcript cut down to what it sees. What it does not see raises PermissionError."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

from fedrand.admission import tensor_fault
from fedrand.audit.threats import THREATS, Sight, Threat
from fedrand.audit.transcript import SENT, Entry, Index, transcript
from fedrand.data.example import Example
from fedrand.params import Key, Keys, Params


class Group(NamedTuple):
    """Who sent one tensor in a round: how many clients, and their examples together."""

    senders: int
    examples: int


class Groups(NamedTuple):
    """One round's groups by tensor (none where nobody sent it), and the examples of everyone who took part (m_r)."""

    of: Mapping[Key, Group]
    examples: int


@dataclass(frozen=True)
class View:
    """One adversary's sight of a run. client: whom it looks at (T3), or who it is (T4). `index` reads no more than
    the adversary may. Make one with `seen_by`."""

    threat: Threat
    index: Index
    has: frozenset[Sight]
    client: str = ""
    shown: Mapping[Sight, object] = field(default_factory=dict[Sight, object])

    @property
    def rounds(self) -> tuple[int, ...]:
        """The rounds whose broadcast it saw, oldest first."""
        self._need(Sight.BROADCASTS)
        return tuple(entry.round for entry in self.index.of("broadcast"))

    @property
    def final(self) -> Params:
        """The server's adapter after the last round."""
        return self._shown(Sight.FINAL)

    @property
    def groups(self) -> Mapping[int, Groups]:
        """round -> who sent what, by number."""
        return self._shown(Sight.GROUPS)

    @property
    def sizes(self) -> Sequence[tuple[int, str, int]]:
        """(round, kind, bytes) of every message that an eavesdropper on the line can count."""
        return self._shown(Sight.SIZES)

    @property
    def own(self) -> Sequence[Example]:
        """A fellow client's own examples."""
        return self._shown(Sight.OWN)

    def broadcast(self, round: int) -> Params:
        """The server's adapter at the start of a round."""
        self._need(Sight.BROADCASTS)
        return self.index.read(_start(self.index, round))

    def after(self, round: int) -> Params:
        """The server's adapter once a round is over: the next broadcast, or the final one."""
        later = [known for known in self.rounds if known > round]
        return self.broadcast(later[0]) if later else self.final

    def uploads(self, client: str = "") -> tuple[Entry, ...]:
        """A client's admitted uploads (the view's own client where none is named), oldest first; empty when it never
        took part. An old transcript marks no refusals: what the server could not have averaged is left out."""
        return tuple(entry for entry in self._sent(client) if _fitting(self.index, entry))

    def together(self, round: int) -> tuple[Entry, ...]:
        """Every client's admitted upload of one round."""
        self._need(Sight.OTHERS)
        return tuple(
            e for e in self.index.entries if (e.round, e.kind) == (round, "upload") and _fitting(self.index, e)
        )

    def turns(self, client: str = "") -> tuple[Entry, ...]:
        """Every upload of a client, also a refused one: each is a round in which it trained."""
        refused = self.index.of("refused", client or self.client)
        return tuple(sorted((*self._sent(client), *refused), key=lambda entry: entry.round))

    def read(self, entry: Entry) -> Params:
        """The tensors of one entry; PermissionError when it is beyond this adversary."""
        return self.index.read(entry)

    def true(self, client: str) -> tuple[Entry, ...]:
        """The client's whole adapters after each of its rounds, oldest first."""
        self._need(Sight.TRUTH)
        return tuple(self.index.of("oracle", client))

    def _sent(self, client: str) -> tuple[Entry, ...]:
        name = client or self.client
        own = self.threat.id == "T4" and name == self.client
        if not own:
            self._need(Sight.UPLOADS)
        if not own and name != self.client:
            self._need(Sight.OTHERS)
        return tuple(self.index.of("upload", name))

    def _need(self, sight: Sight) -> None:
        if sight not in self.has:
            raise PermissionError(f"{self.threat.id}, {self.threat.adversary}, does not see {sight}")

    def _shown(self, sight: Sight):
        self._need(sight)
        return self.shown[sight]


def seen_by(
    threat: str,
    folder: Path,
    final: Params,
    client: str = "",
    *,
    own: Sequence[Example] = (),
    tapped: bool = True,
) -> View:
    """The view of one threat model on a run's transcript.

    final: the server's adapter after the last round. client: whom T3 looks at, or who the fellow client of T4 is; own:
    its examples. tapped: whether T1 reads broadcasts (False: TLS leaves it the sizes).
    """
    known = THREATS[threat]
    if threat in ("T3", "T4") and not client:
        raise ValueError(f"{threat} is about one client; name it")
    has = known.has if tapped else known.has & {Sight.SIZES}
    kinds = known.kinds if Sight.BROADCASTS in has else ()
    index = Index(folder, kinds, (client,) if threat in ("T3", "T4") else None)
    every = transcript(folder)
    found = {
        Sight.FINAL: lambda: final,
        Sight.SIZES: lambda: _sizes(every, client if threat == "T3" else ""),
        Sight.GROUPS: lambda: _groups(every),
        Sight.OWN: lambda: tuple(own),
    }
    return View(known, index, has, client, {sight: make() for sight, make in found.items() if sight in has})


def hindrance(needs: Collection[Sight], view: View) -> str:
    """Why an attack does not apply to a view, in one sentence; empty when it does."""
    lacking = [str(sight) for sight in Sight if sight in needs and sight not in view.has]
    return f"{view.threat.id}, {view.threat.adversary}, does not see {' or '.join(lacking)}." if lacking else ""


def fits(sent: Params, known: Params) -> bool:
    """Whether the server could average these tensors: known names, its own shapes and types, finite."""
    return bool(sent) and not any(tensor_fault(key, sent, known) for key in sent)


def admitted(index: Index) -> dict[int, dict[Entry, Keys]]:
    """Every upload the server took and the tensors in it, by round; `index` must read broadcasts and uploads."""
    found: dict[int, dict[Entry, Keys]] = {entry.round: {} for entry in index.of("broadcast")}
    for entry in index.entries:
        if entry.kind == "upload" and _fitting(index, entry):
            found[entry.round][entry] = frozenset(index.read(entry))
    return found


def _groups(index: Index) -> dict[int, Groups]:
    return {round: _group(uploads) for round, uploads in admitted(index).items()}


def _group(uploads: Mapping[Entry, Keys]) -> Groups:
    senders: Counter[Key] = Counter()
    examples: Counter[Key] = Counter()
    for entry, keys in uploads.items():
        senders.update(keys)
        examples.update(dict.fromkeys(keys, entry.num_examples))
    of = {key: Group(senders[key], examples[key]) for key in senders}
    return Groups(of, sum(entry.num_examples for entry in uploads))


def _sizes(index: Index, client: str) -> tuple[tuple[int, str, int], ...]:
    way = {"broadcast": "download"} | dict.fromkeys(SENT, "upload")
    shown = (entry for entry in index.entries if not client or entry.client in ("", client))
    return tuple((one.round, way[one.kind], index.size(one)) for one in shown)


def _start(index: Index, round: int) -> Entry:
    return next(entry for entry in index.of("broadcast") if entry.round == round)


@cache
def _fitting(index: Index, entry: Entry) -> bool:
    return fits(index.read(entry), index.read(_start(index, entry.round)))
