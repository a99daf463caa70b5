"""The shopping cart."""

from shop.money import Money, rounded
from shop.stock import reserve


class Cart:
    """The articles of a customer before payment."""

    def __init__(self, customer):
        self.customer = customer
        self.lines = []

    def add(self, article, count=1):
        """Put an article into the cart; raises OutOfStock if too few are left."""
        reserve(article, count)
        self.lines.append((article, count))

    def total(self):
        """Return the price of all lines, including the discount."""
        price = sum(article.price * count for article, count in self.lines)
        return apply_discount(Money(price), self.customer)


def apply_discount(price, customer):
    """Regular customers pay five percent less from the third order on."""
    if customer.orders >= 3:
        return rounded(price.times(0.95))
    return price
