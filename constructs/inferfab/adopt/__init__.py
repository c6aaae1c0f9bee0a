"""Resources that are in an account already under the names that the stacks give: found, and written as imports."""
