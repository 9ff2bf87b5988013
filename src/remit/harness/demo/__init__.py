"""The main job on real input: a real server, a real client, a real repository, and modes that hold.

`remit.harness.demo.story` tells it. Its modules import `mcp`, so nothing here does.
"""
