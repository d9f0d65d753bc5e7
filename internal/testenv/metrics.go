package testenv

import (
	"bufio"
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
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, n.OpsURL+"/metrics", nil)
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

// CollectGarbage runs the garbage collector of the node.
func (n *Node) CollectGarbage(ctx context.Context) error {
	_, err := n.pprof(ctx, "heap?gc=1&debug=1")
	return err
}

// pprof requests a profile by its name and parameters.
func (n *Node) pprof(ctx context.Context, kind string) ([]byte, error) {
	token, err := n.AdminToken(ctx)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, n.OpsURL+"/debug/pprof/"+kind, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("a profile was answered with %s", answer.Status)
	}
	profile, cut := io.ReadAll(answer.Body)
	return profile, errors.Join(err, cut, answer.Body.Close())
}
