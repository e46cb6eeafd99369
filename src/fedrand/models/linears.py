"""The linear layers that LoRA adapts."""

from typing import Any

from fedrand.models.errors import ModelError
from fedrand.models.runtime import torch


def language_linears(model: Any) -> tuple[str, ...]:
    """Dotted names of every linear of the language model's layers: no lm_head, connector or vision tower.

    Paper, decision 7. In the order of the model.
    """
    decoder, head = model.get_decoder(), model.get_output_embeddings()
    inside = {id(module) for module in decoder.modules()}
    found = tuple(
        name
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear) and id(module) in inside and module is not head
    )
    if not found:
        raise ModelError(f"{type(model).__name__} has no linear layer in its language model; choose another model")
    return found
