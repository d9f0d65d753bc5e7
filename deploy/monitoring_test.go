package deploy_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"laststand/internal/testenv"
)

// rule is an alert or a recording rule of rules.yaml.
type rule struct {
	Record, Alert, Expr string
	Labels              map[string]string
	Annotations         map[string]string
}

func readRules(t *testing.T) (all []rule) {
	t.Helper()
	data, err := os.ReadFile("monitoring/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct{ Rules []rule }
	}
	if err := yaml.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	for _, group := range file.Groups {
		all = append(all, group.Rules...)
	}
	return all
}

// queries returns each PromQL expression of the rules and of the dashboards by where it is.
func queries(t *testing.T) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, r := range readRules(t) {
		all[r.Record+r.Alert] = r.Expr
	}
	for name, d := range readDashboards(t) {
		for _, p := range d.Panels {
			for legend, query := range p.Queries {
				all[name+": "+p.Title+": "+legend] = macros.Replace(query)
			}
		}
	}
	return all
}

var (
	referenceRow  = regexp.MustCompile("(?m)^\\| `(laststand_[a-z0-9_]+)` \\| ([a-z]+) \\| ([^|]*) \\|")
	exportedName  = regexp.MustCompile(`(?m)^# TYPE ([a-z0-9_]+) `)
	selector      = regexp.MustCompile(`([a-z][a-z0-9_:]*)\s*(\{[^}]*\})?`)
	selectorLabel = regexp.MustCompile(`([a-z_]+)\s*[=!]`)
	groupedBy     = regexp.MustCompile(`\bby \(([^)]*)\)`)
)

// knownMetrics returns the labels of each metric that rules and panels may name: ours from the
// reference, which a test compares with the code, those of exporters from running exporters.
func knownMetrics(t *testing.T) map[string][]string {
	t.Helper()
	known := map[string][]string{"up": nil, "process_cpu_seconds_total": nil, "process_resident_memory_bytes": nil}
	reference, err := os.ReadFile("../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range referenceRow.FindAllStringSubmatch(string(reference), -1) {
		labels := strings.Split(strings.Trim(row[3], "`"), ", ")
		known[row[1]] = labels
		if row[2] == "histogram" {
			known[row[1]+"_bucket"] = append(slices.Clone(labels), "le")
			known[row[1]+"_sum"], known[row[1]+"_count"] = labels, labels
		}
	}
	for _, r := range readRules(t) {
		if r.Record != "" {
			known[r.Record] = []string{"game"}
		}
	}
	for _, name := range exporterMetrics(t) {
		known[name] = []string{"fstype", "mountpoint"}
	}
	return known
}

// exporterMetrics returns the names that the exporters of the host and of Redis export.
func exporterMetrics(t *testing.T) (names []string) {
	t.Helper()
	redis := testenv.Redis(t)
	for program, args := range map[string][]string{
		"prometheus-node-exporter":  {"--web.listen-address"},
		"prometheus-redis-exporter": {"--redis.addr", redis.URL, "--web.listen-address"},
	} {
		path, ok := testenv.Interpreter(t, program)
		if !ok {
			names = append(names, "node_filesystem_avail_bytes", "node_filesystem_size_bytes", "redis_evicted_keys_total", "redis_memory_used_bytes", "redis_memory_max_bytes")
			continue
		}
		for _, m := range exportedName.FindAllStringSubmatch(scrape(t, path, args), -1) {
			names = append(names, m[1])
		}
	}
	return names
}

// scrape starts an exporter with its address as the last argument, and returns its metrics.
func scrape(t *testing.T, path string, args []string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	_ = listener.Close()
	var output bytes.Buffer
	cmd := exec.CommandContext(t.Context(), path, append(args, addr)...)
	cmd.Stderr = &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if text, err := get(t, "http://"+addr+"/metrics"); err == nil {
			return text
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("%s does not answer: %s", path, &output)
	return ""
}

func get(t *testing.T, url string) (string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return string(text), err
}

// unknownNames returns the metrics and labels of a query that do not exist.
func unknownNames(query string, known map[string][]string) (unknown []string) {
	labels := []string{"job", "instance"}
	plain := groupedBy.ReplaceAllString(query, "")
	for _, m := range selector.FindAllStringSubmatch(plain, -1) {
		name := m[1]
		if !strings.Contains(name, "_") || strings.HasSuffix(name, "_over_time") || name == "histogram_quantile" || name == "predict_linear" {
			continue // a function or a keyword
		}
		if _, ok := known[name]; !ok {
			unknown = append(unknown, name)
		}
		labels = append(labels, known[name]...)
		for _, label := range selectorLabel.FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(known[name], label[1]) && label[1] != "job" && label[1] != "instance" {
				unknown = append(unknown, name+"{"+label[1]+"}")
			}
		}
	}
	for _, m := range groupedBy.FindAllStringSubmatch(query, -1) {
		for _, label := range strings.Split(m[1], ", ") {
			if !slices.Contains(labels, label) {
				unknown = append(unknown, "by "+label)
			}
		}
	}
	return unknown
}

func TestRulesAndPanelsNameOnlyMetricsThatExist(t *testing.T) {
	t.Parallel()
	known := knownMetrics(t)
	for where, query := range queries(t) {
		if unknown := unknownNames(query, known); len(unknown) > 0 {
			t.Errorf("%s: %v do not exist: %s", where, unknown, query)
		}
	}
	for _, wrong := range []string{`rate(laststand_ws_session[5m])`, `laststand_ws_sessions{node="a"}`, `sum by (node) (laststand_ws_sessions)`} {
		if unknown := unknownNames(wrong, known); len(unknown) != 1 {
			t.Errorf("%s: found %v, want one unknown name", wrong, unknown)
		}
	}
}

func TestAlertsHaveASeverityAndARunbookSection(t *testing.T) {
	t.Parallel()
	runbook, err := os.ReadFile("../docs/operate/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := make(map[string]bool)
	for _, heading := range regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(string(runbook), -1) {
		plain := regexp.MustCompile(`[^a-z -]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		sections["docs/operate/runbook.md#"+strings.ReplaceAll(plain, " ", "-")] = true
	}
	for _, r := range readRules(t) {
		if r.Alert == "" {
			continue
		}
		if severity := r.Labels["severity"]; severity != "page" && severity != "ticket" {
			t.Errorf("%s has the severity %q, want page or ticket", r.Alert, severity)
		}
		if url := r.Annotations["runbook_url"]; !sections[url] {
			t.Errorf("%s links to %q, which is no section of the runbook", r.Alert, url)
		}
	}
}

// Prometheus reads the rules and the queries of all panels, and its unit tests of the alerts
// pass.
func TestPrometheusAcceptsRulesAndQueries(t *testing.T) {
	t.Parallel()
	promtool, ok := testenv.Interpreter(t, "promtool")
	if !ok {
		return
	}
	panels := t.TempDir() + "/panels.yaml"
	var b strings.Builder
	b.WriteString("groups:\n  - name: panels\n    rules:\n")
	for _, query := range queries(t) {
		fmt.Fprintf(&b, "      - {record: panel, expr: %q, labels: {n: %q}}\n", query, fmt.Sprint(b.Len()))
	}
	if err := os.WriteFile(panels, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"check", "rules", "monitoring/rules.yaml", panels}, {"check", "config", "monitoring/prometheus.yaml"},
		{"test", "rules", "monitoring/rules_test.yaml"},
	} {
		if out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}
