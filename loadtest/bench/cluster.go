package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"laststand/internal/testenv"
	"laststand/loadtest/players"
)

// clusterOptions say which nodes and stores to start.
type clusterOptions struct {
	nodes int
	floor []string            // flags of a floor in place of the nodes; with Redis it also gets -redis; nil: none
	node  testenv.NodeOptions // of each node; for Redis and Database see StartStores
}

// cluster is nodes, or a floor in their place, and connections to the stores that they share.
type cluster struct {
	*testenv.Nodes
	masters []*redis.Client // to each master of Redis; none if it is embedded
	ledger  *pgx.Conn       // to PostgreSQL; nil: SQLite
}

// startCluster starts the stores and then the nodes, or a floor in place of the nodes.
func startCluster(ctx context.Context, o clusterOptions) cluster {
	c := cluster{Nodes: testenv.Must(testenv.StartNodes(ctx, o.nodes, o.node))}
	for _, server := range c.Masters {
		c.masters = append(c.masters, redis.NewClient(&redis.Options{Addr: server.Addr, PoolSize: 64}))
	}
	if c.Postgres != nil {
		c.ledger = testenv.Must(pgx.Connect(ctx, c.Postgres.URL))
	}
	if o.floor != nil {
		arguments := append([]string{FloorProcess}, o.floor...)
		if len(c.Masters) > 0 {
			arguments = append(arguments, "-redis", c.Masters[0].Addr)
		}
		testenv.MustDo(c.AddFloor(arguments...))
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
var costColumns = players.Columns(1, "nodes µs", "Redis µs", "PostgreSQL µs", "clients µs")

// usage is what all processes have used so far.
type usage struct {
	at     time.Time
	cpu    map[string]float64 // µs, by column
	memory float64            // bytes of Redis, without the buffers of its clients
}

// costs returns by how much the processor times have grown, divided by a number.
func (u usage) costs(from usage, divisor float64) (all []float64) {
	for _, c := range costColumns {
		all = append(all, (u.cpu[c.Name]-from.cpu[c.Name])/divisor)
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
		testenv.MustDo(u.addRedisInfo(testenv.Must(master.Info(ctx, "everything").Result())))
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

func (u *usage) addRedisInfo(info string) (err error) {
	fields := make(map[string]string)
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		fields[name] = value
	}
	number := func(name string) float64 {
		n, wrong := strconv.ParseFloat(fields[name], 64)
		if wrong != nil {
			err = cmp.Or(err, fmt.Errorf("INFO: %s: %w", name, wrong))
		}
		return n
	}
	u.cpu["Redis µs"] += 1e6 * (number("used_cpu_user") + number("used_cpu_sys"))
	u.memory += number("used_memory") - number("mem_clients_normal")
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
	return r.Table("answers", slices.Concat(players.Columns(0, "answers/s"), players.Columns(2, "p50 ms", "p99 ms"), costColumns, players.Columns(0, "Redis B"))...)
}

// addTo adds a measurement to a row.
func (m measurement) addTo(t *players.Table, row string) {
	count := float64(m.answers.N)
	figures := append([]float64{count / m.to.at.Sub(m.from.at).Seconds(), m.answers.P50, m.answers.P99}, m.to.costs(m.from, count)...)
	t.Add(row, append(figures, m.memory/float64(max(m.replies, 1)))...)
}
