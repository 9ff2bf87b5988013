"""SQL: what each statement of a text does, by its kind."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

from attrs import frozen

__all__ = ["Statement", "statements"]


@frozen
class Statement:
    """What one statement was found to do; ``target`` is the table, or ``?``."""

    kind: str
    effects: tuple[str, ...] = ()
    target: str = "?"
    opaque: bool = False
    why: str = ""


#: What sqlglot cannot parse is told as a finding, not as a line of its log.
_QUIET = logging.NullHandler()
_READS = frozenset(
    {"Select", "Union", "Intersect", "Except", "Describe", "Show", "Subquery", "Values"}
)
_SESSION = frozenset({"Set", "Use", "Transaction", "Commit", "Rollback"})
#: Functions that leave the database.
_ACTS = frozenset(
    [
        "load_extension",
        "pg_read_file",
        "pg_read_binary_file",
        "pg_ls_dir",
        "lo_import",
        "lo_export",
        "dblink",
        "dblink_exec",
        "load_file",
        "sys_exec",
        "sys_eval",
        "xp_cmdshell",
        "writefile",
        "readfile",
        "edit",
        "pg_terminate_backend",
        "pg_cancel_backend",
        "pg_reload_conf",
        "setval",
        "nextval",
        "set_config",
        "query_to_xml",
        "copy_to",
    ]
)
_PRAGMA_READS = frozenset(
    [
        "table_info",
        "table_xinfo",
        "index_list",
        "index_info",
        "foreign_key_list",
        "database_list",
        "integrity_check",
        "quick_check",
        "compile_options",
        "function_list",
        "table_list",
        "collation_list",
    ]
)


def statements(text: str, dialect: str | None = None) -> Iterator[Statement]:
    """Yield what each statement does; without sqlglot, or unparsed, a statement is opaque."""
    try:
        import sqlglot

        logging.getLogger("sqlglot").addHandler(_QUIET)
        from sqlglot.errors import SqlglotError
    except ImportError:
        yield Statement("unread", ("vendor.write",), "?", True, "sqlglot is not installed")
        return
    if len(text) > 100_000:
        yield Statement(
            "unread",
            ("vendor.write",),
            "?",
            True,
            "the statement is too long to be read",
        )
        return
    if text.lstrip().startswith(("\\", ".")):
        yield Statement(
            "meta", ("process.spawn",), "client", True, "a command of the client itself"
        )
        return
    try:
        parsed = sqlglot.parse(text, read=dialect)
    except (SqlglotError, RecursionError, ValueError) as error:
        first = str(error).splitlines()[0][:80]
        yield Statement(
            "unread",
            ("vendor.write",),
            "?",
            True,
            f"the statement was not understood: {first}",
        )
        return
    for tree in parsed:
        if tree is not None:
            yield _one(tree, text)


def _one(tree: Any, text: str) -> Statement:
    from sqlglot import expressions as exp

    kind = type(tree).__name__
    table = tree.find(exp.Table)
    target = table.name if table is not None and table.name else "?"
    for call in tree.find_all(exp.Func):
        name = (call.name if isinstance(call, exp.Anonymous) else call.sql_name()).lower()
        if name in _ACTS:
            return Statement(kind, ("process.spawn",), name, True, f"`{name}` leaves the database")
    changes = [
        n for n in tree.find_all(exp.Insert, exp.Update, exp.Delete, exp.Merge) if n is not tree
    ]
    if kind in _READS and not changes:
        if tree.args.get("into") or tree.args.get("locks"):
            return Statement(
                kind,
                ("vendor.write",),
                target,
                False,
                "it selects into a table or locks rows",
            )
        return Statement(kind, (), target, False, "reads")
    if kind == "Pragma":
        name = tree.this.name.lower() if getattr(tree.this, "name", "") else str(tree.this).lower()
        if name.split("(")[0].split("=")[0].strip() in _PRAGMA_READS or "=" not in str(tree):
            return Statement(kind, (), target, False, "reads a setting")
        return Statement(
            kind, ("vendor.write",), target, False, "changes a setting of the database"
        )
    if kind in ("Transaction", "Commit", "Rollback", "Use"):
        return Statement(kind, (), target, False, "only frames other statements")
    if kind == "Copy":
        if "PROGRAM" in str(tree).upper().split("'")[0] or "PROGRAM" in text.upper():
            return Statement(
                kind,
                ("process.spawn", "vendor.write"),
                "program",
                True,
                "`COPY` runs a program",
            )
        return Statement(
            kind,
            ("vendor.write", "file.write_outside"),
            target,
            False,
            "`COPY` moves a file of the server",
        )
    if kind == "Attach":
        return Statement(kind, ("vendor.write",), target, True, "`ATTACH` opens another file")
    if kind == "Command":
        word = str(tree.this).upper()
        if word in ("EXPLAIN", "SHOW", "DESCRIBE", "DESC"):
            rest = str(tree.expression).upper()
            if any(w in rest for w in ("ANALYZE", "INSERT", "UPDATE", "DELETE", "DROP")):
                return Statement(
                    kind,
                    ("vendor.write",),
                    target,
                    False,
                    f"`{word}` runs what it explains",
                )
            return Statement(kind, (), target, False, "reads")
        return Statement(kind, ("vendor.write",), target, True, f"`{word}` was not understood")
    return Statement(
        kind, ("vendor.write",), target, False, f"`{kind.lower()}` changes the database"
    )
