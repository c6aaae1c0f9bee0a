"""What outlives what: Terraform destroys in the reverse order of its references and ``depends_on``."""

import json
import re
from typing import Any

import pytest
from synthesized import ALL, Document, fleet, stacks

ROUTED = {
    "aws_route",
    "aws_nat_gateway",
    "aws_internet_gateway",
    "aws_vpc_endpoint",
    "aws_route_table_association",
    "aws_vpc_security_group_ingress_rule",
    "aws_vpc_security_group_egress_rule",
}
APART = re.compile(r"/control-plane-\d/|/load-balancer-group/|/cluster/api-from-")
"""Nodes do not stand in the control plane's subnets, are not the load balancer, and not a runner at the API."""


def foundations(name: str) -> list[Document]:
    return [stacks(name)[f"{fleet(name).ownership.name}-{cell.name}-foundation"] for cell in fleet(name).cells]


def resources(document: Document) -> dict[str, Any]:
    return {f"{kind}.{name}": body for kind, named in document["resource"].items() for name, body in named.items()}


def outliving(document: Document, address: str) -> set[str]:
    """Everything that is made before a resource, and destroyed after it."""
    known = resources(document)
    seen: set[str] = set()
    ahead = [address]
    while ahead:
        text = json.dumps(known[ahead.pop()])
        named = {each for each in re.findall(r"aws_[a-z0-9_]+\.[A-Za-z0-9_-]+", text) if each in known}
        ahead += named - seen
        seen |= named
    return seen


@pytest.mark.parametrize("name", ALL)
def test_nodes_drain_while_their_network_works(name: str) -> None:
    """Routes, NAT, associations, endpoints and the rules of the inference group outlive every node."""
    for document in foundations(name):
        known = resources(document)
        needed = {
            address
            for address, body in known.items()
            if address.split(".")[0] in ROUTED and not APART.search(body["//"]["metadata"]["path"])
        }
        assert any("security_group_egress_rule" in address for address in needed)
        groups = [address for address in known if address.startswith("aws_eks_node_group.")]
        assert len(groups) > 1
        for group in groups:
            assert not needed - outliving(document, group), group


@pytest.mark.parametrize("name", ALL)
def test_an_internet_facing_load_balancer_leaves_before_its_gateway(name: str) -> None:
    """AWS makes none without a gateway, and detaches none while a load balancer has public addresses."""
    for document in foundations(name):
        gateways = {address for address in resources(document) if address.startswith("aws_internet_gateway.")}
        for address, body in resources(document).items():
            if address.startswith("aws_lb.") and not body["internal"]:
                assert gateways <= outliving(document, address)


def test_the_order_is_said_in_few_words() -> None:
    """Only the last of each chain is named: the rules of one group are the most of it."""
    for document in foundations("prod"):
        for address, body in resources(document).items():
            if address.startswith("aws_eks_node_group."):
                assert len(body["depends_on"]) == len(set(body["depends_on"])) <= 40
