"""The command line: a sentence per command, one line per error, and an exit status that says which kind it was.

0 done; 1 failed while running; 2 wrong input; 130 interrupted; 143 terminated. Nothing heavy is imported before a command needs it.
"""

import argparse
import errno
import json
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from fedrand import __version__, commands
from fedrand.errors import InputError, RunError, quoted
from fedrand.federation import TooFewClients
from fedrand.progress import Progress, for_terminal

Command = Callable[[argparse.Namespace, Progress], Any]
MOST = 1000  # seeds of an experiment, or processes


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    args = _parser().parse_args(argv)
    try:
        with _terminable(), for_terminal(quiet=args.quiet, as_json=args.json) as progress:
            found = args.command(args, progress)
        if args.json:
            print(json.dumps({"event": "result", "result": found}, default=str))
        return 0
    except _EXPECTED as error:
        if args.debug:
            raise
        status = next(code for kind, code in _STATUS.items() if isinstance(error, kind))
        return _fail(args, status, _sentence(error, args, status))


class Terminated(KeyboardInterrupt):
    """SIGTERM, as from a batch system whose time is up."""


@contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM ends a command as Ctrl-C does, with its children and a line that says how to go on."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(number: int, frame: object) -> NoReturn:
    raise Terminated("terminated")


_STATUS = {Terminated: 143, KeyboardInterrupt: 130, InputError: 2, TooFewClients: 1, RunError: 1, OSError: 1}
_EXPECTED = tuple(_STATUS)


def _fail(args: argparse.Namespace, status: int, text: str) -> int:
    if args.json:
        print(json.dumps({"event": "error", "status": status, "text": text}))
    print(f"fedrand: {text}", file=sys.stderr)
    return status


def _sentence(error: BaseException, args: argparse.Namespace, status: int) -> str:
    """The error in one line; where a run can go on, with the command that does it."""
    run = getattr(args, "out", None) or getattr(args, "run", None)
    begun = status != 2 and run is not None and os.path.exists(run)
    remedy = f"; go on with: {commands.program()} {_again(args, run)}" if begun and args.again else ""
    if isinstance(error, KeyboardInterrupt):
        return f"{str(error) or 'interrupted'}{remedy}"
    if isinstance(error, OSError):
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        place = f" ({error.filename})" if error.filename else f" ({run})" if run else ""
        return f"{'no space left on the disk' if full else error.strerror or error}{place}{remedy}"
    return " ".join(str(error).split()) + remedy


def _again(args: argparse.Namespace, run: Path) -> str:
    """The command that goes on, as a shell reads it."""
    data = [f" --data {shlex.quote(str(folder))}"] if (folder := getattr(args, "data", None)) else []
    overrides = "".join([*data, *(f" --set {shlex.quote(text)}" for text in getattr(args, "set", ()))])
    return args.again.format(args, quoted(run), overrides)


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is no count; give 1 to {MOST}")
    return int(text)


class _OneLine(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    parser = _OneLine("fedrand", description="Federated LoRA fine-tuning of vision-language models, and what it leaks.")
    parser.add_argument("--version", action="version", version=f"fedrand {__version__}")
    every = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_OneLine)

    def command(name: str, function: Command, text: str, again: str = "") -> argparse.ArgumentParser:
        made = every.add_parser(name, help=text, description=text)
        shown = made.add_mutually_exclusive_group()
        shown.add_argument("--quiet", action="store_true", help="print errors only")
        shown.add_argument("--json", action="store_true", help="progress and the result as JSON lines")
        made.add_argument("--debug", action="store_true", help="show where an error came from")
        made.set_defaults(command=function, again=again)
        return made

    demo = command(
        "demo", commands.demo, "FedRand beside FedAvg: train, measure, audit, report; offline", "demo --out {1}"
    )
    demo.add_argument("--out", type=Path, default=Path("runs/demo"), help="folder of the two runs (runs/demo)")
    for name, function, text in (
        ("run", commands.run, "one federated run"),
        ("doctor", commands.doctor, "check a recipe before it is run: data, model, labels, memory, time"),
    ):
        made = command(name, function, text, "resume {1}" if name == "run" else "")
        made.add_argument("recipe", metavar="RECIPE", help="a file, or the name of a shipped recipe such as emoji")
        made.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="such as strategy.rho=0.7")
        out = "the run's new folder (runs/NAME)" if name == "run" else "folder for clients.svg, who holds what"
        made.add_argument("--out", type=Path, help=out)
    for name, function, text, again in (
        ("resume", commands.resume, "go on with a run that was stopped", "resume {1}"),
        ("audit", commands.audit, "who can learn what from a run: attacks, intervals, controls", "audit {1}{2}"),
        ("report", commands.report, "one HTML page about a run", "report {1}"),
        ("export", commands.export, "a run's adapter, or its merged model", ""),
    ):
        made = command(name, function, text, again)
        made.add_argument("run", type=Path, metavar="RUN", help="a run's folder")
        if name == "audit":
            made.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="such as audit.uploads=0")
        if name == "export":
            target = made.add_mutually_exclusive_group(required=True)
            target.add_argument("--adapter", type=Path, metavar="OUT", help="PEFT's two files")
            target.add_argument("--merge", type=Path, metavar="OUT", help="a folder that plain transformers loads")
    made = command(
        "reproduce",
        commands.reproduce,
        "a table or figure of the paper, beside its numbers",
        "reproduce {0.name} --scale {0.scale} --seeds {0.seeds} --out {1}{2}",
    )
    made.add_argument("name", metavar="NAME", help="table1 ... table4, fig2, fig3, fig4")
    made.add_argument(
        "--scale", choices=("demo", "paper"), default="demo", help="the data and model that ship, or the paper's"
    )
    made.add_argument("--data", type=Path, metavar="FOLDER", help="where coco, nocaps and ScienceQA lie (scale paper)")
    made.add_argument("--seeds", type=_count, default=3, metavar="N", help="seeds 0 to N - 1 (3)")
    made.add_argument("--out", type=Path, default=Path("runs/reproduce"), help="folder of the results and runs")
    made.add_argument(
        "--workers", type=_count, default=os.cpu_count() or 1, metavar="N", help="runs at once (all cores)"
    )
    made.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="for every run")
    compare = command("compare", commands.compare, "utility against leakage against bytes, over several runs")
    compare.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    compare.add_argument("--out", type=Path, help="folder for the plot and the table")
    return parser
