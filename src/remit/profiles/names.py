"""Names: what a mode, a source and a tool may be called, and the names that are taken.

No name of a mode is written in code outside this module and the files of ``builtin``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

__all__ = [
    "AGENT_ONLY",
    "ALIASES",
    "BUILT_IN",
    "BUILT_IN_STAGED",
    "DEFAULT_CHILDREN",
    "MODE_NAME",
    "PULL_REQUEST_MODE",
    "RESERVED",
    "SOURCE_NAME",
    "STEP_MODE",
    "TOOL_NAME",
    "TOP_MODE",
]

MODE_NAME = re.compile(r"[a-z][a-z0-9-]{0,63}")
SOURCE_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
TOOL_NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,128}")

#: The profiles that remit ships, in the order in which they are listed.
BUILT_IN = ("chat", "read-only", "plan", "review", "orchestrate", "explore")

#: The modes with stages that remit ships, each in a folder of its own.
BUILT_IN_STAGED = ("goal",)

#: What modes in Markdown deny: tools of the top mode alone, such as a desktop's (S000-83).
AGENT_ONLY = "group:agent-only"

#: The absence of policy: what has no parent, what a space without a mode is in, where exits lead.
TOP_MODE = "chat"

#: The mode of a space that was opened for a pull request (S003-11).
PULL_REQUEST_MODE = "review"

#: The modes that an agent started from another may have, where a brief says nothing.
DEFAULT_CHILDREN = ("read-only",)

#: The mode of a pipeline's steps where neither they nor the pipeline say one.
STEP_MODE = "review"

#: Names of old callers and of other systems' files, and what they mean.
ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "agent": "chat",
        "default": "chat",
        "build": "chat",
        "off": "chat",
        "none": "chat",
        "contract": "read-only",
    }
)

#: Names that no file but our own may bear.
RESERVED = frozenset({*BUILT_IN, *BUILT_IN_STAGED, *ALIASES})
