"""One client holds everyone's training data: what could be had without a federation, the ceiling."""

from fedrand.strategies.fedavg import Everything
from fedrand.strategy import Strategy


def centralised() -> Strategy:
    """A round is `epochs` over all the data. The traffic counted is the adapter's; moving the data is not counted."""
    return Strategy("centralised", Everything(), pooled=True)
