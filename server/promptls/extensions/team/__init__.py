"""Team index: chunks of many repositories in one Lance table on shared storage.

`promptls team build` and `update` write it (`write_index`, `index_repository`, `table`, `indices`), and editors read it
(`reader_process`, `client`). Writing needs the extra `promptls[team]`; reading needs LanceDB only.
"""
