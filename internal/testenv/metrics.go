package testenv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Metrics are the metrics of a node at one time. The key is the series as the node writes
// it, with its labels.
type Metrics map[string]float64

// Metrics reads the metrics of the node.
func (n *Node) Metrics(ctx context.Context) (Metrics, error) {
	text, err := n.getOperations(ctx, "/metrics", "")
	if err != nil {
		return nil, err
	}
	all := Metrics{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		space := strings.LastIndexByte(line, ' ') // a label may contain one too
		if space < 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if all[line[:space]], err = strconv.ParseFloat(line[space+1:], 64); err != nil {
			return nil, fmt.Errorf("metrics: %s: %w", line, err)
		}
	}
	return all, nil
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

// CollectGarbage runs the garbage collector of the node.
func (n *Node) CollectGarbage(ctx context.Context) error {
	_, err := n.Profile(ctx, "heap?gc=1&debug=1")
	return err
}

// Profile returns a profile of net/http/pprof.
func (n *Node) Profile(ctx context.Context, query string) ([]byte, error) {
	token, err := n.AdminToken(ctx)
	if err != nil {
		return nil, err
	}
	return n.getOperations(ctx, "/debug/pprof/"+query, token)
}

// getOperations reads a path of the operations listener. An empty token sends none.
func (n *Node) getOperations(ctx context.Context, path, token string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, n.OpsURL+path, nil)
	if err != nil {
		return nil, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s was answered with %s", path, answer.Status)
	}
	text, cut := io.ReadAll(answer.Body)
	return text, errors.Join(err, cut, answer.Body.Close())
}
