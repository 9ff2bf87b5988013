"""Failures: every way in which a command can end, with its exit code and one clear message.

0 is done and fine, 1 is a no for an answer, 2 says that input or command is wrong, 3 that something
of this machine failed. A traceback is shown to whoever asks for one, and never for bad input.
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Sequence

import click

from remit.cli.output import show_problems
from remit.policy.problems import Problem, RemitError

__all__ = ["FINE", "INPUT", "MACHINE", "NO", "MachineError", "run"]

FINE, NO, INPUT, MACHINE = 0, 1, 2, 3
#: What shells say of a command that a signal ended: 128 and its number.
_INTERRUPTED, _PIPE = 130, 141
#: What a full disk or a closed standard output says.
_UNWRITABLE = frozenset({errno.ENOSPC, errno.EIO, errno.EBADF, errno.EDQUOT, errno.EFBIG})


class MachineError(RemitError):
    """A part that the command needs is not there, or does not work, on this machine."""

    of_machine = True


def run(command: click.Command, args: Sequence[str]) -> int:
    """Run a command line and return its exit code; whatever it raises is told, never thrown."""
    if sys.stdout is None:  # it was closed before we began
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    try:
        result = command.main(list(args), prog_name="remit", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        # A command that needs a word more: help is what was wanted, in the shape of help.
        click.echo(error.ctx.get_help(), err=True)
        return INPUT
    except click.UsageError as error:
        return _usage(error)
    except click.ClickException as error:
        return _told(Problem("usage", _sentence(error.format_message())), INPUT)
    except (click.Abort, KeyboardInterrupt):
        return _INTERRUPTED
    except RemitError as error:
        show_problems(error.problems)
        return MACHINE if error.of_machine else INPUT
    except BrokenPipeError:
        # Whoever read had enough; the interpreter would complain once more when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _PIPE
    except OSError as error:
        if error.errno in _UNWRITABLE:
            why = (error.strerror or str(error)).lower()
            problem = Problem("output-failed", f"what was asked for cannot be printed: {why}")
            # Nothing more goes there, not even when the interpreter flushes at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            return _told(problem, MACHINE)
        return _fault(error, args)
    except Exception as error:
        return _fault(error, args)
    return result if isinstance(result, int) else FINE


def _told(problem: Problem, code: int) -> int:
    show_problems([problem])
    return code


def _usage(error: click.UsageError) -> int:
    hint = f"`{error.ctx.command_path} --help` shows how" if error.ctx else ""
    return _told(Problem("usage", _sentence(error.format_message()), hint), INPUT)


def _sentence(text: str) -> str:
    """Return click's message as a message of ours: small at its start, no period at its end."""
    text = " ".join(text.replace("'", "`").split()).rstrip(".")
    return text[:1].lower() + text[1:]


def _fault(error: Exception, args: Sequence[str]) -> int:
    what = f"{type(error).__name__}: {error}".splitlines()[0][:400]
    hint = "`remit --traceback ...` shows where; please report it"
    if "--traceback" in args[:1]:
        traceback.print_exc()
        hint = "please report it"
    return _told(Problem("fault", f"this is a fault of remit: {what}", hint), MACHINE)
