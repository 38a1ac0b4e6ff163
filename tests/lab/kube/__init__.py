"""A small Kubernetes API server for tests; README.md says what it stands in for and what it does not do."""

from lab.kube.api import Api

__all__ = ["Api"]
