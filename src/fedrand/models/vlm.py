"""One resident vision-language model: frozen, always in evaluation mode, run on embeddings instead of pixels."""

import hashlib
import inspect
from collections.abc import Sequence
from types import MethodType
from typing import Any

from PIL import Image

from fedrand.data.example import Example
from fedrand.models.encoding import Encoded, Encoder
from fedrand.models.runtime import torch


class VisionLanguageModel:
    """A transformers image-text-to-text model with its processor.

    image_tokens: how many tokens an image takes in the language model. Use `fedrand.models.load_model` to make one:
    it checks that the paths below give the model's own logits.
    """

    def __init__(self, model: Any, processor: Any, name: str, image_tokens: int) -> None:
        self.model, self.processor, self.name = frozen(model), processor, name
        self.tokenizer = processor.tokenizer
        self.image_token: int = model.config.image_token_id
        self.image_tokens = image_tokens
        self.max_length: int = model.config.get_text_config().max_position_embeddings
        padding, end = self.tokenizer.pad_token_id, self.tokenizer.eos_token_id
        self.pad: int = end if padding is None else padding
        self.ends = _ends(model, self.tokenizer)
        self._decoder, self._embedding = model.get_decoder(), model.get_input_embeddings()
        self._head = model.get_output_embeddings()
        known = inspect.signature(self._decoder.forward).parameters
        self._cache = "cache" if "cache" in known else "past_key_values"  # transformers renamed it in 5.2x
        self._encoder = Encoder(
            self.tokenizer,
            image_text(processor),
            self.image_token,
            image_tokens,
            end,
            self.max_length,
        )

    @property
    def dtype(self) -> torch.dtype:
        return self._embedding.weight.dtype

    @property
    def device(self) -> torch.device:
        return self._embedding.weight.device

    def encode(self, example: Example, *, with_image: bool = True, with_answer: bool = True) -> Encoded:
        """Token ids: the prompt, then " " + answer + end of text. ExampleError names an example that does not fit."""
        return self._encoder.encode(example, with_image, with_answer)

    def pixels(self, images: Sequence[Image.Image]) -> torch.Tensor:
        """The processor's pixel values, [images, 3, height, width]."""
        values = self.processor.image_processor(images=list(images), return_tensors="pt")["pixel_values"]
        return values.to(self.device, self.dtype)

    @torch.no_grad()
    def project(self, pixels: torch.Tensor) -> list[torch.Tensor]:
        """Image features as the language model takes them: a [tokens, H] per image."""
        features = self.model.get_image_features(pixel_values=pixels)
        return list(getattr(features, "pooler_output", features))

    @torch.no_grad()
    def embed(self, input_ids: torch.Tensor, features: Sequence[torch.Tensor]) -> torch.Tensor:
        """Token embeddings [B, T, H] of ids [B, T], with the images' features where the image tokens stand."""
        embeds = self._embedding(input_ids)
        if features:
            embeds[input_ids == self.image_token] = torch.cat(list(features)).to(embeds.dtype)
        return embeds

    def decode(self, embeds: torch.Tensor) -> torch.Tensor:
        """The language model's last hidden states [B, T, H], causal, no mask: padding stands on the right."""
        return self._decoder(inputs_embeds=embeds, use_cache=False).last_hidden_state

    def decode_on(self, embeds: torch.Tensor, cache: Any = None) -> tuple[torch.Tensor, Any]:
        """Hidden states [B, T, H] after the tokens in `cache`, and the cache with these tokens too."""
        output = self._decoder(inputs_embeds=embeds, use_cache=True, **{self._cache: cache})
        return output.last_hidden_state, getattr(output, self._cache)

    def head(self, hidden: torch.Tensor) -> torch.Tensor:
        """Logits [..., V] in float32 (float64 for a float64 model)."""
        logits = self._head(hidden)
        return logits if logits.dtype == torch.float64 else logits.float()

    def fingerprint(self) -> str:
        """sha256 over the names, types, shapes and bits of all weights."""
        digest = hashlib.sha256()
        for name, value in sorted(self.model.state_dict().items()):
            digest.update(f"{name} {value.dtype} {tuple(value.shape)} ".encode())
            digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
        return digest.hexdigest()


def image_text(processor: Any) -> str:
    """How the tokenizer writes one image."""
    return getattr(processor, "image_token", "<image>")


def frozen(model: Any) -> Any:
    """The model without gradients, in evaluation mode for good: one forward in training mode would overwrite the
    tower's BatchNorm statistics, and with them every feature."""
    model.requires_grad_(False).eval()
    for module in model.modules():
        module.train = MethodType(_stay, module)
    return model


def _stay(module: torch.nn.Module, mode: bool = True) -> torch.nn.Module:
    return module


def _ends(model: Any, tokenizer: Any) -> tuple[int, ...]:
    """Tokens that end an answer: the tokenizer's, and those that the model's generation config adds."""
    declared = model.generation_config.eos_token_id
    more = declared if isinstance(declared, list) else [declared]
    return tuple(sorted({tokenizer.eos_token_id, *more} - {None}))
