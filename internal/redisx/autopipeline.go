package redisx

import (
	"context"
	"errors"
	"sync"

	"github.com/redis/go-redis/v9"
)

// The limits of the scripts that wait for one master.
const (
	maxRound  = 256 // scripts that share a round trip
	maxRounds = 64  // rounds that wait
)

// errManyScripts means that a script was not sent, because too many scripts wait.
var errManyScripts = errors.New("too many scripts wait for redis")

// autopipeline is a client whose EVALSHA commands share round trips. All other commands use
// the client directly. A script starts no goroutine and waits for nothing while fewer than
// parallel calls of its master are under way. Otherwise it waits for the end of one of them,
// and then shares a round trip with all that wait. The library's own auto-pipeline hands
// each script to two goroutines, and a caller continues to wait after its context has ended.
type autopipeline struct {
	redis.UniversalClient

	parallel int // calls of a master at the same time

	mu      sync.Mutex
	masters map[*redis.Client]*calls // of a cluster only those with calls; nil is any other server
	closed  bool
	running sync.WaitGroup // calls under way; Close waits for them
}

// calls are the calls of a master.
type calls struct {
	running int      // each with a lone script or a round
	waiting []*round // the next first
}

// round is some scripts that share a round trip.
type round struct {
	scripts []redis.Cmder
	done    chan struct{} // closed when the scripts have their replies
}

func newAutopipeline(client redis.UniversalClient, parallel int) *autopipeline {
	return &autopipeline{UniversalClient: client, parallel: parallel, masters: make(map[*redis.Client]*calls)}
}

// Close waits for the scripts under way and closes the client.
func (a *autopipeline) Close() error {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.running.Wait()
	return a.UniversalClient.Close()
}

// EvalSha runs a script by its hash. redis.Script calls it first. If the server does not
// know the script, the reply is NOSCRIPT, and redis.Script then calls Eval, which sends the
// whole script.
func (a *autopipeline) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	script := redis.NewCmd(ctx, scriptArgs(&sha, keys, args)...)
	joined, master, err := a.join(ctx, keys, script)
	switch {
	case err != nil:
		script.SetErr(err)
	case joined == nil:
		a.runAlone(ctx, master, script)
	default:
		select {
		case <-joined.done:
		case <-ctx.Done():
			script = redis.NewCmd(ctx) // the round may still write to the other
			script.SetErr(ctx.Err())
		}
	}
	return script
}

// scriptArgs returns the arguments of EVALSHA. It has pointers to the keys, because a text
// in an interface would be copied. So the caller must not change them, even later.
func scriptArgs(sha *string, keys []string, args []any) []any {
	all := make([]any, 0, 3+len(keys)+len(args))
	all = append(all, "evalsha", sha, len(keys))
	for i := range keys {
		all = append(all, &keys[i])
	}
	return append(all, args...)
}

// join adds a script to a round of its master. It returns nil if the caller must run the
// script as a call of its own.
func (a *autopipeline) join(ctx context.Context, keys []string, script redis.Cmder) (*round, *redis.Client, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	var master *redis.Client
	if cluster, ok := a.UniversalClient.(*redis.ClusterClient); ok && len(keys) > 0 {
		master, _ = cluster.MasterForKey(ctx, keys[0]) // after an error the call tries again, or fails
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, nil, redis.ErrClosed
	}
	if a.masters[master] == nil {
		a.masters[master] = new(calls)
	}
	c := a.masters[master]
	if c.running < a.parallel {
		c.running++
		a.running.Add(1)
		return nil, master, nil
	}
	joined, err := c.join(script)
	return joined, master, err
}

// join adds a script to the last round that waits.
func (c *calls) join(script redis.Cmder) (*round, error) {
	if len(c.waiting) == 0 || len(c.waiting[len(c.waiting)-1].scripts) == maxRound {
		if len(c.waiting) == maxRounds {
			return nil, errManyScripts
		}
		c.waiting = append(c.waiting, &round{done: make(chan struct{})})
	}
	last := c.waiting[len(c.waiting)-1]
	last.scripts = append(last.scripts, script)
	return last, nil
}

// runAlone runs a script in the goroutine of its caller. It then starts a goroutine for the
// scripts that have come in the meantime.
func (a *autopipeline) runAlone(ctx context.Context, master *redis.Client, script redis.Cmder) {
	defer func() {
		if next := a.nextRound(master); next != nil {
			go a.runRounds(master, next) // Close waits for it
		}
	}()
	if err := a.Process(ctx, script); err != nil && ctx.Err() != nil {
		script.SetErr(ctx.Err())
	}
}

// runRounds runs a round and those that follow, until no script waits.
func (a *autopipeline) runRounds(master *redis.Client, next *round) {
	ctx := context.Background() // a caller that does not wait any more must not fail the others
	for ; next != nil; next = a.nextRound(master) {
		pipeline := a.Pipeline()
		_ = pipeline.BatchProcess(ctx, next.scripts...)
		_, _ = pipeline.Exec(ctx) // each script has its own error
		close(next.done)
	}
}

// nextRound ends a call of a master. It returns the round to call next, or nil if no script
// waits.
func (a *autopipeline) nextRound(master *redis.Client) *round {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.masters[master]
	if len(c.waiting) > 0 {
		next := c.waiting[0]
		c.waiting = c.waiting[1:]
		return next
	}
	c.running--
	a.running.Done()
	if c.running == 0 && master != nil { // that of a cluster may never return
		delete(a.masters, master)
	}
	return nil
}
