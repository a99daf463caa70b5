"""Each request as a function of the engine, its params and a cancel token.

The same for the language server and the command line.  Blocking; called on request threads.  A function
turns params into values, calls the floors below and turns results into JSON; it decides nothing by itself.
"""
