"""Finding networks: by range and Name tag, then by what they stand in. Import ids: the provider's documentation."""

from collections.abc import Callable
from typing import Any

from inferfab.adopt.stack_view import Body, Finder, Match, StackView, Unlookable, only, tagged


def _filter(name: str, *values: str | None) -> list[dict[str, Any]]:
    return [{"Name": name, "Values": list(values)}]


def _vpc(view: StackView, body: Body) -> Match | None:
    found = view.read("ec2", "DescribeVpcs", Filters=_filter("tag:Name", view.named(body)))["Vpcs"]
    fitting = [Match(import_id=v["VpcId"], attributes={"id": v["VpcId"]}) for v in found
               if v["CidrBlock"] == body["cidr_block"]]  # fmt: skip
    return only(fitting, f"Name {view.named(body)} and range {body['cidr_block']}")


def _in_vpc(view: StackView, body: Body, operation: str, key: str) -> list[dict[str, Any]]:
    """Things of a VPC that is there; none where it is not."""
    vpc = view.value(body["vpc_id"])
    if vpc is None:
        return []
    listed: list[dict[str, Any]] = view.read("ec2", operation, Filters=_filter("vpc-id", vpc)).get(key, [])
    return listed


def _by_id(things: list[dict[str, Any]], key: str, what: str) -> Match | None:
    return only([Match(import_id=t[key], attributes={"id": t[key]}) for t in things], what)


def _subnet(view: StackView, body: Body) -> Match | None:
    there = _in_vpc(view, body, "DescribeSubnets", "Subnets")
    return _by_id([s for s in there if s["CidrBlock"] == body["cidr_block"]], "SubnetId", str(body["cidr_block"]))


def _internet_gateway(view: StackView, body: Body) -> Match | None:
    vpc = view.value(body["vpc_id"])
    if vpc is None:
        return None
    found = view.read("ec2", "DescribeInternetGateways", Filters=_filter("attachment.vpc-id", vpc))
    return _by_id(found["InternetGateways"], "InternetGatewayId", vpc)


def _address(view: StackView, body: Body) -> Match | None:
    name = view.named(body)
    found = view.read("ec2", "DescribeAddresses", Filters=_filter("tag:Name", name))["Addresses"]
    return _by_id(found, "AllocationId", f"Name {name}")


def _nat_gateway(view: StackView, body: Body) -> Match | None:
    subnet = view.value(body["subnet_id"])
    if subnet is None:
        return None
    found = view.read("ec2", "DescribeNatGateways", Filters=_filter("subnet-id", subnet)).get("NatGateways", [])
    return _by_id([n for n in found if n.get("State") in ("pending", "available")], "NatGatewayId", subnet)


def _route_table(view: StackView, body: Body) -> Match | None:
    name = view.named(body)
    there = _in_vpc(view, body, "DescribeRouteTables", "RouteTables")
    return _by_id([t for t in there if tagged(t, "Name") == name], "RouteTableId", f"Name {name}")


def _table(view: StackView, body: Body) -> dict[str, Any] | None:
    table = view.value(body["route_table_id"])
    if table is None:
        return None
    found = view.read("ec2", "DescribeRouteTables", Filters=_filter("route-table-id", table))["RouteTables"]
    return found[0] if found else None


def _association(view: StackView, body: Body) -> Match | None:
    table, subnet = _table(view, body), view.value(body["subnet_id"])
    if table is None or subnet is None:
        return None
    there = any(a.get("SubnetId") == subnet for a in table.get("Associations", []))
    return Match(import_id=f"{subnet}/{table['RouteTableId']}") if there else None


def _route(view: StackView, body: Body) -> Match | None:
    table, to = _table(view, body), body.get("destination_cidr_block")
    there = table is not None and any(r.get("DestinationCidrBlock") == to for r in table.get("Routes", []))
    return Match(import_id=f"{table['RouteTableId']}_{to}") if table is not None and there else None


def _security_group(view: StackView, body: Body) -> Match | None:
    there = _in_vpc(view, body, "DescribeSecurityGroups", "SecurityGroups")
    return _by_id([g for g in there if g["GroupName"] == body["name"]], "GroupId", str(body["name"]))


def _rule(*, egress: bool) -> Finder:
    def find(view: StackView, body: Body) -> Match | None:
        group = view.value(body["security_group_id"])
        other = view.value(body.get("referenced_security_group_id"))
        if group is None or (other is None and "referenced_security_group_id" in body):
            return None
        if "prefix_list_id" in body:
            raise Unlookable("rules over prefix lists are not looked up")
        rules = view.read("ec2", "DescribeSecurityGroupRules", Filters=_filter("group-id", group))
        every = str(body["ip_protocol"]) == "-1"
        ports = (-1, -1) if every else (int(body["from_port"]), int(body["to_port"]))
        fitting = [
            r for r in rules.get("SecurityGroupRules", [])
            if bool(r.get("IsEgress")) == egress
            and r.get("IpProtocol") == body["ip_protocol"]
            and (every or (r.get("FromPort", -1), r.get("ToPort", -1)) == ports)
            and r.get("CidrIpv4") == body.get("cidr_ipv4")
            and r.get("ReferencedGroupInfo", {}).get("GroupId") == other
        ]  # fmt: skip
        return _by_id(fitting, "SecurityGroupRuleId", f"a rule of {group}")

    return find


def _endpoint(view: StackView, body: Body) -> Match | None:
    there = _in_vpc(view, body, "DescribeVpcEndpoints", "VpcEndpoints")
    return _by_id([e for e in there if e["ServiceName"] == body["service_name"]], "VpcEndpointId",
                  str(body["service_name"]))  # fmt: skip


def _flow_log(view: StackView, body: Body) -> Match | None:
    vpc = view.value(body["vpc_id"])
    if vpc is None:
        return None
    found = view.read("ec2", "DescribeFlowLogs", Filters=_filter("resource-id", vpc)).get("FlowLogs", [])
    name = view.named(body)
    return _by_id([f for f in found if tagged(f, "Name") == name], "FlowLogId", f"Name {name}")


def _load_balancer(view: StackView, body: Body) -> Match | None:
    found = view.look("elbv2", "DescribeLoadBalancers", Names=[body["name"]])
    return _by_arn((found or {}).get("LoadBalancers", []), "LoadBalancerArn")


def _target_group(view: StackView, body: Body) -> Match | None:
    found = view.look("elbv2", "DescribeTargetGroups", Names=[body["name"]])
    return _by_arn((found or {}).get("TargetGroups", []), "TargetGroupArn")


def _listener(view: StackView, body: Body) -> Match | None:
    balancer = view.value(body["load_balancer_arn"])
    if balancer is None:
        return None
    found = (view.look("elbv2", "DescribeListeners", LoadBalancerArn=balancer) or {}).get("Listeners", [])
    return _by_arn([one for one in found if one["Port"] == body["port"]], "ListenerArn")


def _by_arn(things: list[dict[str, Any]], key: str) -> Match | None:
    arns = [str(t[key]) for t in things]
    return only([Match(import_id=a, attributes={"arn": a, "id": a}) for a in arns], "the name")


NETWORK: dict[str, Callable[[StackView, Body], Match | None]] = {
    "aws_eip": _address,
    "aws_flow_log": _flow_log,
    "aws_internet_gateway": _internet_gateway,
    "aws_lb": _load_balancer,
    "aws_lb_listener": _listener,
    "aws_lb_target_group": _target_group,
    "aws_nat_gateway": _nat_gateway,
    "aws_route": _route,
    "aws_route_table": _route_table,
    "aws_route_table_association": _association,
    "aws_security_group": _security_group,
    "aws_subnet": _subnet,
    "aws_vpc": _vpc,
    "aws_vpc_endpoint": _endpoint,
    "aws_vpc_security_group_egress_rule": _rule(egress=True),
    "aws_vpc_security_group_ingress_rule": _rule(egress=False),
}
