"""What each of the paper's tables and figures is made of: rows are methods, columns are figures of their runs."""

from collections.abc import Mapping
from dataclasses import dataclass

from fedrand.reproduce.figures import Figure, auroc, loss, score

BASELINES = ("FedAvg", "FedPer 2", "FedPer 4", "FedPara", "FedRand")
ABLATIONS = ("FedRand rho 0.3", "FedRand rho 0.7", "without past", "without normalization")
WORDS = {
    "bleu1": "BLEU-1",
    "bleu2": "BLEU-2",
    "bleu3": "BLEU-3",
    "bleu4": "BLEU-4",
    "rouge_l": "ROUGE-L",
    "cider_d": "CIDEr",
}


@dataclass(frozen=True)
class Experiment:
    """rows: methods; parts: whose model; columns: figures of the paper; against: the row that differences are taken to."""

    title: str
    rows: tuple[str, ...]
    parts: tuple[str, ...]
    columns: tuple[Figure, ...]
    against: str = "FedAvg"
    extra: tuple[str, ...] = ()  # rows of ours that the paper does not have
    ours: tuple[Figure, ...] = ()  # columns that it does not have: the loss tells methods apart where captions do not

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (*self.columns, *self.ours)

    @property
    def data(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(column.data for column in self.columns))

    @property
    def audited(self) -> bool:
        return any(column.audited for column in self.columns)


def _captions(split: str) -> tuple[Figure, ...]:
    return tuple(score(words, split, name) for name, words in WORDS.items())


EXPERIMENTS: Mapping[str, Experiment] = {
    "table1": Experiment(
        "Accuracy and caption quality, in-domain",
        BASELINES,
        ("server", "client"),
        (score("accuracy", "test", "exact", data="questions"), *_captions("test")),
        extra=("local only", "centralised"),
        ours=(loss("test"),),
    ),
    "table2": Experiment(
        "Caption quality, out-of-domain", BASELINES, ("server",), _captions("ood"), ours=(loss("ood"),)
    ),
    "table3": Experiment(
        "Ablations of FedRand",
        ABLATIONS,
        ("server",),
        (*_captions("test"), *(auroc("MaxRenyi-10%", part) for part in ("image", "caption"))),
        against="FedRand",
        extra=("FedRand",),
        ours=(loss("test"),),
    ),
    "table4": Experiment(
        "Membership inference, the paper's protocol (in-domain members against out-of-domain images)",
        BASELINES,
        ("server", "client"),
        tuple(auroc(f"MaxRenyi-{k}%", part) for k in (0, 10) for part in ("image", "caption")),
    ),
    "fig2": Experiment(
        "CIDEr against the AUROC of an attack",
        (*BASELINES, *ABLATIONS),
        ("server", "client"),
        (score("CIDEr", "test", "cider_d"), auroc("MaxRenyi-10%", "caption"), auroc("reference", "answer", "P1")),
    ),
    "fig3": Experiment(
        "Bytes of a run against FedAvg's",
        BASELINES,
        ("server",),
        (Figure("bytes", "captions", ("bytes", "ratio_total"), 1),),
    ),
    "fig4": Experiment(
        "Token-wise Renyi entropy of a member's and a non-member's caption",
        ("FedRand",),
        ("server",),
        (auroc("MaxRenyi-10%", "caption"),),
    ),
}
