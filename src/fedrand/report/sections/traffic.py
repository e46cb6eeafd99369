"""Bytes that travelled, against FedAvg over the same rounds and clients."""

from fedrand.report.amounts import count, number, pick, plain, real
from fedrand.report.charts import bar
from fedrand.report.load import Json
from fedrand.report.markup import Markup, element, section, table

TIMES = "\N{MULTIPLICATION SIGN}"


def traffic(results: Json) -> Markup:
    """Bars and numbers: up, down, and both."""
    ours = {way: real(pick(results, "bytes", way)) for way in ("upload", "download", "total")}
    theirs = {way: real(pick(results, "bytes", f"fedavg_{way}")) for way in ("upload", "total")}
    theirs["download"] = None if None in theirs.values() else theirs["total"] - theirs["upload"]  # type: ignore[operator]
    most = max((value for value in (*ours.values(), *theirs.values()) if value is not None), default=None)
    method = plain(results.get("method"))
    rows = [
        row
        for way in ours
        for row in (_row(f"{way}, {method}", ours[way], most, ""), _row(f"{way}, FedAvg", theirs[way], most, " fedavg"))
    ]
    ratios = {way: f"{number(pick(results, 'bytes', f'ratio_{way}'), 3)} {TIMES}" for way in ("upload", "total")}
    words = (
        f"Upload is {ratios['upload']} FedAvg's, upload and download together {ratios['total']}. Counted as serialised "
        "messages with their headers, over the rounds and clients of this run."
    )
    drawn = table(
        ("direction", "", "bytes"), rows, caption="Bytes over the whole run", class_="bars", columns=("", "plot", "")
    )
    return section("Bytes against FedAvg", element("p", words), drawn, name="bytes")


def _row(label: str, value: float | None, most: float | None, kind: str) -> tuple[str, str, str]:
    share = value / most if value is not None and most else 0.0
    return label, bar(share, f"{label}: {count(value)} bytes", f"fill{kind}"), count(value)
