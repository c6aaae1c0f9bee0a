"""inferfab: one typed environment file in, one checked LLM-inference fleet out.

The public surface is small on purpose::

    from inferfab import load, plan, check

    loaded = load("environments/prod.yaml")   # Environment + line numbers, or findings
    fleet = plan(loaded.environment)          # FleetPlan: frozen, JSON in and out
    findings = check(loaded, fleet)           # every cross-layer rule

Importing this package never loads cdktf, boto3 or a provider.
"""
