"""Finding what has a name of its own: clusters, roles, keys, buckets, logs, records, budgets."""

from collections.abc import Callable
from typing import Any

from inferfab.adopt.stack_view import Ambiguous, Body, Match, StackView, Unlookable, only


def _cluster(view: StackView, body: Body) -> Match | None:
    found = view.look("eks", "DescribeCluster", name=body["name"])
    if found is None:
        return None
    cluster = found["cluster"]
    group = cluster.get("resourcesVpcConfig", {}).get("clusterSecurityGroupId")
    attributes = {"name": str(body["name"]), "id": str(body["name"]), "arn": str(cluster.get("arn", ""))}
    if group:
        attributes["vpc_config[0].cluster_security_group_id"] = str(group)
    return Match(import_id=str(body["name"]), attributes=attributes)


def _in_cluster(view: StackView, body: Body, operation: str, key: str) -> tuple[str, list[Any]]:
    """The cluster's name, and a list of what it has; empty where there is no cluster."""
    cluster = view.value(body["cluster_name"])
    found = view.look("eks", operation, clusterName=cluster) if cluster is not None else None
    return cluster or "", (found or {}).get(key, [])


def _node_group(view: StackView, body: Body) -> Match | None:
    cluster, there = _in_cluster(view, body, "ListNodegroups", "nodegroups")
    name = str(body["node_group_name"])
    return Match(import_id=f"{cluster}:{name}", attributes={"node_group_name": name}) if name in there else None


def _addon(view: StackView, body: Body) -> Match | None:
    cluster, there = _in_cluster(view, body, "ListAddons", "addons")
    name = str(body["addon_name"])
    return Match(import_id=f"{cluster}:{name}") if name in there else None


def _access_entry(view: StackView, body: Body) -> Match | None:
    cluster, there = _in_cluster(view, body, "ListAccessEntries", "accessEntries")
    principal = view.value(body["principal_arn"])
    if principal is None or principal not in there:
        return None
    return Match(import_id=f"{cluster}:{principal}", attributes={"principal_arn": principal})


def _access_policy(view: StackView, body: Body) -> Match | None:
    cluster, principal = view.value(body["cluster_name"]), view.value(body["principal_arn"])
    if cluster is None or principal is None:
        return None
    found = view.look("eks", "ListAssociatedAccessPolicies", clusterName=cluster, principalArn=principal) or {}
    policy = str(body["policy_arn"])
    there = any(one.get("policyArn") == policy for one in found.get("associatedAccessPolicies", []))
    return Match(import_id=f"{cluster}#{principal}#{policy}") if there else None


def _pod_identity(view: StackView, body: Body) -> Match | None:
    cluster, there = _in_cluster(view, body, "ListPodIdentityAssociations", "associations")
    fitting = [
        Match(import_id=f"{cluster},{one['associationId']}") for one in there
        if (one["namespace"], one["serviceAccount"]) == (body["namespace"], body["service_account"])
    ]  # fmt: skip
    return only(fitting, f"{body['namespace']}/{body['service_account']}")


def _launch_template(view: StackView, body: Body) -> Match | None:
    filters = [{"Name": "launch-template-name", "Values": [body["name"]]}]
    found = view.read("ec2", "DescribeLaunchTemplates", Filters=filters).get("LaunchTemplates", [])
    ids = [str(one["LaunchTemplateId"]) for one in found]
    return only([Match(import_id=i, attributes={"id": i}) for i in ids], str(body["name"]))


def _role(view: StackView, body: Body) -> Match | None:
    found = view.look("iam", "GetRole", RoleName=body["name"])
    if found is None:
        return None
    name = str(body["name"])
    return Match(import_id=name, attributes={"name": name, "id": name, "arn": str(found["Role"].get("Arn", ""))})


def _role_policy(view: StackView, body: Body) -> Match | None:
    role = view.value(body["role"])
    found = view.look("iam", "ListRolePolicies", RoleName=role) if role else None
    there = body["name"] in (found or {}).get("PolicyNames", [])
    return Match(import_id=f"{role}:{body['name']}") if there else None


def _attachment(view: StackView, body: Body) -> Match | None:
    role, policy = view.value(body["role"]), view.value(body["policy_arn"])
    found = view.look("iam", "ListAttachedRolePolicies", RoleName=role) if role else None
    there = any(one["PolicyArn"] == policy for one in (found or {}).get("AttachedPolicies", []))
    return Match(import_id=f"{role}/{policy}") if there else None


def _aliases(view: StackView) -> dict[str, str]:
    """Key ids by alias."""
    listed = view.read("kms", "ListAliases").get("Aliases", [])
    return {str(one["AliasName"]): str(one["TargetKeyId"]) for one in listed if "TargetKeyId" in one}


def _alias(view: StackView, body: Body) -> Match | None:
    return Match(import_id=str(body["name"])) if body["name"] in _aliases(view) else None


def _key(view: StackView, body: Body) -> Match | None:
    """A key has no name but its alias's: the alias of the stack that leads to it tells which key it is."""
    for alias in view.resources.get("aws_kms_alias", {}).values():
        name = view.referred(str(alias["target_key_id"]), "aws_kms_key")
        if name is not None and view.resources["aws_kms_key"][name] is body:
            found = _aliases(view).get(str(alias["name"]))
            if found is None:
                return None
            arn = f"arn:aws:kms:{view.region}:{view.account_id}:key/{found}"
            return Match(import_id=found, attributes={"key_id": found, "id": found, "arn": arn})
    raise Unlookable("a key without an alias in its stack cannot be told from others")


def _bucket(view: StackView, body: Body) -> Match | None:
    name = str(body["bucket"])
    there = view.look("s3", "HeadBucket", Bucket=name) is not None
    attributes = {"bucket": name, "id": name, "arn": f"arn:aws:s3:::{name}"}
    return Match(import_id=name, attributes=attributes) if there else None


def _log_group(view: StackView, body: Body) -> Match | None:
    name = str(body["name"])
    found = view.read("logs", "DescribeLogGroups", logGroupNamePrefix=name).get("logGroups", [])
    arn = f"arn:aws:logs:{view.region}:{view.account_id}:log-group:{name}"
    there = any(one["logGroupName"] == name for one in found)
    return Match(import_id=name, attributes={"name": name, "arn": arn}) if there else None


def _alarm(view: StackView, body: Body) -> Match | None:
    name, region = str(body["alarm_name"]), body.get("region")
    found = view.read("cloudwatch", "DescribeAlarms", region, AlarmNames=[name]).get("MetricAlarms", [])
    # A resource in another region than its provider's says so behind an @ (provider 6).
    suffix = f"@{region}" if region and region != view.region else ""
    return Match(import_id=name + suffix, attributes={"alarm_name": name}) if found else None


def _topic(view: StackView, body: Body) -> Match | None:
    arn = f"arn:aws:sns:{view.region}:{view.account_id}:{body['name']}"
    there = view.look("sns", "GetTopicAttributes", TopicArn=arn) is not None
    return Match(import_id=arn, attributes={"arn": arn, "id": arn}) if there else None


def _budget(view: StackView, body: Body) -> Match | None:
    found = view.look("budgets", "DescribeBudget", AccountId=view.account_id, BudgetName=body["name"])
    return Match(import_id=f"{view.account_id}:{body['name']}") if found is not None else None


def _record(view: StackView, body: Body) -> Match | None:
    if "provider" in body:
        raise Unlookable("the zone is another account's")
    zone = view.value(body["zone_id"])
    if zone is None:
        return None
    listed = view.read("route53", "ListResourceRecordSets", HostedZoneId=zone).get("ResourceRecordSets", [])
    wanted = (str(body["name"]).rstrip("."), body["type"], body.get("set_identifier"))
    there = any((str(r["Name"]).rstrip("."), r["Type"], r.get("SetIdentifier")) == wanted for r in listed)
    return Match(import_id="_".join((zone, *(part for part in wanted if part)))) if there else None


def _health_check(view: StackView, body: Body) -> Match | None:
    listed = view.read("route53", "ListHealthChecks").get("HealthChecks", [])
    fitting = [str(one["Id"]) for one in listed if _same_check(view, body, one["HealthCheckConfig"])]
    return only([Match(import_id=i, attributes={"id": i}) for i in fitting], view.named(body) or "the check")


def _same_check(view: StackView, body: Body, found: dict[str, Any]) -> bool:
    if found.get("Type") != body["type"]:
        return False
    if body["type"] == "CLOUDWATCH_METRIC":
        alarm = found.get("AlarmIdentifier", {})
        # By its name, which the plan gives, whether or not the alarm is there.
        name = view.resources["aws_cloudwatch_metric_alarm"]
        planned = view.referred(str(body["cloudwatch_alarm_name"]), "aws_cloudwatch_metric_alarm")
        expected = name[planned]["alarm_name"] if planned else body["cloudwatch_alarm_name"]
        return (alarm.get("Name"), alarm.get("Region")) == (expected, body["cloudwatch_alarm_region"])
    if body["type"] == "CALCULATED":
        children = [view.value(child) for child in body["child_healthchecks"]]
        return None not in children and set(found.get("ChildHealthChecks", [])) == set(children)
    return (found.get("FullyQualifiedDomainName"), found.get("Port"), found.get("ResourcePath")) == (
        body.get("fqdn"), body.get("port"), body.get("resource_path"),
    )  # fmt: skip


def _zone(view: StackView, body: Body) -> Match | None:
    if "provider" in body:
        raise Unlookable("the zone is another account's")
    name = str(body["name"]).rstrip(".")
    listed = view.read("route53", "ListHostedZonesByName", DNSName=name).get("HostedZones", [])
    private = bool(body.get("private_zone"))
    fitting = [
        str(z["Id"]).rpartition("/")[2] for z in listed
        if str(z["Name"]).rstrip(".") == name and bool(z.get("Config", {}).get("PrivateZone")) == private
    ]  # fmt: skip
    if len(fitting) > 1:
        raise Ambiguous(f"{len(fitting)} zones are named {name}")
    return Match(import_id=fitting[0], attributes={"zone_id": fitting[0], "id": fitting[0]}) if fitting else None


SERVICES: dict[str, Callable[[StackView, Body], Match | None]] = {
    "aws_budgets_budget": _budget,
    "aws_cloudwatch_log_group": _log_group,
    "aws_cloudwatch_metric_alarm": _alarm,
    "aws_eks_access_entry": _access_entry,
    "aws_eks_access_policy_association": _access_policy,
    "aws_eks_addon": _addon,
    "aws_eks_cluster": _cluster,
    "aws_eks_node_group": _node_group,
    "aws_eks_pod_identity_association": _pod_identity,
    "aws_iam_role": _role,
    "aws_iam_role_policy": _role_policy,
    "aws_iam_role_policy_attachment": _attachment,
    "aws_kms_alias": _alias,
    "aws_kms_key": _key,
    "aws_launch_template": _launch_template,
    "aws_route53_health_check": _health_check,
    "aws_route53_record": _record,
    "aws_s3_bucket": _bucket,
    "aws_sns_topic": _topic,
}
LOOKUPS: dict[str, Callable[[StackView, Body], Match | None]] = {
    "aws_eks_cluster": _cluster,
    "aws_route53_zone": _zone,
}
"""Data sources that others stand on."""
