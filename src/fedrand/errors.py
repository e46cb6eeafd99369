"""The two kinds of failure a user meets; the command line prints either as one line."""


class InputError(ValueError):
    """Wrong input: says what was asked, what there is and what to do. Exit status 2."""


class RunError(RuntimeError):
    """A run that could not go on: says why, and how to resume. Exit status 1."""
