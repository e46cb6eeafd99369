"""Who might look: the adversaries of the audit, from the user of the final model up to an oracle that only calibrates.

Every one of them is curious and follows the protocol; a server that alters what it sends is outside this list.
"""

from dataclasses import dataclass
from enum import StrEnum

from fedrand.audit.transcript import SENT


class Sight(StrEnum):
    """One kind of thing an adversary may see; an attack names the ones it needs."""

    FINAL = "the final adapter"
    BROADCASTS = "every broadcast"
    SIZES = "the sizes of messages"
    GROUPS = "how many clients sent each half, and their examples together"
    UPLOADS = "a client's uploads"
    OTHERS = "the other clients' uploads"
    OWN = "data of its own"
    TRUTH = "the clients' true adapters"


@dataclass(frozen=True)
class Threat:
    """An adversary. sees: one sentence; has: the same, for attacks to ask; kinds: of transcript entries it may read."""

    id: str
    adversary: str
    sees: str
    has: frozenset[Sight]
    kinds: tuple[str, ...] = ()


_SERVER = frozenset({Sight.FINAL, Sight.BROADCASTS, Sight.SIZES, Sight.GROUPS, Sight.UPLOADS})
_GOT = ("broadcast", *SENT)

THREATS: dict[str, Threat] = {
    threat.id: threat
    for threat in (
        Threat("T0", "a user of the final model", "It sees the final adapter alone.", frozenset({Sight.FINAL})),
        Threat(
            "T1",
            "an eavesdropper",
            "It sees every broadcast and the sizes of messages; through TLS the sizes alone.",
            frozenset({Sight.FINAL, Sight.BROADCASTS, Sight.SIZES}),
            ("broadcast",),
        ),
        Threat(
            "T2",
            "a curious server behind secure aggregation",
            "It sees every server adapter, how many clients sent each half, and the sum of their n_k.",
            _SERVER - {Sight.UPLOADS, Sight.SIZES},
            ("broadcast",),
        ),
        Threat(
            "T3",
            "a curious server, one client at a time",
            "It sees one client's uploads over all rounds with a_k and n_k, and everything it broadcast.",
            _SERVER - {Sight.GROUPS},
            _GOT,
        ),
        Threat(
            "T3+",
            "a curious server",
            "It sees every client's uploads over all rounds with a_k and n_k, and everything it broadcast.",
            _SERVER | {Sight.OTHERS},
            _GOT,
        ),
        Threat(
            "T4",
            "a curious fellow client",
            "It sees every broadcast, its own data and its own uploads.",
            frozenset({Sight.FINAL, Sight.BROADCASTS, Sight.OWN}),
            _GOT,
        ),
        Threat(
            "Tinf",
            "an oracle, for calibration alone",
            "It sees everything, the clients' true adapters too; no adversary of a real run does.",
            _SERVER | {Sight.OTHERS, Sight.TRUTH},
            (*_GOT, "oracle"),
        ),
    )
}
