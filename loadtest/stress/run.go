// Package stress plays on servers with many honest players and checks everything that
// they receive, and everything that is stored at the end, against the wire contract; see
// package checker. Swarm loads the servers. Chaos kills, stalls and drains them. Hostile
// attacks one of them. Its attackers note how the server refused them, and every violation
// of the contract.
//
// Start reading at run; for the attackers, at attack.go.
package stress

import (
	"context"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"laststand/loadtest/checker"
	"laststand/loadtest/players"
	"laststand/loadtest/report"
)

type run struct {
	cluster *cluster
	checker *checker.Checker
	stats   *report.Recorder
	group   *players.Group
	rejoins bool // at the end, the players of duels enter the queue once more

	playing     context.Context // of the players
	stopPlaying context.CancelFunc
}

// newRun starts the cluster of a run. span is the length of the spans of its figures.
func newRun(ctx context.Context, c ClusterConfig, rules *checker.Checker, span time.Duration) (r *run, err error) {
	if c.Log == nil {
		c.Log = func(string, ...any) {}
	}
	r = &run{checker: rules, stats: report.NewRecorder(span)}
	r.playing, r.stopPlaying = context.WithCancel(ctx)
	r.cluster, err = startCluster(ctx, c, rules)
	return r, err
}

// end ends the players, if they still play, and then the nodes.
func (r *run) end() {
	r.stopPlaying()
	if r.group != nil {
		r.group.Wait()
		r.group.Disconnect()
	}
	r.cluster.stop()
}

// log prints a line with the time since the start of the run.
func (r *run) log(format string, args ...any) {
	r.cluster.Log("%7.1f s  "+format, append([]any{r.stats.Seconds()}, args...)...)
}

// dialer returns the dialer of the nth client; nil: any local address.
func (r *run) dialer(n int) *net.Dialer {
	for _, url := range r.cluster.urls() {
		if !strings.HasPrefix(url, "http://127.0.0.1:") {
			return nil
		}
	}
	return players.FromAddress(n / players.PerAddress)
}

// finish lets the players finish their matches, and checks everything that is stored.
// One match and one player in so many as share says are read by themselves. It returns the
// number of players whose sums were compared.
func (r *run) finish(ctx context.Context, share int) (compared int, err error) {
	r.log("no new matches")
	r.group.Stop()
	r.group.Wait()
	if r.rejoins {
		r.group.Rejoin()
	}
	r.group.Disconnect()
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	r.log("all has been played; checking what is stored")
	r.checker.JudgeRest()
	stored := checker.Stored{Checker: r.checker, Get: r.get, Share: share}
	if r.checker.KeepAnswers {
		stored.GetAs = r.getAs
	}
	if compared, err = stored.CheckStored(ctx); err != nil {
		return compared, err
	}
	if posted := r.group.Posted.Load(); posted > 0 {
		err = stored.AwaitBehaviours(ctx, posted, r.cluster.behaviours)
	}
	r.log("everything is checked")
	return compared, err
}

// get reads from a random node.
func (r *run) get(ctx context.Context, path string, v any) error {
	return r.call(ctx, path, "", v)
}

// getAs reads from a random node with the token of a player.
func (r *run) getAs(ctx context.Context, player, path string, v any) error {
	return r.call(ctx, path, r.group.TokenOf(player), v)
}

func (r *run) call(ctx context.Context, path, token string, v any) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	urls := r.cluster.urls()
	url := urls[rand.IntN(len(urls))] //nolint:gosec // no secret
	return players.Call{URL: url + "/v1/games/demo/"}.At(path, token).Do(ctx, v)
}
