"""Classes for the AWS provider, one module a service: ``from inferfab.terraform.aws import eks``."""
