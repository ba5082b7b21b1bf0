"""Layers, unpacked once.

Gap: every worker unpacks its own copy of every layer, so a cold start of a function with the PDF
    libraries takes seconds and a hundred megabytes, and compiles every module again.
AWS: a layer is mounted, read-only, at ``/opt``; the emulator puts it on the path elsewhere, so code
    must not name ``/opt``.
Correction: archives of layers are unpacked once per content and linked into each worker's folder.
"""

import hashlib
import os
import shutil
import tempfile
import threading
import zipfile
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace

from local.emulator import pins

_LAYER_PREFIX = "layer_"


class LayerCache:
    """Unpacked layers by the digest of their archive.

    Args:
        folder: Where they are kept; filled by this process only.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()

    def link(self, archive: Path, target: Path) -> None:
        """Make ``target``, an empty folder, a link to the unpacked archive; drop the archive."""
        digest = hashlib.sha256(archive.read_bytes()).hexdigest()
        unpacked = self._folder / digest
        with self._lock:
            if not unpacked.exists():
                self._unpack(archive, unpacked)
        target.rmdir()
        target.symlink_to(unpacked, target_is_directory=True)
        archive.unlink()

    def _unpack(self, archive: Path, unpacked: Path) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(dir=self._folder))
        with zipfile.ZipFile(archive) as content:
            content.extractall(unfinished)
        try:
            unfinished.rename(unpacked)
        except OSError:
            shutil.rmtree(unfinished)
            raise


def install(data: Path) -> None:
    """Link layers instead of unpacking them for each worker."""
    runtime = pins.module("core.lambda_runtime")
    pins.pinned(runtime.Worker, "_spawn", "c55febf95656")
    cache = LayerCache(data / "layers")

    class LinkingZipFile(zipfile.ZipFile):
        """A zip whose ``extractall`` into a layer folder links the shared copy."""

        def extractall(
            self,
            path: str | os.PathLike[str] | None = None,
            members: Iterable[str | zipfile.ZipInfo] | None = None,
            pwd: bytes | None = None,
        ) -> None:
            if path is not None and Path(path).name.startswith(_LAYER_PREFIX):
                cache.link(Path(str(self.filename)), Path(path))
            else:
                super().extractall(path, members, pwd)

    names = {name: getattr(zipfile, name) for name in zipfile.__all__}
    runtime.zipfile = SimpleNamespace(**(names | {"ZipFile": LinkingZipFile}))
