"""Buckets and secrets: state, models, and by name tokens and keys of tenants. No value is ever asked for."""

from collections.abc import Callable, Iterator

from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.serving.model_cache import COMPLETE, ModelSource
from inferfab.preflight.probe import Probe, Seen
from inferfab.preflight.reader import Denied, Reader, ReadFailed, missing
from inferfab.preflight.report import Area, Row, Status


def store_probes(fleet: FleetPlan, reader: Reader) -> Iterator[Probe]:
    """One question for the state bucket, one a model revision and region, one a secret and region."""
    state = fleet.ownership.state
    if state is not None and fleet.ownership.accounts.aws is not None:
        yield Probe(
            area="state",
            where=state.region,
            what=f"bucket {state.bucket}",
            needed="there, versioned, encrypted",
            ask=_state(fleet, reader),
            do=f"aws s3api head-bucket --bucket {state.bucket}",
        )
    for region in fleet.aws_regions:
        cells = [c for c in fleet.cells if c.cloud == "aws" and c.region == region.region]
        sources = {
            s.store_uri: s for c in cells for s in _sources(c) if s.store_uri and s.store_uri.startswith("s3://")
        }
        for uri, source in sorted(sources.items()):
            yield Probe(
                area="model",
                where=region.region,
                what=f"{source.model} at {source.revision[:12]}",
                needed=f"{uri}{COMPLETE}" + ("" if not source.hub else ", or the hub"),
                ask=_model(reader, region.region, str(uri), source, made_by_us=region.model_bucket_made),
                do=f"aws s3 ls {uri}{COMPLETE}",
            )
        for secret in sorted({name for cell in cells for name in fleet.secrets_of(cell)}):
            yield Probe(
                area="secret",
                where=region.region,
                what=secret,
                needed="there",
                ask=_secret(reader, region.region, secret),
                do=f"aws secretsmanager describe-secret --region {region.region} --secret-id {secret}",
            )


def _sources(cell: CellPlan) -> Iterator[ModelSource]:
    for holder in cell.serving.cache.holders:
        if holder.weights:
            yield from holder.sources


def _state(fleet: FleetPlan, reader: Reader) -> Callable[[Seen], list[Row]]:
    state = fleet.ownership.state
    assert state is not None
    what, needed = f"bucket {state.bucket}", "there, versioned, encrypted"

    def row(found: str, status: Status, do: str = "") -> list[Row]:
        return [Row(area="state", where=state.region, what=what, needed=needed, found=found, status=status, do=do)]

    def ask(_: Seen) -> list[Row]:
        try:
            reader.read("s3", "HeadBucket", state.region, Bucket=state.bucket)
        except Denied as error:
            return row(f"somebody else's, or {error}", "unknown", "allow s3:ListBucket on it, or name another bucket")
        except ReadFailed as error:
            if not missing(error):
                raise
            make = f"inferfab bootstrap {fleet.ownership.name}" if state.made_by_bootstrap else "have its owner make it"
            return row("there is none", "missing", make)
        versions = reader.read("s3", "GetBucketVersioning", state.region, Bucket=state.bucket).get("Status")
        try:
            rules = reader.read("s3", "GetBucketEncryption", state.region, Bucket=state.bucket)
        except ReadFailed as error:
            if not missing(error):
                raise
            rules = {}
        how = [
            str(rule.get("ApplyServerSideEncryptionByDefault", {}).get("SSEAlgorithm"))
            for rule in rules.get("ServerSideEncryptionConfiguration", {}).get("Rules", [])
        ]
        encrypted = f"encrypted ({', '.join(how)})" if how else "not encrypted by default"
        if versions != "Enabled":
            do = f"aws s3api put-bucket-versioning --bucket {state.bucket} --versioning-configuration Status=Enabled"
            return row(f"there, {encrypted}, without versions: a state that is overwritten is lost", "missing", do)
        return row(f"there, versioned, {encrypted}", "ok")

    return ask


def _model(
    reader: Reader, region: str, uri: str, source: ModelSource, *, made_by_us: bool
) -> Callable[[Seen], list[Row]]:
    bucket, _, prefix = uri.removeprefix("s3://").partition("/")
    area: Area = "model"
    what = f"{source.model} at {source.revision[:12]}"
    needed = f"{uri}{COMPLETE}" + (", or the hub" if source.hub else "")
    copy = f"copy the weights to {uri}, then: aws s3api put-object --bucket {bucket} --key {prefix}{COMPLETE}"

    def row(found: str, status: Status, do: str = "") -> list[Row]:
        return [Row(area=area, where=region, what=what, needed=needed, found=found, status=status, do=do)]

    def ask(_: Seen) -> list[Row]:
        try:
            listed = reader.read("s3", "ListObjectsV2", region, Bucket=bucket, Prefix=prefix + COMPLETE)
        except ReadFailed as error:
            if isinstance(error, Denied) or not missing(error):
                raise
            if source.hub:
                said = "the region's stack makes the bucket" if made_by_us else f"there is no bucket {bucket}"
                return row(f"{said}; the hub it is", "ok" if made_by_us else "missing", "" if made_by_us else copy)
            made = "apply the region's stack, then " if made_by_us else ""
            return row(f"there is no bucket {bucket}", "missing", made + copy)
        if any(o["Key"] == prefix + COMPLETE for o in listed.get("Contents", [])):
            return row("complete in the store", "ok")
        if source.hub:
            return row("not in the store; the hub it is", "ok")
        return row("not in the store, and the cell may not use the hub", "missing", copy)

    return ask


def _secret(reader: Reader, region: str, name: str) -> Callable[[Seen], list[Row]]:
    def row(found: str, status: Status, do: str = "") -> list[Row]:
        return [Row(area="secret", where=region, what=name, needed="there", found=found, status=status, do=do)]

    def ask(_: Seen) -> list[Row]:
        try:
            found = reader.read("secretsmanager", "DescribeSecret", region, SecretId=name)
        except ReadFailed as error:
            if isinstance(error, Denied) or not missing(error):
                raise
            do = f"aws secretsmanager create-secret --region {region} --name {name} --secret-string file:///dev/stdin"
            return row("there is none", "missing", do)
        if found.get("DeletedDate"):
            return row("about to be deleted", "missing", f"aws secretsmanager restore-secret --region {region} "
                       f"--secret-id {name}")  # fmt: skip
        if not any("AWSCURRENT" in stages for stages in found.get("VersionIdsToStages", {}).values()):
            do = (
                f"aws secretsmanager put-secret-value --region {region} --secret-id {name} --secret-string "
                "file:///dev/stdin"
            )
            return row("there, without a value", "missing", do)
        return row("there, with a value that nobody looked at", "ok")

    return ask
