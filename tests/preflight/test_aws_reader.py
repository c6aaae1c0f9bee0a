"""The reader over boto3: with botocore's stubber what moto lacks, with moto's server what it has."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from inferfab.cli.main import main
from inferfab.preflight.aws import AwsReader
from inferfab.preflight.reader import Denied, NoCredentials, ReadFailed, missing
from moto_server import false_credentials, moto_endpoint

from .account import CHAT, RESERVATION

ACCOUNT = "111122223333"


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    false_credentials(monkeypatch)


@contextlib.contextmanager
def stubbed(service: str) -> Iterator[tuple[AwsReader, Stubber]]:
    reader = AwsReader("us-east-1")
    client = boto3.client(service, region_name="us-east-1")
    reader._clients[(service, "us-east-1")] = client
    with Stubber(client) as stub:
        yield reader, stub
        stub.assert_no_pending_responses()


def test_topology_over_pages(credentials: None) -> None:
    """In the words and shapes of the API itself, which the stubber checks."""
    with stubbed("ec2") as (reader, stub):
        stub.add_response(
            "describe_capacity_reservation_topology",
            {"CapacityReservations": [{"CapacityReservationId": RESERVATION, "NetworkNodes": ["nn-1", "nn-2"]}]},
            {"CapacityReservationIds": [RESERVATION]},
        )
        asked = {"CapacityReservationIds": [RESERVATION]}
        found = reader.read("ec2", "DescribeCapacityReservationTopology", **asked)
    assert found["CapacityReservations"][0]["NetworkNodes"] == ["nn-1", "nn-2"]


def test_simulation_and_versions(credentials: None) -> None:
    with stubbed("eks") as (reader, stub):
        versions = {"clusterVersions": [{"clusterVersion": "1.36", "status": "STANDARD_SUPPORT"}]}
        stub.add_response("describe_cluster_versions", versions, {"clusterVersions": ["1.36"]})
        found = reader.read("eks", "DescribeClusterVersions", clusterVersions=["1.36"])
    assert found["clusterVersions"][0]["clusterVersion"] == "1.36"
    with stubbed("iam") as (reader, stub):
        asked = {"PolicySourceArn": f"arn:aws:iam::{ACCOUNT}:role/x", "ActionNames": ["eks:CreateCluster"]}
        results = [{"EvalActionName": "eks:CreateCluster", "EvalDecision": "implicitDeny"}]
        stub.add_response("simulate_principal_policy", {"EvaluationResults": results, "IsTruncated": False}, asked)
        assert reader.read("iam", "SimulatePrincipalPolicy", **asked)["EvaluationResults"] == results


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("AccessDeniedException", Denied),
        ("UnauthorizedOperation", Denied),
        ("ExpiredToken", NoCredentials),
        ("ThrottlingException", ReadFailed),
    ],
)
def test_errors(credentials: None, code: str, kind: type[Exception]) -> None:
    with stubbed("service-quotas") as (reader, stub):
        stub.add_client_error("get_service_quota", service_error_code=code)
        with pytest.raises(kind) as caught:
            reader.read("service-quotas", "GetServiceQuota", ServiceCode="ec2", QuotaCode="L-417A185B")
    if kind is Denied:
        assert "servicequotas:GetServiceQuota" in str(caught.value)


def test_what_is_not_there_is_no_failure(credentials: None) -> None:
    with stubbed("secretsmanager") as (reader, stub):
        stub.add_client_error("describe_secret", service_error_code="ResourceNotFoundException")
        with pytest.raises(ReadFailed) as caught:
            reader.read("secretsmanager", "DescribeSecret", SecretId="x")
    assert missing(caught.value)


def test_only_reads_are_possible(credentials: None) -> None:
    """The reader refuses before boto3 is asked."""
    reader = AwsReader("us-east-1")
    for service, operation in (("ec2", "RunInstances"), ("secretsmanager", "GetSecretValue"), ("s3", "PutObject")):
        with pytest.raises(KeyError):
            reader.read(service, operation)


def test_without_credentials_there_is_one_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Exit code 1, no traceback, and what to do."""
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_WEB_IDENTITY_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    file = tmp_path / "shop.yaml"
    file.write_text(CHAT)
    monkeypatch.setattr("sys.argv", ["inferfab", "preflight", str(file)])
    with pytest.raises(SystemExit) as stop:
        main()
    said = capsys.readouterr().err.splitlines()[-1]
    assert stop.value.code == 1
    assert said.startswith("inferfab: there are no AWS credentials")
    assert "aws sso login" in said


@pytest.mark.parametrize(
    ("variable", "text", "says"),
    [
        ("AWS_CONFIG_FILE", b"[default\nregion", "the AWS configuration cannot be used"),
        ("AWS_CONFIG_FILE", b"[default]\nregion = \xff\xfe", "the AWS configuration cannot be used"),
        ("AWS_SHARED_CREDENTIALS_FILE", b"\xff\xfe[default]", "the AWS configuration cannot be used"),
        ("AWS_SHARED_CREDENTIALS_FILE", b"nonsense", "the AWS configuration cannot be used"),
        ("AWS_CONFIG_FILE", b"[default]\ncredential_process = /bin/echo S3CRET", "(JSONDecodeError)"),
        ("AWS_CONFIG_FILE", b"[default]\ncredential_process = /bin/echo {}", "AWS"),
        ("AWS_CONFIG_FILE", b"[default]\ncredential_process = /nonexistent/x", "(FileNotFoundError)"),
    ],
)
def test_a_broken_aws_configuration_is_one_message(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str, text: bytes, says: str
) -> None:
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_WEB_IDENTITY_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        (tmp_path / name).write_bytes(text if name == variable else b"")
        monkeypatch.setenv(name, str(tmp_path / name))
    with pytest.raises(NoCredentials) as error:
        AwsReader("us-east-1")
    assert says in str(error.value) and "S3CRET" not in str(error.value) and "aws sso login" in str(error.value)


@pytest.mark.parametrize("endpoint", ["notaurl", "http://[::1", "http://a b/"])
def test_an_endpoint_that_is_none_is_one_message(
    credentials: None, monkeypatch: pytest.MonkeyPatch, endpoint: str
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    with pytest.raises(NoCredentials, match="look at AWS_ENDPOINT_URL"):
        AwsReader("us-east-1").read("sts", "GetCallerIdentity")


# With moto's server.


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with moto_endpoint(ACCOUNT, tmp_path_factory.mktemp("moto") / "log") as url:
        yield url


@pytest.fixture
def moto(endpoint: str, credentials: None, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    return endpoint


def seeded() -> None:
    """What an account's owners make before the first deploy."""

    def client(service: str) -> Any:
        return boto3.client(service, region_name="us-east-1")

    trust = '{"Version": "2012-10-17", "Statement": []}'
    client("iam").create_role(RoleName="inferfab-deploy", AssumeRolePolicyDocument=trust)
    client("iam").create_service_linked_role(AWSServiceName="autoscaling.amazonaws.com")
    # moto would call it AWSServiceRoleForSpot; EC2 has it under this name.
    client("iam").create_role(RoleName="AWSServiceRoleForEC2Spot", AssumeRolePolicyDocument=trust)
    client("route53").create_hosted_zone(Name="llm.example.com", CallerReference="1")
    bucket = f"inferfab-state-{ACCOUNT}-shop"
    client("s3").create_bucket(Bucket=bucket)
    client("s3").put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    client("secretsmanager").create_secret(Name="hf-token", SecretString="hf_never_to_be_seen")
    client("ec2").allocate_address(Domain="vpc")


@pytest.mark.slow
def test_the_command_against_moto(
    moto: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The whole way over HTTP. Every request that leaves is a read, and nothing in the account is another after it."""
    seeded()
    file, seen = tmp_path / "shop.yaml", tmp_path / "observed.json"
    file.write_text(CHAT)
    sent: list[str] = []
    real = boto3.Session.client

    def watched(self: boto3.Session, *words: Any, **more: Any) -> Any:
        made = real(self, *words, **more)
        made.meta.events.register("before-call", lambda model, **_: sent.append(model.name))
        return made

    monkeypatch.setattr(boto3.Session, "client", watched)
    monkeypatch.setattr("sys.argv", ["inferfab", "preflight", str(file), "--out", str(seen), "--format", "json"])
    with pytest.raises(SystemExit) as stop:
        main()
    out = capsys.readouterr().out
    assert stop.value.code == 1  # moto has no images
    assert "hf_never_to_be_seen" not in out + seen.read_text()
    assert len(set(sent)) > 12
    assert {name for name in sent if not name.startswith(("Describe", "Get", "List", "Head", "Simulate"))} == set()
    assert "GetSecretValue" not in sent

    import json

    rows = {(r["area"], r["what"]): r for r in json.loads(out)["rows"]}
    assert rows[("role", "role inferfab-deploy")]["status"] == "ok"
    assert rows[("role", "service-linked role AWSServiceRoleForEC2Spot")]["status"] == "ok"
    assert rows[("state", f"bucket inferfab-state-{ACCOUNT}-shop")]["status"] == "ok"
    assert rows[("secret", "hf-token")]["found"] == "there, with a value that nobody looked at"
    assert rows[("offering", "p5en.48xlarge")]["status"] == "ok"
    assert rows[("quota", "VPCs per Region")]["found"] == "5 granted; others in the account use 1"
    # moto knows only VPC's quotas; what AWS would not tell stays unknown.
    assert rows[("quota", "Running On-Demand P instances")]["status"] == "unknown"

    monkeypatch.setattr("sys.argv", ["inferfab", "check", str(file), "--observed", str(seen)])
    with contextlib.suppress(SystemExit):
        main()
    assert "this is a fault of inferfab" not in capsys.readouterr().err


def test_an_observed_file_of_another_account_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file, seen = tmp_path / "shop.yaml", tmp_path / "observed.json"
    file.write_text(CHAT)
    other = '"as_of": "2026-11-30", "account_id": "123456789012", "quotas": {}, "reservation_topology": {}'
    for text, says in (
        (f"{{{other}}}", "123456789012"),
        ('{"as_of": "2026-11-30"}', "not what preflight saw"),
        ("nonsense", "not JSON"),
        ('{"as_of": "2026-11-30", "quotas": {"aws:us-east-1:vpcs": NaN}, "reservation_topology": {}}', "quotas"),
        (
            '{"as_of": "2026-11-30", "quotas": {}, "reservation_topology": {}, "reservations": {"cr-1": {"state": '
            '"active", "ends_at": "2026-12-01T00:00:00"}}}',
            "timezone",
        ),
    ):  # fmt: skip
        seen.write_text(text)
        monkeypatch.setattr("sys.argv", ["inferfab", "plan", str(file), "--observed", str(seen)])
        with pytest.raises(SystemExit) as stop:
            main()
        assert stop.value.code == 1
        assert says in capsys.readouterr().err
