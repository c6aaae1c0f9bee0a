"""Roles of the controllers in a cell's cluster, each as small as its work."""

from inferfab.aws.account import AccountSpec
from inferfab.aws.iam_policy import Statement
from inferfab.aws.pod_identity import PodIdentity, PodIdentitySpec
from inferfab.aws.zone_role import proving, taking
from inferfab.record import Record
from inferfab.terraform import Construct
from inferfab.terraform.skips import skip_check


class Controller(Record):
    """One controller: its role and its service account."""

    role_name: str
    namespace: str
    service_account: str


class CellControllersSpec(AccountSpec):
    """What :class:`CellControllers` needs."""

    cluster_name: str
    autoscaler: Controller
    autoscaler_tag: str | None = None
    """Key of a tag with the value ``owned`` on the Auto Scaling groups that it may change. Default: all groups of the
    cluster.
    """
    load_balancer_controller: Controller
    target_group_name: str
    """The one group that the load balancer controller may change."""
    capacity_publisher: Controller
    capacity_log_group: str
    external_secrets: Controller | None = None
    """Default: none; nothing in the cluster reads secrets."""
    secret_arns: tuple[str, ...] = ()
    """Secrets that External Secrets may read; a pattern may end in ``-??????``, the suffix that AWS appends."""
    cert_manager: Controller | None = None
    """Default: none; no certificate is proven by DNS."""
    certificate_hostnames: tuple[str, ...] = ()
    """Names whose challenge records cert-manager may write, and no others."""
    certificate_role_arn: str | None = None
    """Role of the account that owns the zone, which cert-manager takes on for it. Default: the zone is in this one."""
    permissions_boundary_arn: str | None = None
    """Default: no boundary."""


class CellControllers(Construct):
    """Pod Identity roles of cluster autoscaler, load balancer controller, capacity publisher and External Secrets.

    Example::

        from inferfab.aws.controllers import CellControllers, CellControllersSpec, Controller

        CellControllers(
            stack,
            "controllers",
            CellControllersSpec(
                account_id="111122223333",
                region="us-east-1",
                cluster_name="prod-use1-a",
                autoscaler=Controller(
                    role_name="prod-use1-a-autoscaler", namespace="kube-system", service_account="cluster-autoscaler"
                ),
                load_balancer_controller=Controller(
                    role_name="prod-use1-a-lbc", namespace="kube-system", service_account="aws-load-balancer-controller"
                ),
                target_group_name="prod-use1-a-gateway",
                capacity_publisher=Controller(
                    role_name="prod-use1-a-capacity", namespace="monitoring", service_account="capacity-publisher"
                ),
                capacity_log_group="/inferfab/prod-use1-a/capacity",
            ),
        )
    """

    def __init__(self, scope: Construct, construct_id: str, spec: CellControllersSpec) -> None:
        super().__init__(scope, construct_id)
        self._spec = spec
        self._role("autoscaler", spec.autoscaler, _autoscaler(spec), lists=True)
        self._role("load-balancer", spec.load_balancer_controller, _load_balancer(spec), lists=True)
        self._role("capacity", spec.capacity_publisher, _publisher(spec), lists=False)
        if spec.external_secrets is not None and spec.secret_arns:
            self._role("secrets", spec.external_secrets, _secrets(spec), lists=False)
        if spec.cert_manager is not None and spec.certificate_hostnames:
            lists = spec.certificate_role_arn is None
            self._role("certificates", spec.cert_manager, _certificates(spec), lists=lists)

    def _role(self, id: str, controller: Controller, statements: list[Statement], *, lists: bool) -> None:
        spec = self._spec
        identity = PodIdentity(
            self,
            id,
            PodIdentitySpec(
                account_id=spec.account_id,
                region=spec.region,
                partition=spec.partition,
                cluster_name=spec.cluster_name,
                role_name=controller.role_name,
                namespace=controller.namespace,
                service_account=controller.service_account,
                permissions_boundary_arn=spec.permissions_boundary_arn,
            ),
            statements=statements,
        )
        if lists and identity.policy is not None:
            reason = (
                "EC2, Auto Scaling and ELB know no resources in their Describe calls; everything that changes is named"
            )
            skip_check(identity.policy, "CKV_AWS_355", reason)


def _arn(spec: AccountSpec, service: str, resource: str) -> str:
    return f"arn:{spec.partition}:{service}:{spec.region}:{spec.account_id}:{resource}"


def _describe(actions: list[str]) -> Statement:
    # These calls list; AWS offers no resource to narrow them to (service authorization reference).
    return {"Sid": "Look", "Effect": "Allow", "Action": actions, "Resource": "*"}


def _autoscaler(spec: CellControllersSpec) -> list[Statement]:
    group = _arn(spec, "autoscaling", "autoScalingGroup:*:autoScalingGroupName/*")
    nodes = _arn(spec, "eks", f"nodegroup/{spec.cluster_name}/*/*")
    # EKS puts this tag on the groups behind its managed node groups, whoever made them.
    tags = {"aws:ResourceTag/eks:cluster-name": spec.cluster_name}
    if spec.autoscaler_tag is not None:
        tags[f"aws:ResourceTag/{spec.autoscaler_tag}"] = "owned"
    return [
        _describe(
            [
                "autoscaling:DescribeAutoScalingGroups",
                "autoscaling:DescribeAutoScalingInstances",
                "autoscaling:DescribeLaunchConfigurations",
                "autoscaling:DescribeScalingActivities",
                "autoscaling:DescribeTags",
                "ec2:DescribeImages",
                "ec2:DescribeInstanceTypes",
                "ec2:DescribeLaunchTemplateVersions",
                "ec2:GetInstanceTypesFromInstanceRequirements",
            ]
        ),
        {"Sid": "LookAtGroups", "Effect": "Allow", "Action": ["eks:DescribeNodegroup"], "Resource": nodes},
        {
            "Sid": "Scale",
            "Effect": "Allow",
            "Action": ["autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup"],
            "Resource": group,
            "Condition": {"StringEquals": tags},
        },
    ]


def _load_balancer(spec: CellControllersSpec) -> list[Statement]:
    """Target group bindings only: the controller makes no load balancer, listener or security group."""
    group = _arn(spec, "elasticloadbalancing", f"targetgroup/{spec.target_group_name}/*")
    return [
        _describe(
            [
                "ec2:DescribeAvailabilityZones",
                "ec2:DescribeInstances",
                "ec2:DescribeNetworkInterfaces",
                "ec2:DescribeSecurityGroups",
                "ec2:DescribeSubnets",
                "ec2:DescribeVpcs",
                "elasticloadbalancing:DescribeTargetGroups",
                "elasticloadbalancing:DescribeTargetHealth",
            ]
        ),
        {
            "Sid": "Bind",
            "Effect": "Allow",
            "Action": ["elasticloadbalancing:RegisterTargets", "elasticloadbalancing:DeregisterTargets"],
            "Resource": group,
        },
    ]


def _publisher(spec: CellControllersSpec) -> list[Statement]:
    logs = _arn(spec, "logs", f"log-group:{spec.capacity_log_group}")
    return [
        {
            "Sid": "Publish",
            "Effect": "Allow",
            "Action": ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
            "Resource": [logs, f"{logs}:log-stream:*"],
        }
    ]


def _secrets(spec: CellControllersSpec) -> list[Statement]:
    return [
        {
            "Sid": "Read",
            "Effect": "Allow",
            "Action": ["secretsmanager:GetSecretValue", "secretsmanager:DescribeSecret"],
            "Resource": list(spec.secret_arns),
        }
    ]


def _certificates(spec: CellControllersSpec) -> list[Statement]:
    if spec.certificate_role_arn is not None:
        # The zone is another account's, and so are its records.
        return taking(spec.certificate_role_arn)
    return proving(spec.certificate_hostnames, spec.partition)
