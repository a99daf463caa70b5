"""Name resolution: the definitions that a name, expression or reference refers to."""
