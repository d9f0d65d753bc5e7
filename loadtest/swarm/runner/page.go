package runner

import (
	"bytes"
	"fmt"
	"html/template"
	"maps"
	"slices"

	"laststand/loadtest/swarm/stats"
)

var page = template.Must(template.New("swarm").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Swarm of {{.Report.Connections}}, {{.Report.At.UTC.Format "2006-01-02 15:04"}}</title>
<style>
:root{color-scheme:light dark} body{font:15px/1.5 system-ui,sans-serif;max-width:900px;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;margin:1rem 0} td,th{padding:.15rem .8rem;text-align:right;border-bottom:1px solid #8884} td:first-child,th:first-child{text-align:left}
svg{width:100%;height:auto;margin:.6rem 0;display:block} polyline{stroke-width:1.6}
text{font:11px system-ui,sans-serif;fill:currentColor}.t{font-weight:600}.y,.l{text-anchor:end}.x{text-anchor:middle}.g{stroke:#8883;fill:none}.m{stroke:#8889;stroke-dasharray:3 3;stroke-width:2}
.held{color:#059669}.failed{color:#dc2626}li{overflow-wrap:anywhere}
</style>
<h1>{{.Report.Connections}} connections, of which {{.Report.Players}} play</h1>
{{with .Report.Failed}}<p class="failed"><strong>Failed:</strong> {{.}}</p>{{else}}<p class="held"><strong>Held:</strong> every check passed.</p>{{end}}
<p>{{.Report.Machine}}. {{.Report.Nodes}} nodes on {{.Report.Database}}, {{.Report.Processes}} processes of players; the load was on for {{printf "%.0f" .Report.Seconds}} s.
{{.Report.Matches}} matches were the same to all their players; the sums of {{.Report.Checked}} players were compared with the board.
{{printf "%.0f" .Report.PerConnection}} bytes of the nodes a connection, of all that they are.</p>
{{with .Report.Spike}}<p>Spike: {{printf "%.0f" .Sustainable}} answers/s are sustainable ({{.Players}} players, p99 {{.Before.P99}} ms); in the spike of {{.Offered}} players {{printf "%.0f" .Rate}},
p99 {{.During.P99}} ms, {{.Shed}} shed; recovered after {{.RecoveredS}} s.</p>{{end}}
{{with .Report.Soak}}<ul>{{range .Lines}}<li>{{.}}</li>{{end}}</ul>{{end}}
{{if .Report.Violations}}<h2>Contract violations</h2><ul>{{range .Report.Violations}}<li>{{.}}</li>{{end}}</ul>{{if .Report.Omitted}}<p>and {{.Report.Omitted}} more</p>{{end}}{{end}}
<h2>While the load was on</h2>
<table><tr><th><th>n<th>p50 ms<th>p90<th>p99<th>most</tr>
{{range .Rows}}<tr><td>{{.Kind}}<td>{{.N}}<td>{{printf "%.2f" .P50}}<td>{{printf "%.2f" .P90}}<td>{{printf "%.2f" .P99}}<td>{{printf "%.1f" .Max}}</tr>
{{end}}</table>
<h2>Over time</h2>
{{range .Plots}}{{.}}
{{end}}
<h2>Counted in the whole run</h2>
<table>{{range .Counts}}<tr><td>{{.What}}<td>{{.N}}</tr>{{end}}</table>
<h2>What happened when</h2>
<table>{{range .Report.Marks}}<tr><td>{{printf "%.1f s" .AtS}}<td style="text-align:left">{{.What}}</tr>{{end}}</table>
</html>
`))

// HTML returns the report as one page that loads nothing else.
func (r *Report) HTML() ([]byte, error) {
	type row struct {
		Kind stats.Kind
		stats.Quantiles
	}
	type counted struct {
		What string
		N    int64
	}
	var view struct {
		Report *Report
		Rows   []row
		Plots  []template.HTML
		Counts []counted
	}
	view.Report = r
	for _, k := range stats.Kinds {
		if q := r.Times[k]; q.N > 0 {
			view.Rows = append(view.Rows, row{k, q})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Counts)) {
		view.Counts = append(view.Counts, counted{name, r.Counts[name]})
	}
	for _, p := range r.plots() {
		p.marks = r.Marks
		view.Plots = append(view.Plots, p.svg())
	}
	var out bytes.Buffer
	if err := page.Execute(&out, view); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return out.Bytes(), nil
}

// plots returns the plots of all recorded kinds, and of the resources that processes used.
func (r *Report) plots() (all []plot) {
	for _, k := range stats.Kinds {
		p := plot{title: string(k), unit: "ms", log: true}
		for _, q := range []struct {
			name string
			of   func(stats.Quantiles) float64
		}{
			{"p50", func(q stats.Quantiles) float64 { return q.P50 }}, {"p99", func(q stats.Quantiles) float64 { return q.P99 }},
			{"most", func(q stats.Quantiles) float64 { return q.Max }},
		} {
			l := line{name: q.name}
			for _, one := range r.Points {
				if had := one.Times[k]; had.N > 0 {
					l.points = append(l.points, point{one.AtS, q.of(had)})
				}
			}
			p.lines = append(p.lines, l)
		}
		if len(p.lines[0].points) > 1 {
			all = append(all, p)
		}
	}
	rate := line{name: "answers"}
	for _, one := range r.Points {
		rate.points = append(rate.points, point{one.AtS, float64(one.Times[stats.Answer].N) / max(r.EveryS, 1e-9)})
	}
	if len(rate.points) > 1 {
		all = append(all, plot{title: "Answers", unit: "a second", lines: []line{rate}})
	}
	return append(all, r.uses()...)
}

// uses returns the plots of the resources that processes used.
func (r *Report) uses() (all []plot) {
	if len(r.Samples) < 2 {
		return nil
	}
	for _, field := range []struct {
		title, unit string
		value       func(Use) float64
		nodesOnly   bool
	}{
		{"Processor", "cores", func(u Use) float64 { return u.Cores }, false},
		{"Memory", "MB resident", func(u Use) float64 { return u.MB }, false},
		{"Goroutines", "of nodes", func(u Use) float64 { return u.Goroutines }, true},
		{"Sessions", "of nodes", func(u Use) float64 { return u.Sessions }, true},
	} {
		p := plot{title: field.title, unit: field.unit}
		add := func(name string, use func(Sample) Use) {
			l := line{name: name}
			for _, g := range r.Samples {
				l.points = append(l.points, point{g.AtS, field.value(use(g))})
			}
			p.lines = append(p.lines, l)
		}
		for i := range r.Samples[0].Nodes {
			add(fmt.Sprintf("node %d", i+1), func(g Sample) Use { return g.Nodes[i] })
		}
		if !field.nodesOnly {
			add("redis", func(g Sample) Use { return g.Redis })
			add("players", func(g Sample) Use { return g.Clients })
		}
		if len(p.lines) > 0 {
			all = append(all, p)
		}
	}
	return all
}
