"""How large a Helm release may become."""

import base64
import gzip
import json
from collections.abc import Mapping

MOST_BYTES = 1024 * 1024
"""Helm keeps a release in one Secret, and Kubernetes takes Secrets of at most 1 MiB (core/v1 MaxSecretSize)."""


class ReleaseTooLargeError(ValueError):
    """The message says which release, how large, and what to do."""


def release_bytes(files: Mapping[str, str]) -> int:
    """What Helm's Secret holds: templates and the manifest made of them, as JSON, compressed, in Base64.

    Source: helm/helm pkg/storage/driver/util.go encodeRelease. A Secret's own Base64 does not count towards its limit.
    """
    templates = [{"name": name, "data": base64.b64encode(text.encode()).decode()} for name, text in files.items()]
    release = json.dumps({"chart": {"templates": templates}, "manifest": "\n---\n".join(files.values())})
    return len(base64.b64encode(gzip.compress(release.encode())))


def require_fitting(cell: str, release: str, files: Mapping[str, str]) -> None:
    """:raises ReleaseTooLargeError: if a release of these files would not fit into its Secret."""
    size = release_bytes(files)
    if size > MOST_BYTES:
        raise ReleaseTooLargeError(
            f"{cell}: the {release} release takes {size:,} bytes, and Kubernetes keeps at most {MOST_BYTES:,} in the "
            "Secret that holds it, so Helm could not install it: move some pools to another cell"
        )
