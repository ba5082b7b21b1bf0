"""The one place that knows which adapter serves which port.

Everything is made on first use and kept for the life of the process; nothing is made at import.
PDF libraries are imported only by the functions that ask for what opens documents.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

from no_undo.actions.esign_send import KIND, ESignSend
from no_undo.adapters.aws_config import (
    client_config,
    documents_client_config,
    state_client_config,
)
from no_undo.adapters.dynamodb_audit_export import DynamoDbAuditOutbox, ExportTables
from no_undo.adapters.dynamodb_rows import TableNames
from no_undo.adapters.dynamodb_state_store import DynamoDbStateStore
from no_undo.adapters.dynamodb_transactions import Backoff
from no_undo.adapters.dynamodb_waits import DynamoDbWaits
from no_undo.adapters.foxit_esign import FoxitESignGateway
from no_undo.adapters.jinja_pages import JinjaPages
from no_undo.adapters.kms_checkpoint_signer import KmsCheckpointSigner
from no_undo.adapters.kms_hasher import KmsHasher
from no_undo.adapters.lambda_resumer import LambdaResumer
from no_undo.adapters.lambda_sweeper import LambdaSweeper
from no_undo.adapters.s3_audit_archive import S3AuditArchive
from no_undo.adapters.s3_canaries import S3CanaryStore
from no_undo.adapters.s3_contacts import S3ContactSource
from no_undo.adapters.s3_documents import S3DocumentStore
from no_undo.adapters.secretsmanager_secrets import SecretsManagerSecrets
from no_undo.adapters.ses_mailer import SesMailer
from no_undo.adapters.ssm_documents import SsmFloorsSource
from no_undo.adapters.ssm_policies import SsmPolicySource
from no_undo.adapters.stepfunctions_executions import StepFunctionsExecutions
from no_undo.adapters.system_clock import SystemClock
from no_undo.adapters.system_tokens import SystemTokens
from no_undo.domain.audit_chain import Provenance
from no_undo.settings import Settings
from no_undo.use_cases.archive_signed_document import Archiving
from no_undo.use_cases.assemble_document import Assembly
from no_undo.use_cases.check_canaries import CanaryCheck
from no_undo.use_cases.close_request import Telling
from no_undo.use_cases.create_draft import Drafting
from no_undo.use_cases.detection import Detection
from no_undo.use_cases.export_audit import Exporting
from no_undo.use_cases.extract_fields import Extraction
from no_undo.use_cases.gate import Gate
from no_undo.use_cases.redact_document import Redaction
from no_undo.use_cases.redaction_proof import Proving
from no_undo.use_cases.request_approval import Asking, Mailing
from no_undo.use_cases.show_approval import Showing
from no_undo.use_cases.stage import Stages
from no_undo.use_cases.submit_request import Door
from no_undo.use_cases.verify_redaction import Verification

if TYPE_CHECKING:
    from no_undo.ports import AnchorSource, DocumentInspector, ExtractionService


READER_SECONDS = 50.0
"""Budget of one reader: five rounds of two, with all that is read once more by the detector, end
within the 300 seconds of the function that proves."""


READING_SECONDS = 65.0
"""Longest silence of one extraction call: three of them end within the function's 240 seconds."""


class Dependencies:
    """What the handlers hand to the use cases."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @property
    def _version(self) -> str:
        return self.settings.text("CODE_VERSION")

    # AWS

    def _client(self, service: str, configure: Callable[[str], Config] = client_config) -> Any:  # noqa: ANN401 - boto3 makes clients at run time
        return self._session.client(service, config=configure(self._version))

    @cached_property
    def _session(self) -> Any:  # noqa: ANN401 - its stubs know a fixed list of services
        return boto3.Session()

    @cached_property
    def clock(self) -> SystemClock:
        """The clock of this machine, in UTC."""
        return SystemClock()

    @cached_property
    def tokens(self) -> SystemTokens:
        """The operating system's randomness."""
        return SystemTokens(self.clock)

    @cached_property
    def store(self) -> DynamoDbStateStore:
        """State and audit, in one transactional store."""
        text = self.settings.text
        tables = TableNames(
            requests=text("REQUESTS_TABLE_NAME"),
            plans=text("PLANS_TABLE_NAME"),
            ledger=text("LEDGER_TABLE_NAME"),
            fences=text("FENCE_TABLE_NAME"),
            approvals=text("APPROVALS_TABLE_NAME"),
            audit=text("AUDIT_TABLE_NAME"),
            audit_heads=text("AUDIT_HEADS_TABLE_NAME"),
            audit_outbox=text("AUDIT_OUTBOX_TABLE_NAME"),
        )
        return DynamoDbStateStore(
            self._client("dynamodb", state_client_config),
            tables,
            Provenance(text("CODE_VERSION"), self.settings.config_digest()),
            tokens=self.tokens,
            backoff=Backoff(self.clock, random.random),
        )

    @cached_property
    def waits(self) -> DynamoDbWaits:
        """Parked task tokens."""
        client = self._client("dynamodb")
        return DynamoDbWaits(client, self.settings.text("WAITS_TABLE_NAME"))

    @cached_property
    def documents(self) -> S3DocumentStore:
        """Versioned documents."""
        client = self._client("s3", documents_client_config)
        return S3DocumentStore(client, self.settings.text("DOCUMENTS_BUCKET_NAME"))

    @cached_property
    def policies(self) -> SsmPolicySource:
        """The tenants' approver policies."""
        client = self._client("ssm")
        return SsmPolicySource(client, self.settings.text("APPROVER_POLICY_PARAMETER"), self.clock)

    @cached_property
    def floors(self) -> SsmFloorsSource:
        """The floors of the walk with their evidence."""
        client = self._client("ssm")
        return SsmFloorsSource(client, self.settings.text("THRESHOLDS_PARAMETER"), self.clock)

    @cached_property
    def contacts(self) -> S3ContactSource:
        """The tenants' contact lists."""
        client = self._client("s3", documents_client_config)
        return S3ContactSource(client, self.settings.text("DOCUMENTS_BUCKET_NAME"))

    @cached_property
    def canaries(self) -> S3CanaryStore:
        """Canaries, and what they withdrew."""
        client = self._client("s3", documents_client_config)
        return S3CanaryStore(client, self.settings.text("DOCUMENTS_BUCKET_NAME"))

    @cached_property
    def hasher(self) -> KmsHasher:
        """Keyed hashes for the audit."""
        client = self._client("kms")
        return KmsHasher(client, self.settings.text("HASH_KEY_ID"))

    @cached_property
    def executions(self) -> StepFunctionsExecutions:
        """The state machine."""
        client = self._client("stepfunctions")
        return StepFunctionsExecutions(client, self.settings.text("STATE_MACHINE_ARN"))

    @cached_property
    def answers(self) -> StepFunctionsExecutions:
        """The state machine, for answering parked tokens only; needs no ARN."""
        client = self._client("stepfunctions")
        return StepFunctionsExecutions(client, "")

    @cached_property
    def resumer(self) -> LambdaResumer:
        """Asks `resume_execution` to answer waits."""
        client = self._client("lambda")
        return LambdaResumer(client, self.settings.text("RESUME_FUNCTION_NAME"))

    @cached_property
    def sweeper(self) -> LambdaSweeper:
        """Asks `reconcile_sends` for a sweep."""
        return LambdaSweeper(self._client("lambda"), self.settings.text("SWEEP_FUNCTION_NAME"))

    @cached_property
    def mailer(self) -> SesMailer:
        """Outgoing mail."""
        return SesMailer(
            self._client("sesv2"),
            sender=self.settings.text("MAIL_FROM"),
            configuration_set=self.settings.optional("MAIL_CONFIGURATION_SET"),
        )

    @cached_property
    def pages(self) -> JinjaPages:
        """Pages, mails and rendered documents."""
        return JinjaPages()

    # Vendors

    def _secret(self, variable: str) -> Mapping[str, str]:
        client = self._client("secretsmanager")
        return SecretsManagerSecrets(client).secret(self.settings.text(variable))

    @cached_property
    def esign(self) -> FoxitESignGateway:
        """The e-sign vendor."""
        secret = self._secret("ESIGN_SECRET_ARN")
        return FoxitESignGateway(
            self.settings.text("ESIGN_BASE_URL"),
            secret["client_id"],
            secret["client_secret"],
            timeout_seconds=self.settings.seconds("VENDOR_TIMEOUT_SECONDS").total_seconds(),
        )

    @cached_property
    def webhook_secret(self) -> str:
        """The secret of the vendor's webhook channel; empty refuses every webhook."""
        return self._secret("WEBHOOK_SECRET_ARN").get("secret", "")

    @property
    def inspector(self) -> DocumentInspector:
        """Opens untrusted PDFs."""
        from no_undo.adapters.document_inspector import PdfiumDocumentInspector  # noqa: PLC0415

        return PdfiumDocumentInspector()

    @property
    def detection(self) -> Detection:
        """Finds personal data nobody listed."""
        from no_undo.adapters.pii_validators import PatternPiiDetector  # noqa: PLC0415
        from no_undo.adapters.text_readers import IndependentTextReaders  # noqa: PLC0415

        readers = IndependentTextReaders(seconds_per_reader=READER_SECONDS)
        return Detection(readers, PatternPiiDetector())

    # What each group of use cases works with

    @cached_property
    def gate(self) -> Gate:
        """For the steps around the irreversible call; has no way to the vendor."""
        return Gate(
            store=self.store,
            policies=self.policies,
            clock=self.clock,
            tokens=self.tokens,
            settings=self.settings.gate(),
        )

    @cached_property
    def action(self) -> ESignSend:
        """The irreversible action; needs the e-sign secret."""
        return ESignSend(self.esign, self.documents)

    @cached_property
    def stages(self) -> Stages:
        """For every document stage."""
        return Stages(self.store, self.documents, self.clock)

    @cached_property
    def door(self) -> Door:
        """For taking in requests; none is, while the times of a send do not fit together."""
        self.settings.gate()
        return Door(
            store=self.store,
            documents=self.documents,
            policies=self.policies,
            contacts=self.contacts,
            executions=self.executions,
            inspector=self.inspector,
            clock=self.clock,
            tokens=self.tokens,
            extraction_account=self.settings.is_yes("EXTRACTION_ACCOUNT"),
            redaction_account=self.settings.is_yes("REDACTION_ACCOUNT"),
            driver_interval=self.settings.seconds("DRIVER_CHECK_SECONDS"),
        )

    @cached_property
    def extraction_service(self) -> ExtractionService | None:
        """The extraction vendor, None without an account."""
        from no_undo.adapters.nutrient_extraction import NutrientExtraction  # noqa: PLC0415

        if not self.settings.is_yes("EXTRACTION_ACCOUNT"):
            return None
        return NutrientExtraction(
            self.settings.text("EXTRACTION_BASE_URL"),
            self._secret("EXTRACTION_SECRET_ARN")["api_key"],
            timeout_seconds=READING_SECONDS,
        )

    @cached_property
    def extraction(self) -> Extraction:
        """For Extract Fields."""
        return Extraction(
            self.extraction_service,
            self.inspector,
            self.floors,
            self.canaries,
            second_readings=self.settings.is_yes("SECOND_READINGS"),
        )

    @cached_property
    def canary_check(self) -> CanaryCheck:
        """For Check Canaries."""
        return CanaryCheck(
            self.extraction_service, self.canaries, self.floors, self.store, self.clock
        )

    @cached_property
    def assembly(self) -> Assembly:
        """For Assemble Document."""
        from no_undo.adapters.foxit_pdf_services import FoxitPdfServices  # noqa: PLC0415
        from no_undo.adapters.signature_page import SignaturePageAssembler  # noqa: PLC0415

        secret = self._secret("PDF_SECRET_ARN")
        service = FoxitPdfServices(
            self.settings.text("PDF_BASE_URL"),
            secret["client_id"],
            secret["client_secret"],
            clock=self.clock,
        )
        return Assembly(self.inspector, SignaturePageAssembler(), service, self.pages)

    @cached_property
    def redaction(self) -> Redaction:
        """For Redact Document."""
        from no_undo.adapters.nutrient_redaction import NutrientRedaction  # noqa: PLC0415

        service = None
        if self.settings.is_yes("REDACTION_ACCOUNT"):
            service = NutrientRedaction(
                self.settings.text("REDACTION_BASE_URL"),
                self._secret("REDACTION_SECRET_ARN")["api_key"],
                clock=self.clock,
                async_jobs=self.settings.is_yes("REDACTION_ASYNC_JOBS"),
            )
        return Redaction(service, self.detection)

    @cached_property
    def verification(self) -> Verification:
        """For Verify Redaction."""
        from no_undo.adapters.redaction_verifier import (  # noqa: PLC0415
            IndependentReadersVerifier,
        )

        verifier = IndependentReadersVerifier(seconds_per_reader=READER_SECONDS)
        accepted = self.settings.is_yes("REDACTION_EVALUATION")
        proving = Proving(verifier, self.detection, evaluation_accepted=accepted)
        return Verification(proving, self.inspector, self.hasher)

    @cached_property
    def drafting(self) -> Drafting:
        """For Create Draft."""
        return Drafting(self.esign, KIND)

    @cached_property
    def asking(self) -> Asking:
        """For Request Approval."""
        return Asking(self.waits, self.mailing, self.hasher)

    @cached_property
    def mailing(self) -> Mailing:
        """For whatever mails links to approvers."""
        return Mailing(self.pages, self.mailer, self.settings.text("PUBLIC_URL"))

    @cached_property
    def showing(self) -> Showing:
        """For what lies behind an approver's link."""
        return Showing(self.store, self.documents, self.clock, self.settings.text("PUBLIC_URL"))

    @property
    def approvers_sign_in(self) -> bool:
        """Whether a link counts only for the person who signed in with its address."""
        return self.settings.is_yes("APPROVER_SIGN_IN")

    @cached_property
    def archiving(self) -> Archiving:
        """For Archive Signed Document."""
        from no_undo.adapters.pyhanko_signatures import PyhankoSignatureValidator  # noqa: PLC0415

        pem = self.settings.optional("SIGNATURE_TRUST_ROOTS").encode("ascii")
        return Archiving(self.esign, PyhankoSignatureValidator((pem,) if pem else ()))

    @cached_property
    def outbox(self) -> DynamoDbAuditOutbox:
        """What the audit export has done and has to do."""
        text = self.settings.text
        tables = ExportTables(
            audit=text("AUDIT_TABLE_NAME"),
            outbox=text("AUDIT_OUTBOX_TABLE_NAME"),
            export=text("AUDIT_EXPORT_TABLE_NAME"),
        )
        return DynamoDbAuditOutbox(self._client("dynamodb"), tables)

    @property
    def anchors(self) -> AnchorSource:
        """The proofs that receipts are made of."""
        return self.outbox

    @cached_property
    def exporting(self) -> Exporting:
        """For Export Audit."""
        archive = S3AuditArchive(
            self._client("s3", documents_client_config), self.settings.text("AUDIT_BUCKET_NAME")
        )
        return Exporting(
            outbox=self.outbox,
            archive=archive,
            signer=KmsCheckpointSigner(self._client("kms"), self.settings.text("AUDIT_KEY_ID")),
            clock=self.clock,
            origin=self.settings.text("AUDIT_ORIGIN"),
        )

    @cached_property
    def telling(self) -> Telling:
        """For telling the requester how it ended."""
        return Telling(self.pages, self.mailer)


@cache
def dependencies() -> Dependencies:
    """Return this process's dependencies, made on first use."""
    return Dependencies(Settings(os.environ))
