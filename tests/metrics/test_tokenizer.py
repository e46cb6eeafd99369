"""Tokens that Stanford CoreNLP 3.4.1 (Java) gave, lower-cased and without coco-caption's punctuation."""

import pytest

from fedrand.metrics import tokenize

KNOWN = {
    "A dog doesn't run.": "a dog does n't run",
    "I DON'T KNOW, can't say, won't go": "i do n't know ca n't say wo n't go",
    "I'm he's we've they'll she'd you're": "i 'm he 's we 've they 'll she 'd you 're",
    "wouldn't've cannot gonna": "would n't 've can not gon na",
    "it\u2019s don\u2019t \u2018single\u2019 dogs\u2019": "it 's do n't single dogs",
    "Mike's dog, the dogs' bowl and the boss's": "mike 's dog the dogs bowl and the boss 's",
    "'Tis 'twas rock 'n' roll 'em 'cause '90s 1990's": "'t is 't was rock 'n' roll 'em 'cause '90s 1990 's",
    "O'Brien o'clock ma'am y'all jack-o'-lantern": "o'brien o'clock ma'am y' all jack-o lantern",
    "\"Hello,\" she said. 'Hi there' ``a'' “b” «c»": "hello she said hi there a b c",
    'it"s a 5" pipe': "it s a 5 pipe",
    "well-known dog - cat -- bird --- fish \u2013 en \u2014 em dog--cat -dog dog-": (
        "well-known dog cat bird fish en em dog cat dog dog"
    ),
    "mother-in-law's 10-year-old hot-dog": "mother-in-law 's 10-year-old hot-dog",
    "1,000 people, 3.14 pies and .5 of 1,234.56.": "1,000 people 3.14 pies and .5 of 1,234.56",
    "$5.00 or 50% at 10:30am, €5 £3 5¢ -5 +3 1/2": "$ 5.00 or 50 % at 10:30 am $ 5 # 3 5 cents -5 +3 1/2",
    "1st 4x4 3D 1950s v2.0 #1 No. 5 no.": "1st 4x4 3d 1950s v2 .0 # 1 no. 5 no",
    "Mr. Smith and Dr. No at St. John's in the U.S. at 5 p.m. on Jan. 5.": (
        "mr. smith and dr. no at st. john 's in the u.s. at 5 p.m. on jan. 5"
    ),
    "e.g. this, i.e. that etc. vs. Ph.D. and me.": "e.g. this i.e. that etc. vs. ph.d. and me",
    "Plan A. The dog. Vitamin C. and D.": "plan a the dog vitamin c. and d.",
    "in Ark. and in an ark. in Pa. and for pa.": "in ark. and in an ark in pa. and for pa",
    "Wait... what .... ok . . . and… dog...cat": "wait what ok and dog cat",
    "(round) [square] {curly}": "-lrb- round -rrb- -lsb- square -rsb- -lcb- curly -rcb-",
    "a(b)c": "a -lrb- b -rrb- c",
    "!? !!! ??? hi,there hi;there hi:there ok.! end?": "!? !!! ??? hi there hi there hi there ok end",
    "sat.He ran.Then hi!there": "sat.he ran.then hi!there",
    "and/or w/ a n/a AT&T rock&roll &amp; under_score": "and/or w / a n/a at&t rock & roll & under_score",
    "user@example.com http://x.y/a?b=c. @home #dog <image>": ("user@example.com http://x.y/a?b=c @home #dog <image>"),
    "café naïve Zoë's Ünïcode n͂": "café naïve zoë 's ünïcode n͂",
    "русский язык, 日本語 हिन्दी": "русский язык 日本語 हिन्दी",
    "dog🐶cat ❤️ 😀 x² ½ ©": "dog cat ❤ x ² 1/2 ©",
    "a\nb\r\nc\td   e\u00a0f": "a b c d e f",
    "": "",
    " \n": "",
    ". , ! '": "",
}


@pytest.mark.parametrize(("text", "tokens"), KNOWN.items())
def test_tokens_are_those_of_the_java_tokenizer(text: str, tokens: str) -> None:
    assert tokenize(text) == tokens.split()
