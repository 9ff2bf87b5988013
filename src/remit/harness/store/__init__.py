"""The store: spaces, approvals, plans, runs, and the one log that they are indexes of."""

from remit.harness.store.approvals import Approval, ApprovalKind, Approvals, ApprovalState
from remit.harness.store.conversations import ConversationRecord, Conversations, Outcome
from remit.harness.store.errors import StoreConflict, StoreError
from remit.harness.store.events import KINDS, OPERATOR, SYSTEM, Event
from remit.harness.store.exits import Exit, ExitState
from remit.harness.store.grants import GrantRecord
from remit.harness.store.history import Answer, Change
from remit.harness.store.items import Item, Items
from remit.harness.store.log import Log, Rebuilt, Verified
from remit.harness.store.names import PIPELINE
from remit.harness.store.orchestrations import (
    OrchestrationRecord,
    Orchestrations,
    OrchestrationState,
)
from remit.harness.store.pipelines import PipelineRecord, Pipelines, StepRecord
from remit.harness.store.plans import PlanRecord, PlanState, Submitted
from remit.harness.store.reviews import FindingRecord, Review, Reviews
from remit.harness.store.run_rows import RunRecord
from remit.harness.store.runs import GateResult, Runs
from remit.harness.store.space import Overlay, Space
from remit.harness.store.spaces import Switch
from remit.harness.store.store import Store

__all__ = [
    "KINDS",
    "OPERATOR",
    "PIPELINE",
    "SYSTEM",
    "Answer",
    "Approval",
    "ApprovalKind",
    "ApprovalState",
    "Approvals",
    "Change",
    "ConversationRecord",
    "Conversations",
    "Event",
    "Exit",
    "ExitState",
    "FindingRecord",
    "GateResult",
    "GrantRecord",
    "Item",
    "Items",
    "Log",
    "OrchestrationRecord",
    "OrchestrationState",
    "Orchestrations",
    "Outcome",
    "Overlay",
    "PipelineRecord",
    "Pipelines",
    "PlanRecord",
    "PlanState",
    "Rebuilt",
    "Review",
    "Reviews",
    "RunRecord",
    "Runs",
    "Space",
    "StepRecord",
    "Store",
    "StoreConflict",
    "StoreError",
    "Submitted",
    "Switch",
    "Verified",
]
