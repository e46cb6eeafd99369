"""The fast path: the language model alone, on cached image features in the place of the image tokens.

It holds where an image's tokens are tokens like any other (LLaVA, FastVLM and the like) and where there is no image at
all; `fedrand.models.probe` asks the model itself.
"""

import inspect
from collections.abc import Sequence
from typing import Any

from PIL import Image

from fedrand.models.encoding import Encoded, Layout
from fedrand.models.runtime import torch

# Images at a time. Few on a CPU: the maps of more do not stay in its cache. With 16 an image takes 1.4 times as long in
# the tiny model's tower, 1.05 times in a ViT-B/16.
AT_ONCE, AT_ONCE_ON_CPU = 16, 4


class Fast:
    """Inputs are token embeddings [B, T, H], the state of a decoding is the decoder's KV cache."""

    slow = False

    def __init__(self, model: Any, processor: Any, layout: Layout) -> None:
        self.model, self.processor, self.layout = model, processor, layout
        self._decoder, self._embedding = model.get_decoder(), model.get_input_embeddings()
        known = inspect.signature(self._decoder.forward).parameters
        self._cache = "cache" if "cache" in known else "past_key_values"  # transformers renamed it in 5.2x

    def see(self, images: Sequence[Image.Image]) -> list[torch.Tensor]:
        """Features [tokens, H] of each image."""
        found: list[torch.Tensor] = []
        batch = at_once(self._embedding.weight.device)
        for start in range(0, len(images), batch):
            pixels = self.pixels(images[start : start + batch])
            blanks = pixels.new_zeros((batch - len(pixels), *pixels.shape[1:]))
            found += [feature.clone() for feature in self.project(torch.cat([pixels, blanks]))[: len(pixels)]]
        return found

    def pixels(self, images: Sequence[Image.Image]) -> torch.Tensor:
        """The processor's pixel values, [images, 3, height, width]."""
        values = self.processor.image_processor(images=list(images), return_tensors="pt")["pixel_values"]
        weight = self._embedding.weight
        return values.to(weight.device, weight.dtype)

    @torch.no_grad()
    def project(self, pixels: torch.Tensor) -> list[torch.Tensor]:
        """Image features as the language model takes them: a [tokens, H] per image."""
        features = self.model.get_image_features(pixel_values=pixels)
        return list(getattr(features, "pooler_output", features))

    @torch.no_grad()
    def inputs(self, ids: torch.Tensor, encoded: Sequence[Encoded], seen: Sequence[torch.Tensor]) -> torch.Tensor:
        """Embeddings [B, T, H] of ids [B, T], with the images' features where the image tokens stand."""
        embeds = self._embedding(ids)
        if seen:
            embeds[ids == self.layout.image_token] = torch.cat(list(seen)).to(embeds.dtype)
        return embeds

    def more(self, ids: torch.Tensor) -> torch.Tensor:
        """Inputs for text [B, T] that goes on where a state ends."""
        return self.inputs(ids, (), ())

    def decode(self, inputs: torch.Tensor) -> torch.Tensor:
        """Last hidden states [B, T, H], causal, no mask: padding stands on the right."""
        return self._decoder(inputs_embeds=inputs, use_cache=False).last_hidden_state

    def decode_on(self, inputs: torch.Tensor, state: Any = None) -> tuple[torch.Tensor, Any]:
        """Hidden states [B, T, H] after the tokens in `state`, and the state with these tokens too."""
        output = self._decoder(inputs_embeds=inputs, use_cache=True, **{self._cache: state})
        return output.last_hidden_state, getattr(output, self._cache)

    def select(self, state: Any, rows: torch.Tensor) -> Any:
        """The state of these rows, in this order."""
        state.batch_select_indices(rows)
        return state


def at_once(device: torch.device) -> int:
    """How many images are always computed together, the last batch filled up with blanks: a convolution's last bits depend
    on the size of the batch, and a client's features must be the same bits whoever else's images are on the machine."""
    return AT_ONCE_ON_CPU if device.type == "cpu" else AT_ONCE
