package ordeal

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sync/errgroup"
)

// fleet is the nodes of an ordeal. It is safe for concurrent use.
type fleet struct {
	Config
	settings []string // flags of every node
	untruths *untruths
	all      []*node
	life     context.Context // at its end the processes are killed
	once     sync.Once

	mu   sync.Mutex
	sick map[*node]bool // is being made to fail
}

func newFleet(ctx context.Context, c Config, settings string, found *untruths) *fleet {
	f := &fleet{Config: c, untruths: found, life: ctx, sick: make(map[*node]bool)}
	f.settings = []string{"--redis", c.Redis, "--database", c.Database, "--config", settings, "--data", c.Dir}
	for i := range c.Nodes {
		name := fmt.Sprintf("node %d", i+1)
		f.all = append(f.all, &node{name: name, command: f.serve, log: logPath(c.Dir, name)})
	}
	return f
}

// serve is the command of a node that takes some time to leave.
func (f *fleet) serve() *exec.Cmd {
	return f.Server.with(f.life, append([]string{"--listen=127.0.0.1:0", "--ops-listen=127.0.0.1:0", "--drain=8s"}, f.settings...)...)
}

// start starts the nodes, the first alone: it makes the tables.
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

// stop ends the nodes in order, once: whatever ends otherwise than it should
// have is an untruth.
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

// draw draws the address of a node, which may be down, but for one.
func (f *fleet) draw(dice *rand.Rand, but string) string {
	for {
		if url := f.all[dice.IntN(len(f.all))].address(); url != but {
			return url
		}
	}
}

// take draws a well node to be made to fail, as long as another one stays
// well; nil otherwise.
func (f *fleet) take(dice *rand.Rand) *node {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.all)-len(f.sick) < 2 {
		return nil
	}
	for {
		if n := f.all[dice.IntN(len(f.all))]; !f.sick[n] {
			f.sick[n] = true
			return n
		}
	}
}

func (f *fleet) heal(n *node) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.sick, n)
}

// token mints a host's token with the key that the nodes share.
func (f *fleet) token(ctx context.Context, sub string) (string, error) {
	var told strings.Builder
	cmd := f.Server.with(ctx, append([]string{"token", "--game=demo", "--role=host", "--sub=" + sub}, f.settings...)...)
	cmd.Stderr = &told
	held, err := cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	defer held.Close()
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("server token: %w: %s", err, told.String())
	}
	return strings.TrimSpace(string(out)), nil
}
