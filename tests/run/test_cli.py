"""The command line: one line per error, on standard error, with the place and the remedy; the exit status says the kind."""

import errno
import os
import shlex
import signal
import subprocess
import sys
import time

import pytest
from numpy_world import recipe, start
from PIL import Image

from fedrand import cli, commands
from fedrand.cli import main
from fedrand.errors import suggested
from fedrand.federation import TooFewClients

WORDS = ("word " * 600).strip()


def told(capsys, *argv):
    """(exit status, the one line on standard error)."""
    try:
        status = main([str(word) for word in argv])
    except SystemExit as left:
        status = left.code
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1, lines
    return status, lines[0]


ARGUMENTS = {
    "rnu": "invalid choice: 'rnu'",
    "run": "the following arguments are required: RECIPE; see fedrand run --help",
    "run emoji --quiet --json": "not allowed with",
    "run emojy": "no recipe 'emojy'",
    "run emoji --set strategy.rho=2": "rho is 2.0; it is a probability, choose one from 0 to 1",
    "run emoji --set train.lr=fast": 'emoji: train.lr is "fast"; it must be a valid number',
    "run emoji --set train.rate=1": "unknown key train.rate; choose from rounds, ",
    "run emoji --set train.clients_per_round=13": "choose from 1 to 12",
    "run emoji --set data.clients=400": "examples cannot give 400 clients 10 each; at most data.clients = ",
    "run emoji --set model.name=tyni": "no model 'tyni': no such folder; give tiny, smollm2, a folder",
    "doctor emoji --set data.prompt=nothing": "unknown prompt 'nothing'; choose from coco, ",
    "resume nowhere": "no run in nowhere; start one with: fedrand run",
    "audit nowhere": "no run in nowhere",
    "export nowhere --merge out": "no run in nowhere",
    "report nowhere": "no run folder nowhere",
    "compare nowhere": "no run folder nowhere",
}


@pytest.mark.parametrize("line", ARGUMENTS)
def test_wrong_input_is_one_line_and_status_2(line, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, text = told(capsys, *line.split())
    assert status == 2
    assert text.startswith("fedrand")
    assert ARGUMENTS[line] in text


def pictures(folder, table, images=("a.png", "b.png")):
    folder.mkdir()
    for number, name in enumerate(images):
        Image.new("RGB", (16, 16), (number * 40, 90, 90)).save(folder / name)
    (folder / "data.csv").write_text(table)


HEAD = "image,caption,label,client\n"
FOLDERS = {
    "no images": ("", "", "has no images; put images with .txt captions there"),
    "empty caption": (f"{HEAD}a.png,,x,n\n", "", "line 2 has an empty caption; write one or remove the image"),
    "no such image": (f"{HEAD}z.png,cat,x,n\n", "", "z.png (no such file); replace it or remove its example"),
    "broken image": (f"{HEAD}broken.png,cat,x,n\n", "", "broken.png (UnidentifiedImageError); replace it or"),
    "no label": (f"{HEAD}a.png,cat,,n\nb.png,dog,,n\n", "", "have no label, which a Dirichlet partition needs"),
    "no client": (f"{HEAD}a.png,cat,x,\nb.png,dog,x,\n", "client", "name no client; fill the column 'client'"),
    "bad client": (f"{HEAD}a.png,cat,x,../n\nb.png,dog,x,../n\n", "client", "client name '../n' cannot name a folder"),
    "too long": (f"{HEAD}a.png,{WORDS},x,n\nb.png,dog,x,n\n", "iid", "the model's limit is 512; shorten or remove it"),
}


@pytest.mark.parametrize("fault", FOLDERS)
def test_bad_data_is_one_line_that_names_the_place(fault, capsys, tmp_path):
    table, partition, expected = FOLDERS[fault]
    pictures(tmp_path / "data", table)
    (tmp_path / "data" / "broken.png").write_bytes(b"no image")
    if not table:
        for file in (tmp_path / "data").iterdir():
            file.unlink()
    path = tmp_path / "mine.toml"
    path.write_text(
        f'[data]\nname = "folder"\npath = "data"\nclients = 1\nmin_size = 1\nholdout = false\n'
        f'partition = "{partition or "dirichlet"}"\n[strategy]\nname = "fedrand"\n[train]\nclients_per_round = 1\n'
    )
    status, text = told(capsys, "doctor", path, "--quiet")
    assert status == 2
    assert expected in text
    assert WORDS[:50] not in text


def test_a_model_that_is_not_there_offline_is_one_line(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    where = ("--out", tmp_path / "run")
    status, text = told(capsys, "run", "emoji", "--set", "model.name=nobody/nothing", "--quiet", *where)
    assert status == 2
    assert "cannot load model 'nobody/nothing'" in text
    assert "hf download nobody/nothing" in text


def test_a_run_folder_that_exists_is_refused_with_the_remedy(capsys, tmp_path):
    path = start(tmp_path / "run").path
    status, text = told(capsys, "run", "emoji", "--out", path)
    assert status == 2
    assert f"fedrand resume {path}, or name another --out" in text


def test_a_changed_recipe_is_refused_before_anything_is_loaded(capsys, tmp_path):
    path = start(tmp_path / "run").path
    text = (path / "recipe.toml").read_text()
    (path / "recipe.toml").write_text(text.replace("rho = 0.5", "rho = 0.25"))
    status, text = told(capsys, "resume", path)
    assert status == 2
    assert "recipe.toml changed since the run began: strategy.rho was 0.5, is 0.25; put it back" in text


def test_a_run_with_another_model_or_data_is_not_gone_on_with(capsys, tmp_path):
    path = start(tmp_path / "run", recipe("data.limit=60", "data.min_size=4")).path  # of the NumPy world's fingerprints
    status, text = told(capsys, "resume", path, "--quiet")
    assert status == 2
    assert "the model changed since the run began: model.fingerprint" in text


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (KeyboardInterrupt(), 130, "fedrand: interrupted; go on with: fedrand resume {}"),
        (cli.Terminated("terminated"), 143, "fedrand: terminated; go on with: fedrand resume {}"),
        (
            TooFewClients("round 3: 0 usable uploads"),
            1,
            "fedrand: round 3: 0 usable uploads; go on with: fedrand resume {}",
        ),
        (
            PermissionError(13, "Permission denied", "x"),
            1,
            "fedrand: Permission denied (x); go on with: fedrand resume {}",
        ),
    ],
)
def test_a_failure_while_running_says_how_to_go_on(error, status, text, capsys, tmp_path, monkeypatch):
    path = start(tmp_path / "run").path

    def fails(args, progress):
        raise error

    monkeypatch.setattr(commands, "resume", fails)
    assert told(capsys, "resume", path) == (status, text.format(path))


def test_what_is_suggested_begins_as_the_command_did(capsys, tmp_path, monkeypatch):
    path = start(tmp_path / "run").path
    monkeypatch.setattr(commands, "resume", lambda args, progress: (_ for _ in ()).throw(KeyboardInterrupt))
    monkeypatch.setattr("sys.orig_argv", [".venv/bin/python", "-m", "fedrand", "resume", str(path)])
    assert told(capsys, "resume", path)[1].endswith(f"go on with: .venv/bin/python -m fedrand resume {path}")
    monkeypatch.setattr("sys.orig_argv", ["/usr/bin/python3", "/usr/bin/fedrand", "resume", str(path)])
    assert told(capsys, "resume", path)[1].endswith(f"go on with: fedrand resume {path}")


@pytest.mark.parametrize(("path", "said"), [("my run", "'my run'"), ("-x", "./-x"), ("-x y", "'./-x y'"), ("a", "a")])
def test_a_suggested_command_is_one_a_shell_can_read(path, said):
    assert suggested("audit", path) == f"fedrand audit {said}"
    assert shlex.split(suggested("audit", path))[-1].removeprefix("./") == path


AGAIN = {
    "run emoji --set train.rounds=2 --out {}": "resume {}",
    "resume {}": "resume {}",
    "audit {}": "audit {}",
    "audit {} --set audit.k='[0, 5]'": "audit {} --set 'audit.k=[0, 5]'",
    "report {}": "report {}",
    "demo --out {}": "demo --out {}",
    "reproduce fig3 --seeds 2 --set 'data.prompt=Say it: ' --out {}": (
        "reproduce fig3 --scale demo --seeds 2 --out {} --set 'data.prompt=Say it: '"
    ),
    "reproduce fig3 --scale paper --data 'my data' --out {}": (
        "reproduce fig3 --scale paper --seeds 3 --out {} --data 'my data'"
    ),
}


@pytest.mark.parametrize("line", AGAIN)
def test_the_command_that_goes_on_is_one_a_shell_can_read(line, tmp_path, capsys, monkeypatch):
    def fails(args, progress):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "a file")

    path = tmp_path / "my run"
    path.mkdir()
    for name in ("run", "resume", "audit", "report", "demo", "reproduce"):
        monkeypatch.setattr(commands, name, fails)
    words = shlex.split(line.format(shlex.quote(str(path))))
    assert main(words) == 1
    again = AGAIN[line].format(shlex.quote(str(path)))
    assert capsys.readouterr().err == f"fedrand: no space left on the disk (a file); go on with: fedrand {again}\n"


def test_sigterm_ends_a_command_as_ctrl_c_does(tmp_path, capsys, monkeypatch):
    def ends(args, progress):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)

    monkeypatch.setattr(commands, "resume", ends)
    assert main(["resume", str(tmp_path)]) == 143
    assert capsys.readouterr().err == f"fedrand: terminated; go on with: fedrand resume {tmp_path}\n"
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_folder_whose_name_no_disk_takes_is_one_line(capsys):
    status, text = told(capsys, "resume", "x" * 300)
    assert status == 1
    assert "File name too long" in text


def test_an_unexpected_error_is_not_hidden(tmp_path, monkeypatch):
    def fails(args, progress):
        raise ZeroDivisionError

    monkeypatch.setattr(commands, "resume", fails)
    with pytest.raises(ZeroDivisionError):
        main(["resume", str(tmp_path)])


def test_debug_shows_where_an_expected_error_came_from(tmp_path):
    with pytest.raises(ValueError, match="no run in"):
        main(["resume", str(tmp_path), "--debug"])


LOOK = """
import sys
from fedrand.cli import main
try:
    main(["--help"])
except SystemExit:
    assert not {"torch", "pydantic", "rich"} & set(sys.modules)
"""


def test_help_comes_without_torch_and_soon():
    begun = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, check=True)
    assert "resume" in done.stdout
    assert time.perf_counter() - begun < 5  # 0.15 s on an idle machine
