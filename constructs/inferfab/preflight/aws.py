"""The reader over boto3. The only module that imports it."""

import threading
from typing import Any

import boto3
from botocore import xform_name
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    NoCredentialsError,
    PartialCredentialsError,
    ProfileNotFound,
    SSOTokenLoadError,
    TokenRetrievalError,
    UnauthorizedSSOTokenError,
)
from botocore.parsers import ResponseParserError

from inferfab.preflight.reader import Answer, Denied, NoCredentials, ReadFailed
from inferfab.preflight.reads import READS

_CREDENTIALS = (
    CredentialRetrievalError, NoCredentialsError, PartialCredentialsError, ProfileNotFound, SSOTokenLoadError,
    TokenRetrievalError, UnauthorizedSSOTokenError,
)  # fmt: skip
_DENIED = frozenset({
    "AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "Client.UnauthorizedOperation",
    "AuthorizationError", "NotAuthorized", "Forbidden", "403",
})  # fmt: skip
_EXPIRED = frozenset({
    "ExpiredToken", "ExpiredTokenException", "RequestExpired", "InvalidClientTokenId", "UnrecognizedClientException",
    "AuthFailure", "SignatureDoesNotMatch", "InvalidAccessKeyId",
})  # fmt: skip
_HINT = "log in (`aws sso login`, or AWS_PROFILE), and look with `aws sts get-caller-identity`"


class AwsReader:
    """Reads with the credentials of the environment: AWS_PROFILE, variables, or the machine's role.

    Safe to use from several threads. Endpoints follow AWS_ENDPOINT_URL, as the AWS tools do.

    :raises NoCredentials: if there are none.
    """

    def __init__(self, home_region: str) -> None:
        self._lock = threading.Lock()
        self._clients: dict[tuple[str, str], Any] = {}
        self._home = home_region
        self._config = Config(
            retries={"mode": "standard", "max_attempts": 3}, connect_timeout=5, read_timeout=20, max_pool_connections=16
        )
        try:
            self._session = boto3.Session()
            if self._session.get_credentials() is None:
                raise NoCredentials(f"there are no AWS credentials; {_HINT}")
        except _CREDENTIALS as error:
            raise NoCredentials(f"there are no AWS credentials that can be used: {error}; {_HINT}") from error
        except BotoCoreError as error:
            raise NoCredentials(f"the AWS configuration cannot be used: {error}; {_HINT}") from error
        except (KeyError, OSError, ValueError) as error:
            # A `credential_process` that prints something else, a file that is not UTF-8. Its text may be a secret.
            raise NoCredentials(
                "the AWS configuration cannot be used: a file of it, or what its credential_process prints, is not as "
                f"AWS describes it ({type(error).__name__}); {_HINT}"
            ) from error

    def read(self, service: str, operation: str, region: str | None = None, **asked: Any) -> Answer:
        """As :class:`~inferfab.preflight.reader.Reader` says."""
        permission = READS[(service, operation)]
        method = xform_name(operation)
        try:
            client = self._client(service, region or self._home)
        except ValueError as error:
            raise NoCredentials(
                f"AWS cannot be asked for {service}: its endpoint or region is none; look at AWS_ENDPOINT_URL, "
                "AWS_REGION and `endpoint_url` in the AWS configuration"
            ) from error
        except BotoCoreError as error:
            raise NoCredentials(f"the AWS configuration cannot be used: {error}; {_HINT}") from error
        try:
            if client.can_paginate(method):
                return dict(client.get_paginator(method).paginate(**asked).build_full_result())
            return dict(getattr(client, method)(**asked))
        except _CREDENTIALS as error:
            raise NoCredentials(f"there are no AWS credentials that can be used: {error}; {_HINT}") from error
        except ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", ""))
            if code in _DENIED:
                raise Denied(permission or f"{service}:{operation}", code) from error
            if code in _EXPIRED:
                raise NoCredentials(f"AWS does not take the credentials ({code}); {_HINT}") from error
            said = str(error.response.get("Error", {}).get("Message", "")) or code
            if said.lstrip().startswith("<"):
                raise ReadFailed(f"{service} in {region or self._home} gave no answer that can be read") from error
            raise ReadFailed(f"{code}: {said}" if code != said else said, code) from error
        except ResponseParserError as error:
            # A proxy between, or a stand-in for AWS, answered with a page of its own.
            raise ReadFailed(f"{service} in {region or self._home} gave no answer that can be read") from error
        except BotoCoreError as error:
            raise ReadFailed(f"{service} in {region or self._home} does not answer: {error}") from error

    def _client(self, service: str, region: str) -> Any:
        # boto3 makes clients from one session in one thread at a time; the clients themselves are safe.
        with self._lock:
            key = (service, region)
            if key not in self._clients:
                self._clients[key] = self._session.client(service, region_name=region, config=self._config)
            return self._clients[key]
