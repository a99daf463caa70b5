"""Packing: from ranked candidates to the items that fit the budget."""
