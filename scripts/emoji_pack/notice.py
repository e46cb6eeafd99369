"""NOTICE.md of the pack: where drawings and words come from, their licences, and what was changed."""

from pathlib import Path

from emoji_pack.sources import PACKAGES

_HEAD = Path(__file__).with_name("NOTICE.head.md")
_FLUENT = """MIT License

Copyright (c) Microsoft Corporation.
Copyright (c) 2023 LobeHub
"""
_TEXTS = {
    "emoji-data (MIT)": "emoji-datasource-google/LICENSE",
    "emojilib (MIT)": "emojilib/LICENSE",
    "Unicode CLDR (Unicode-3.0)": "cldr-annotations-full/LICENSE",
}


def notice(npm: Path) -> str:
    """The whole text, licences as the packages have them (Fluent's has none; its README says MIT)."""
    texts = {title: (npm / path).read_text(encoding="utf-8").strip() for title, path in _TEXTS.items()}
    permission = texts["emojilib (MIT)"].partition("Permission is")
    texts["Fluent Emoji (MIT)"] = f"{_FLUENT}\n{permission[1]}{permission[2]}"
    sections = [f"## {title}\n\n```text\n{text}\n```\n" for title, text in sorted(texts.items())]
    head = _HEAD.read_text(encoding="utf-8").format(packages=", ".join(f"`{p}`" for p in PACKAGES))
    return "\n".join([head, *sections])
