"""Servers that the tests start: a real S3 server, and a proxy that counts what passes through it.

Only Python's standard library: any interpreter of the test environments can run them.
"""
