"""The parts of build_emoji_pack.py."""
