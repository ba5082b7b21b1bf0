"""A Merkle tree that only grows (RFC 9162 section 2.1), kept as its frontier.

Rules:
1. A leaf is hashed with the prefix 0x00 and a node with 0x01, so that no node can pose as a leaf.
2. The frontier of a tree is the roots of its perfect subtrees, from left to right. It is all that
   appending needs, so a checkpoint costs what is new and not what is there.
3. A tree of the same leaves has one root, however it was grown.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

HASH_BYTES: Final = 32
EMPTY_ROOT: Final = hashlib.sha256(b"").digest()
"""Root of the tree without leaves."""


def leaf_hash(entry: bytes) -> bytes:
    """Return the hash of a leaf with this content (rule 1)."""
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of a node over its two children (rule 1)."""
    return hashlib.sha256(b"\x01" + left + right).digest()


@dataclass(frozen=True, slots=True)
class Frontier:
    """What is kept of a tree (rule 2).

    Attributes:
        size: Number of leaves.
        hashes: Roots of the perfect subtrees, largest first; one per set bit of the size.
    """

    size: int = 0
    hashes: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what is the frontier of no tree."""
        if self.size < 0 or len(self.hashes) != self.size.bit_count():
            raise ValueError("a frontier has one hash per set bit of its size")
        if any(len(one) != HASH_BYTES for one in self.hashes):
            raise ValueError("a frontier holds SHA-256 hashes")

    def extended(self, leaves: Iterable[bytes]) -> Frontier:
        """Return the frontier after more leaf hashes; they are read one at a time."""
        sha256 = hashlib.sha256
        size, hashes = self.size, list(self.hashes)
        for leaf in leaves:
            node, full = leaf, size
            while full & 1:
                node = sha256(b"\x01" + hashes.pop() + node).digest()
                full >>= 1
            hashes.append(node)
            size += 1
        return Frontier(size, tuple(hashes))

    def root(self) -> bytes:
        """Return the root of the tree (rule 3)."""
        if not self.hashes:
            return EMPTY_ROOT
        *left, root = self.hashes
        for one in reversed(left):
            root = node_hash(one, root)
        return root


def inclusion_proof(index: int, frontier: Frontier, leaves: Sequence[bytes]) -> tuple[bytes, ...]:
    """Return the audit path of a leaf that was added on top of a frontier (RFC 9162 2.1.3.1).

    Args:
        index: Place of the leaf in the whole tree, counted from 0; at least the frontier's size.
        frontier: The tree before.
        leaves: Leaf hashes that were added.

    Raises:
        ValueError: The leaf is not among those added.
    """
    if not frontier.size <= index < frontier.size + len(leaves):
        raise ValueError("the leaf is not among the leaves that were added")
    return tuple(_path(index, 0, frontier.size + len(leaves), _Grown(frontier, leaves)))


def consistency_proof(frontier: Frontier, leaves: Sequence[bytes]) -> tuple[bytes, ...]:
    """Return the proof that a grown tree holds the tree before unchanged (RFC 9162 2.1.4.1).

    Empty when nothing was added, or when there was nothing before.
    """
    if not frontier.size or not leaves:
        return ()
    grown = _Grown(frontier, leaves)
    return tuple(_subproof(frontier.size, 0, frontier.size + len(leaves), grown, whole=True))


def root_of_inclusion(index: int, size: int, leaf: bytes, proof: Sequence[bytes]) -> bytes | None:
    """Return the root that an audit path leads to, or None when it cannot be one.

    Args:
        index: Place of the leaf, counted from 0.
        size: Number of leaves of the tree.
        leaf: The leaf's hash.
        proof: The audit path, from the leaf up.

    Source: RFC 9162 section 2.1.3.2.
    """
    if not 0 <= index < size:
        return None
    place, last, root = index, size - 1, leaf
    for one in proof:
        if last == 0:
            return None
        if place & 1 or place == last:
            root = node_hash(one, root)
            while place and not place & 1:
                place, last = place >> 1, last >> 1
        else:
            root = node_hash(root, one)
        place, last = place >> 1, last >> 1
    return root if last == 0 else None


def is_consistent(old: tuple[int, bytes], new: tuple[int, bytes], proof: Sequence[bytes]) -> bool:
    """Return whether a proof shows that the new tree begins with the old one.

    Args:
        old: Size and root before.
        new: Size and root after.
        proof: As `consistency_proof` made it.

    Source: RFC 9162 section 2.1.4.2.
    """
    (old_size, old_root), (new_size, new_root) = old, new
    if old_size == new_size:
        return old_root == new_root and not proof
    if old_size == 0:
        return old_root == EMPTY_ROOT and not proof
    if not 0 < old_size < new_size:
        return False
    path = [old_root, *proof] if old_size & (old_size - 1) == 0 else list(proof)
    return bool(path) and _climb(old_size - 1, new_size - 1, path) == (old_root, new_root)


def _climb(old_last: int, new_last: int, path: Sequence[bytes]) -> tuple[bytes, bytes] | None:
    while old_last & 1:
        old_last, new_last = old_last >> 1, new_last >> 1
    old_root = new_root = path[0]
    for one in path[1:]:
        if new_last == 0:
            return None
        if old_last & 1 or old_last == new_last:
            old_root, new_root = node_hash(one, old_root), node_hash(one, new_root)
            while old_last and not old_last & 1:
                old_last, new_last = old_last >> 1, new_last >> 1
        else:
            new_root = node_hash(new_root, one)
        old_last, new_last = old_last >> 1, new_last >> 1
    return (old_root, new_root) if new_last == 0 else None


class _Grown:
    """A tree of which only a frontier and the leaves on top of it are known."""

    def __init__(self, frontier: Frontier, leaves: Sequence[bytes]) -> None:
        starts = [0]
        for bit in reversed(range(frontier.size.bit_length())):
            if frontier.size >> bit & 1:
                starts.append(starts[-1] + (1 << bit))
        known = zip(pairwise(starts), frontier.hashes, strict=True)
        self._known = dict(known)
        self._before = frontier.size
        self._leaves = leaves

    def hash(self, start: int, end: int) -> bytes:
        """Return the root of the leaves from start up to, not including, end."""
        if (start, end) in self._known:
            return self._known[start, end]
        if end - start == 1:
            return self._leaves[start - self._before]
        split = _split(start, end)
        return node_hash(self.hash(start, split), self.hash(split, end))


def _split(start: int, end: int) -> int:
    """Return where a tree divides: after the largest power of two below its size."""
    return start + (1 << (end - start - 1).bit_length() - 1)


def _path(index: int, start: int, end: int, tree: _Grown) -> Iterator[bytes]:
    if end - start == 1:
        return
    split = _split(start, end)
    if index < split:
        yield from _path(index, start, split, tree)
        yield tree.hash(split, end)
    else:
        yield from _path(index, split, end, tree)
        yield tree.hash(start, split)


def _subproof(old: int, start: int, end: int, tree: _Grown, *, whole: bool) -> Iterator[bytes]:
    if old == end:
        if not whole:
            yield tree.hash(start, end)
        return
    split = _split(start, end)
    if old <= split:
        yield from _subproof(old, start, split, tree, whole=whole)
        yield tree.hash(split, end)
    else:
        yield from _subproof(old, split, end, tree, whole=False)
        yield tree.hash(start, split)
