"""What noise on uploads buys: epsilon of a client's uploads, by Renyi differential privacy (Google's dp-accounting)."""

from collections.abc import Mapping

from fedrand.errors import InputError

NAME = "RDP (dp-accounting)"
COVERS = "the uploaded tensors; the number of examples beside them is sent exactly and is not covered"


def epsilon(noise: float, uploads: int, delta: float) -> float:
    """Epsilon at `delta` of so many Gaussian mechanisms, noise multiplier `noise` each (Mironov, 2017).

    No credit for sending a half, and none for the sampling of clients: the adversary is the server, which picks them.
    InputError when the extra `dp` is not installed.
    """
    try:
        from dp_accounting import dp_event, rdp
    except ImportError as error:
        raise InputError("an epsilon needs dp-accounting; install it with: pip install 'fedrand[dp]'") from error
    accountant = rdp.RdpAccountant()
    accountant.compose(dp_event.GaussianDpEvent(noise), uploads)
    return float(accountant.get_epsilon(delta))


def by_client(noise: float, delta: float, uploads: Mapping[str, int]) -> dict[str, float]:
    """Each client's epsilon; 0 for one that never sent anything."""
    known = {count: epsilon(noise, count, delta) for count in set(uploads.values()) if count}
    return {name: known.get(count, 0.0) for name, count in sorted(uploads.items())}
