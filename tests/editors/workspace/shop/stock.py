"""Stock of articles."""


class OutOfStock(Exception):
    """Raised if fewer articles are left than requested."""


shelves = {}


def reserve(article, count):
    """Reserve articles for a cart."""
    left = shelves.get(article.name, 0)
    if left < count:
        raise OutOfStock(f"{left} of {article.name} are left")
    shelves[article.name] = left - count
