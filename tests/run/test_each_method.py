"""Every method from the command line: a whole run, one that was stopped, and nothing private where it must not be."""

import errno
import json
import os
import shutil

import pytest
from peft import PeftModel
from PIL import Image
from safetensors.numpy import load_file
from transformers import AutoModelForImageTextToText

from fedrand import tensorfile
from fedrand.adapter_file import load_peft
from fedrand.audit.transcript import oracle
from fedrand.cli import main
from fedrand.datasets import load_dataset
from fedrand.lora import Adapter
from fedrand.models.load import SHIPPED, load_model
from fedrand.models.runtime import torch
from fedrand.params import Key, identical
from fedrand.progress import Progress
from fedrand.randomness import stream
from fedrand.runfolder import RunFolder
from fedrand.strategy import Turn

SMALL = (
    "data.name=folder",
    "data.clients=3",
    "data.partition=iid",
    "train.rounds=3",
    "train.clients_per_round=2",
    "train.batch_size=1",
    "train.epochs=2",
    "train.max_steps=2",  # the first one cannot move A: B is zero
    "evaluate.client_captions=1",
    "evaluate.max_new_tokens=2",
    "audit.bootstrap=20",
    "audit.shadows=0",
)
METHODS = {
    "fedavg": (),
    "fedavg-hadamard": ("strategy.name=fedavg", "adapter.kind=hadamard"),
    "fedrand": (),
    "fedrand-0.3": ("strategy.name=fedrand", "strategy.rho=0.3"),
    "fedrand-unnormalized": ("strategy.name=fedrand", "strategy.normalize=false"),
    "fedrand-past": ("strategy.name=fedrand", "strategy.past=false"),
    "fedper": ("strategy.name=fedper", "strategy.layers=1"),
    "fedpara": (),
    "pfedpara": ("strategy.name=fedpara", "strategy.form=pfedpara"),
    "local": (),
    "centralised": (),
}


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """A folder of 15 pictures of one colour each; three of them are to be measured on."""
    folder = tmp_path_factory.mktemp("pictures")
    rows = []
    for number in range(15):
        Image.new("RGB", (8, 8), (16 * number, 240 - 16 * number, 99)).save(folder / f"{number}.png")
        row = {"image": f"{number}.png", "captions": [f"a picture of {number} apples"]}
        rows.append(json.dumps(row | ({"split": "test"} if number > 11 else {})))
    (folder / "data.jsonl").write_text("\n".join(rows) + "\n")
    return folder


def words(folder, settings, out):
    pairs = (word for setting in (f"data.path={folder}", *SMALL, *settings) for word in ("--set", setting))
    return ["run", "emoji", *pairs, "--out", str(out), "--quiet"]


def arguments(folder, method, out):
    return words(folder, METHODS[method] or (f"strategy.name={method}",), out)


@pytest.fixture(scope="module")
def run(tmp_path_factory, pictures):
    """method -> its finished run, made at the first call."""
    made = {}

    def of(method):
        if method not in made:
            path = tmp_path_factory.mktemp("each") / method
            assert main(arguments(pictures, method, path)) == 0
            made[method] = RunFolder.open(path)
        return made[method]

    return of


@pytest.mark.parametrize("method", METHODS)
def test_each_method_runs_to_the_end_and_its_adapter_is_the_servers(run, method):
    folder = run(method)
    results = folder.read_json("results.json")
    assert results["rounds"] == 3
    assert results["clients"]["n"] >= 1
    assert results["server"]["test"]["nll"] > 0
    assert identical(load_peft(folder.adapter).params, folder.server().params)


@torch.no_grad()
def logits(model, vlm, example):
    pixels = vlm.path.pixels([example.image.load()])
    return model(input_ids=torch.from_numpy(vlm.encode(example).input_ids)[None], pixel_values=pixels).logits


EXPORTED = ("fedavg", "fedavg-hadamard", "fedrand", "fedper", "fedpara", "pfedpara", "centralised")


@pytest.mark.parametrize("method", EXPORTED)
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")
def test_what_each_method_exports_gives_the_servers_logits_in_peft_and_in_plain_transformers(run, method, tmp_path):
    folder = run(method)
    for form in ("adapter", "merge"):
        assert main(["export", str(folder.path), f"--{form}", str(tmp_path / form), "--quiet"]) == 0
    vlm, table = load_model("tiny"), folder.recipe.adapter
    base = AutoModelForImageTextToText.from_pretrained(SHIPPED["tiny"])
    example = load_dataset(folder.recipe.data, 0, Progress()).splits["test"][0]
    before = logits(base, vlm, example)
    Adapter.attach(vlm, table.rank, table.scale, kind=table.kind).load(folder.server().params)
    ours = logits(vlm.model, vlm, example)
    theirs = PeftModel.from_pretrained(base, tmp_path / "adapter").eval()
    merged = AutoModelForImageTextToText.from_pretrained(tmp_path / "merge")
    for other in (theirs, merged):
        torch.testing.assert_close(logits(other, vlm, example), ours, atol=1e-4, rtol=1e-4)
    assert float((ours - before).abs().max()) > 1e-3


def test_a_method_that_averages_nothing_has_nothing_to_export(run, tmp_path, capsys):
    assert main(["export", str(run("local").path), "--adapter", str(tmp_path / "adapter"), "--quiet"]) == 2
    assert (
        "no B was averaged in any of 3 rounds, so the server's model is the base model tiny" in capsys.readouterr().err
    )


def private(folder):
    """(names of tensors that never leave in later rounds, bytes of each such tensor of each client after each round)."""
    sharing, files = folder.recipe.method().sharing, oracle(folder.transcript)
    names, tensors = set(), set()
    for entry in files.entries:
        params = files.read(entry)
        kept = sharing.split(frozenset(params), Turn(entry.round, first=False), stream(0)).private
        names |= kept
        tensors |= {params[key].tobytes() for key in kept}
    return names, tensors


def shown(folder):
    """name -> tensor, over every tensor file of the run that is neither a client's own nor the oracle's."""
    for path in folder.path.rglob("*.safetensors"):
        if not {"clients", "oracle"} & set(path.parts):
            yield from load_file(path).items()


@pytest.mark.parametrize("method", ["fedper", "fedpara", "pfedpara", "local"])
def test_what_stays_with_a_client_is_in_no_broadcast_upload_checkpoint_or_adapter(run, method):
    folder = run(method)
    names, kept = private(folder)
    assert len(kept) >= len(names) > 0
    found = list(shown(folder))
    assert len(found) > len(folder.server().params)
    assert not [name for name, tensor in found if tensor.tobytes() in kept]
    if method.endswith("fedpara"):
        assert {key.factor for key in names} == {"A2", "B2"}
        assert not [name for name, _ in found if Key.parse(name).factor in ("A2", "B2") or "hada" in name]


SENT = {"fedavg": 1, "fedrand": 0.5, "fedper": (1 + 2 * 0.25) / 3, "fedpara": 1, "local": 0, "centralised": 1}


@pytest.mark.parametrize("method", SENT)
def test_traffic_is_counted_against_fedavgs(run, method):
    count = run(method).read_json("results.json")["bytes"]
    assert count["keys_sent_fraction"] == pytest.approx(SENT[method])
    assert count["ratio_upload"] == pytest.approx(SENT[method], abs=0.15)
    assert (count["ratio_total"] < 1) == (method in ("fedrand", "fedper", "local"))


def test_centralised_training_has_the_members_and_held_out_of_all_clients(run):
    (name, found), *others = run("centralised").split().items()
    assert (name, others) == ("all", [])
    for pooled, parts in zip(found, zip(*run("fedavg").split().values(), strict=True), strict=True):
        assert sorted(pooled) == sorted(example for part in parts for example in part)


@pytest.mark.parametrize("method", ["fedper", "fedpara"])
def test_a_run_that_was_stopped_ends_at_the_same_bits(run, pictures, method, tmp_path, monkeypatch):
    path, left = tmp_path / "stopped", [36]

    def fsync(descriptor):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tensorfile.os, "fsync", fsync)
    assert main(arguments(pictures, method, path)) == 1
    monkeypatch.undo()
    assert 0 < RunFolder.open(path).server().round < 3
    assert main(["resume", str(path), "--quiet"]) == 0
    whole, again = run(method), RunFolder.open(path)
    assert identical(again.server().params, whole.server().params)
    for client in whole.shelf().clients():
        assert identical(again.shelf().load(client, 3).local, whole.shelf().load(client, 3).local)


@pytest.mark.parametrize("method", ["fedper", "fedpara", "local", "centralised"])
def test_each_method_can_be_audited_and_reported(run, method):
    path = str(run(method).path)
    assert main(["audit", path, "--quiet"]) == 0
    assert main(["report", path, "--quiet"]) == 0


WRONG = {
    "strategy.name=fedper strategy.layers=40": "layers is 40, the adapter has 4; choose at most that many",
    "strategy.name=fedper strategy.layers=0": "layers is 0; choose 1 or more",
    "strategy.name=fedpara adapter.kind=lora": 'adapter.kind is "lora" but strategy fedpara is made for "hadamard"',
    "adapter.kind=hadamard": 'adapter.kind is "hadamard" but strategy fedrand is made for "lora"',
}


@pytest.mark.parametrize("line", WRONG)
def test_what_a_method_cannot_run_on_is_one_line_before_any_training(line, pictures, tmp_path, capsys):
    assert main(words(pictures, line.split(), tmp_path / "run")) == 2
    (text,) = capsys.readouterr().err.splitlines()
    assert WRONG[line] in text
    assert not (tmp_path / "run" / "metrics.jsonl").exists()


@pytest.mark.parametrize("method", ["fedavg-hadamard", "fedper", "fedpara", "local", "centralised"])
def test_each_method_is_audited_to_the_end(run, method, tmp_path):
    folder = shutil.copytree(run(method).path, tmp_path / "run")
    assert main(["audit", str(folder), "--quiet"]) == 0
    assert main(["report", str(folder), "--quiet"]) == 0
    found = json.loads((folder / "audit.json").read_text())
    assert len(found["threats"]) == 7
    assert any(row["applies"] for row in found["protocols"]["P1"]["rows"]) == (method != "local")


def test_two_methods_with_one_seed_are_compared_on_the_same_items(run, tmp_path):
    folders = [shutil.copytree(run(method).path, tmp_path / method) for method in ("fedavg", "fedrand")]
    for folder in folders:
        assert main(["audit", str(folder), "--quiet"]) == 0
    assert main(["compare", *map(str, folders), "--out", str(tmp_path / "out"), "--quiet"]) == 0
    found = json.loads((tmp_path / "out" / "compare.json").read_text())
    first, second = found["rows"]
    stem = "paired_T0_server_reference_answer"
    assert second[f"{stem}_low"] <= second[stem] <= second[f"{stem}_high"] and second[f"{stem}_resolved"] in (
        True,
        False,
    )
    assert second[stem] == pytest.approx(
        second["auroc_T0_server_reference_answer"] - first["auroc_T0_server_reference_answer"]
    )
    assert not any("other samples" in line for line in found["unpaired"])
