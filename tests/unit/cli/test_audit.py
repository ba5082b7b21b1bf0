"""`no-undo audit verify`: its answer, its exit status, and that it says what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from no_undo.adapters.chain_ends import BoundedChainEnds
from no_undo.domain.audit_chain import AuditEvent
from no_undo.domain.audit_export import PUBLIC_KEY_NAME, checkpoint_name
from no_undo.ports import Change
from no_undo.use_cases.export_audit import Exporting, export_audit
from tests.fakes.audit_exports import ORIGIN, Files, Signer, chain, small_export
from tests.fakes.audit_outbox import InMemoryArchive, InMemoryOutbox, InMemorySigner
from tests.fakes.worlds import a_world, proposed
from tests.unit.cli.deployment import Deployment
from tests.unit.cli.running import run


def written(folder: Path, files: Files) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture
def export(tmp_path: Path) -> Path:
    return written(tmp_path / "export", small_export().with_key())


def test_a_good_export_is_verified(export: Path) -> None:
    ran = run("audit", "verify", str(export), "--key", str(export / PUBLIC_KEY_NAME))

    assert ran.status == 0
    assert ran.said == {
        "verified": True,
        "records": 7,
        "checkpoints": 3,
        "newest_checkpoint_at": "2026-03-02T12:10:00.000+00:00",
        "first_failure": None,
    }


def test_the_first_thing_that_does_not_verify_is_named(export: Path) -> None:
    (export / checkpoint_name(2)).unlink()

    ran = run("audit", "verify", str(export), "--key", str(export / PUBLIC_KEY_NAME))

    assert ran.status == 1
    assert ran.said["first_failure"] == {
        "where": "checkpoints/000000000002",
        "why": "it is missing, and later ones are there",
    }
    assert ran.said["checkpoints"] == 1


def test_a_kept_checkpoint_that_is_not_in_the_export_is_reported(
    export: Path, tmp_path: Path
) -> None:
    longer = small_export()
    longer.export()
    kept = tmp_path / "kept"
    kept.write_bytes(longer.files[checkpoint_name(4)])
    key = str(export / PUBLIC_KEY_NAME)

    ran = run("audit", "verify", str(export), "--key", key, "--kept", str(kept))

    assert ran.status == 1
    assert "kept elsewhere" in ran.said["first_failure"]["why"]


@pytest.mark.parametrize("content", [b"", b"no key", Signer.of(1).private.private_bytes_raw()])
def test_a_key_that_is_none_cannot_be_told_from(
    export: Path, tmp_path: Path, content: bytes
) -> None:
    key = tmp_path / "key.pem"
    key.write_bytes(content)

    ran = run("audit", "verify", str(export), "--key", str(key))

    assert (ran.status, ran.out) == (2, "")
    assert "no public key" in ran.err


def test_a_kept_checkpoint_that_nobody_signed_is_bad_input(export: Path, tmp_path: Path) -> None:
    (tmp_path / "kept").write_bytes(b"nothing")
    key = str(export / PUBLIC_KEY_NAME)

    ran = run("audit", "verify", str(export), "--key", key, "--kept", str(tmp_path / "kept"))

    assert ran.status == 2
    assert "no usable checkpoint" in ran.err


def test_a_folder_that_is_not_there_is_bad_input(export: Path) -> None:
    key = str(export / PUBLIC_KEY_NAME)
    ran = run("audit", "verify", str(export / "no"), "--key", key)

    assert ran.status == 2
    assert "not a folder" in ran.err


def test_chains_that_do_not_fit_into_memory_are_kept_in_a_file() -> None:
    ends = BoundedChainEnds(in_memory=4)
    for turn in range(1, 3):
        for number in range(50):
            before = ends.get(f"r{number}")
            assert before == (None if turn == 1 else (1, f"h1-{number}"))
            ends.set(f"r{number}", (turn, f"h{turn}-{number}"))
    ends.close()


def test_a_person_at_a_terminal_sees_a_bar(export: Path) -> None:
    key = str(export / PUBLIC_KEY_NAME)
    ran = run("audit", "verify", str(export), "--key", key, terminal=True)

    assert ran.status == 0
    assert "3 of 3 checkpoints" in ran.err
    assert "verified" in ran.out


def test_a_receipt_is_fetched_written_and_verified(export: Path, tmp_path: Path) -> None:
    """Over the real route: a chain of a world, its ending exported among others."""
    world = a_world()
    proposed(world)
    closed = AuditEvent("request.closed", "close_request", world.clock.now(), {"state": "FAILED"})
    world.store.commit(Change("r1", closed))
    outbox = InMemoryOutbox()
    outbox.add([*chain("r0", 3), *world.store.chain("r1")])
    ports = (outbox, InMemoryArchive(), InMemorySigner(), world.clock, ORIGIN)
    connect = Deployment(world, outbox).connect

    early = run("audit", "receipt", "r1", connect=connect)
    export_audit(Exporting(*ports), lambda: 1e9)
    file, page = tmp_path / "receipt.json", tmp_path / "receipt.html"
    fetched = run(
        "audit", "receipt", "r1", "--output", str(file), "--page", str(page), connect=connect
    )
    shown = run("audit", "receipt", "r1", connect=connect)
    key = str(export / PUBLIC_KEY_NAME)
    good = run("audit", "verify", str(file), "--key", key)
    file.write_bytes(file.read_bytes().replace(b"FAILED", b"failed"))
    bad = run("audit", "verify", str(file), "--key", key)

    assert (early.status, fetched.status, shown.status) == (1, 0, 0)
    assert "no receipt yet" in early.err
    assert shown.said["says"]["state"] == "FAILED"
    assert "Receipt" in page.read_text()
    assert (good.status, good.said["verified"]) == (0, True)
    assert good.said["records"] == len(world.store.chain("r1"))
    assert (bad.status, bad.said["verified"]) == (1, False)
