"""Apart from the engine, so that the command line knows the error where no engine can be imported."""


class EngineError(Exception):
    """The Terraform engine cannot run on this machine; the message says what to install."""
