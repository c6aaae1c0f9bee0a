"""Pure decisions: from an environment and the catalog to one :class:`~inferfab.plan.fleet.FleetPlan`.

No jsii, no network, no clock. Whatever the fleet will be is decided here once; everything else reads it.
"""
