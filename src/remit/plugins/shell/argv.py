"""Options and operands: how a program reads the words it is given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import field, frozen

from remit.plugins.shell.values import Loose, Text, may_be_option, shown

__all__ = ["Argv", "Grammar", "read"]

#: What an option takes: nothing, a value, or a value only when it is attached.
_FLAG, _VALUE, _OPTIONAL = 0, 1, 2
_NONE: frozenset[str] = frozenset()


@frozen
class Grammar:
    """The options of one command.

    ``takes`` maps an option to 1 if it takes a value, to 2 if only an attached one. ``cluster``
    says that ``-abc`` is three options; without it, it is one. ``stop`` says that options end at
    the first operand.
    """

    takes: Mapping[str, int] = field(factory=dict)
    known: frozenset[str] = frozenset()
    cluster: bool = True
    stop: bool = False
    plus: bool = False

    def long(self, name: str) -> str:
        """Return the option that a long name means: GNU programs take any clear beginning."""
        if name in self.takes or name in self.known or len(name) < 4:
            return name
        found = [o for o in (*self.takes, *self.known) if o.startswith(name)]
        return min(found, key=len) if found else name


class Argv:
    """The words of one command, taken apart.

    ``loose`` holds words that may be options although it cannot be seen which. ``after`` are the
    operands behind ``--``. ``names`` are the options given.
    """

    __slots__ = ("after", "loose", "names", "operands", "options")

    def __init__(
        self,
        options: Sequence[tuple[str, Text | None]],
        operands: Sequence[Text],
        loose: Sequence[Loose] = (),
        after: int = -1,
    ) -> None:
        self.options = options
        self.operands = operands
        self.loose = loose
        self.after = after
        self.names = frozenset([name for name, _ in options]) if options else _NONE

    def values(self, *names: str) -> list[Text]:
        """Return the values of options, in order."""
        return [v for name, v in self.options if name in names and v is not None]

    def has(self, names: Iterable[str]) -> bool:
        """Say whether one of these options is given."""
        return not self.names.isdisjoint(names)


def read(args: Sequence[Text], grammar: Grammar) -> Argv:
    """Take words apart by a grammar."""
    options: list[tuple[str, Text | None]] = []
    operands: list[Text] = []
    loose: list[Loose] = []
    takes = grammar.takes
    after = -1
    i, n = 0, len(args)
    while i < n:
        arg = args[i]
        i += 1
        if type(arg) is not str:
            assert isinstance(arg, Loose)
            if arg.choices and not any(c[:1] == "-" for c in arg.choices):
                operands.append(arg)
            elif arg.prefix[:1] == "-" and arg.prefix[:2] != "--" and len(arg.prefix) > 1:
                _loose_cluster(arg, grammar, options, loose)
            elif arg.prefix[:2] == "--" and "=" in arg.prefix:
                name, _, value = arg.prefix.partition("=")
                options.append((grammar.long(name), Loose(arg.raw, value, arg.kind)))
            elif may_be_option(arg):
                loose.append(arg)
                operands.append(arg)
            else:
                operands.append(arg)
            if grammar.stop and operands:
                operands += args[i:]
                break
            continue
        if arg[:1] != "-" and not grammar.plus:
            operands.append(arg)
            if grammar.stop:
                operands += args[i:]
                break
        elif arg[:2] == "--":
            if arg == "--":
                after = len(operands)
                operands += args[i:]
                break
            name, equals, value = arg.partition("=")
            name = grammar.long(name)
            if equals:
                options.append((name, value))
            elif takes.get(name) == _VALUE and i < n:
                options.append((name, args[i]))
                i += 1
            else:
                options.append((name, None))
        elif arg[:1] == "-" and len(arg) > 1:
            if not grammar.cluster:
                name, equals, value = arg.partition("=")
                if equals:
                    options.append((name, value))
                elif takes.get(name) == _VALUE and i < n:
                    options.append((name, args[i]))
                    i += 1
                else:
                    options.append((name, None))
                continue
            at = 1
            while at < len(arg):
                name = "-" + arg[at]
                at += 1
                kind = takes.get(name, _FLAG)
                if kind == _FLAG:
                    options.append((name, None))
                    continue
                if at < len(arg):
                    options.append((name, arg[at:]))
                elif kind == _VALUE and i < n:
                    options.append((name, args[i]))
                    i += 1
                else:
                    options.append((name, None))
                break
        elif grammar.plus and arg[:1] == "+" and len(arg) > 1:
            options.append((arg, None))
        else:
            operands.append(arg)
            if grammar.stop:
                operands += args[i:]
                break
    return Argv(options, operands, loose, after)


def _loose_cluster(
    arg: Loose,
    grammar: Grammar,
    options: list[tuple[str, Text | None]],
    loose: list[Loose],
) -> None:
    """Read ``-n$X``: the known letters, then a value that is not known."""
    for at, letter in enumerate(arg.prefix[1:], 2):
        name = "-" + letter
        if grammar.takes.get(name, _FLAG) != _FLAG:
            options.append((name, Loose(shown(arg), arg.prefix[at:], arg.kind)))
            return
        options.append((name, None))
    if arg.kind != "number":
        loose.append(arg)
