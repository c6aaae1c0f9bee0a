"""The model cache: scripts that fetch, and the pods that run them."""

import hashlib
from typing import Any

from inferfab.model_manifest import MANIFEST, NOT_OURS, NOT_READ
from inferfab.plan.fleet import CellPlan
from inferfab.plan.groups import SYSTEM_LABELS
from inferfab.plan.names import SERVING_NAMESPACE, token_secret_name
from inferfab.plan.served import MODELS_PATH
from inferfab.plan.service_accounts import service_accounts
from inferfab.plan.serving.model_cache import COMPLETE, CacheHolder, ModelSource
from inferfab.render.serving.graph import tolerations
from inferfab.render.templates import render

_SCRIPTS = {"s3": "fetch_from_s3.sh", "gs": "fetch_from_gcs.sh"}
_HUB = "fetch_from_hub.sh"


def model_cache_file(cell: CellPlan) -> str:
    """Service account, scripts, and a DaemonSet for each kind of node."""
    holders = [_holder(cell, holder) for holder in cell.serving.cache.holders]
    used = sorted({fetch["script"] for holder in holders for fetch in holder["fetches"]})
    scripts = {name: fetch_script(name) for name in used}
    return render(
        "dynamo/model_cache.yaml.j2",
        namespace=SERVING_NAMESPACE,
        account=service_accounts().model_cache.name,
        google_account=cell.gcp.model_reader_email if cell.gcp else "",
        scripts_name="model-cache-scripts",
        scripts=scripts,
        scripts_digest=hashlib.sha256("".join(scripts.values()).encode()).hexdigest()[:12],
        holders=holders,
        pull_secret=cell.images.pull_secret,
        models_path=MODELS_PATH,
    )


def fetch_script(name: str, models_path: str = MODELS_PATH) -> str:
    """One of the scripts that fetch."""
    return render(
        f"dynamo/{name}.j2",
        models_path=models_path,
        complete=COMPLETE,
        manifest=MANIFEST,
        not_read=list(NOT_READ),
        not_ours=list(NOT_OURS),
    )


def _holder(cell: CellPlan, holder: CacheHolder) -> dict[str, Any]:
    group = cell.node_group(holder.node_group) if holder.node_group else None
    what = "Weights" if holder.weights else "Tokenizer, chat template and configuration"
    where = f"nodes of {holder.node_group}" if holder.node_group else "system nodes, for routers over tiers"
    return {
        "plan": holder,
        "title": f"{what} of {holder.model} on {where}.",
        "node_selector": group.labels if group else SYSTEM_LABELS,
        "tolerations": tolerations(group),
        "fetches": [
            fetch
            for number, source in enumerate(holder.sources)
            for fetch in _fetches(number, source, holder, cell.serving.cache.store_image)
        ],
    }


def _fetches(number: int, source: ModelSource, holder: CacheHolder, store_image: str) -> list[dict[str, Any]]:
    """From the store if it is there, then from the hub if it may be; either does nothing when a folder is complete."""
    found: list[dict[str, Any]] = []
    small = "no" if holder.weights else "yes"
    pinned = source.manifest_sha256 or "none"
    if source.store_uri:
        script = _SCRIPTS[source.store_uri.split("://", 1)[0]]
        arguments = (source.folder, source.store_uri, "no" if source.hub else "yes", small, pinned)
        found.append(
            {
                "name": f"store-{number}",
                "image": store_image,
                "script": script,
                "arguments": arguments,
                "token_secret": None,
                "comment": f"models.{source.model}: from the model store",
            }
        )
    if source.hub:
        found.append(
            {
                "name": f"hub-{number}",
                "image": holder.image,
                "script": _HUB,
                "arguments": (source.folder, source.source, source.revision, small, pinned),
                "token_secret": token_secret_name(source.token_secret) if source.token_secret else None,
                "comment": f"models.{source.model}: from the hub, where the store does not have it",
            }
        )
    return found
