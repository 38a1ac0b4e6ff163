"""Which resources the API serves: the built-in ones, and those that CustomResourceDefinitions add."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from lab.kube.statuses import Json, qualified

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True)
class Resource:
    """One resource of one version. Objects are stored by group and plural, so that all versions share them."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    status: bool = False  # has a status subresource
    status_on_create: bool = False  # kubelets register Nodes with their status
    generation: bool = False  # metadata.generation counts changes of what is wanted
    unconditional_update: bool = True  # PUT without a resourceVersion is taken
    returns_deleted: bool = False  # DELETE answers with the object, not with a Status
    custom: bool = False  # from a CustomResourceDefinition: no strategic merge patch
    fields: tuple[str, ...] = ()  # field selectors beside metadata.name and metadata.namespace
    singular: str = ""

    @property
    def api_version(self) -> str:
        """`v1` or `apps/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """`nodes` or `deployments.apps`."""
        return qualified(self.group, self.plural)


_WORKLOAD = Resource("apps", "v1", "", "", status=True, generation=True, categories=("all",))
_REVIEW = ("create",)
CRDS = Resource(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
    short_names=("crd", "crds"),
    categories=("api-extensions",),
    status=True,
    generation=True,
)
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False, short_names=("ns",), status=True)
NODES = Resource(
    "",
    "v1",
    "nodes",
    "Node",
    namespaced=False,
    short_names=("no",),
    status=True,
    status_on_create=True,
    fields=("spec.unschedulable",),
)
PODS = Resource(
    "",
    "v1",
    "pods",
    "Pod",
    short_names=("po",),
    categories=("all",),
    status=True,
    returns_deleted=True,
    fields=("spec.nodeName", "spec.restartPolicy", "status.phase"),
)
BUDGETS = Resource(
    "policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", short_names=("pdb",), status=True, generation=True
)
BUILT_IN: tuple[Resource, ...] = (
    Resource("", "v1", "configmaps", "ConfigMap", short_names=("cm",)),
    Resource(
        "",
        "v1",
        "events",
        "Event",
        short_names=("ev",),
        fields=(
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "reason",
            "type",
        ),
    ),
    NAMESPACES,
    NODES,
    PODS,
    Resource("", "v1", "secrets", "Secret", fields=("type",)),
    Resource("", "v1", "serviceaccounts", "ServiceAccount", short_names=("sa",), returns_deleted=True),
    replace(_WORKLOAD, plural="daemonsets", kind="DaemonSet", short_names=("ds",)),
    replace(_WORKLOAD, plural="deployments", kind="Deployment", short_names=("deploy",)),
    replace(_WORKLOAD, plural="replicasets", kind="ReplicaSet", short_names=("rs",)),
    BUDGETS,
    Resource("coordination.k8s.io", "v1", "leases", "Lease", unconditional_update=False),
    CRDS,
    Resource("authentication.k8s.io", "v1", "tokenreviews", "TokenReview", namespaced=False, verbs=_REVIEW),
    Resource(
        "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False, verbs=_REVIEW
    ),
    Resource(
        "authorization.k8s.io",
        "v1",
        "selfsubjectaccessreviews",
        "SelfSubjectAccessReview",
        namespaced=False,
        verbs=_REVIEW,
    ),
)


class Registry:
    """All resources that are served now."""

    def __init__(self, definitions: Callable[[], Iterable[Json]]) -> None:
        """`definitions` returns the CustomResourceDefinitions that exist."""
        self._definitions = definitions

    def all(self) -> list[Resource]:
        """Built-in ones first."""
        return [*BUILT_IN, *(served for crd in self._definitions() for served in of_definition(crd))]

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        """The resource behind a URL; None if it is not served."""
        for found in self.all():
            if (found.group, found.version, found.plural) == (group, version, plural):
                return found
        return None


def of_definition(crd: Json) -> list[Resource]:
    """The resources that a CustomResourceDefinition serves, one for each served version."""
    spec, names = crd["spec"], crd["spec"]["names"]
    return [
        Resource(
            spec["group"],
            version["name"],
            names["plural"],
            names["kind"],
            namespaced=spec["scope"] == "Namespaced",
            short_names=tuple(names.get("shortNames") or ()),
            categories=tuple(names.get("categories") or ()),
            status="status" in (version.get("subresources") or {}),
            generation=True,
            unconditional_update=False,
            custom=True,
            singular=names.get("singular") or names["kind"].lower(),
        )
        for version in spec["versions"]
        if version.get("served")
    ]
