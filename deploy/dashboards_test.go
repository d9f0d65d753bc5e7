package deploy_test

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

var updateDashboards = flag.Bool("update", false, "rewrite the JSON files of the dashboards from dashboards.yaml")

// dashboard is an entry of dashboards.yaml.
type dashboard struct {
	Title  string
	Panels []struct {
		Title, Unit string
		Queries     map[string]string // PromQL by legend
	}
}

// object is a JSON object of Grafana.
type object = map[string]any

// macros are the abbreviations in the queries of dashboards.yaml.
var macros = strings.NewReplacer("{$i}", `{instance=~"$instance"}`, ",$i}", `,instance=~"$instance"}`, "{$g}", `{game=~"$game"}`)

// readDashboards returns the dashboards by the names of their files.
func readDashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	data, err := os.ReadFile("monitoring/dashboards.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]dashboard
	if err := yaml.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// grafana returns a dashboard as Grafana imports it: panels two in a row, with a choice of the
// data source, the nodes and the games.
func (d dashboard) grafana(name string) object {
	source := object{"type": "prometheus", "uid": "${datasource}"}
	var panels []object
	for i, p := range d.Panels {
		var targets []object
		for _, legend := range slices.Sorted(maps.Keys(p.Queries)) {
			targets = append(targets, object{"refId": string(rune('A' + len(targets))), "datasource": source,
				"expr": macros.Replace(p.Queries[legend]), "legendFormat": legend})
		}
		panels = append(panels, object{"id": i + 1, "type": "timeseries", "title": p.Title, "datasource": source, "targets": targets,
			"gridPos":     object{"x": i % 2 * 12, "y": i / 2 * 8, "w": 12, "h": 8},
			"fieldConfig": object{"defaults": object{"unit": p.Unit, "min": 0}, "overrides": []any{}},
			"options":     object{"tooltip": object{"mode": "multi"}, "legend": object{"showLegend": true, "displayMode": "list", "placement": "bottom"}}})
	}
	return object{"uid": "laststand-" + name, "title": d.Title, "tags": []string{"laststand"}, "schemaVersion": 39, "editable": true,
		"time": object{"from": "now-1h", "to": "now"}, "refresh": "30s", "panels": panels,
		"templating": object{"list": []object{
			{"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
			variable(source, "instance", "Node", `label_values(up{job="laststand"}, instance)`),
			variable(source, "game", "Game", `label_values(laststand_leaderboards_rows_behind, game)`),
		}}}
}

// variable is a choice of several values, all at first.
func variable(source object, name, label, query string) object {
	return object{"name": name, "label": label, "type": "query", "datasource": source, "query": query, "refresh": 2,
		"multi": true, "includeAll": true, "allValue": ".*", "current": object{"text": "All", "value": "$__all"}}
}

func TestDashboardsAreWhatTheirDefinitionSays(t *testing.T) {
	t.Parallel()
	for name, d := range readDashboards(t) {
		path := filepath.Join("monitoring", "dashboards", name+".json")
		want, err := json.MarshalIndent(d.grafana(name), "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if *updateDashboards {
			if err := os.WriteFile(path, append(want, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); strings.TrimSpace(string(got)) != string(want) {
			t.Errorf("%s differs from dashboards.yaml (%v): run `go test ./deploy -run TestDashboards -update`", path, err)
		}
	}
}
