"""The MCP gateway: a proxy on stdio in front of one server, for one space (design section 10).

`remit.harness.gateway.run` starts it. Its modules import `mcp`, so nothing here does.
"""
