"""Context by task: code that a kind of request needs whatever its words are, such as the tests of a changed function.

Each module recognizes one task and returns its items, most important first, with the origin `Origin.TASK`.
"""
