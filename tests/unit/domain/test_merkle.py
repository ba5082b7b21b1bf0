"""The Merkle tree; the numbers are those of the module's docstring."""

from __future__ import annotations

import hashlib

import pytest

from no_undo.domain.merkle import (
    EMPTY_ROOT,
    Frontier,
    consistency_proof,
    inclusion_proof,
    is_consistent,
    leaf_hash,
    node_hash,
    root_of_inclusion,
)

# The eight entries and roots that Certificate Transparency's own tests use for RFC 6962 trees.
ENTRIES = [
    b"",
    b"\x00",
    b"\x10",
    bytes.fromhex("2021"),
    bytes.fromhex("3031"),
    bytes.fromhex("40414243"),
    bytes.fromhex("5051525354555657"),
    bytes.fromhex("606162636465666768696a6b6c6d6e6f"),
]
ROOTS = {
    0: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    1: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    2: "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    3: "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    4: "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    5: "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    6: "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    7: "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    8: "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
}
LEAVES = [leaf_hash(one) for one in ENTRIES]


@pytest.mark.parametrize(("size", "root"), ROOTS.items())
def test_the_roots_are_those_that_certificate_transparency_computes(size: int, root: str) -> None:
    assert Frontier().extended(LEAVES[:size]).root().hex() == root


def test_rule_1_a_node_cannot_pose_as_a_leaf() -> None:
    left, right = LEAVES[:2]

    assert leaf_hash(left + right) != node_hash(left, right)
    assert leaf_hash(b"x") == hashlib.sha256(b"\x00x").digest()


def test_rule_2_a_frontier_has_one_hash_per_set_bit() -> None:
    assert len(Frontier().extended(LEAVES[:7]).hashes) == 3
    with pytest.raises(ValueError, match="one hash per set bit"):
        Frontier(3, (LEAVES[0],))
    with pytest.raises(ValueError, match="SHA-256"):
        Frontier(1, (b"short",))


@pytest.mark.parametrize("cut", range(9))
def test_rule_3_growing_in_two_steps_gives_the_same_tree(cut: int) -> None:
    grown = Frontier().extended(LEAVES[:cut]).extended(LEAVES[cut:])

    assert grown == Frontier().extended(LEAVES)


@pytest.mark.parametrize("size", range(1, 9))
@pytest.mark.parametrize("before", range(9))
def test_a_leaf_on_top_of_a_frontier_leads_to_the_root(size: int, before: int) -> None:
    frontier = Frontier().extended(LEAVES[:before])
    root = Frontier().extended(LEAVES[:size]).root()

    for index in range(before, size):
        proof = inclusion_proof(index, frontier, LEAVES[before:size])
        assert root_of_inclusion(index, size, LEAVES[index], proof) == root


def test_a_proof_leads_nowhere_else() -> None:
    root = Frontier().extended(LEAVES).root()
    proof = inclusion_proof(3, Frontier(), LEAVES)

    assert root_of_inclusion(2, 8, LEAVES[3], proof) != root
    assert root_of_inclusion(3, 4, LEAVES[3], proof) is None
    assert root_of_inclusion(3, 8, LEAVES[4], proof) != root
    assert root_of_inclusion(3, 8, LEAVES[3], proof[:-1]) is None
    assert root_of_inclusion(3, 8, LEAVES[3], (*proof, LEAVES[0])) is None
    assert root_of_inclusion(8, 8, LEAVES[3], proof) is None


def test_only_leaves_that_were_added_have_a_proof() -> None:
    with pytest.raises(ValueError, match="not among"):
        inclusion_proof(1, Frontier().extended(LEAVES[:2]), LEAVES[2:4])


@pytest.mark.parametrize(("old", "new"), [(old, new) for new in range(9) for old in range(new + 1)])
def test_a_tree_that_grew_is_consistent_with_itself_and_with_no_other(old: int, new: int) -> None:
    frontier = Frontier().extended(LEAVES[:old])
    proof = consistency_proof(frontier, LEAVES[old:new])
    now = (new, Frontier().extended(LEAVES[:new]).root())
    other = Frontier().extended([LEAVES[7], *LEAVES[1:old]]).root() if old else LEAVES[0]

    assert is_consistent((old, frontier.root()), now, proof)
    assert not is_consistent((old, other), now, proof)
    assert not is_consistent((old, frontier.root()), now, (*proof, LEAVES[0]))
    if old and old != new:
        assert not is_consistent((old, frontier.root()), (new, LEAVES[0]), proof)
        assert not is_consistent((old, frontier.root()), now, proof[:-1])


def test_a_tree_does_not_shrink() -> None:
    assert not is_consistent((2, LEAVES[0]), (1, LEAVES[0]), ())
    assert Frontier().root() == EMPTY_ROOT
