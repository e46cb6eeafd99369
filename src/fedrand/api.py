"""The Python interface: a federation over one's own examples, in this process and without a run folder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedrand.adapter_file import save_peft
from fedrand.data.example import Example
from fedrand.federation import Federation, Memory, initial_server
from fedrand.ledger import metrics, rows
from fedrand.lora import Adapter
from fedrand.messages import ClientState
from fedrand.models import ImageFeatures, VisionLanguageModel, load_model
from fedrand.params import Params
from fedrand.progress import Progress
from fedrand.strategy import Strategy
from fedrand.train import LocalLearner, TrainSettings

SILENT = Progress()
PAPER = TrainSettings()


@dataclass(frozen=True)
class TrainedAdapter:
    """The factors that a server holds for one model: LoRA, or all four of a Hadamard adapter (PEFT's LoHa)."""

    params: Params
    rank: int
    scale: float
    base_model: str
    kind: str = "lora"

    def save(self, folder: str | Path) -> None:
        """PEFT's two files; peft.PeftModel.from_pretrained loads them on the base model."""
        save_peft(Path(folder), self.params, self.rank, self.scale, self.base_model, kind=self.kind)


@dataclass(frozen=True)
class Simulation:
    """adapter: the server's after the last round. rounds: a record per round, as in metrics.jsonl. clients: each
    client's own last state, which a real server would never see."""

    adapter: TrainedAdapter
    rounds: tuple[Mapping[str, Any], ...]
    clients: Mapping[str, ClientState]


def simulate(
    model: VisionLanguageModel | str,
    clients: Mapping[str, Sequence[Example]],
    strategy: Strategy,
    *,
    rounds: int = 30,
    clients_per_round: int = 4,
    seed: int = 0,
    rank: int = 8,
    scale: float = 1.0,
    train: TrainSettings = PAPER,
    progress: Progress = SILENT,
) -> Simulation:
    """Train one adapter, of the kind that the strategy is made for, over several clients' examples; the model is left as
    it was.

    model: a loaded one, "tiny", a folder or a hub id. The same arguments give the same bits on CPU.
    """
    vlm = load_model(model) if isinstance(model, str) else model
    features = ImageFeatures(vlm)
    adapter = Adapter.attach(vlm, rank=rank, scale=scale, kind=strategy.adapter or "lora")
    if strategy.pooled:
        clients = {"all": [example for examples in clients.values() for example in examples]}
        clients_per_round = 1
    try:
        learners = {
            name: LocalLearner(vlm, adapter, features, [vlm.encode(example) for example in examples], train)
            for name, examples in clients.items()
        }
        features.prepare([example.image for examples in clients.values() for example in examples], progress)
        federation = Federation(strategy, learners, clients_per_round, seed)
        server, shelf, lines = initial_server(next(iter(learners.values())), seed, strategy), Memory(), []
        for done in federation.rounds(server, shelf, rounds):
            server = done.after
            lines.append(metrics(done, rows(done)))
            progress.step("rounds", server.round, rounds)
    finally:
        adapter.detach()
    states = {name: states[-1] for name, states in shelf.states.items()}
    return Simulation(TrainedAdapter(server.params, rank, scale, vlm.name, adapter.kind), tuple(lines), states)
