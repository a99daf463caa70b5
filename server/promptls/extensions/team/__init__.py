"""Team index: chunks of many repositories in one Lance table on shared storage.

`promptls team build` and `update` write it (`fetch`, `scan`, `actors`, `commit`, `indices`), and editors read it
(`reader_process`, `client`, `source`). Writing needs the extra `promptls[team]`; reading needs LanceDB only.
"""
