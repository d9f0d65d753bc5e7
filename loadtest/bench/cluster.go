package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"laststand/internal/testenv"
	"laststand/loadtest/players"
)

// options are the flags that all programs of this package have.
type options struct {
	Runs   int    `default:"${runs}" help:"Runs of each kind; the report shows medians."`
	Server string `placeholder:"BINARY" help:"Measure this binary instead of this tree."`
}

// part is one of the measurements of a program, on a cluster of its own. It fails by testenv.Must.
type part struct {
	name    string // several parts can have the same
	nodes   testenv.NodeOptions
	measure func(context.Context, cluster)
}

func (p part) run(ctx context.Context, server string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", p.name, err)
		}
	}()
	defer testenv.Recover(&err)
	p.nodes.Binary = server
	c := startCluster(ctx, p.nodes)
	defer func() { err = errors.Join(err, c.stop()) }()
	p.measure(ctx, c)
	return nil
}

// collectRarely is the garbage collector's setting for clients, which must leave the
// processors to the server.
const collectRarely = 400

// run builds the server, measures as often as runs are wanted, and publishes the report.
// names choose what to measure; none: everything. newParts adds tables to the report, and returns
// what to measure.
func (o *options) run(ctx context.Context, settings string, names []string, newParts func(*players.Report) []part) {
	testenv.FailIf(o.Runs < 1, "-runs is %d; use at least 1", o.Runs)
	o.Server = testenv.Must(testenv.BuildServer(ctx, o.Server))
	defer debug.SetGCPercent(debug.SetGCPercent(collectRarely))
	r := players.NewReport(fmt.Sprintf("bench %s, medians of %d runs", settings, o.Runs))
	chosen, err := choose(newParts(r), names)
	for _, p := range slices.Repeat(chosen, o.Runs) {
		if err == nil {
			err = p.run(ctx, o.Server)
		}
	}
	testenv.MustDo(errors.Join(err, r.Publish()))
}

// choose returns the parts with some names; without names, all. An unknown name is an
// error.
func choose(all []part, names []string) (chosen []part, err error) {
	if len(names) == 0 {
		return all, nil
	}
	var known []string
	for _, p := range all {
		known = append(known, p.name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("there is no %q to measure; use some of %s", name, strings.Join(known, ","))
		}
		chosen = append(chosen, slices.DeleteFunc(slices.Clone(all), func(p part) bool { return p.name != name })...)
	}
	return chosen, nil
}

// cluster is nodes, or a floor in their place, and connections to the stores that they share.
type cluster struct {
	*testenv.Nodes
	masters []*redis.Client // to each master of Redis; none if it is embedded
	ledger  *pgx.Conn       // to PostgreSQL; nil: SQLite
}

// startCluster starts the stores and then the nodes, or a floor in place of the nodes.
func startCluster(ctx context.Context, o testenv.NodeOptions) cluster {
	c := cluster{Nodes: testenv.Must(testenv.StartNodes(ctx, o))}
	for _, server := range c.Masters {
		c.masters = append(c.masters, redis.NewClient(&redis.Options{Addr: server.Addr, PoolSize: 64}))
	}
	if c.Postgres != nil {
		c.ledger = testenv.Must(pgx.Connect(ctx, c.Postgres.URL))
	}
	return c
}

func (c cluster) stop() error {
	err := c.Stop()
	for _, m := range c.masters {
		err = errors.Join(err, m.Close())
	}
	if c.ledger != nil {
		_ = c.ledger.Close(context.Background()) // its server has ended
	}
	return err
}

// costColumns show the growth of processor time, divided by a number such as that of answers.
var costColumns = []string{"nodes µs", "Redis µs", "PostgreSQL µs", "clients µs"}

// usage is what all processes have used so far.
type usage struct {
	at     time.Time
	cpu    map[string]float64 // µs, by column
	memory float64            // bytes of Redis, without the buffers of its clients
}

// costs returns by how much the processor times have grown, divided by a number.
func (u usage) costs(from usage, divisor float64) (all []float64) {
	for _, column := range costColumns {
		all = append(all, (u.cpu[column]-from.cpu[column])/divisor)
	}
	return all
}

func (c cluster) readUsage(ctx context.Context) usage {
	u := usage{at: time.Now(), cpu: make(map[string]float64)}
	add := func(column string, cpuTime func(pid int) (time.Duration, error), pid int) {
		u.cpu[column] += micros(testenv.Must(cpuTime(pid)))
	}
	add("clients µs", testenv.CPUTime, os.Getpid())
	for _, master := range c.masters {
		testenv.MustDo(u.addRedisInfo(testenv.Must(master.InfoMap(ctx, "cpu", "memory").Result())))
	}
	if c.Postgres != nil {
		add("PostgreSQL µs", testenv.CPUTimeWithChildren, c.Postgres.PID())
	}
	for _, n := range c.All {
		add("nodes µs", testenv.CPUTime, n.PID())
	}
	return u
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// addRedisInfo adds the sections of INFO of a master.
func (u *usage) addRedisInfo(info map[string]map[string]string) (err error) {
	number := func(section, name string) float64 {
		n, wrong := strconv.ParseFloat(info[section][name], 64)
		err = errors.Join(err, wrong)
		return n
	}
	u.cpu["Redis µs"] += 1e6 * (number("CPU", "used_cpu_user") + number("CPU", "used_cpu_sys"))
	u.memory += number("Memory", "used_memory") - number("Memory", "mem_clients_normal")
	return err
}

// measurement is the use of all processes between two times, and the answers.
type measurement struct {
	from, to usage
	answers  players.Quantiles
	memory   float64 // bytes of Redis for all matches so far
	replies  int64   // so far
}

// newAnswerTable adds the table of the figures of answers: their speed, and the cost of each.
func newAnswerTable(r *players.Report) *players.Table {
	return r.Table("answers", slices.Concat([]string{"answers/s", "p50 ms", "p99 ms"}, costColumns, []string{"Redis B"})...)
}

// addTo adds a measurement to a row.
func (m measurement) addTo(t *players.Table, row string) {
	count := float64(m.answers.N)
	figures := append([]float64{count / m.to.at.Sub(m.from.at).Seconds(), m.answers.P50, m.answers.P99}, m.to.costs(m.from, count)...)
	t.Add(row, append(figures, m.memory/float64(max(m.replies, 1)))...)
}
