"""tools/plan_against_moto.py as a module; the folder is no package."""

from moto_server import plan_against_moto

tool = plan_against_moto()
