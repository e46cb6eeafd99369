"""A model without its weights: from configuration, processor and tokenizer alone, so that its costs can be counted.

Its tensors are torch's fake ones: they have shapes, types and a device, and no memory.
"""

from typing import Any

from transformers import AutoConfig, AutoModelForImageTextToText, AutoProcessor

from fedrand.models.errors import ModelError
from fedrand.models.load import DTYPES, SHIPPED, quiet
from fedrand.models.probe import image_tokens
from fedrand.models.runtime import torch
from fedrand.models.vlm import VisionLanguageModel

_BROKEN = (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError, ImportError)


def outline(name: str, *, revision: str = "", dtype: str = "float32") -> VisionLanguageModel:
    """As `load_model`, but no weight is read and none computed: only encoding and counting work. On the CPU.

    ModelError when the configuration or the processor is not there, or the class cannot be built like this.
    """
    place = str(SHIPPED.get(name, name))
    options: dict[str, Any] = {"trust_remote_code": False} | ({"revision": revision} if revision else {})
    try:
        with quiet():
            processor = AutoProcessor.from_pretrained(place, **options)
            config = AutoConfig.from_pretrained(place, **options)
            with torch._subclasses.FakeTensorMode():
                model = AutoModelForImageTextToText.from_config(config, dtype=DTYPES[dtype])
            return VisionLanguageModel(model, processor, name, image_tokens(processor, config, name))
    except _BROKEN as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ModelError(
            f"cannot outline model '{name}' ({reason[:160]}); its config and processor are needed"
        ) from error
