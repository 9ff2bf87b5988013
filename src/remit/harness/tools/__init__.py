"""The tools of the built-in harness: what a model can do in a worktree.

Each is a `HarnessTool`; the catalogue `harness` says what each can do at worst, and whoever runs
the loop judges a call before it runs it. A tool trusts neither: it keeps to the worktree, and
refuses protected paths once more, as they are when it acts.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from remit.harness.tools.declaration import HarnessTool, Result
from remit.harness.tools.desk import Desk
from remit.harness.tools.fetching import WEB_FETCH
from remit.harness.tools.patching import APPLY_PATCH
from remit.harness.tools.reading import FIND, LIST, READ
from remit.harness.tools.searching import SEARCH
from remit.harness.tools.shell import SHELL
from remit.harness.tools.todo import TASK, TODO
from remit.harness.tools.todos import State, Todo, Todos
from remit.harness.tools.writing import EDIT, WRITE

__all__ = ["SOURCE", "TOOLS", "Desk", "HarnessTool", "Result", "State", "Todo", "Todos"]

#: The source name of these tools, and the name of their shipped catalogue.
SOURCE = "harness"

#: Every tool by its name, in the order in which they are listed.
TOOLS: Mapping[str, HarnessTool[Any]] = MappingProxyType(
    {
        tool.name: tool
        for tool in (
            READ, LIST, FIND, SEARCH, WRITE, EDIT, APPLY_PATCH, SHELL, WEB_FETCH, TODO, TASK,
        )
    }
)  # fmt: skip
