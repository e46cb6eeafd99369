"""The loop that everybody writes: PEFT around the whole model, pixels through it at every step, logits everywhere.

It shares no code with the engine beyond the order of the data: the oracle of its equality tests and the opponent of
benchmarks/round.py.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedrand.data.example import Example
from fedrand.data.prompts import render
from fedrand.models.runtime import torch
from fedrand.params import Key, Params

from peft import LoraConfig, get_peft_model  # isort: skip
from transformers import AutoModelForImageTextToText, AutoProcessor  # isort: skip


@dataclass(frozen=True)
class PlainLoop:
    """A PEFT model with its processor."""

    model: Any
    processor: Any

    @classmethod
    def load(cls, folder: str, rank: int, scale: float, dtype: str = "float32") -> "PlainLoop":
        """LoRA on every linear of the language model's layers."""
        base = AutoModelForImageTextToText.from_pretrained(folder, dtype=getattr(torch, dtype))
        layers = r".*language_model\.layers\.\d+\..*_proj"
        config = LoraConfig(r=rank, lora_alpha=rank * scale, lora_dropout=0.0, target_modules=layers)
        model = get_peft_model(base, config, autocast_adapter_dtype=False)
        processor = AutoProcessor.from_pretrained(folder)
        processor.tokenizer.padding_side = "right"
        return cls(model.eval(), processor)  # in train mode the tower's BatchNorm would change

    def factor(self, key: Key) -> torch.nn.Parameter:
        return self.model.get_parameter(f"base_model.model.{key.layer}.lora_{key.factor}.default.weight")

    def load_params(self, params: Params) -> None:
        with torch.no_grad():
            for key, value in params.items():
                self.factor(key).copy_(torch.from_numpy(np.array(value)))

    def read_params(self, keys: Iterable[Key]) -> dict[Key, np.ndarray]:
        return {key: self.factor(key).detach().numpy().copy() for key in keys}

    def train(
        self, examples: Sequence[Example], batches: Iterable[Sequence[int]], lr: float, decay: float, mu: float = 0.0
    ) -> list[float]:
        """AdamW over the batches of indices; the loss of each step, nats per answer token. mu: FedProx's."""
        parameters = [value for value in self.model.parameters() if value.requires_grad]
        begin = [value.detach().clone() for value in parameters]
        optimiser = torch.optim.AdamW(parameters, lr=lr, weight_decay=decay)
        losses = []
        for batch in batches:
            optimiser.zero_grad()
            loss = self.loss([examples[index] for index in batch])
            losses.append(loss.item())
            pull = sum((value - at).square().sum() for value, at in zip(parameters, begin, strict=True))
            (loss + mu / 2 * pull if mu else loss).backward()
            optimiser.step()
        return losses

    def loss(self, examples: Sequence[Example]) -> torch.Tensor:
        """Mean over the answer tokens of all examples."""
        inputs, labels = self.inputs(examples)
        logits = self.model(**inputs).logits
        return torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())

    def inputs(self, examples: Sequence[Example]) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
        """What the model takes, and the labels: -100 on prompt, image and padding."""
        prompts = [render(example) for example in examples]
        texts = [f"{p} {e.answer}{self.processor.tokenizer.eos_token}" for p, e in zip(prompts, examples, strict=True)]
        images = [example.image.load() for example in examples if example.image]
        both = {"images": images or None, "return_tensors": "pt", "padding": True}
        inputs = self.processor(text=texts, **both)
        starts = self.processor(text=prompts, **both)["attention_mask"].sum(1)
        labels = inputs["input_ids"].clone()
        labels[inputs["attention_mask"] == 0] = -100
        for row, start in zip(labels, starts.tolist(), strict=True):
            row[:start] = -100
        if "pixel_values" in inputs:
            inputs["pixel_values"] = inputs["pixel_values"].to(self.model.dtype)
        return dict(inputs), labels
