"""Amounts of money, never floats."""

from decimal import Decimal


class Money:
    """An amount in cents."""

    def __init__(self, cents):
        self.cents = Decimal(cents)

    def times(self, factor):
        """Return the product with a factor, not rounded."""
        return Money(self.cents * Decimal(str(factor)))


def rounded(money):
    """Round half up to whole cents."""
    return Money(money.cents.quantize(Decimal(1)))
