"""TinyLLaVA with OpenELM and CLIP (Jia et al., arXiv 2405.11788) from its published checkpoint, without remote code.

The modules bear the checkpoint's names, so weights load by name and an adapter's layers are called what the authors' own
class calls them. Once `register` has run, transformers' Auto classes know the folder's model_type.
"""

from typing import Any

from transformers import (
    AutoConfig,
    AutoModelForImageTextToText,
    AutoProcessor,
    CLIPImageProcessorPil,
    CLIPVisionConfig,
    CLIPVisionModel,
    GenerationConfig,
    LlamaTokenizer,
    LlavaProcessor,
    PreTrainedConfig,
    PreTrainedModel,
)
from transformers.modeling_outputs import CausalLMOutput

from fedrand.models.errors import ModelError
from fedrand.models.openelm import OpenELMForCausalLM, OpenELMModel
from fedrand.models.openelm_config import OpenELMConfig
from fedrand.models.runtime import torch

nn, Tensor = torch.nn, torch.Tensor
CONNECTORS = {
    "linear": lambda wide, out: nn.Linear(wide, out),
    "mlp2x_gelu": lambda wide, out: nn.Sequential(nn.Linear(wide, out), nn.GELU(), nn.Linear(out, out)),
}
# The checkpoint splices images in at index -200, which has no row in the embedding. Here an image is written as the
# tokenizer's <unk>: a row that exists, that no text produces (unknown characters become bytes), and never resized.
IMAGE = "<unk>"
SELECT = "patch"  # of the vision tower's tokens: all but the first, CLS


class TinyLlavaConfig(PreTrainedConfig):
    """The keys of the published config.json that make a difference here; the defaults are the 0.55B model."""

    model_type = "tinyllava"

    def __init__(
        self,
        text_config: dict[str, Any] | OpenELMConfig | None = None,
        vision_config: dict[str, Any] | CLIPVisionConfig | None = None,
        connector_type: str = "mlp2x_gelu",
        vision_feature_layer: int = -2,
        vision_feature_select_strategy: str = SELECT,
        pad_token_id: int = 0,
        **more: Any,
    ) -> None:
        self.text_config = _part(OpenELMConfig, text_config)
        self.vision_config = _part(CLIPVisionConfig, vision_config, patch_size=16)
        if connector_type not in CONNECTORS:
            raise ValueError(f"connector '{connector_type}' is not supported, only {', '.join(CONNECTORS)}")
        if vision_feature_select_strategy != SELECT:
            raise ValueError(
                f"vision features by '{vision_feature_select_strategy}' are not supported, only '{SELECT}'"
            )
        self.connector_type, self.vision_feature_layer = connector_type, vision_feature_layer
        self.vision_feature_select_strategy = vision_feature_select_strategy
        self.image_token_id = pad_token_id  # <unk>, see IMAGE
        more.setdefault("tie_word_embeddings", True)
        super().__init__(pad_token_id=pad_token_id, **more)


def _part(kind: type[PreTrainedConfig], given: Any, **defaults: Any) -> Any:
    if isinstance(given, PreTrainedConfig):
        return given
    found = (given or {}).get("model_type", kind.model_type)
    if found != kind.model_type:
        raise ValueError(f"TinyLLaVA with {found} is not supported, only {kind.model_type}")
    return kind(**{**defaults, **(given or {})})


class VisionTower(nn.Module):
    """CLIP's image encoder under the checkpoint's name."""

    def __init__(self, config: CLIPVisionConfig) -> None:
        super().__init__()
        self._vision_tower = CLIPVisionModel(config)


class Connector(nn.Module):
    """From the tower's width to the language model's, under the checkpoint's name."""

    def __init__(self, config: TinyLlavaConfig) -> None:
        super().__init__()
        wide, out = config.vision_config.hidden_size, config.text_config.model_dim
        self._connector = CONNECTORS[config.connector_type](wide, out)

    def forward(self, x: Tensor) -> Tensor:
        """[..., tower] -> [..., H]."""
        return self._connector(x)


class TinyLlavaForConditionalGeneration(PreTrainedModel):
    """Images and text to logits."""

    config_class = TinyLlavaConfig
    _supports_sdpa = True  # of the tower
    _tied_weights_keys = {  # noqa: RUF012 - transformers reads it from the class
        "language_model.lm_head.weight": "language_model.transformer.token_embeddings.weight"
    }

    def __init__(self, config: TinyLlavaConfig) -> None:
        super().__init__(config)
        self.language_model = OpenELMForCausalLM(config.text_config)
        self.vision_tower = VisionTower(config.vision_config)
        self.connector = Connector(config)
        self.generation_config = GenerationConfig(eos_token_id=config.text_config.eos_token_id)
        self.post_init()

    @classmethod
    def from_pretrained(cls, name: str, *, output_loading_info: bool = False, **options: Any) -> Any:
        """As in transformers; ModelError names weights that are missing, left over or of another shape."""
        all_known = options | {"output_loading_info": True, "ignore_mismatched_sizes": True}
        model, info = super().from_pretrained(name, **all_known)
        wrong = {
            "missing": sorted(info["missing_keys"]),
            "left over": sorted(info["unexpected_keys"]),
            "of another shape": sorted(key for key, *_ in info["mismatched_keys"]),
        }
        if found := [f"{len(keys)} {what} (first {keys[0]})" for what, keys in wrong.items() if keys]:
            raise ModelError(
                f"the weights of '{name}' do not fit its config.json: {', '.join(found)}; get a whole copy"
            )
        return (model, info) if output_loading_info else model

    def get_input_embeddings(self) -> nn.Embedding:
        return self.language_model.get_input_embeddings()

    def get_output_embeddings(self) -> nn.Linear:
        return self.language_model.lm_head

    def get_decoder(self) -> OpenELMModel:
        return self.language_model.transformer

    def get_image_features(self, pixel_values: Tensor) -> Tensor:
        """Pixels [B, 3, size, size] as the language model takes them, [B, tokens, H]."""
        tower = self.vision_tower._vision_tower
        states = tower(pixel_values=pixel_values, output_hidden_states=True).hidden_states
        return self.connector(states[self.config.vision_feature_layer][:, 1:])

    def forward(
        self,
        input_ids: Tensor,
        pixel_values: Tensor | None = None,
        attention_mask: Tensor | None = None,
    ) -> CausalLMOutput:
        """Logits [B, T, V] of ids [B, T] in which the image tokens stand for the images' features, in their order."""
        embeds = self.get_input_embeddings()(input_ids)
        if pixel_values is not None:
            here = (input_ids == self.config.image_token_id)[..., None]
            embeds = embeds.masked_scatter(here, self.get_image_features(pixel_values).to(embeds.dtype))
        hidden = self.get_decoder()(inputs_embeds=embeds, attention_mask=attention_mask).last_hidden_state
        return CausalLMOutput(logits=self.get_output_embeddings()(hidden))


class TinyLlavaProcessor(LlavaProcessor):
    """The checkpoint has no processor's file: CLIP's pixels at the tower's size, its Llama tokenizer, one <unk> a patch."""

    @classmethod
    def from_pretrained(cls, name: str, **options: Any) -> "TinyLlavaProcessor":
        """ModelError when the tokenizer's files cannot be read or are not this model's."""
        config = TinyLlavaConfig.from_pretrained(name, **options)
        tokenizer = _tokenizer(name, options)
        if (found := tokenizer.convert_tokens_to_ids(IMAGE)) != config.image_token_id:
            raise ModelError(f"the tokenizer of '{name}' has {IMAGE} at {found}, the model at {config.image_token_id}")
        size = config.vision_config.image_size
        square = {"height": size, "width": size}
        return cls(
            image_processor=CLIPImageProcessorPil(size={"shortest_edge": size}, crop_size=square),
            tokenizer=tokenizer,
            patch_size=config.vision_config.patch_size,
            vision_feature_select_strategy="default",
            image_token=IMAGE,
            num_additional_image_tokens=1,
        )


def _tokenizer(name: str, options: dict[str, Any]) -> LlamaTokenizer:
    """legacy: text after an image begins with a space of its own, as when the checkpoint was trained."""
    try:
        return LlamaTokenizer.from_pretrained(name, legacy=True, add_bos_token=True, pad_token="</s>", **options)
    except (ImportError, ValueError) as error:
        raise ModelError(
            f"cannot read the tokenizer of '{name}'; its tokenizer.model needs: pip install 'fedrand[tinyllava]'"
        ) from error


def register() -> None:
    """Make transformers' Auto classes know this model, and take it before any remote code."""
    AutoConfig.register(TinyLlavaConfig.model_type, TinyLlavaConfig, exist_ok=True)
    AutoModelForImageTextToText.register(TinyLlavaConfig, TinyLlavaForConditionalGeneration, exist_ok=True)
    AutoProcessor.register(TinyLlavaConfig, TinyLlavaProcessor, exist_ok=True)
