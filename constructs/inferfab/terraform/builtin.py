"""What Terraform has built in and needs no provider."""

from typing import Unpack

from inferfab.terraform.base import Resource, ResourceArguments, StringAttribute
from inferfab.terraform.engine import Construct


class TerraformDataArguments(ResourceArguments, total=False):
    input: object
    triggers_replace: object


class TerraformData(Resource):
    """``terraform_data``: keeps a value in the state, and is replaced when another one changes."""

    TERRAFORM_TYPE = "terraform_data"
    ARGUMENTS = TerraformDataArguments

    id = StringAttribute()
    output = StringAttribute()

    def __init__(self, scope: Construct, construct_id: str, /, **arguments: Unpack[TerraformDataArguments]) -> None:
        super().__init__(scope, construct_id, arguments)
