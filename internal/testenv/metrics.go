package testenv

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// Metrics are the metrics of a node at one time. The key is the series as the node writes
// it, with its labels.
type Metrics map[string]float64

// Metrics reads the metrics of the node.
func (n *Node) Metrics(ctx context.Context) (Metrics, error) { return ReadMetrics(ctx, n.OpsURL) }

// ReadMetrics reads the metrics of the node with the given operations URL.
func ReadMetrics(ctx context.Context, ops string) (Metrics, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, ops+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	all := Metrics{}
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		space := strings.LastIndexByte(lines.Text(), ' ') // a label may contain one too
		if space < 0 || strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		if all[lines.Text()[:space]], err = strconv.ParseFloat(lines.Text()[space+1:], 64); err != nil {
			return nil, fmt.Errorf("metrics: %s: %w", lines.Text(), err)
		}
	}
	return all, lines.Err()
}

// Sum adds up the series of a metric that have all the labels. A label looks like
// `code="429"`.
func (m Metrics) Sum(name string, labels ...string) (sum float64) {
	for series, value := range m {
		rest, found := strings.CutPrefix(series, name)
		if found && (rest == "" || rest[0] == '{') && containsAll(rest, labels) {
			sum += value
		}
	}
	return sum
}

// Connections returns how many connections the node has accepted at the players' address and
// not closed.
func (n *Node) Connections() (count int64, err error) {
	raw, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return 0, err
	}
	address, err := url.Parse(n.URL)
	if err != nil {
		return 0, err
	}
	port, err := strconv.Atoi(address.Port())
	if err != nil {
		return 0, err
	}
	const established, closeWait = "01", "08"
	local := fmt.Sprintf(":%04X", port)
	for line := range strings.Lines(string(raw)) {
		fields := strings.Fields(line) // the second field is the local address, the fourth the state
		if len(fields) > 3 && strings.HasSuffix(fields[1], local) && (fields[3] == established || fields[3] == closeWait) {
			count++
		}
	}
	return count, nil
}
