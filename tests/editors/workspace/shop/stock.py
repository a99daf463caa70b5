"""What is on the shelves."""


class OutOfStock(Exception):
    """Fewer articles are left than were asked for."""


shelves = {}


def reserve(article, count):
    """Set articles aside for a cart."""
    left = shelves.get(article.name, 0)
    if left < count:
        raise OutOfStock(f"{left} of {article.name} are left")
    shelves[article.name] = left - count
