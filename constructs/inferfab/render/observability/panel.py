"""Dashboards as Grafana keeps them: JSON made of a few typed panels.

Schema: Grafana's dashboard JSON model, version 39 (Grafana 11); newer ones migrate it when they load it.
"""

import json

from pydantic import JsonValue

from inferfab.record import Record

SCHEMA = 39
_SOURCE: dict[str, JsonValue] = {"type": "prometheus", "uid": "${datasource}"}
_WIDTH, _HEIGHT = 24, 8


class Query(Record):
    """One expression and how its series are named."""

    expr: str
    legend: str


class Panel(Record):
    """One picture."""

    title: str
    unit: str
    """Grafana's id of a unit (``s``, ``Bps``, ``percentunit``)."""
    queries: tuple[Query, ...]
    text: str = ""
    """What it shows, and what misleads."""
    kind: str = "timeseries"
    width: int = 8


class Row(Record):
    title: str
    panels: tuple[Panel, ...]


class Variable(Record):
    """A choice at the top; its values are those of a label."""

    name: str
    series: str


class Dashboard(Record):
    uid: str
    title: str
    text: str
    variables: tuple[Variable, ...]
    rows: tuple[Row, ...]

    @property
    def panels(self) -> tuple[Panel, ...]:
        return tuple(p for row in self.rows for p in row.panels)

    def to_json(self) -> str:
        """What Grafana loads; the same bytes for the same dashboard."""
        panels: list[JsonValue] = []
        at = 0
        for row in self.rows:
            panels.append(
                {
                    "id": len(panels) + 1, "type": "row", "title": row.title, "collapsed": False, "panels": [],
                    "gridPos": {"x": 0, "y": at, "w": _WIDTH, "h": 1},
                }
            )  # fmt: skip
            at += 1
            x = 0
            for panel in row.panels:
                if x + panel.width > _WIDTH:
                    x, at = 0, at + _HEIGHT
                panels.append(_panel(panel, len(panels) + 1, x, at))
                x += panel.width
            at += _HEIGHT
        made: dict[str, JsonValue] = {
            "uid": self.uid,
            "title": self.title,
            "description": self.text,
            "tags": ["inferfab"],
            "schemaVersion": SCHEMA,
            "editable": False,
            "graphTooltip": 1,
            "refresh": "30s",
            "time": {"from": "now-6h", "to": "now"},
            "timezone": "utc",
            "templating": {"list": [_datasource(), *(_variable(v) for v in self.variables)]},
            "annotations": {"list": [_alerts_shown()]},
            "links": [
                {
                    "type": "dashboards", "tags": ["inferfab"], "title": "Fleet", "asDropdown": True,
                    "includeVars": True, "keepTime": True,
                }
            ],
            "panels": panels,
        }  # fmt: skip
        return json.dumps(made, indent=1, ensure_ascii=False)


def _datasource() -> JsonValue:
    return {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus", "hide": 0}


def _variable(variable: Variable) -> JsonValue:
    query = f"label_values({variable.series}, {variable.name})"
    return {
        "name": variable.name, "label": variable.name, "type": "query", "datasource": _SOURCE, "query": query,
        "definition": query, "refresh": 2, "includeAll": True, "multi": True, "allValue": ".*", "sort": 1,
        "current": {"text": "All", "value": "$__all"},
    }  # fmt: skip


def _alerts_shown() -> JsonValue:
    return {
        "name": "Alerts that page", "datasource": _SOURCE, "enable": True, "iconColor": "red",
        "expr": 'ALERTS{alertname=~"Inferfab.+",alertstate="firing",severity="page"}', "titleFormat": "{{alertname}}",
    }  # fmt: skip


def _panel(panel: Panel, id: int, x: int, y: int) -> JsonValue:
    targets: list[JsonValue] = [
        {
            "refId": chr(ord("A") + n), "datasource": _SOURCE, "expr": query.expr, "legendFormat": query.legend,
            "range": panel.kind == "timeseries", "instant": panel.kind != "timeseries",
            "format": "table" if panel.kind == "table" else "time_series",
        }
        for n, query in enumerate(panel.queries)
    ]  # fmt: skip
    made: dict[str, JsonValue] = {
        "id": id,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.text,
        "datasource": _SOURCE,
        "gridPos": {"x": x, "y": y, "w": panel.width, "h": _HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": targets,
    }
    if panel.kind == "timeseries":
        made["options"] = {
            "legend": {"displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull", "max"]},
            "tooltip": {"mode": "multi", "sort": "desc"},
        }
    elif panel.kind == "stat":
        made["options"] = {"reduceOptions": {"calcs": ["lastNotNull"]}, "colorMode": "value"}
    return made
