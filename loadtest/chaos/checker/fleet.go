package checker

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sync/errgroup"
)

// fleet is the nodes of a run. It is safe for concurrent use.
type fleet struct {
	Config
	settings []string // flags of every node
	untruths *violations
	all      []*node
	life     context.Context // the processes are killed when it ends
	once     sync.Once
	turn     atomic.Int64 // index of the next address
	outages  outages

	mu   sync.Mutex
	well []*node // nodes without a fault now, the one that has run longest first
}

func newFleet(ctx context.Context, c Config, settings string, found *violations) *fleet {
	f := &fleet{Config: c, untruths: found, life: ctx}
	f.settings = []string{"--redis", c.Redis, "--database", c.Database, "--config", settings, "--data", c.Dir}
	for i := range c.Nodes {
		name := fmt.Sprintf("node %d", i+1)
		f.all = append(f.all, &node{name: name, command: f.serve, log: logPath(c.Dir, name)})
	}
	f.well = slices.Clone(f.all)
	return f
}

// serve returns the command of a node. The node takes some time to leave.
func (f *fleet) serve() *exec.Cmd {
	return f.Server.with(f.life, append([]string{"--listen=127.0.0.1:0", "--ops-listen=127.0.0.1:0", "--drain=8s"}, f.settings...)...)
}

// start starts the nodes. The first starts alone, because it creates the tables.
func (f *fleet) start() error {
	if err := f.all[0].start(); err != nil {
		return err
	}
	var starting errgroup.Group
	for _, n := range f.all[1:] {
		starting.Go(n.start)
	}
	return starting.Wait()
}

// stop ends the nodes one after another, once. An unexpected exit is a violation.
func (f *fleet) stop() {
	f.once.Do(func() {
		var ending sync.WaitGroup
		for _, n := range f.all {
			ending.Go(func() { f.retire(n) })
		}
		ending.Wait()
	})
}

// retire ends a node as an operator does.
func (f *fleet) retire(n *node) {
	if n.cmd == nil {
		return
	}
	f.checkUp(n)
	if code := n.end(syscall.SIGTERM); code != 0 && f.life.Err() == nil {
		f.untruths.add("%s was told to leave and ended with %d: %s", n.name, code, n.tail())
	}
	f.checkLog(n)
}

// checkUp reports a node that has ended by itself.
func (f *fleet) checkUp(n *node) {
	if n.fell() && f.life.Err() == nil {
		f.untruths.add("%s ended by itself: %s", n.name, n.tail())
	}
}

func (f *fleet) checkLog(n *node) {
	text, _ := os.ReadFile(n.log)
	for _, word := range []string{"DATA RACE", "panic"} {
		if at := bytes.Index(text, []byte(word)); at >= 0 {
			f.untruths.add("%s: its log tells of a %s: %s", n.name, word, text[at:min(len(text), at+3000)])
		}
	}
}

// draw returns the address of a random node other than but. The node may be down.
func (f *fleet) draw(dice *rand.Rand, but string) string {
	for {
		if url := f.all[dice.IntN(len(f.all))].address(); url != but {
			return url
		}
	}
}

// next returns the addresses of the nodes in turn.
func (f *fleet) next() string { return f.all[int(f.turn.Add(1))%len(f.all)].address() }

// take returns the node that has run longest, for the next fault. It returns nil if no
// other node would be left.
func (f *fleet) take() *node {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.well) < 2 {
		return nil
	}
	n := f.well[0]
	f.well = f.well[1:]
	return n
}

func (f *fleet) heal(n *node) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.well = append(f.well, n)
}

// token mints a host's token with the key that the nodes share.
func (f *fleet) token(ctx context.Context, sub string) (string, error) {
	var shown strings.Builder
	cmd := f.Server.with(ctx, append([]string{"token", "--game=demo", "--role=host", "--sub=" + sub}, f.settings...)...)
	cmd.Stderr = &shown
	held, err := cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	defer held.Close()
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("server token: %w: %s", err, shown.String())
	}
	return strings.TrimSpace(string(out)), nil
}
