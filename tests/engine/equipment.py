"""An adapter on a model, ready to use."""

from fedrand.lora import Adapter
from fedrand.models import ImageFeatures
from fedrand.randomness import stream


def equipped(vlm, **options):
    """(model, adapter with both factors random, features)."""
    adapter = Adapter.attach(vlm, **options)
    adapter.load(random_params(adapter))
    return vlm, adapter, ImageFeatures(vlm)


def random_params(adapter, seed=0):
    """A random value for every tensor, B not zero, in the adapter's own dtype."""
    rng = stream(seed, "random")
    dtype = adapter.initial(rng)[adapter.keys[0]].dtype
    return {key: rng.normal(0, 0.1, shape).astype(dtype) for key, shape in adapter.shapes.items()}
