"""Reference difference: how much more likely training made the answer than the same model with its adapter off."""


def reference(model: float, base: float) -> float:
    """l_base - l_model per answer token, nats, from the `loss` scores -l_model and -l_base."""
    return model - base
