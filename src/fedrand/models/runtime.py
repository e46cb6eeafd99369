"""torch, set up before its first import: every module of ours takes it from here, none imports it by itself."""

import os

# Idle OpenMP threads sleep instead of spinning, which made a busy machine 30 times slower; read once, at load.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# The tokenizer's own threads gain nothing on single sentences and warn after every fork.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import torch

__all__ = ["torch"]
