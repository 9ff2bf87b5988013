"""The policy engine for agent modes: re-exports only, each name imported on first use.

What is not in `__all__` may change.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for type checkers, which do not read the table; a test holds the two together
    pass

#: Each public name and the module it comes from.
_HOMES: dict[str, str] = {}

__all__ = sorted(_HOMES)

if not TYPE_CHECKING:  # else a type checker would take any misspelled name for an object

    def __getattr__(name: str) -> object:
        """Import a public name on first use (PEP 562): `import remit` costs next to nothing."""
        if name not in _HOMES:
            msg = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(msg)
        value = globals()[name] = getattr(import_module(_HOMES[name]), name)
        return value

    def __dir__() -> list[str]:
        """The public names too, whether used yet or not."""
        return sorted({*globals(), *_HOMES})
