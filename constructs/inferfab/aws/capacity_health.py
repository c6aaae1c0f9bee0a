"""Whether one cell has room for one tier, as Route 53 sees it."""

from typing import Annotated

from pydantic import Field, PositiveInt

from inferfab.aws.optional import optional
from inferfab.record import Record
from inferfab.terraform import Construct
from inferfab.terraform.aws import cloudwatch, route53

PERIOD_SECONDS = 60
"""Route 53 reads metrics of standard resolution only."""


class CapacityAlarmSpec(Record):
    """When a cell counts as full."""

    namespace: str = "Inferfab"
    metric: str = "FreeCapacityPercent"
    """Published every minute by the cell, with the dimensions ``cell`` and ``tier``."""
    full_below_percent: Annotated[float, Field(gt=0, lt=100)] = 10
    """Less free capacity than this is full. Default: 10 %."""
    full_for_minutes: Annotated[PositiveInt, Field(le=60)] = 3
    """So many minutes in a row, each below the mark. Default: 3. Route 53 judges the alarm's data by itself, and
    its own record of an alarm knows a number of periods but no "m out of n"; with all of n, the alarm and Route 53
    cannot come to different answers.
    """


class CapacityHealthSpec(Record):
    """What :class:`CapacityHealth` needs."""

    name: str
    """Names alarm and health checks: ``<environment>-<cell>-<tier>``."""
    cell: str
    tier: str
    region: str
    """Where the cell publishes its number: the alarm lives there, wherever the stack does."""
    alarm: CapacityAlarmSpec = CapacityAlarmSpec()
    gateway_check_id: str | None = None
    """Health check of the cell's gateway that has to pass too. Default: capacity alone decides."""
    alerts_topic_arn: str | None = None
    """SNS topic in the cell's region that hears when it is full, or falls silent. Default: none."""


class CapacityHealth(Construct):
    """A capacity alarm, the health check that reads it, and one that joins it with the gateway's.

    When no number comes, nothing is known about capacity, so nothing moves: missing data leaves the alarm without
    an answer, the health check keeps its last one (a new one is healthy), and the topic hears of it. Counting
    silence as full would empty healthy cells whenever monitoring breaks; counting it as room would fill a full one.

    Example::

        from inferfab.aws.capacity_health import CapacityHealth, CapacityHealthSpec

        health = CapacityHealth(
            stack,
            "capacity",
            CapacityHealthSpec(name="prod-use1-a-standard", cell="use1-a", tier="standard", region="us-east-1"),
        )
    """

    def __init__(self, scope: Construct, id: str, spec: CapacityHealthSpec) -> None:
        super().__init__(scope, id)
        topics = optional([spec.alerts_topic_arn] if spec.alerts_topic_arn else None)
        alarm = cloudwatch.CloudwatchMetricAlarm(
            self,
            "alarm",
            region=spec.region,
            alarm_name=f"{spec.name}-full",
            alarm_description=f"Cell {spec.cell} has hardly room for {spec.tier}: DNS sends new requests elsewhere",
            namespace=spec.alarm.namespace,
            metric_name=spec.alarm.metric,
            dimensions={"cell": spec.cell, "tier": spec.tier},
            statistic="Average",
            period=PERIOD_SECONDS,
            comparison_operator="LessThanThreshold",
            threshold=spec.alarm.full_below_percent,
            evaluation_periods=spec.alarm.full_for_minutes,
            datapoints_to_alarm=spec.alarm.full_for_minutes,
            treat_missing_data="missing",
            alarm_actions=topics,
            insufficient_data_actions=topics,
            tags={"Name": f"{spec.name}-full"},
        )
        check = route53.Route53HealthCheck(
            self,
            "check",
            type="CLOUDWATCH_METRIC",
            cloudwatch_alarm_name=alarm.alarm_name,
            cloudwatch_alarm_region=spec.region,
            insufficient_data_health_status="LastKnownStatus",
            # Route 53 copies the alarm's settings when the check is written, and does not notice later changes.
            triggers={name: str(value) for name, value in spec.alarm.model_dump().items()},
            tags={"Name": f"{spec.name}-capacity"},
        )
        self.health_check_id = check.id
        """The check to put on the cell's record: both that it is up and that it has room."""
        if spec.gateway_check_id is not None:
            joined = route53.Route53HealthCheck(
                self,
                "both",
                type="CALCULATED",
                child_healthchecks=[spec.gateway_check_id, check.id],
                child_health_threshold=2,
                tags={"Name": f"{spec.name}-up-and-free"},
            )
            self.health_check_id = joined.id
