"""Classes for the Google provider, one module a service: ``from inferfab.terraform.google import container``."""
