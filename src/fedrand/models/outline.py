"""A model without its weights: from configuration, processor and tokenizer alone, so that its costs can be counted.

Its tensors are torch's fake ones: they have shapes, types and a device, and no memory.
"""

from fedrand.models.load import BROKEN, DTYPES, SILENT, explained, options_of, parts, place_of, quiet
from fedrand.models.probe import FOREIGN, likely_path
from fedrand.models.runtime import torch
from fedrand.models.vlm import VisionLanguageModel
from fedrand.progress import Progress


def outline(
    name: str, *, revision: str = "", dtype: str = "float32", progress: Progress = SILENT
) -> VisionLanguageModel:
    """As `load_model`, but no weight is read and none computed: only encoding and counting work. On the CPU.

    ModelError when the configuration or the processor is not there, when the class cannot be built like this, or when
    the fast path cannot hold. Whether it does hold, only the weights can tell.
    """
    place, options = place_of(name, progress), options_of(revision)
    with quiet(), explained(name, (*BROKEN, *FOREIGN), "its config and processor are needed"):
        kind, config, processor = parts(place, options)
        with torch._subclasses.FakeTensorMode():
            model = kind.from_config(config, dtype=DTYPES[dtype])
        return VisionLanguageModel(model, processor, name, likely_path(model, processor))
