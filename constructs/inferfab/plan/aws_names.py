"""Names in AWS. Stacks meet each other through them, not through each other's state."""

from inferfab.catalog.limits import limit
from inferfab.environment.ownership import ModelBucket
from inferfab.plan.names import digest
from inferfab.record import Record

_LOAD_BALANCER_LENGTH = 32
"""Load balancer and target group names. Source: ELB API reference, CreateLoadBalancer and CreateTargetGroup."""


class AwsCellNames(Record):
    """Names of one cell's resources."""

    prefix: str
    """``<environment>-<cell>``: begins every name, and is the value of the Name tag."""
    cluster_role: str
    node_role: str
    system_node_group: str
    cni_role: str
    hybrid_node_role: str = ""
    """Of servers in owned racks. Empty in plans of earlier releases."""
    cluster_key: str
    """KMS alias of the key that encrypts Kubernetes secrets, node disks and logs."""
    models_key: str
    """KMS alias of the model store's key."""
    capacity_log_group: str
    """Log group of the capacity publisher's events."""
    hostname_label: str
    """The cell's own name under the environment's domain, for health checks and certificates."""
    flow_log_group: str
    load_balancer: str
    target_group: str
    autoscaler_role: str
    autoscaler_tag: str = ""
    """Key of the tag on the cell's Auto Scaling groups, by which its autoscaler finds them and may change them: in a
    cluster of somebody else's there are other groups. Empty in plans of earlier releases.
    """
    load_balancer_controller_role: str
    ebs_csi_role: str
    external_secrets_role: str
    capacity_publisher_role: str
    cert_manager_role: str = ""
    """Empty in plans of earlier releases."""
    model_reader_role: str
    model_bucket: str
    """One a region and environment; cells of a region share it."""
    model_bucket_made: bool = True
    """The region's stack makes bucket and key. False: both are somebody else's, and stay as they are."""
    model_bucket_key_arn: str | None = None
    """Key of somebody else's bucket; None: S3's own, or ours, which has an alias."""
    alerts_topic_arn: str
    """SNS topic of the cell's region: an alarm reaches no other."""


class AwsGlobalNames(Record):
    """Names of what an environment has once."""

    alerts_topic: str
    """SNS topic, one in each region that has a cell."""
    alerts_key: str
    """KMS alias of the topic's key, in each of these regions."""
    state_key: str
    """KMS alias of the key of the state bucket."""
    budget: str
    capacity_namespace: str
    """CloudWatch namespace of the capacity number that routing looks at."""
    capacity_metric: str


def fit(name: str, most: int) -> str:
    """``name``, or its beginning with a digest of the whole where it is too long: short, and still one of a kind."""
    if len(name) <= most:
        return name
    mark = digest(name)
    return f"{name[: most - len(mark) - 1].rstrip('-')}-{mark}"


def aws_cell_names(
    environment: str,
    cell: str,
    region: str,
    account_id: str,
    *,
    cluster_exists: bool = False,
    stated: ModelBucket | None = None,
) -> AwsCellNames:
    """:param stated: the bucket that holds the region's models already. Default: one of ours."""
    prefix = f"{environment}-{cell}"

    def role(purpose: str) -> str:
        return fit(f"{prefix}-{purpose}", limit("aws_iam_role_name_length"))

    return AwsCellNames(
        prefix=prefix,
        cluster_role=role("cluster"),
        node_role=role("node"),
        # In somebody else's cluster there may be a `system` already.
        system_node_group=f"{environment}-system" if cluster_exists else "system",
        cni_role=role("cni"),
        hybrid_node_role=role("hybrid-node"),
        cluster_key=f"alias/{prefix}-cluster",
        models_key=f"alias/{environment}-models",
        capacity_log_group=f"/inferfab/{prefix}/capacity",
        hostname_label=cell,
        flow_log_group=f"/inferfab/{prefix}/flow-logs",
        load_balancer=fit(prefix, _LOAD_BALANCER_LENGTH),
        target_group=fit(f"{prefix}-gateway", _LOAD_BALANCER_LENGTH),
        autoscaler_role=role("autoscaler"),
        autoscaler_tag=f"inferfab-autoscaler/{prefix}",
        load_balancer_controller_role=role("lbc"),
        ebs_csi_role=role("ebs-csi"),
        external_secrets_role=role("secrets"),
        capacity_publisher_role=role("capacity"),
        cert_manager_role=role("certificates"),
        model_reader_role=role("models"),
        model_bucket=stated.bucket
        if stated
        else fit(f"{environment}-models-{account_id}-{region}", limit("aws_s3_bucket_name_length")),
        model_bucket_made=stated is None,
        model_bucket_key_arn=stated.kms_key_arn if stated else None,
        alerts_topic_arn=f"arn:aws:sns:{region}:{account_id}:{_alerts_topic(environment)}",
    )


def _alerts_topic(environment: str) -> str:
    return f"{environment}-alerts"


def aws_global_names(environment: str) -> AwsGlobalNames:
    return AwsGlobalNames(
        alerts_topic=_alerts_topic(environment),
        alerts_key=f"alias/{environment}-alerts",
        state_key=f"alias/{environment}-state",
        budget=f"{environment}-gpu-fleet",
        capacity_namespace="Inferfab",
        capacity_metric="FreeCapacityPercent",
    )
