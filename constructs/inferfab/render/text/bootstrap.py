"""What `bootstrap` wrote, and what to run with it."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from inferfab.plan.fleet import Ownership
from inferfab.render.text.findings import printable


def bootstrap_text(
    own: Ownership, folder: Path, again: Sequence[str], launchers: Sequence[str], *, in_bucket: bool
) -> str:
    """The commands that follow, in order.

    :param folder: of the stack.
    :param again: the command line that was run, without ``--in-bucket``.
    :param launchers: services whose service-linked roles the environment's clusters need.
    """
    state, account = own.state, own.accounts.aws
    assert state is not None and account is not None
    stack = folder.name
    terraform = f"terraform -chdir={shlex.quote(str(folder))}"
    repeated = shlex.join([*again, "--in-bucket"])
    key = state.key(own.name, stack)
    if in_bucket:
        lines = [
            f"wrote {folder}: its own state belongs to s3://{state.bucket}/{key}",
            "",
            "Right after the bucket was made from this folder, move its state there; say yes when Terraform asks:",
            f"   {terraform} init -migrate-state",
            "Anywhere else, and ever after:",
            f"   {terraform} init",
            "Either way this finds nothing to change. Then the file that the state began in is a leftover:",
            f"   {terraform} plan",
            f"   rm -f {shlex.quote(str(folder / f'{stack}.tfstate'))}",
        ]
    else:
        lines = [
            f"wrote {folder}: bucket {state.bucket} and key {own.aws.state_key} in {state.region}",
            "",
            f"1. Make them, with credentials of account {account.account_id} that may make buckets and keys:",
            f"   {terraform} init",
            f"   {terraform} apply",
            "2. Move the state of this stack into the bucket that it made; say yes when Terraform asks to copy it:",
            f"   {repeated}",
            f"   {terraform} init -migrate-state",
            '3. Once in the account, for what starts nodes ("has been taken in this account": it is there already):',
            *(f"   aws iam create-service-linked-role --aws-service-name {service}" for service in launchers),
            "",
            f"Until step 2 is done, {folder / f'{stack}.tfstate'} is the only copy of that state.",
            f"Where the bucket is there already, only: {repeated}",
            "With OpenTofu: `tofu` for `terraform`.",
        ]
    return "".join(printable(line) + "\n" for line in lines)
