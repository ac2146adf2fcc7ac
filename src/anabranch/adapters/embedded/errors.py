"""Errors of the embedded stack."""

from __future__ import annotations

from anabranch.errors import AnabranchError, ExitCode

DATA_UNCHANGED = "No process was started or stopped. Topic data unchanged."


class DiskFullError(AnabranchError):
    code = "stack.disk-full"


class ReadOnlyError(AnabranchError):
    code = "stack.read-only"


class PortTakenError(AnabranchError):
    code = "stack.port-taken"
    exit_code = ExitCode.CONFLICT


class StackBusyError(AnabranchError):
    """Another `anabranch dev` command runs on the same stack."""

    code = "stack.busy"
    exit_code = ExitCode.CONFLICT


class BrokerCountError(AnabranchError):
    code = "stack.broker-count"
    exit_code = ExitCode.USAGE


class StackRunningError(AnabranchError):
    code = "stack.running"
    exit_code = ExitCode.CONFLICT


class StackDownError(AnabranchError):
    code = "stack.down"


class StackStateUnreadableError(AnabranchError):
    code = "stack.state-unreadable"


class FormatFailedError(AnabranchError):
    code = "stack.format-failed"


class BrokerDiedError(AnabranchError):
    code = "stack.broker-died"


class BrokerStartTimeoutError(AnabranchError):
    code = "stack.start-timeout"
    exit_code = ExitCode.TIMED_OUT


class NotOurProcessError(AnabranchError):
    """The broker was started by another user, so it cannot be stopped."""

    code = "stack.not-permitted"


class StopFailedError(AnabranchError):
    code = "stack.stop-failed"
