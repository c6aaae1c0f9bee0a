"""Who reaches clusters and gateways, and shares of traffic."""

from collections.abc import Iterator

from inferfab.checks.facts import Facts
from inferfab.checks.networks import parsed
from inferfab.checks.registry import Problem, rule
from inferfab.checks.remedies import at_least, at_most, plain


@rule(
    "IF-NET-004",
    "shares of traffic that do not add up",
    stage="reference",
    joins=("environment",),
    why="requests beyond 100 % go nowhere, and below it some cells would be idle without anybody having said so.",
    do="make the shares add up to 1, or leave some out to share the rest.",
    source="inferfab's environment format",
)
def shares_add_up(facts: Facts) -> Iterator[Problem]:
    cells = facts.environment.cells
    if len(cells) != len(facts.loaded.declared["cells"]):
        return
    stated = [c.traffic_share for c in cells.values() if c.traffic_share is not None]
    total = sum(stated)
    last = next((n for n in reversed(cells) if cells[n].traffic_share is not None), None)
    if last is None:
        return
    path = ("cells", last, "traffic_share")
    if total > 1 + 1e-9:
        yield Problem(
            path,
            f"the shares add up to {plain(round(total, 9))}",
            f"take {at_least(total - 1, 9)} away",
            value=f"{total:g}",
        )
    elif len(stated) == len(cells) and total < 1 - 1e-9:
        yield Problem(
            path, f"the shares add up to {plain(round(total, 9))}", f"add {at_most(1 - total, 9)}", value=f"{total:g}"
        )
    elif len(stated) < len(cells) and total > 1 - 1e-9:
        silent = ", ".join(f"`{name}`" for name, cell in cells.items() if cell.traffic_share is None)
        yield Problem(
            path,
            f"the shares add up to 1, and nothing is left for {silent}",
            "take something away, or write `traffic_share: 0` there",
            value=f"{total:g}",
            severity="warning",
        )


@rule(
    "IF-NET-005",
    "clusters open to everybody",
    stage="reference",
    joins=("environment", "cloud", "cluster"),
    why="a Kubernetes endpoint that the whole internet reaches needs only one leaked credential.",
    do="name the ranges of your runners, or use `kind: private`.",
    source="EKS best practices: cluster endpoint access",
)
def endpoint_not_open(facts: Facts) -> Iterator[Problem]:
    access = facts.environment.access
    if access.kind != "public":
        return
    for position, cidr in enumerate(access.allowed_cidrs):
        network = parsed(cidr)
        if network and network.prefixlen < 8:
            yield Problem(
                ("access", "allowed_cidrs", position),
                f"{cidr} is (nearly) the whole internet",
                "name the ranges of your runners",
            )


@rule(
    "IF-NET-008",
    "a cluster that is there in a network that is not",
    joins=("environment", "cloud", "cluster"),
    why="nodes join a cluster only from a network that reaches its endpoint and its pods; a new network is joined to "
    "nothing, and on AWS a node group takes subnets of the cluster's own VPC only.",
    do="name the cluster's network with `kind: existing`, or let a new cluster be made.",
    source="EKS API reference: CreateNodegroup, subnets; GKE: node pools use their cluster's network",
)
def clusters_in_their_network(facts: Facts) -> Iterator[Problem]:
    for name, cell in facts.environment.cells.items():
        if cell.cluster.existing is not None and cell.network.kind == "new":
            yield Problem(
                ("cells", name, "network", "kind"),
                f"cluster `{cell.cluster.existing}` is there already, and its network is not this new one",
                "name the cluster's network and subnets under `kind: existing`, or remove `cluster.existing`",
            )


@rule(
    "IF-NET-009",
    "a private entrance under public names",
    joins=("environment", "cloud"),
    why="the zone is public, so its records would tell everybody addresses inside the network, and nobody outside "
    "could use them; a private hosted zone is not supported yet.",
    do="make the gateways public, or leave `routing` out and use the load balancers' own names.",
    source="Route 53 developer guide: alias records to internal load balancers; working with private hosted zones",
)
def names_are_reachable(facts: Facts) -> Iterator[Problem]:
    if facts.environment.routing is None:
        return
    for name, cell in facts.environment.cells.items():
        if cell.cloud == "aws" and not cell.gateways.public:
            yield Problem(
                ("cells", name, "gateways", "public"),
                "the load balancer would be internal, and `routing` puts its addresses into a public zone",
                "write `public: true`, or leave `routing` out: a private hosted zone is not supported yet",
                value="false",
            )
        elif cell.cloud == "aws" and cell.network.kind == "existing" and not cell.network.public_subnet_ids:
            yield Problem(
                ("cells", name, "network"),
                "without `public_subnet_ids` the load balancer is internal, and `routing` puts its addresses into a "
                "public zone",
                "name `public_subnet_ids`, or leave `routing` out: a private hosted zone is not supported yet",
                of_key=True,
            )


@rule(
    "IF-NET-013",
    "a load balancer in fewer zones than the gateways behind it",
    severity="warning",
    stage="reference",
    joins=("environment", "cloud", "cluster"),
    why="a load balancer sends to targets only in zones where it has a subnet; crossing zones changes nothing for the "
    "others. Gateways stand on system nodes, one zone after the other, and those elsewhere get no request.",
    do="name a public subnet in each zone of `node_subnet_ids`, or node subnets in fewer zones.",
    source="Elastic Load Balancing user guide, Network Load Balancers: Availability Zones of targets",
)
def balancer_is_where_gateways_are(facts: Facts) -> Iterator[Problem]:
    for name, cell in facts.environment.cells.items():
        network = cell.network
        if network.kind != "existing" or cell.cloud != "aws" or cell.racks is not None or not cell.gateways.public:
            continue
        nodes, public = len(set(network.node_subnet_ids)), len(set(network.public_subnet_ids))
        if not public or public >= nodes or not cell.gateways.replicas:
            continue
        without = nodes - public
        # So many zones without a subnet may have all gateways, however evenly they spread.
        all_lost = without >= cell.gateways.replicas
        yield Problem(
            ("cells", name, "network", "public_subnet_ids"),
            f"the load balancer has subnets in {public} of {nodes} zones of the system nodes, and gateways in the "
            f"other{'s' if without > 1 else ''} get no request"
            + (f"; all {cell.gateways.replicas} may stand there" if all_lost else ""),
            f"name {without} more public subnet{'s' if without > 1 else ''}, in the zones of the other node subnets",
            severity="error" if all_lost else "warning",
            of_key=True,
        )
