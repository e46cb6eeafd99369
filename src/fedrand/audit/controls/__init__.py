"""Controls: how well members are told from non-members without looking at any model."""

from fedrand.audit.controls.blind import blind_image, blind_text, confounded

__all__ = ["blind_image", "blind_text", "confounded"]
