from types import SimpleNamespace

from shop.cart import apply_discount
from shop.money import Money


def test_regular_customers_pay_less():
    customer = SimpleNamespace(orders=3)
    assert apply_discount(Money(1000), customer).cents == 950
