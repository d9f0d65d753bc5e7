package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"laststand/internal/cli"
	"laststand/internal/testenv"
)

// testNode is a node that runs in the process of the test. Its fields are the base URLs
// of the listeners for players and for operators, how to stop it, and its log.
type testNode struct {
	url, opsURL string
	flags       []string // with which a command finds the node and its database
	stop        func()   // stops the node; further calls do nothing; an error of the node fails the test
	log         *logBuffer
}

// logBuffer collects the output of a node, from several goroutines.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// fastDuelsConfig is a configuration for tests: duels without long pauses.
const fastDuelsConfig = `
games:
  demo:
    duel: {questions: 5, time_limit_ms: 60000, countdown_ms: 50, reveal_ms: 20, bot_after_ms: 0}
limits: {messages_per_second: 1000, guests_per_minute_per_address: 0, max_scheduler_lag_ms: 0}
`

// configFile writes a configuration for a test.
func configFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "laststand.yaml")
	testenv.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// startNode starts a node on free ports, as the command line does, and stops it when the test
// ends.
func startNode(t *testing.T, flags cli.Flags) *testNode {
	t.Helper()
	freePort := "127.0.0.1:0"
	flags.Listen, flags.OpsListen = &freePort, &freePort
	config := testenv.Need(flags.Load())(t)
	config.Limits.MaxSchedulerLagMS = 0 // the tests that run beside this one share the processors
	outReader, outWriter := io.Pipe()
	node := &testNode{log: new(logBuffer)}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- serve(ctx, config, cli.Output{Stdout: outWriter, Stderr: node.log})
		_ = outWriter.Close()
	}()
	var once sync.Once
	node.stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("the node ended with %v\n%s", err, node.log)
			}
		})
	}
	t.Cleanup(node.stop)
	node.url, node.opsURL = readAddresses(t, outReader, node.log)
	node.flags = []string{"--ops-listen=" + strings.TrimPrefix(node.opsURL, "http://"), "--data=" + config.Data}
	if flags.Database != nil {
		node.flags = append(node.flags, "--database="+*flags.Database)
	}
	if flags.Config != "" {
		node.flags = append(node.flags, "--config="+flags.Config)
	}
	return node
}

// readAddresses reads the addresses of a node from its output.
func readAddresses(t *testing.T, out io.Reader, log *logBuffer) (players, operators string) {
	t.Helper()
	var text strings.Builder
	buffer := make([]byte, 256)
	for !strings.Contains(text.String(), "operations on ") || !strings.HasSuffix(text.String(), "\n") {
		n, err := out.Read(buffer)
		if err != nil {
			t.Fatalf("the node did not start: %s\n%s", text.String(), log)
		}
		text.Write(buffer[:n])
	}
	for line := range strings.Lines(text.String()) {
		line = strings.TrimSpace(line)
		if address, ok := strings.CutPrefix(line, "listening on "); ok {
			players = address
		}
		if address, ok := strings.CutPrefix(line, "operations on "); ok {
			operators = address
		}
	}
	return players, operators
}

// waitUntil waits until isTrue returns true. After 20 s the test fails. condition is a clause for
// the message of the failure.
func waitUntil(t *testing.T, condition string, isTrue func() bool) {
	t.Helper()
	waitUntilWithin(t, 20*time.Second, condition, isTrue)
}

func waitUntilWithin(t *testing.T, timeout time.Duration, condition string, isTrue func() bool) {
	t.Helper()
	deadline := time.Now().Add(timeout)
	for !isTrue() {
		if time.Now().After(deadline) {
			t.Fatalf("after %v it is still not true that %s", timeout, condition)
		}
		time.Sleep(25 * time.Millisecond)
	}
}

func ptr[T any](v T) *T { return &v }

// discardLog returns a logger that discards all messages.
func discardLog() *slog.Logger { return slog.New(slog.DiscardHandler) }
