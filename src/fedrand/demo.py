"""The whole story on the embedded data: FedRand beside FedAvg, trained, measured, audited and reported, offline."""

from pathlib import Path

from fedrand.crew import Found, Job, carry_out
from fedrand.progress import Progress
from fedrand.recipe import load_recipe

METHODS = ("fedrand", "fedavg")


def demo(out: Path, progress: Progress) -> Found:
    """Both methods at once, a process and a core each; what is there already is reused or gone on with.

    Returns {method: {"results", "audit"}}. InputError when `out` holds runs of another recipe.
    """
    from fedrand.report.compare import compare

    jobs = {name: Job(load_recipe("emoji", [f"strategy.name={name}"]), out / name) for name in METHODS}
    progress.say(
        "demo: FedRand beside FedAvg on emoji drawings; each is trained, measured and attacked; then both are compared"
    )
    found = carry_out(jobs, len(METHODS), progress)
    compare([out / method for method in METHODS], out / "compare")
    return found


def tell(found: Found, out: Path) -> None:
    """The demo's last page on the terminal: quality, bytes, attacks side by side, and what they mean."""
    from fedrand.report.compare import compare
    from fedrand.report.glossary import entries
    from fedrand.report.terminal import audit_table, comparison_table, explained, run_table, show

    for method in METHODS:
        show(run_table(found[method]["results"]))
    audits = {method: audit_table(found[method]["audit"]) for method in METHODS}
    print(f"\n{explained(entries(*(found[method]['audit'] for method in METHODS)), *audits.values())}")
    for method, table in audits.items():
        print(f"\n{method}")
        show(table)
    show(comparison_table(compare([out / method for method in METHODS])))
    for method in METHODS:
        print(f"\nWhat this audit says of {method}:")
        for sentence in found[method]["audit"]["verdict"]:
            print(f"- {sentence}")
    print(f"\n{in_short(found)}")
    print(
        "\nEach report lists what was not tested; a lower figure for one method means something only where intervals part."
    )
    for method in METHODS:
        print(f"{method}: {out / method}/report.html, results.json, audit.json, server/adapter (PEFT)")
    print(f"side by side: {out}/compare/compare.html")


def in_short(found: Found) -> str:
    """What the two runs come to, in three sentences: bytes, quality, and what uploads give away."""
    from fedrand.report.finding import findings
    from fedrand.report.leakage import headline

    ours, theirs = (found[method]["results"] for method in METHODS)
    ratio, before = ours["bytes"]["ratio_upload"], ours["before"]["test"]["nll"]
    losses = [results["server"]["test"]["nll"] for results in (ours, theirs)]
    leaks = [headline(findings(found[method]["audit"], "P1"), "update") for method in METHODS]
    figures = [f"AUROC {leak.text}" for leak in leaks if leak and leak.auroc is not None]
    told = [
        f"In short: FedRand's clients sent {ratio:.0%} of the bytes that FedAvg's sent.",
        f"The server's loss went from {before:.3f} to {losses[0]:.3f}, with FedAvg to {losses[1]:.3f} nats per token.",
    ]
    if len(figures) == len(METHODS):
        both = " and FedAvg's with ".join(figures)
        told.append(f"By the attack fixed beforehand, uploads tell members from others with {both}; 0.5 is a coin.")
    return " ".join(told)
