"""Problems in files, with place and correction, and the error that lists them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from anabranch.errors import NOTHING_CHANGED, AnabranchError, ExitCode

KeyPath = tuple[str | int, ...]


@dataclass(frozen=True)
class FileProblem:
    """One problem. It never contains a value that may be a secret, because it is printed."""

    file: str
    line: int | None
    key: str
    what: str
    write: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {f'{self.key}: ' if self.key else ''}{self.what}. Write: {self.write}"

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


class BadFilesError(AnabranchError):
    """One or more files of the project are invalid. Lists every problem, not only the first."""

    code = "project.bad-file"
    exit_code = ExitCode.USAGE

    def __init__(self, findings: Sequence[FileProblem]) -> None:
        self.findings = tuple(findings)
        super().__init__(
            f"{count_of_problems(self.findings)}:\n" + "\n".join(f"  {finding}" for finding in self.findings),
            state=NOTHING_CHANGED,
            command="anabranch check",
            hint="correct the lines listed above, then check again",
            findings=[finding.as_dict() for finding in self.findings],
        )


def count_of_problems(findings: Sequence[FileProblem]) -> str:
    """The headline: the number of problems and of files."""
    problems, files = len(findings), len({finding.file for finding in findings})
    return f"{problems} problem{'s' * (problems != 1)} in {files} file{'s' * (files != 1)}"


def dotted(path: Iterable[str | int]) -> str:
    """A key path in dotted form: `spec.source.topic`, `spec.target.keys[0]`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text
