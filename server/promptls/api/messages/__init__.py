"""Params and results of requests, and their conversion to the values of other packages."""
