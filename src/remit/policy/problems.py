"""Problems: what a check found, where, and what to do about it.

A message is one lower-case sentence with what was given in backticks; the hint stands apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from enum import StrEnum
from types import MappingProxyType

from attrs import frozen

__all__ = [
    "CODES",
    "CODE_GROUPS",
    "InputError",
    "Position",
    "Problem",
    "RemitError",
    "Severity",
    "near",
]


class Severity(StrEnum):
    """An error keeps a thing from being used; a warning does not."""

    ERROR = "error"
    WARNING = "warning"


@frozen
class Position:
    """A place in a file; line and column count from 1, 0 where they are not known."""

    file: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return ":".join([self.file, *(str(n) for n in (self.line, self.column) if n)])


@frozen
class Problem:
    """One finding of a check.

    ``code`` is stable and listed in the reference; ``path`` is the key path within the file, such
    as ``ceiling.refuse[1]``.
    """

    code: str
    message: str
    hint: str = ""
    where: Position = Position()
    path: str = ""
    severity: Severity = Severity.ERROR

    def __str__(self) -> str:
        at = f" @ {self.where}" if self.where.file else ""
        path = f" {self.path}" if self.path else ""
        hint = f"\n  hint: {self.hint}" if self.hint else ""
        return f"{self.severity}: {self.message}{at}{path} [{self.code}]{hint}"


class RemitError(Exception):
    """Base of every error that remit raises on purpose; never raised itself.

    ``problems`` is never empty; ``str()`` renders them, one under the other.
    """

    #: Did this machine fail, rather than what was given.
    of_machine = False

    def __init__(self, problems: Problem | Iterable[Problem]) -> None:
        self.problems = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(str(p) for p in self.problems))


class InputError(RemitError):
    """What was given is wrong: a file, a name, a value."""


def near(given: str, known: Iterable[str]) -> str:
    """Return the hint that names what was probably meant, or the empty text."""
    close = get_close_matches(given.strip().lower(), sorted(set(known)), n=3, cutoff=0.6)
    return f"did you mean {' or '.join(f'`{c}`' for c in close)}" if close else ""


#: Every code that a problem can have, with what it means, by what it is about.
CODE_GROUPS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "Reading a file": {
            "file-missing": "there is no file of that name",
            "file-is-folder": "a folder stands where a file was wanted",
            "file-unreadable": "the file may not be read, or reading failed",
            "file-exists": "something is there already, and nothing is ever replaced",
            "file-unwritable": "the file cannot be written",
            "file-too-large": "the file is larger than any declaration needs to be",
            "file-not-text": "the file is not UTF-8 text",
            "toml-syntax": "the text is not TOML",
            "no-frontmatter": "a mode's file has no frontmatter between lines `---`",
            "yaml-strict": "YAML that a mode's file may not use, such as anchors, aliases and tags",
            "json-syntax": "the text is not JSON",
            "duplicate-key": "a key is given twice",
            "too-deep": "lists and tables nest too deep",
            "number-too-large": "a number has more digits than can be read",
        },
        "The shape of a file": {
            "missing-key": "a required key is missing",
            "unknown-key": "a key that means nothing there",
            "wrong-type": "a value of another type than the key takes",
            "unknown-value": "a word that is not among those the key takes",
            "over-limit": "a number, a text or a list beyond its limit",
        },
        "Profiles": {
            "bad-name": "a mode's name that is malformed",
            "reserved-name": "a mode's name that no file but remit's own may bear",
            "duplicate-name": "two files of one name, so that none of them is used",
            "bad-text": "text that must be one short line and is not",
            "unknown-mode": "no mode of that name is known",
            "unknown-parent": "the parent is not known",
            "broken-parent": "the parent is unavailable, so this mode is too",
            "parent-cycle": "a mode extends itself, by way of others or not",
            "widens-parent": "a key tries to allow more than the parent does",
            "contradiction": "two keys say different things of one fact",
            "porous-refusal": "effects are refused, yet what cannot be judged may be approved",
            "unknown-effect": "no effect class of that name is known",
            "bad-selector": "an allow or deny entry that could name no tool",
            "bad-pattern": "a target pattern that could match nothing",
            "no-verb": "a result is required and no verb delivers one",
            "unknown-verb": "a verb that no catalogue has",
            "not-a-verb": "a tool that may not serve as such a verb",
            "ambiguous-verb": "a verb's name that more than one tool bears",
            "verb-classified": "a verb whose effects depend on a classifier",
            "verb-undeclared": "a verb whose effects nobody declared",
            "verb-denied": "a deny entry that names the mode's own verb",
            "unknown-placeholder": "double braces around what stands for nothing",
            "bad-example": "an example call that no model could make",
        },
        "Modes with stages": {
            "no-stages": "`stages` is there and names none",
            "bad-id": "a name that no stage and no artifact may have",
            "unknown-stage": "no stage of that name is declared",
            "unknown-artifact": "no artifact of that id is declared",
            "unknown-variable": "double braces that claim to be a variable and are none",
            "artifact-path": "a path that no run may make its files at",
            "no-template": "the mode has no such template beside its file",
            "gate-actions": "an exit gate with none or several actions, or a key that idles",
            "ask-not-last": "an exit gate that asks before others",
            "stage-circle": "stages lead back to each other and none of them loops or asks",
            "stage-unreached": "no stage leads to this one",
        },
        "Profiles under a catalogue": {
            "selector-unmatched": "an allow or deny entry that matches no tool of the catalogue",
            "allowed-in-vain": "an allow entry all of whose tools are hidden",
            "deny-empties": "a deny-list that leaves no tool",
            "example-differs": "an example call that gets another verdict",
            "words-name-hidden": "guidance that names a tool which the mode does not have",
        },
        "Catalogues": {
            "unknown-catalog": "neither a shipped catalogue nor a file",
            "bad-source": "a name that no source of tools may have",
            "bad-tool-name": "a name that no tool may have",
            "bad-tool-list": "JSON that is no list of tools",
            "bad-group": "a name that no group may have",
            "bad-classifier": "a name that no classifier may have",
            "duplicate-tool": "two tools of one source and name",
            "native-name": "a server's tool that bears the name of a native verb",
            "no-tools": "a catalogue that declares no tool",
            "open-verb": "a verb without declared effects, or with a classifier",
            "least-unclassified": "smallest effect sets of a tool that has no classifier",
            "least-outside": "a smallest effect set, or an action's, beyond the tool's effects",
            "bad-argument-role": "a word for an argument that no classifier knows",
            "unclassified": "arguments or actions of a tool that has no classifier",
            "no-pin": "words of a server that no hash pins",
            "cannot-repin": "a pin that cannot be written anew where it stands",
            "out-exists": "a file that is to be written is there already",
            "no-change": "no change of such a tool was seen",
            "bad-pin": "a hash that is none, or not that of the words beside it",
        },
        "What programs do": {
            "program-table": "a table of programs says something that means nothing",
            "wrapper-table": "the table of wrappers says something that means nothing",
            "host-answers": "another host did not answer the corpus",
            "no-command": "no command was given, or two ways of giving one",
        },
        "Plans": {
            "plan-type": "a part of a plan has another type than it takes",
            "plan-missing": "a part that a plan needs is missing or empty",
            "plan-key": "a key that means nothing in a plan",
            "plan-key-text": "a node's key is too long or cannot be seen",
            "plan-empty": "a plan without nodes",
            "plan-nodes": "more nodes than a plan may have",
            "plan-size": "the plan is too long as text",
            "plan-duplicate": "two nodes of one key",
            "plan-self": "a node depends on itself",
            "plan-unknown": "a node depends on a key that no node has",
            "plan-text": "the plan is no text that can be written",
            "plan-edited": "the plan was edited since the operator was shown it",
            "plan-changed": "the file of a sealed plan is not what was submitted",
            "plan-cycle": "nodes wait for each other",
            "unknown-plan": "there is no plan of that id",
            "plan-no-steps": "a plan in words, which no pipeline can be made of",
            "plan-not-approved": "the plan is not approved, so nothing of it is started",
            "plan-tasks": "more tasks than a plan may have",
            "unknown-task": "the plan has no task of that id",
            "bad-task-id": "an id that no task may have",
            "plan-file-size": "the plan is too long for a file",
            "plan-file-exists": "something else lies where the plan's file would be",
            "plan-file-link": "a link or no folder stands on the way to the plan's file",
            "plan-file-unread": "the plan's file cannot be read again",
            "plan-file-failed": "the plan's file could not be written",
        },
        "Orchestrations": {
            "proposal-type": "a part of a proposal has another type than it takes",
            "proposal-missing": "a part that a proposal needs is missing or empty",
            "proposal-key": "a key that means nothing in a proposal",
            "proposal-key-text": "a key of a role or a ticket is too long or cannot be seen",
            "proposal-roles": "no role, or more than a proposal may have",
            "proposal-tickets": "no ticket, or more than a proposal may have",
            "proposal-agent": "a role with neither an agent nor a hire, or with both",
            "proposal-role": "a role is named that the proposal does not have",
            "proposal-duplicate": "two roles, or two tickets, of one key",
            "proposal-self": "a ticket depends on itself",
            "proposal-unknown": "a ticket depends on a key that no ticket has",
            "proposal-parent": "a ticket's parent is no ticket, or the ticket itself",
            "proposal-cycle": "tickets wait for each other, or for what they are part of",
            "proposal-budget": "a budget that is none, or is below what the steps cost",
            "proposal-drift": "a word for what happens on drift that is none",
            "proposal-size": "the proposal is too long",
            "orchestration-decided": "what would be revised is approved, done or superseded",
            "unknown-orchestration": "there is no orchestration of that id",
            "proposal-cooldown": "an agent proposed the same less than two minutes ago",
        },
        "Reviews": {
            "review-node": "a finding or an axis is not as a review takes it",
            "review-anchor": "a finding names a place that the worktree does not have",
            "own-finding": "whoever found something would settle it",
            "finding-settled": "the finding is dismissed or resolved already",
            "unknown-finding": "the space has no finding of that id",
        },
        "Pipelines": {
            "yaml-syntax": "the text is not YAML",
            "yaml-part": "a part of YAML that declarations do without: an alias, an anchor, a tag",
            "unknown-pipeline": "no pipeline of that id was started",
            "pipeline-budget": "a step would begin beyond what its pipeline may cost",
            "pipeline-over": "a pipeline is done, failed or cancelled",
            "pipeline-driven": "another process drives a pipeline",
            "step-none": "a pipeline without nodes",
            "step-key": "a node's key is empty, too long or cannot be seen",
            "step-title": "a node's title is empty",
            "step-duplicate": "two nodes of one key",
            "step-self": "a node depends on itself",
            "step-unknown": "a node depends on a key that no node has",
            "step-cycle": "nodes wait for each other",
            "step-mode": "what pins a step's mode is no name",
            "step-mode-key": "a key that pins no mode and looks as if it were meant to",
            "step-mode-unknown": "a mode of a pipeline that is not known",
            "step-mode-not-allowed": "a mode that the pipeline itself does not allow",
        },
        "Plugins": {
            "plugin-missing": "a plugin that is enabled and not installed, or offered twice",
            "plugin-import": "a plugin that cannot be imported",
            "plugin-name": "a plugin's name that is taken, or one plugin under two names",
            "plugin-hook": "a hook that does not exist, is not marked, or has other arguments",
            "plugin-value": "a hook returned what it may not",
            "plugin-failed": "a hook raised",
        },
        "Configuration and the operator": {
            "home-relative": "`REMIT_HOME` is not an absolute path",
            "config-missing": "the configuration folder that was named is not there",
            "config-unreadable": "the configuration file cannot be looked at",
            "modes-unreadable": "the folder of the user's modes cannot be read",
            "mode-passed-over": "a file among the modes that is not named as one",
            "folder-failed": "a folder cannot be made or used",
            "bad-source-name": "a name that no server may have",
            "token-missing": "there is no operator token",
            "token-open": "the operator token can be read by others",
            "token-damaged": "the token's file does not hold one",
            "token-failed": "the token's file cannot be used",
            "operator-needed": "the operator token was not given",
            "operator-wrong": "the token that was given is another one",
            "not-operator": "somebody else than an operator would decide or change",
            "own-request": "whoever asked would decide",
        },
        "Spaces and approvals": {
            "bad-space-id": "an id that no space may have",
            "bad-mode-name": "a name that no mode may have",
            "bad-conversation-id": "an id that no conversation may have",
            "bad-actor": "a name of nobody who can act",
            "bad-worktree": "a worktree that is no absolute path",
            "worktree-missing": "the folder that is to be the worktree is not there",
            "unknown-space": "there is no space of that id",
            "space-exists": "there is a space of that id already",
            "space-changed": "somebody else changed the space since it was looked at",
            "space-locked": "a locked space, whose mode an operator alone changes",
            "unknown-setting": "a setting of an effect that the space does not have",
            "unknown-grant": "there is no grant of that id",
            "bad-grant": "a grant that could never hold",
            "unknown-tool": "no tool of that name is known",
            "ambiguous-tool": "a tool's name that more than one source has",
            "bad-arguments": "arguments of a call that are no JSON object",
            "mode-fixed": "a space of that kind takes no other mode to start in",
            "not-selectable": "a mode that an operator does not choose",
            "unknown-approval": "there is no approval of that id",
            "not-a-question": "an answer to an approval that asks no question",
            "approval-pending": "the approval is not decided yet",
            "approval-approved": "the approval was approved already",
            "approval-rejected": "the approval was rejected already",
            "approval-used": "the approval was used already",
            "approval-expired": "the approval's time is over",
            "approval-superseded": "what the approval was for is gone",
        },
        "Conversations": {
            "unknown-conversation": "there is no conversation of that id",
            "conversation-exists": "there is a conversation of that id already",
            "conversation-elsewhere": "the conversation is in another space",
            "turn-open": "a turn of the conversation is open",
            "turn-closed": "the turn is closed",
            "unknown-record": "the record is none of the conversation",
            "child-mode": "a mode that a child of this conversation may not have",
            "child-depth": "a child of a child that may have none of its own",
            "no-plan": "no plan is active in the conversation",
            "bad-snapshot": "a kept profile cannot be read",
        },
        "Runs": {
            "unknown-run": "there is no run of that id",
            "run-open": "the space has a run that is not over",
            "run-remote": "runs are not for spaces that are remote",
            "run-mode": "the space is in another mode than the run's",
            "run-state": "a run in that state does not take that",
            "run-stale": "the run has changed since it was looked at",
            "run-claim": "the turn does not hold the run, or another one does",
            "run-gate": "no such exit gate is being judged",
            "run-budget": "the turns or tokens that the host may use are spent",
            "run-input": "the input says nothing",
            "run-input-changed": "the input was changed since the turn began",
            "run-artifact": "the mode declares no such artifact",
            "run-report": "the report is not as a run takes it",
            "run-worktree": "a run needs a worktree, and the space has none",
            "run-gate-never": "an exit gate whose command is refused, whatever anybody approves",
            "run-conflict": "the turn ended in another way already",
        },
        "The store and its log": {
            "store-missing": "there is no database",
            "store-driver": "what speaks to the database is not installed",
            "store-unreachable": "the database's server cannot be reached",
            "store-lost": "the connection to the database was lost",
            "store-changed": "another database answers than the one that was opened",
            "store-kind": "a database of a kind that is not supported",
            "store-path": "the path cannot be a database's",
            "store-directory": "the database's folder is not there",
            "store-foreign": "the database is another program's",
            "store-newer": "the database was written by a newer remit",
            "store-locked": "another process holds the database",
            "store-read-only": "the database cannot be written",
            "store-corrupt": "the database is damaged",
            "store-permission": "the database may not be opened",
            "store-full": "there is no room left",
            "store-io": "reading or writing failed",
            "log-broken": "a record is not what its hash says",
            "log-missing": "a record is missing",
            "log-cut": "records at the end are gone",
            "log-changed": "the last record is another than the anchor says",
            "log-unfit": "a record that cannot follow those before it",
            "index-differs": "a table is not what the log makes of it",
            "anchor-missing": "the log's anchor is missing",
            "anchor-damaged": "the log's anchor cannot be read",
            "anchor-failed": "the log's anchor cannot be written",
        },
        "The gateway": {
            "mcp-missing": "the optional part `mcp` is not installed",
            "mcp": "the MCP library reported an error",
            "server-binding": "`--server` is not NAME=CATALOG",
            "no-servers": "a file of servers that names none",
            "server-command": "a server without a program that starts it",
            "server-unbound": "no catalogue is bound to the server: all its tools are undeclared",
            "server-late": "the server is not up as the client opens the connection",
            "name-shared": "two servers use one name",
            "tool-undeclared": "the server's catalogue does not declare some of what it offers",
            "tool-changed": "a tool is not what it was when it was reviewed",
            "tool-annotated": "the server says that a tool does more than was declared",
            "git-programs": "the worktree's repository has git run programs by itself",
            "server-down": "the server cannot be started, or died",
            "server-list": "the server's list of tools cannot be read",
            "server-garbage": "the server wrote what is no message",
            "client-garbage": "the client wrote what is no message",
            "tool-name-taken": "a tool of the server bears the name of one of remit's verbs",
            "tool-malformed": "a tool that the server does not list as MCP wants it",
            "tool-unreadable": "a tool that the client's protocol cannot carry",
            "judging-failed": "remit itself failed to judge, so it refused",
        },
        "The sandbox": {
            "sandbox-unknown": "no sandbox of that name is known",
            "sandbox-missing": "the sandbox does not work on this machine",
            "sandbox-worktree": "the folder cannot be the worktree of a sandbox",
            "sandbox-start": "the program that makes the sandbox could not be started",
            "sandbox-failed": "the sandbox ended before the command was started",
            "sandbox-stream": "a standard stream leads out of the sandbox",
            "sandbox-command": "there is no such command, or the sandbox does not show it",
        },
        "The built-in harness": {
            "harness-missing": "the optional part `harness` is not installed",
            "no-model": "nothing says which model is to answer",
            "model-unknown": "no provider has a model of that name",
            "model-key": "the key that the model's provider wants is not set",
            "model-provider": "what speaks to the model's provider is not installed",
            "no-shell": "no sandbox works here, so there is no shell",
        },
        "The command line and the demo": {
            "output-failed": "standard output cannot be written",
            "not-yours": "a mode that comes with remit or a plugin is not edited or deleted",
            "editor-failed": "the editor cannot be started, or failed",
            "usage": "the command was not written as it takes",
            "no-catalog": "a command that needs tools was told of none",
            "fault": "remit itself is at fault",
            "git-missing": "git is not installed",
            "folder-used": "the folder for the demo is not empty",
            "demo-server-missing": "the server that the demo needs is not installed",
            "demo-command": "a command of the demo failed",
            "demo-gateway": "the demo's gateway did not answer as it must",
            "demo-unmet": "the demo saw a promise broken",
        },
    }
)

#: The same, all together.
CODES: Mapping[str, str] = MappingProxyType(
    {code: means for group in CODE_GROUPS.values() for code, means in group.items()}
)
