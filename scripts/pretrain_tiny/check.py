"""Print the shipped model's figures on the in-domain test split, from its fp16 file computed in fp32.

    python scripts/pretrain_tiny/check.py [FOLDER] [--split test]

A wrong image is that of another group, fixed (measure.strangers). Nothing was ever chosen by those of the
test split but the wording of the captions, once (the card says how); by validation the shipped model was chosen.
"""

import argparse

from measure import report

from fedrand.data import load_emoji
from fedrand.models import load_model
from fedrand.models.runtime import torch

if __name__ == "__main__":
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default="tiny")
    parser.add_argument("--split", default="test", choices=("test", "ood", "validation"))
    args = parser.parse_args()
    print(report(load_model(args.folder), load_emoji(), args.split))
