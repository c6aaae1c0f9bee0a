"""Review of a change before it is merged: Terraform plans and FleetPlans in, one verdict out.

Pure Python: no cloud, no provider, no cdktf. Nothing secret of a plan leaves :mod:`inferfab.review.changes`.
"""

from inferfab.review.errors import BadPlan, ReviewError
from inferfab.review.report import Report
from inferfab.review.review import Asked, Reviewed, review

__all__ = ["Asked", "BadPlan", "Report", "ReviewError", "Reviewed", "review"]
