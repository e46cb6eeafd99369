"""Penn Treebank tokens without Java: what coco-caption's tokenizer (Stanford CoreNLP 3.4.1) gives.

Tokens are lower-cased and coco-caption's list of punctuation is dropped. Its habits are kept, for scores
compare only over equal tokens: ``-lrb-`` stays (lower-cased, it misses the list), so do ``!!`` and ``?!``.
Not followed: mixed numbers (``3 1/2``) and phone numbers split at their spaces, emoticons at their bracket.
"""

import re

_DROPPED = frozenset(["'", "\u2018", "\u2019", '"', "`", ".", "?", "!", ",", ":", "-", ";"])
_NAMED = {
    **{"(": "-lrb-", ")": "-rrb-", "[": "-lsb-", "]": "-rsb-", "{": "-lcb-", "}": "-rcb-"},
    **{"¢": "cents", "€": "$", "£": "#"},
}
_PLAIN = str.maketrans(
    {
        **dict.fromkeys("“”«»\u2039\u203a", '"'),
        **dict.fromkeys("\u2013\u2014", " -- "),
        **{"…": " ... ", "½": " 1/2 ", "¼": " 1/4 ", "¾": " 3/4 ", "\u00ad": ""},
    }
)

# accents and vowel signs written as characters of their own, which \w leaves out: Latin, Arabic, Indic, Thai
_MARKS = "\u0300-\u036f\u064b-\u065f\u0900-\u0963\u0966-\u0dff\u0e31-\u0e3a\u0e47-\u0e4e"
_LETTER = rf"(?:(?![\d_²³¹₀-₉])[\w{_MARKS}])"
_CHARACTER = rf"(?:(?![_²³¹₀-₉])[\w{_MARKS}])"
_END = rf"(?!{_CHARACTER})"
_APOSTROPHE = re.compile(rf"(?<={_CHARACTER})[\u2018\u2019](?={_CHARACTER})")
# emoji, joiners, variation selectors: the Java lexer discards them
_UNREADABLE = re.compile("[\u200b-\u200f\ufe00-\ufe0f\ufeff\U00010000-\U0010ffff]")


def _any(words: str) -> str:
    return "(?:" + "|".join(map(re.escape, words.split())) + ")"


_ABBREVIATION = _any(
    """adj adm adv al ala alex apr ariz assn assoc aug ave bldg blvd brig bros calif capt cf cie cmdr co
    col colo conn corp cos cpl ct dec dept det dr drs ens esq est etc ext feb fla fri ft ga gen gov hon
    inc ind intl jan jos jr jul jun kan ky lt ltd maj mar md messrs mfg mich minn mo mon mont mr mrs ms mt
    natl neb nev nov oct okla penn ph ph.d plc pres prof pte pty pvt rd rep rev rt sen sep sept seq sgt
    spc sq sr st ste supt sys tel tenn thu thurs tue tues univ va vs vt wed wis wisc wm wyo"""
)
_CAPITALISED_ABBREVIATION = _any("Ark Az Del Ill La Mass Miss Ore Pa Tex Wash")
_NUMBERED = _any("art ca fig figs no nos op pp prop")
_SENTENCE_START = _any(
    """A About After An As At But He Her Here However If In It Last Many More Now Once One Other Our She
    Since So Some Such That The Their Then There These They This We What When While Yet You"""
)
_FUSED = {"can": "not", "gon": "na", "wan": "na", "got": "ta", "gim": "me", "lem": "me"}
_HELD_BY_AN_APOSTROPHE = _any("ma'am ne'er e'er c'mon s'mores hallowe'en qu'est c'est")
_NEGATION = rf"n['`]t{_END}"
_PART = rf"(?:\d+(?:[.,:]\d+)+|{_CHARACTER}+)"

# at each position the first that fits wins
_KINDS = {
    "fused word": "(?i:" + "|".join(rf"{first}(?={rest}{_END})" for first, rest in _FUSED.items()) + ")",
    "plain word, for speed": r"[A-Za-z]+(?=\s)",
    "tag": r"</?[A-Za-z!][^\s<>]*>",
    "address": r"(?:https?://|www\.)[^\s\"<>|()]*[^\s\"<>|().!?,;:'-]",
    "mail or handle": r"\w[\w.+-]*@\w[\w-]*(?:\.\w[\w-]*)*|[@#][A-Za-z]\w*",
    "initials": rf"(?:{_LETTER}\.){{2,}}{_END}|{_LETTER}\.{_END}(?!\s+{_SENTENCE_START}{_END})",
    "abbreviation": rf"(?:(?i:{_ABBREVIATION})|{_CAPITALISED_ABBREVIATION})\.{_END}",
    "abbreviation before a number": rf"(?i:{_NUMBERED})\.(?=\s+\d)",
    "negation": rf"(?i:{_CHARACTER}+?(?={_NEGATION})|{_NEGATION})",
    "clitic": rf"(?i:'n'|'(?:s|m|d|ll|re|ve|em|cause|til|n){_END}|'t(?=(?:is|was){_END})|y'(?={_LETTER}))",
    "elision": rf"(?i:{_HELD_BY_AN_APOSTROPHE}{_END}|[dol]'{_LETTER}{{2,}})|'\d\ds?{_END}",
    "initials joined by &": r"[A-Z]+(?:&[A-Z]+)+",
    "words a missing space joined": rf"{_LETTER}+(?:[.?!]{_LETTER}+)+",
    "word or number": rf"(?:(?<![\w-])[-+](?=\.?\d))?{_PART}(?:[-/_]{_PART})*|\.\d+",
    "symbol": r"[!?]{2,}|<<|>>|\*+|_+|#+|\S",
}
_TOKEN = re.compile("|".join(_KINDS.values()))


def tokenize(text: str) -> list[str]:
    """Lower-cased tokens of a text, without punctuation; [] for an empty one. A line break is a space."""
    plain = _APOSTROPHE.sub("'", text.translate(_PLAIN)).replace("&amp;", "&")
    found = (match.group() for match in _TOKEN.finditer(_UNREADABLE.sub(" ", plain)))
    return [_NAMED.get(token, token.lower()) for token in found if token not in _DROPPED]
