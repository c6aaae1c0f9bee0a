"""Where images and charts come from: the one place that turns a public reference into the one that is pulled."""

from inferfab.environment.environment import Environment
from inferfab.record import Record

_DOCKER = "docker.io"
_CHARTS = "charts"


class ImageSource(Record):
    """Decided once for an environment; what is rendered and what charts are told read it."""

    mirror: str | None = None
    """Registry and path in front of the whole public reference. None: images come from their own registries."""
    engine_registry: str | None = None
    """Registry and path of Dynamo's images alone (``engine.image_registry``), by the last part of their names."""
    pull_secret: str | None = None
    """Secret that pods name to pull with."""

    def repository(self, public: str) -> str:
        """Where an image, or a folder of images, of a public registry is pulled from."""
        return f"{self.mirror}/{full_repository(public)}" if self.mirror else public

    def engine(self, public: str) -> str:
        """The same for an image that ``engine.image_registry`` may move."""
        if self.mirror is None and self.engine_registry is not None:
            return f"{self.engine_registry.rstrip('/')}/{public.rsplit('/', 1)[-1]}"
        return self.repository(public)

    def reference(self, public: str) -> str:
        """The same with the tag or digest behind it."""
        name, mark, rest = public.partition("@") if "@" in public else _tagged(public)
        return f"{self.repository(name)}{mark}{rest}"

    @property
    def charts(self) -> str | None:
        """OCI repository of the charts; None: each chart's own."""
        return f"oci://{self.mirror}/{_CHARTS}" if self.mirror else None

    @property
    def pull_secrets(self) -> list[dict[str, str]]:
        """``imagePullSecrets`` of a pod."""
        return [{"name": self.pull_secret}] if self.pull_secret else []


def full_repository(public: str) -> str:
    """With its host: a first part without a dot is a path of Docker's registry (distribution reference grammar)."""
    host, _, path = public.partition("/")
    if path and ("." in host or ":" in host or host == "localhost"):
        return public
    return f"{_DOCKER}/{public}" if "/" in public else f"{_DOCKER}/library/{public}"


def _tagged(reference: str) -> tuple[str, str, str]:
    head, slash, last = reference.rpartition("/")
    name, mark, tag = last.partition(":")
    return f"{head}{slash}{name}", mark, tag


def plan_images(environment: Environment) -> ImageSource:
    """From the environment's ``images`` and ``engine.image_registry``."""
    return ImageSource(
        mirror=environment.images.mirror,
        engine_registry=environment.engine.image_registry,
        pull_secret=environment.images.pull_secret,
    )
