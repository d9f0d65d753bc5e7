package harness

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// log returns the path of the server's log.
func (s *Server) log() string { return filepath.Join(s.dir, "log") }

// Log returns what the server has logged so far.
func (s *Server) Log() string {
	text, _ := os.ReadFile(s.log()) // a missing file is an empty log
	return string(text)
}

// Process returns the id of the server's process.
func (s *Server) Process() int { return s.running[0].Process.Pid }

// Resident returns the resident memory of the server's process, in bytes.
func (s *Server) Resident() (int64, error) { return Resident(s.Process()) }

// Resident returns the resident memory of a process, in bytes.
func Resident(process int) (int64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", process))
	if err != nil {
		return 0, err
	}
	var size, resident int64
	_, err = fmt.Sscan(string(raw), &size, &resident)
	return resident * int64(os.Getpagesize()), err
}

// Connections returns how many connections the server has accepted at the players'
// address and not closed.
func (s *Server) Connections() (n int64, err error) {
	raw, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return 0, err
	}
	at, err := url.Parse(s.URL)
	if err != nil {
		return 0, err
	}
	port, err := strconv.Atoi(at.Port())
	if err != nil {
		return 0, err
	}
	const established, closeWait = "01", "08"
	local := fmt.Sprintf(":%04X", port)
	for line := range strings.Lines(string(raw)) {
		fields := strings.Fields(line) // the second field is the local address, the fourth the state
		if len(fields) > 3 && strings.HasSuffix(fields[1], local) && (fields[3] == established || fields[3] == closeWait) {
			n++
		}
	}
	return n, nil
}

// Metrics are a server's metrics at an instant. The key is the series as the server
// writes it.
type Metrics map[string]float64

// Metrics reads the server's metrics.
func (s *Server) Metrics(ctx context.Context) (Metrics, error) { return ReadMetrics(ctx, s.Ops) }

// ReadMetrics reads the metrics of the server with the given operations URL.
func ReadMetrics(ctx context.Context, ops string) (Metrics, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, ops+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	all := Metrics{}
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		at := strings.LastIndexByte(lines.Text(), ' ')
		if at < 0 || strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		if all[lines.Text()[:at]], err = strconv.ParseFloat(lines.Text()[at+1:], 64); err != nil {
			return nil, fmt.Errorf("metrics: %s: %w", lines.Text(), err)
		}
	}
	return all, lines.Err()
}

// Sum adds up the series of a metric that have all the labels. A label looks like
// `code="429"`.
func (m Metrics) Sum(name string, labels ...string) (sum float64) {
series:
	for series, value := range m {
		rest, ok := strings.CutPrefix(series, name)
		if !ok || rest != "" && rest[0] != '{' {
			continue
		}
		for _, label := range labels {
			if !strings.Contains(rest, label) {
				continue series
			}
		}
		sum += value
	}
	return sum
}

// Collect makes the server run its garbage collector; token is an admin's.
func (s *Server) Collect(ctx context.Context, token string) error {
	_, err := s.Heap(ctx, token)
	return err
}
