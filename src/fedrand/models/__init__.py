"""Vision-language models of transformers behind one code path: frozen, their image features computed once."""

from fedrand.models.encoding import Encoded, ExampleError
from fedrand.models.errors import ModelError
from fedrand.models.features import ImageFeatures
from fedrand.models.linears import language_linears
from fedrand.models.load import load_model
from fedrand.models.vlm import VisionLanguageModel

__all__ = [
    "Encoded",
    "ExampleError",
    "ImageFeatures",
    "ModelError",
    "VisionLanguageModel",
    "language_linears",
    "load_model",
]
