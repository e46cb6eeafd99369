"""What is wrong with a model, in one line."""

from fedrand.errors import InputError


class ModelError(InputError):
    """A model that cannot be had, or that this engine cannot run: what was asked, why not, what to do."""
