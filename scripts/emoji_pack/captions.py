"""Three captions per concept: "kind, name, keywords" from CLDR, the same from emojilib, "kind, name".

Kind first: a small model can learn to say the kind of an object it never saw, and the name least of all.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from emoji_pack.kinds import KINDS
from emoji_pack.sources import Entry

KEYWORDS = 3  # per caption
# Chat slang and filler: nothing that a reader could see in a drawing.
_NOISE = {"bae", "bff", "feels", "homie", "ily", "lol", "not", "omg", "tbt", "whatever", "you"}
_SIGNS = {"_": " ", "&": " and ", "#": "hash", "*": "asterisk", "\u2019": "", "'": ""}
# The CLDR name of these concepts is that of one variant.
_NAMES = {"1F57A": "person dancing", "1F385": "santa claus", "1F46A": "family"}


def captions(entries: Iterable[Entry]) -> dict[str, dict[str, Any]]:
    """concept -> the fields of items.jsonl that all its variants share."""
    heads = _heads(entries)
    common = Counter(w for e in heads.values() for w in {*map(words, e.cldr), *map(words, e.emojilib)})
    return {concept: _fields(entry, common) for concept, entry in heads.items()}


def _heads(entries: Iterable[Entry]) -> dict[str, Entry]:
    """concept -> the entry that speaks for it: the one with the concept's own code, else the first."""
    variants: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        variants[entry.concept].append(entry)
    plain = {c: [e for e in v if e.code.replace("-FE0F", "") == c] for c, v in variants.items()}
    return {c: (plain[c] or variants[c])[0] for c in variants}


def _fields(entry: Entry, common: Counter[str]) -> dict[str, Any]:
    kind, name = KINDS[entry.subcategory], _NAMES.get(entry.concept) or words(entry.name)
    first, second = (_keywords(raw, f"{kind} {name}", common) for raw in (entry.cldr, entry.emojilib))
    return {
        "category": entry.category,
        "subcategory": entry.subcategory,
        "kind": kind,
        "name": name,
        "references": [*(", ".join([kind, name, *k[:KEYWORDS]]) for k in (first, second)), f"{kind}, {name}"],
        "keywords": first,
        "more_keywords": second,
    }


def _keywords(raw: Iterable[str], taken: str, common: Counter[str]) -> list[str]:
    """Keywords that add a word to `taken`, the most shared first: rare ones cannot be learnt."""
    plain = {w for w in map(words, raw) if len(w) > 2 and not re.search("[0-9]", w)} - _NOISE
    known = set(taken.replace(",", "").split())
    return sorted((w for w in plain if not set(w.split()) <= known), key=lambda w: (-common[w], w))


def words(text: str) -> str:
    """Lower-case plain words: letters, digits, hyphens inside, single spaces."""
    text = re.sub("^(flag|keycap):", "", text.strip()).strip()
    for sign, word in _SIGNS.items():
        text = text.replace(sign, word)
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    parts = (part.strip("-") for part in re.sub(r"[^a-z0-9-]+", " ", plain).split())
    return " ".join(filter(None, parts))
