"""What several exercises on masks need."""


def one_infinity(mask):
    """All masks made to be added, with −∞, −1e9 or −1e4, are one and the same mistake."""
    return mask.masked_fill(mask < -1e3, float("-inf")) if mask.is_floating_point() else mask
