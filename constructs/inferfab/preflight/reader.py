"""The seam to AWS: what a check may ask, and what can come of it."""

from typing import Any, Protocol

Answer = dict[str, Any]


class ReadFailed(Exception):
    """AWS did not answer with what was asked; the message is for people.

    :param code: AWS's own error code; empty where no answer came.
    """

    def __init__(self, message: str, code: str = "") -> None:
        self.code = code
        super().__init__(message)


class Denied(ReadFailed):
    """The credentials do not allow the call."""

    def __init__(self, permission: str, code: str = "AccessDenied") -> None:
        self.permission = permission
        super().__init__(f"not allowed: {permission}", code)


class NoCredentials(Exception):
    """There are no usable credentials at all; the message says what to do."""


class Reader(Protocol):
    """Reads of an account. Every call is one of :data:`inferfab.preflight.reads.READS`."""

    def read(self, service: str, operation: str, region: str | None = None, **asked: Any) -> Answer:
        """One answer; lists in it are complete, over all pages.

        :raises Denied: if the credentials do not allow it.
        :raises ReadFailed: for any other error.
        """
        ...


def missing(error: ReadFailed) -> bool:
    """AWS says that there is no such thing, which is an answer."""
    return error.code in _NOT_THERE or error.code.endswith(("NotFound", "NotFoundException"))


_NOT_THERE = frozenset({
    "404", "NoSuchEntity", "NoSuchBucket", "NoSuchHostedZone", "ParameterNotFound", "NoSuchResourceException",
    "ResourceNotFoundException", "InvalidCapacityReservationId.NotFound", "InvalidCapacityReservationId.Malformed",
    "LoadBalancerNotFound", "TargetGroupNotFound", "ServerSideEncryptionConfigurationNotFoundError", "NotFound",
})  # fmt: skip
