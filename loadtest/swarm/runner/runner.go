package runner

import (
	"context"
	"fmt"
	"sync"
	"time"

	"laststand/loadtest/swarm/clients"
	"laststand/loadtest/swarm/rules"
	"laststand/loadtest/swarm/stats"
)

// runner is one run of the load test.
type runner struct {
	Config
	environment *environment
	workers     []*worker
	series      *stats.Series
	began       time.Time

	mu         sync.Mutex
	matches    rules.Matches
	violations []string
	omitted    int
	samples    []Sample
	marks      []Mark
}

// Mark is a time at which something changes.
type Mark struct {
	AtS  float64 `json:"at_s"`
	What string  `json:"what"`
}

// Run runs a load test and ends everything that it started. An error says that the
// test could not begin. The report lists violations, slow answers and why a run broke off.
func Run(ctx context.Context, c Config) (r *Report, err error) {
	c.setPace()
	if c.Nodes == 0 || len(c.Attach) > 0 {
		c.Nodes = max(len(c.Attach), c.processesFor(0, c.connections()))
	}
	c.Processes = c.processesFor(c.Processes, c.connections())
	d := &runner{Config: c}
	guard, err := c.startGuard(ctx)
	if err != nil {
		return nil, err
	}
	defer guard.Close() // after everything else has ended
	if d.environment, err = startEnvironment(ctx, c, guard); err != nil {
		return nil, err
	}
	defer d.environment.stop()
	d.began = time.Now()
	d.series = stats.NewSeries(max(time.Second, c.For/300))
	d.logMark("%d nodes and %s serve", max(len(d.environment.urls), 1), d.environment.database)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer d.dropWorkers()
	if err := d.startWorkers(ctx); err != nil {
		return nil, err
	}
	watching := make(chan struct{})
	go func() { // ends with the context
		defer close(watching)
		d.sampleUntilDone(ctx)
	}()
	defer func() { cancel(); <-watching }()
	return d.play(ctx), nil
}

// play connects the clients, lets them play and stops them. If the run breaks off, it still
// reports everything up to then.
func (d *runner) play(ctx context.Context) *Report {
	r := &Report{}
	from, to, err := d.load(ctx, r)
	if err == nil {
		d.logMark("nothing new is begun")
		err = d.finish(ctx)
	}
	if err == nil {
		d.logMark("all has been played and checked")
	} else {
		r.Broken = err.Error()
		d.logMark("broken off: %v", err)
		d.awaitLastUpdates(ctx)
	}
	d.fillReport(r, from, to)
	return r
}

// load connects the clients and lets them play. It returns the spans between which the load
// was on.
func (d *runner) load(ctx context.Context, r *Report) (from, to int, err error) {
	err = d.connect(ctx)
	from = d.series.Span(time.Now()) + 1
	switch {
	case err != nil:
	case d.Spike:
		r.Spike, err = d.runSpike(ctx)
	default:
		d.logMark("the load begins, for %v", d.For)
		err = d.pause(ctx, d.For)
	}
	return from, d.series.Span(time.Now()), err
}

// startWorkers starts the client processes.
func (d *runner) startWorkers(ctx context.Context) error {
	for _, o := range d.plans(d.Processes, d.environment.urls) {
		p, err := d.Launch(ctx)
		if err != nil {
			return err
		}
		l := newWorker(p)
		d.workers = append(d.workers, l)
		if err := l.send(o); err != nil {
			return err
		}
		l.reading.Go(func() { l.read(d.handleUpdate) })
	}
	return nil
}

// dropWorkers ends the remaining client processes.
func (d *runner) dropWorkers() {
	for _, l := range d.workers {
		l.drop()
	}
}

// handleUpdate handles an update of a client process.
func (d *runner) handleUpdate(s clients.Update) {
	if err := d.series.Add(time.UnixMilli(s.At), s.Slice); err != nil {
		d.addViolation("a tally could not be read: %v", err)
	}
	for _, one := range s.Digests {
		if differs := d.matches.Add(one); differs != "" {
			d.addViolation("%s", differs)
		}
	}
	for _, one := range s.Violations {
		d.addViolation("%s", one)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.omitted += s.Omitted
}

// maxViolations is how many violations the report lists; all are counted.
const maxViolations = 200

func (d *runner) addViolation(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.violations) == maxViolations {
		d.omitted++
		return
	}
	d.violations = append(d.violations, fmt.Sprintf(format, args...))
}

// logMark records a mark and prints it.
func (d *runner) logMark(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := Mark{AtS: time.Since(d.began).Seconds(), What: fmt.Sprintf(format, args...)}
	d.marks = append(d.marks, m)
	if d.Log != nil {
		d.Log(fmt.Sprintf("%7.1f s  %s", m.AtS, m.What))
	}
}

// connectStallLimit bounds the time without a new connection while some are missing.
const connectStallLimit = time.Minute

// connect waits until all clients are connected.
func (d *runner) connect(ctx context.Context) error {
	want := int64(d.connections())
	highest, since := int64(-1), time.Now()
	for {
		n := d.connected()
		if n >= want {
			d.logMark("%d are connected", n)
			return nil
		}
		if n > highest {
			highest, since = n, time.Now()
		}
		if time.Since(since) > connectStallLimit {
			d.addViolation("only %d of %d could connect: %d of the connections that are asked for are refused or lost", n, want, want-n)
			return nil
		}
		if err := d.pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

func (d *runner) connected() (n int64) {
	for _, l := range d.workers {
		n += l.connected.Load()
	}
	return n
}

// pause waits. It returns an error if a client process or the run has ended.
func (d *runner) pause(ctx context.Context, span time.Duration) error {
	wait := time.NewTimer(span)
	defer wait.Stop()
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		for _, l := range d.workers {
			if err := l.endError(); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wait.C:
			return nil
		case <-look.C:
		}
	}
}
