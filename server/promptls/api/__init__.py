"""Requests as functions of the engine, their params and a cancel token; shared by language server and command line.

The functions block and run on request threads. They convert params to values, call the packages below and encode the
results as JSON; all decisions are made below.
"""
