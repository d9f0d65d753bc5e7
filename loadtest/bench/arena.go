package bench

import (
	"context"
	"fmt"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/checker"
	"laststand/loadtest/players"
)

// Arena measures one arena with very many players on two nodes, with PostgreSQL. Package
// checker checks everything that the players receive, and then what is stored: standings,
// leaderboards, and every answer, which must be stored exactly once.
//
//	go run ./loadtest bench arena -modes race                          # 10,000 players, 20 questions
//	go run ./loadtest bench arena -modes buzzer,survival -players 2000
//
// The players answer at random times within -think. About ten of them leave out each
// question, so it ends at its deadline, half a second later. A result is late by the time
// from the deadline, or from the first right answer of a buzzer question, until its
// player has it. Memory is the largest growth of both nodes together.
//
// The program fails if it finds a violation of the contract.
type Arena struct {
	options   `set:"runs=1"`
	Modes     []string      `help:"Measure only what has these names, separated by commas."`
	Players   int           `default:"10000" help:"Players of the arena, 100 to 10,000."`
	Questions int           `default:"20" help:"Questions of the arena."`
	Think     time.Duration `default:"5s" help:"Time in which players answer."`
}

// Run runs the program. It fails by testenv.Must.
func (o *Arena) Run(ctx context.Context) {
	testenv.FailIf(o.Players < 100 || o.Players > 10_000 || o.Questions < 1 || o.Think < time.Second, "use 100 to 10,000 -players, at least 1 of -questions, and -think 1s or more")
	o.run(ctx, fmt.Sprintf("arena, %d players, %d questions, answers within %v, 2 nodes", o.Players, o.Questions, o.Think), o.Modes, o.parts)
}

func (o *Arena) parts(r *players.Report) (all []part) {
	times := []string{"number", "p50 ms", "p99 ms", "last ms"}
	t := arenaTables{
		r.Table("results of players, after the deadline", times...), r.Table("answers, until the reply", times...),
		r.Table("for each player and match", append([]string{"resident kB"}, costColumns...)...),
	}
	on := testenv.NodeOptions{
		Count: 2, Redis: "redis", Database: "postgres", Env: []string{"GOGC=100"},
		Game: fmt.Sprintf("{arena: {time_limit_ms: %d, countdown_ms: 3000, reveal_ms: 1500}}", (o.Think + time.Second/2).Milliseconds()),
	}
	for _, mode := range []string{"race", "buzzer", "survival"} {
		all = append(all, part{mode, on, func(ctx context.Context, c cluster) { o.measure(ctx, c, t, mode) }})
	}
	return all
}

type arenaTables struct{ results, answers, work *players.Table }

// measure plays one match, checks it, and adds a row to each table.
func (o *Arena) measure(ctx context.Context, c cluster, t arenaTables, mode string) {
	before := c.sumNodes(testenv.ResetPeakBytes)
	k := newBenchClients(ctx, c)
	k.Habits = players.Habits{Think: o.Think, SkipShare: 10 / float64(o.Players)}
	k.Questions, k.Ranked, k.Checker.ArenasCount, k.Checker.KeepAnswers = o.Questions, true, true, true
	defer k.end()
	joining, match := time.Duration(o.Players)*time.Second/joinsPerSecond, time.Duration(o.Questions)*(o.Think+3*time.Second)
	k.AddArenas(players.Arenas{Mode: mode, MinPlayers: o.Players, MaxPlayers: o.Players, Count: 1, OwnPlayers: true, Wait: joining + clientTimeout})
	k.await(ctx, "asked", joining, func() bool { return k.Stats.All().Quantiles(players.Question).N > 0 })
	from := c.readUsage(ctx)
	k.await(ctx, "done", match, func() bool { return k.sumCounts("matches ") >= int64(o.Players) })
	to, peak := c.readUsage(ctx), c.sumNodes(testenv.PeakBytes)
	k.close()
	k.Checker.JudgeRest()
	stored := checker.Stored{Checker: k.Checker, Get: k.Get, Share: 1}
	stored.CheckStored(ctx)
	testenv.MustDo(k.violation())
	compared := k.Checker.Summary().Compared
	testenv.FailIf(compared < o.Players, "the results of %d of %d players are unknown, so they were not compared", o.Players-compared, o.Players)
	for table, kind := range map[*players.Table]string{t.results: players.Own, t.answers: players.Answer} {
		q := k.Stats.All().Quantiles(kind)
		table.Add(mode, float64(q.N), q.P50, q.P99, q.Max)
	}
	count := float64(o.Players)
	t.work.Add(mode, append([]float64{(peak - before) / count / 1000}, to.costs(from, count)...)...)
}

// sumNodes adds up a figure of all nodes, which read reads of a process.
func (c cluster) sumNodes(read func(pid int) (int64, error)) (sum float64) {
	for _, n := range c.All {
		sum += float64(testenv.Must(read(n.PID())))
	}
	return sum
}
