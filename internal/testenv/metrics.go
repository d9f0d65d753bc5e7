package testenv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
)

// Metrics are the metrics of a node at one time. The key is the series as the node writes
// it, with its labels.
type Metrics map[string]float64

// Metrics reads the metrics of the node.
func (n *Node) Metrics(ctx context.Context) (Metrics, error) {
	text, err := get(ctx, http.DefaultClient, n.OpsURL+"/metrics", "")
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
	return get(ctx, http.DefaultClient, n.OpsURL+"/debug/pprof/"+query, token)
}

// get reads a URL. An empty token sends none. A status other than 200 is an error.
func get(ctx context.Context, client *http.Client, url, token string) (text []byte, err error) {
	defer Recover(&err)
	request := Must(http.NewRequestWithContext(ctx, http.MethodGet, url, nil))
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := client.Do(request)
	MustDo(err)
	defer answer.Body.Close()
	FailIf(answer.StatusCode != http.StatusOK, "%s was answered with %s", url, answer.Status)
	return io.ReadAll(answer.Body)
}

// clockTick is the unit in which Linux reports process times, on all architectures that Go
// supports.
const clockTick = 10 * time.Millisecond

// CPUTime returns the processor time that a process has used.
func CPUTime(pid int) (time.Duration, error) {
	s, err := processStat(pid)
	return seconds(s.CPUTime()), err
}

// CPUTimeWithChildren returns the processor time that a process and its children have used.
// It includes children that have ended.
func CPUTimeWithChildren(pid int) (time.Duration, error) {
	s, err := processStat(pid)
	if err != nil {
		return 0, err
	}
	processes, err := procfs.AllProcs()
	if err != nil {
		return 0, err
	}
	total := seconds(s.CPUTime()) + time.Duration(s.CUTime+s.CSTime)*clockTick
	for _, process := range processes {
		if child, err := process.Stat(); err == nil && child.PPID == pid { // on an error the process has just ended
			total += seconds(child.CPUTime())
		}
	}
	return total, nil
}

// ResetPeakBytes lets PeakBytes of a process start at its resident memory, which it returns.
func ResetPeakBytes(pid int) (int64, error) {
	err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
	s, failed := processStat(pid)
	return int64(s.ResidentMemory()), errors.Join(err, failed)
}

// PeakBytes returns the largest resident memory of a process since ResetPeakBytes.
func PeakBytes(pid int) (int64, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	status, err := process.NewStatus()
	return int64(status.VmHWM), err
}

func processStat(pid int) (s procfs.ProcStat, err error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return s, err
	}
	return process.Stat()
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// RuntimeMetric returns a runtime metric of this process as a whole number. The name is one of
// package runtime/metrics.
func RuntimeMetric(name string) uint64 {
	samples := []metrics.Sample{{Name: name}}
	metrics.Read(samples)
	return samples[0].Value.Uint64()
}
