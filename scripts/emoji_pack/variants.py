"""Which emoji are variants of one concept: by gender, direction of travel, skin tone or family members."""

import re

# Code points that only say style or skin tone, and endings that only say gender or direction.
_MARKS = {"FE0F", "1F3FB", "1F3FC", "1F3FD", "1F3FE", "1F3FF"}
_TAILS = re.compile("-200D-(2640|2642|27A1)")
_FAMILY = re.compile("(1F9D1-200D-)+(1F46[67]|1F9D2)")
_FAMILY_CODE = "1F46A"
# What the code points do not tell; the first gives the caption.
_BY_HAND = {
    "1F9D1": ("1F468", "1F469"),  # person: man, woman
    "1F9D2": ("1F466", "1F467"),  # child: boy, girl
    "1F9D3": ("1F474", "1F475"),  # older person: old man, old woman
    "1FAC5": ("1F934", "1F478"),  # person with crown: prince, princess
    "1FAC4": ("1F930", "1FAC3"),  # pregnant person: woman, man
    "1F57A": ("1F483",),  # dancing: man, woman
    "1F385": ("1F936", "1F9D1-200D-1F384"),  # Santa, Mrs. and Mx Claus
    "1F9D1-200D-1F91D-200D-1F9D1": ("1F46B", "1F46C", "1F46D"),  # people holding hands
    "1F48F": ("1F9D1-200D-2764-200D-1F48B-200D-1F9D1",),  # kiss
    "1F491": ("1F9D1-200D-2764-200D-1F9D1",),  # couple with heart
}
_CONCEPTS = {member: first for first, members in _BY_HAND.items() for member in members}


def concept(code: str) -> str:
    """The concept that an emoji is a variant of: "1F3C3-200D-2640-FE0F" (woman running) -> "1F3C3"."""
    plain = _TAILS.sub("", "-".join(point for point in code.split("-") if point not in _MARKS))
    if "200D" in plain:
        plain = plain.replace("1F468", "1F9D1").replace("1F469", "1F9D1")
    return _FAMILY_CODE if _FAMILY.match(plain) else _CONCEPTS.get(plain, plain)
