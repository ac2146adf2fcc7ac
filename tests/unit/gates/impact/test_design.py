"""Blocks in pairs, in an order that the seed draws, and longer ones where live's batches are long."""

import pytest

from anabranch.gates.impact.design import BLOCK_SECONDS, SETTLE_SECONDS, Design, block_lengths, read_design

DESIGN = Design(12, 20.0, 5.0, seed=7)


def test_each_pair_has_both_blocks_one_after_the_other() -> None:
    blocks = DESIGN.blocks
    assert [each.number for each in blocks] == list(range(1, 25))
    assert [each.pair for each in blocks[:4]] == [1, 1, 2, 2]
    assert [(each.start, each.end) for each in blocks[:2]] == [(0, 20), (20, 40)]
    for first, second in zip(blocks[::2], blocks[1::2], strict=True):
        assert first.on != second.on
    assert DESIGN.seconds == 480 == blocks[-1].end


def test_the_seed_draws_the_order_and_repeats_it() -> None:
    assert Design(12, 20.0, 5.0, seed=7).blocks == DESIGN.blocks
    assert read_design(DESIGN.document()).blocks == DESIGN.blocks
    first = [each.on for seed in range(200) for each in Design(12, 20.0, 5.0, seed).blocks[::2]]
    assert 0.45 < sum(first) / len(first) < 0.55


def test_the_block_of_a_moment() -> None:
    assert DESIGN.block_at(0) == DESIGN.blocks[0]
    assert DESIGN.block_at(19.9) == DESIGN.blocks[0]
    assert DESIGN.block_at(20) == DESIGN.blocks[1]
    assert DESIGN.block_at(480) is None
    assert DESIGN.block_at(-1) is None


@pytest.mark.parametrize(
    ("batch", "lengths"),
    [(0.0, (BLOCK_SECONDS, SETTLE_SECONDS)), (10.0, (20.0, 5.0)), (12.0, (25.0, 6.25)), (30.0, (60.0, 15.0))],
)
def test_blocks_are_longer_where_batches_are_long(batch: float, lengths: tuple[float, float]) -> None:
    assert block_lengths(batch) == lengths
