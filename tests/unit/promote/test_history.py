"""What commits since the base mean for a promotion: every author, with every difference that could matter."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.promote.history import (
    Author,
    BlockedByCommit,
    ClearToPromote,
    Commit,
    StagingBehind,
    classify_range_commits,
    other_writer,
)
from anabranch.runs.heads import Head, Piece

MINE, OTHER = "run1", "run2"
CODE, OTHER_CODE = "fixed", "buggy"
FILE, OLD = Piece("new.parquet"), Piece("old.parquet")
OFFSETS = {0: (10, 20)}

HEADS = st.integers(1, 9).map(lambda number: Head(str(number)))

Verdict = ClearToPromote | StagingBehind | BlockedByCommit


def expected(commit: Commit, *, staged: bool, present: bool) -> str:
    """The rule, said once more in other words: a table of what is allowed, everything else is blocked."""
    if not commit.added and not commit.removed:
        return "clear"
    if commit.author is Author.REWRITE:
        return "clear"
    if commit.author in (Author.PROMOTION, Author.ROLLBACK):
        return "clear" if commit.run == MINE else "blocked"
    if commit.author is Author.LIVE and commit.offsets and not commit.removed:
        if staged:
            return "clear"
        return "keep" if commit.code == CODE and present else "behind"
    return "blocked"


def named(verdict: Verdict) -> str:
    match verdict:
        case ClearToPromote(keep):
            return "keep" if keep else "clear"
        case StagingBehind():
            return "behind"
        case BlockedByCommit():
            return "blocked"


EVERY = list(
    product(
        Author,
        [None, MINE, OTHER],
        [None, CODE, OTHER_CODE],
        [{}, OFFSETS],
        [frozenset(), frozenset({FILE})],
        [frozenset(), frozenset({OLD})],
        [False, True],
        [False, True],
    )
)


def test_every_combination_for_one_commit() -> None:
    seen = set()
    for author, run, code, offsets, added, removed, staged, present in EVERY:
        commit = Commit(Head("1"), author, run, code, offsets, added, removed)
        files = {FILE} if present else set[str]()
        verdict = classify_range_commits(
            [commit], run=MINE, code=CODE, staged={Head("1")} if staged else set[Head](), present=files
        )
        want = expected(commit, staged=staged, present=present)
        assert named(verdict) == want, (commit, staged, present)
        seen.add(want)
        if isinstance(verdict, ClearToPromote):
            assert verdict.keep == (added if want == "keep" else frozenset())
        if isinstance(verdict, StagingBehind):
            assert verdict.commits == (commit,)
        if isinstance(verdict, BlockedByCommit):
            assert verdict.commit == commit
    assert seen == {"clear", "keep", "behind", "blocked"}


@pytest.mark.parametrize("author", [author for author in Author if author is not Author.LIVE])
def test_no_author_but_live_is_ever_kept_or_caught_up(author: Author) -> None:
    commit = Commit(Head("1"), author, MINE, CODE, OFFSETS, frozenset({FILE}))
    assert named(classify_range_commits([commit], run=MINE, code=CODE, staged=(), present={FILE})) in (
        "clear",
        "blocked",
    )


def test_live_rows_that_were_compacted_are_caught_up_and_not_lost() -> None:
    live = Commit(Head("1"), Author.LIVE, None, CODE, OFFSETS, frozenset({FILE}))
    rewrite = Commit(Head("2"), Author.REWRITE, added=frozenset({Piece("compacted")}), removed=frozenset({FILE}))
    verdict = classify_range_commits([live, rewrite], run=MINE, code=CODE, staged=(), present={Piece("compacted")})
    assert verdict == StagingBehind((live,))
    assert classify_range_commits(
        [live, rewrite], run=MINE, code=CODE, staged={Head("1")}, present={Piece("compacted")}
    ) == ClearToPromote(frozenset())


def test_a_live_commit_of_which_one_file_was_compacted_is_caught_up_whole() -> None:
    live = Commit(Head("1"), Author.LIVE, None, CODE, OFFSETS, frozenset({Piece("a"), Piece("b")}))
    assert classify_range_commits([live], run=MINE, code=CODE, staged=(), present={"a", "compacted"}) == StagingBehind(
        (live,)
    )


def _commits() -> st.SearchStrategy[list[Commit]]:
    files = st.frozensets(st.sampled_from("abcdef"), max_size=2)
    one = st.builds(
        Commit,
        HEADS,
        st.sampled_from(Author),
        st.sampled_from([None, MINE, OTHER]),
        st.sampled_from([None, CODE, OTHER_CODE]),
        st.sampled_from([{}, OFFSETS]),
        files,
        files,
    )
    return st.lists(one, max_size=6, unique_by=lambda commit: commit.snapshot)


@given(_commits(), st.frozensets(HEADS), st.frozensets(st.sampled_from("abcdef")))
def test_a_history_is_judged_as_its_commits_are(
    commits: list[Commit], staged: frozenset[Head], present: frozenset[str]
) -> None:
    alone = [
        named(classify_range_commits([commit], run=MINE, code=CODE, staged=staged, present=present))
        for commit in commits
    ]
    verdict = classify_range_commits(commits, run=MINE, code=CODE, staged=staged, present=present)
    if "blocked" in alone:
        assert verdict == BlockedByCommit(commits[alone.index("blocked")])
    elif "behind" in alone:
        assert verdict == StagingBehind(tuple(c for c, each in zip(commits, alone, strict=True) if each == "behind"))
    else:
        kept = [commit.added for commit, each in zip(commits, alone, strict=True) if each == "keep"]
        assert verdict == ClearToPromote(frozenset[Piece]().union(*kept))


@given(_commits(), st.frozensets(HEADS), st.frozensets(st.sampled_from("abcdef")))
def test_what_is_kept_is_there_and_was_added_by_live_with_the_same_code(
    commits: list[Commit], staged: frozenset[Head], present: frozenset[str]
) -> None:
    verdict = classify_range_commits(commits, run=MINE, code=CODE, staged=staged, present=present)
    if isinstance(verdict, ClearToPromote):
        ours = [c for c in commits if c.author is Author.LIVE and c.code == CODE and c.snapshot not in staged]
        assert verdict.keep <= present
        assert verdict.keep <= frozenset[Piece]().union(*(commit.added for commit in ours))


@pytest.mark.parametrize("author", Author)
@pytest.mark.parametrize("touches", [frozenset(), frozenset({FILE})], ids=["elsewhere", "in the range"])
def test_beside_no_live_writer_only_anabranch_and_compactions_commit(author: Author, touches: frozenset[Piece]) -> None:
    """Also outside the range: whatever writes there has an unknown position in the topic."""
    commit = Commit(Head("8"), author, run=OTHER, added=touches)
    promoted = Commit(Head("7"), Author.PROMOTION, run=MINE, added=touches)
    writes = author in (Author.LIVE, Author.FOREIGN)
    assert other_writer([promoted, commit]) == (commit if writes else None)
