"""`python -m stacks`: what cdktf-cli runs. The environment is INFERFAB_ENV (default: dev)."""

import os

from inferfab.cli.fleet import sound_plan
from inferfab.cli.guard import guarded
from inferfab.terraform import new_app

from . import build


def main() -> None:
    app = new_app()
    build(app, sound_plan(os.environ.get("INFERFAB_ENV") or "dev"))
    app.synth()


if __name__ == "__main__":
    guarded(main)
