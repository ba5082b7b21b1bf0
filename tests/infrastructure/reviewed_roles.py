"""What each function's role may do, as a person reviewed it.

A template that grants more or less than this fails. Widening a role means changing this table in
the same commit, with the reason in its message.
"""

from __future__ import annotations

from typing import Final

Grants = frozenset[str]


def may(resource: str, *actions: str, where: str = "") -> Grants:
    """Return the grants of some actions on one resource."""
    condition = f" where {where}" if where else ""
    return frozenset(f"{action} on {resource}{condition}" for action in actions)


def read(*tables: str) -> Grants:
    """Return consistent reads of single rows."""
    return frozenset(grant for one in tables for grant in may(one, "dynamodb:GetItem"))


def write(*tables: str) -> Grants:
    """Return reads and conditional writes of single rows."""
    return read(*tables).union(*(may(table, "dynamodb:PutItem") for table in tables))


def keys(operator: str, *patterns: str) -> str:
    """Return the condition on the first key of a table."""
    return f"dynamodb:LeadingKeys ForAllValues:{operator} {', '.join(patterns)}"


AUDIT: Final = may("AuditTable", "dynamodb:PutItem") | may("AuditOutboxTable", "dynamodb:PutItem")
APPEND: Final = AUDIT | write("AuditHeadsTable")
POLICY: Final = may("parameter/${AWS::StackName}/approver-policy", "ssm:GetParameter")
THRESHOLDS: Final = may("parameter/${AWS::StackName}/thresholds", "ssm:GetParameter")
CONTACTS: Final = may("DocumentsBucket/contacts/*", "s3:GetObject") | may(
    "DocumentsBucket", "s3:ListBucket", where="s3:prefix StringLike contacts/*"
)
READ_DOCUMENTS: Final = may("DocumentsBucket/requests/*", "s3:GetObject", "s3:GetObjectVersion")
STORE_DOCUMENTS: Final = READ_DOCUMENTS | may("DocumentsBucket/requests/*", "s3:PutObject")
ESIGN: Final = may("ESignSecret", "secretsmanager:GetSecretValue")
RESUME: Final = may("ResumeExecutionFunction", "lambda:InvokeFunction")
NOT_WITHDRAWN: Final = read("RequestsTable") | may("RequestsTable", "dynamodb:ConditionCheckItem")
HASH: Final = may("HashKey", "kms:GenerateMac")
MAIL: Final = may("identity/MailFrom", "ses:SendEmail") | may(
    "configuration-set/MailEvents", "ses:SendEmail"
)
WAITS_KEY: Final = may(
    "WaitsKey",
    "kms:Decrypt",
    "kms:DescribeKey",
    "kms:Encrypt",
    "kms:GenerateDataKey",
    "kms:ReEncryptFrom",
    "kms:ReEncryptTo",
    where="kms:ViaService StringEquals dynamodb.${AWS::Region}.amazonaws.com",
)
PARK: Final = WAITS_KEY | may("WaitsTable", "dynamodb:PutItem")
RESCHEDULE: Final = may(
    "PlansTable",
    "dynamodb:UpdateItem",
    where="dynamodb:Attributes ForAllValues:StringEquals "
    "plan_id, due_partition, due_kind, due_at, revision",
)
PIPELINE: Final = "stateMachine:${AWS::StackName}-signing-pipeline"
EXECUTIONS: Final = "execution:${AWS::StackName}-signing-pipeline:*"

REVIEWED: Final[dict[str, Grants]] = {
    "submit_request": APPEND
    | may("RequestsTable", "dynamodb:PutItem")
    | read("PlansTable")
    | POLICY
    | CONTACTS
    | may("DocumentsBucket/uploads/*", "s3:GetObject", "s3:PutObject", "s3:DeleteObject")
    | may("DocumentsBucket", "s3:ListBucket", where="s3:prefix StringLike uploads/*")
    | may("DocumentsBucket/requests/*", "s3:PutObject")
    | may("SigningPipeline", "states:StartExecution")
    | write("IdempotencyTable")
    | may("IdempotencyTable", "dynamodb:UpdateItem", "dynamodb:DeleteItem"),
    "get_request": read("RequestsTable", "PlansTable", "LedgerTable")
    | may("RequestsTable/index/CallerIndex", "dynamodb:Query")
    | READ_DOCUMENTS
    | may("AuditTable", "dynamodb:Query")
    | read("AuditExportTable"),
    "withdraw_request": APPEND
    | write("RequestsTable", "PlansTable")
    | read("LedgerTable")
    | RESUME,
    # It changes who may decide, and writes no link: the old one dies by leaving the plan.
    "reassign_approver": APPEND
    | read("RequestsTable", "LedgerTable")
    | write("PlansTable")
    | POLICY,
    "parse_request": APPEND | write("RequestsTable") | POLICY | CONTACTS,
    "extract_fields": APPEND
    | write("RequestsTable")
    | STORE_DOCUMENTS
    | THRESHOLDS
    | may("DocumentsBucket/drift/*", "s3:GetObject")
    | may("DocumentsBucket", "s3:ListBucket", where="s3:prefix StringLike drift/*")
    | may("ExtractionSecret", "secretsmanager:GetSecretValue"),
    # What it writes can only take automatic acceptance away.
    "check_canaries": APPEND
    | THRESHOLDS
    | may("DocumentsBucket", "s3:ListBucket", where="s3:prefix StringLike canaries/*, drift/*")
    | may("DocumentsBucket/canaries/*", "s3:GetObject")
    | may("DocumentsBucket/drift/*", "s3:GetObject", "s3:PutObject")
    | may("ExtractionSecret", "secretsmanager:GetSecretValue"),
    "assemble_document": APPEND
    | write("RequestsTable")
    | STORE_DOCUMENTS
    | may("PdfServicesSecret", "secretsmanager:GetSecretValue"),
    "redact_document": APPEND
    | write("RequestsTable")
    | STORE_DOCUMENTS
    | may("RedactionSecret", "secretsmanager:GetSecretValue"),
    "verify_redaction": APPEND | write("RequestsTable") | STORE_DOCUMENTS | HASH,
    "create_draft": APPEND | write("RequestsTable") | read("FenceTable") | READ_DOCUMENTS | ESIGN,
    "request_approval": APPEND
    | write("RequestsTable", "PlansTable", "ApprovalsTable")
    | read("LedgerTable")
    | POLICY
    | PARK
    | HASH
    | MAIL,
    # Everything it may write lies on the chain of opens (P6).
    "show_approval": read("ApprovalsTable", "PlansTable", "RequestsTable")
    | READ_DOCUMENTS
    | may(
        "AuditHeadsTable",
        "dynamodb:GetItem",
        "dynamodb:PutItem",
        "dynamodb:UpdateItem",
        where=keys("StringLike", "*#opens", "*#opens#*"),
    )
    | may("AuditTable", "dynamodb:PutItem", where=keys("StringLike", "*#opens"))
    | may("AuditOutboxTable", "dynamodb:PutItem", where=keys("StringLike", "*#opens#*")),
    # A correction moves the request to its next round in the write that ends the plan.
    "record_decision": APPEND
    | write("ApprovalsTable", "PlansTable", "RequestsTable")
    | NOT_WITHDRAWN
    | may("LedgerTable", "dynamodb:GetItem", where=keys("StringEquals", "#pause"))
    | POLICY
    | HASH
    | READ_DOCUMENTS,
    "send_envelope": APPEND
    | write("PlansTable", "LedgerTable", "FenceTable")
    | read("ApprovalsTable")
    | may("LedgerTable", "dynamodb:ConditionCheckItem")
    | NOT_WITHDRAWN
    | POLICY
    | READ_DOCUMENTS
    | ESIGN,
    "await_settlement": APPEND | read("RequestsTable", "LedgerTable") | write("PlansTable") | PARK,
    "await_signature": APPEND | read("RequestsTable", "LedgerTable") | write("PlansTable") | PARK,
    "archive_signed_document": APPEND
    | write("RequestsTable")
    | read("PlansTable")
    | STORE_DOCUMENTS
    | ESIGN,
    "close_request": APPEND | write("RequestsTable", "PlansTable") | MAIL,
    "resume_execution": APPEND
    | read("PlansTable", "LedgerTable", "WaitsTable")
    | RESCHEDULE
    | may("WaitsTable", "dynamodb:DeleteItem")
    | WAITS_KEY
    | may("*", "states:SendTaskSuccess")
    | may(
        "PlansTable.StreamArn",
        "dynamodb:DescribeStream",
        "dynamodb:GetRecords",
        "dynamodb:GetShardIterator",
    )
    | may("*", "dynamodb:ListStreams")
    | may("ResumeFailures", "sqs:SendMessage"),
    "reconcile_sends": APPEND
    | write("PlansTable", "LedgerTable", "FenceTable", "RequestsTable")
    | may("PlansTable", "dynamodb:UpdateItem")
    | may("RequestsTable", "dynamodb:UpdateItem")
    | may("PlansTable/index/DueIndex", "dynamodb:Query")
    | may("PlansTable/index/DoubtIndex", "dynamodb:Query")
    | may("RequestsTable/index/OpenIndex", "dynamodb:Query")
    | may("RequestsTable/index/DraftsIndex", "dynamodb:Query")
    | ESIGN
    | RESUME
    | may(PIPELINE, "states:StartExecution")
    | may(EXECUTIONS, "states:DescribeExecution"),
    "record_mail_event": APPEND
    | read("ApprovalsTable", "RequestsTable")
    | write("PlansTable")
    | MAIL,
    "send_reminders": APPEND
    | may("PlansTable/index/MailIndex", "dynamodb:Query")
    | write("PlansTable", "ApprovalsTable")
    | may("PlansTable", "dynamodb:UpdateItem")
    | POLICY
    | MAIL,
    "export_audit": may("AuditTable", "dynamodb:BatchGetItem")
    | read("AuditOutboxTable")
    | may("AuditOutboxTable", "dynamodb:Scan", "dynamodb:DeleteItem")
    | write("AuditExportTable")
    | may("AuditBucket/*", "s3:PutObject", where="s3:if-none-match Null false")
    | may("AuditBucket/*", "s3:GetObject")
    | may("AuditKey", "kms:Sign", "kms:GetPublicKey"),
    # Anybody may call it: with a good signature it changes when a plan is looked at, no more.
    "receive_webhook": read("PlansTable")
    | RESCHEDULE
    | may("WebhookSecret", "secretsmanager:GetSecretValue")
    | may("ReconcileSendsFunction", "lambda:InvokeFunction"),
    "settle_plan": may("PlansTable/index/DueIndex", "dynamodb:Query")
    | may("PlansTable/index/DoubtIndex", "dynamodb:Query")
    | may("RequestsTable/index/DraftsIndex", "dynamodb:Query")
    | APPEND
    | write("PlansTable", "LedgerTable", "FenceTable", "RequestsTable")
    | ESIGN
    | RESUME
    | may(PIPELINE, "states:StartExecution")
    | may(EXECUTIONS, "states:DescribeExecution"),
}

ANY_RESOURCE: Final = {
    "states:SendTaskSuccess": "a task token names no resource",
    "dynamodb:ListStreams": "it has no resource-level permission",
}
"""Actions that may stand beside `Resource: "*"`, and why."""
