"""`python -m stacks`: what cdktf-cli runs. The environment is INFERFAB_ENV (default: dev)."""

import os

from inferfab.cli.fleet import sound_plan
from inferfab.cli.guard import guarded


def main() -> None:
    # Here, so that `guarded` can say which engine is missing.
    from inferfab.synthesis import require_stacks
    from inferfab.terraform import new_app

    from . import build

    fleet = sound_plan(os.environ.get("INFERFAB_ENV") or "dev")
    require_stacks(fleet)
    app = new_app()
    build(app, fleet)
    app.synth()


if __name__ == "__main__":
    guarded(main)
