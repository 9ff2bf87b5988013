"""A gateway as a process: `serving.py DATABASE SPACE NAME=CATALOG COMMAND…`."""

import sys

from remit.harness.engine import Engine
from remit.harness.gateway.run import run_gateway
from remit.harness.gateway.servers import ServerSpec
from remit.harness.store import Store

database, space, bound, *command = sys.argv[1:]
name, _, catalog = bound.partition("=")
with Store.open(database) as store:
    spec = ServerSpec(name, tuple(command), catalog)
    sys.exit(run_gateway(store, Engine.load(), space, [spec]))
