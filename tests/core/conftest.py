"""Hypothesis runs the same examples every time and keeps no folder of its own."""

from hypothesis import settings

settings.register_profile("repeatable", deadline=None, derandomize=True, database=None, max_examples=50)
settings.load_profile("repeatable")
