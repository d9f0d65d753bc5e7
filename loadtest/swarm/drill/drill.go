package drill

import (
	"context"
	"fmt"
	"sync"
	"time"

	"laststand/loadtest/swarm/crowd"
	"laststand/loadtest/swarm/tally"
	"laststand/loadtest/swarm/truth"
)

// drill is one run.
type drill struct {
	Config
	stage  *stage
	crowds []*link
	series *tally.Series
	began  time.Time

	mu      sync.Mutex
	matches truth.Matches
	untrue  []string
	untold  int
	gauges  []Gauge
	marks   []Mark
}

// Mark is an instant at which something changes.
type Mark struct {
	AtS  float64 `json:"at_s"`
	What string  `json:"what"`
}

// Run carries a drill out and ends all that it started. An error says that it could
// not begin; what was untrue or too slow is in the report, and why it broke off.
func Run(ctx context.Context, c Config) (r *Report, err error) {
	c.pace()
	if c.Nodes == 0 || len(c.Attach) > 0 {
		c.Nodes = max(len(c.Attach), c.fits(0, c.connections()))
	}
	c.Processes = c.fits(c.Processes, c.connections())
	d := &drill{Config: c}
	guard, err := c.guard(ctx)
	if err != nil {
		return nil, err
	}
	defer guard.Close() // when nothing is left to end
	if d.stage, err = build(ctx, c, guard); err != nil {
		return nil, err
	}
	defer d.stage.stop()
	d.began = time.Now()
	d.series = tally.NewSeries(max(time.Second, c.For/300))
	d.note("%d nodes and %s serve", max(len(d.stage.urls), 1), d.stage.database)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer d.drop()
	if err := d.muster(ctx); err != nil {
		return nil, err
	}
	watching := make(chan struct{})
	go func() { // ends with the context
		defer close(watching)
		d.watch(ctx)
	}()
	defer func() { cancel(); <-watching }()
	return d.play(ctx), nil
}

// play has everybody connect, play and go. What was seen until a drill broke off is
// reported too.
func (d *drill) play(ctx context.Context) *Report {
	r := &Report{}
	from, to, err := d.load(ctx, r)
	if err == nil {
		d.note("nothing new is begun")
		err = d.finish(ctx)
	}
	if err == nil {
		d.note("all has been played and checked")
	} else {
		r.Broken = err.Error()
		d.note("broken off: %v", err)
		d.hearOut(ctx)
	}
	d.fill(r, from, to)
	return r
}

// load has everybody connect and play, and says between which spans the load was on.
func (d *drill) load(ctx context.Context, r *Report) (from, to int, err error) {
	err = d.connect(ctx)
	from = d.series.Span(time.Now()) + 1
	switch {
	case err != nil:
	case d.Spike:
		r.Spike, err = d.spike(ctx)
	default:
		d.note("the load begins, for %v", d.For)
		err = d.pause(ctx, d.For)
	}
	return from, d.series.Span(time.Now()), err
}

// muster starts the crowds.
func (d *drill) muster(ctx context.Context) error {
	for _, o := range d.orders(d.Processes, d.stage.urls) {
		p, err := d.Launch(ctx)
		if err != nil {
			return err
		}
		l := newLink(p)
		d.crowds = append(d.crowds, l)
		if err := l.tell(o); err != nil {
			return err
		}
		l.reading.Go(func() { l.read(d.take) })
	}
	return nil
}

// drop ends what crowds are left.
func (d *drill) drop() {
	for _, l := range d.crowds {
		l.drop()
	}
}

// take takes what a crowd says.
func (d *drill) take(s crowd.Said) {
	if err := d.series.Add(time.UnixMilli(s.At), s.Slice); err != nil {
		d.say("a tally could not be read: %v", err)
	}
	for _, one := range s.Seen {
		if differs := d.matches.Add(one); differs != "" {
			d.say("%s", differs)
		}
	}
	for _, one := range s.Untrue {
		d.say("%s", one)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.untold += s.Untold
}

// mostUntrue is how many untruths are listed; all are counted.
const mostUntrue = 200

func (d *drill) say(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.untrue) == mostUntrue {
		d.untold++
		return
	}
	d.untrue = append(d.untrue, fmt.Sprintf(format, args...))
}

// note marks an instant, and says so.
func (d *drill) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := Mark{AtS: time.Since(d.began).Seconds(), What: fmt.Sprintf(format, args...)}
	d.marks = append(d.marks, m)
	if d.Say != nil {
		d.Say(fmt.Sprintf("%7.1f s  %s", m.AtS, m.What))
	}
}

// stuckAfter bounds how long nobody may connect while some are to.
const stuckAfter = time.Minute

// connect waits until all are connected.
func (d *drill) connect(ctx context.Context) error {
	want := int64(d.connections())
	most, since := int64(-1), time.Now()
	for {
		n := d.connected()
		if n >= want {
			d.note("%d are connected", n)
			return nil
		}
		if n > most {
			most, since = n, time.Now()
		}
		if time.Since(since) > stuckAfter {
			d.say("only %d of %d could connect: %d of the connections that are asked for are refused or lost", n, want, want-n)
			return nil
		}
		if err := d.pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

func (d *drill) connected() (n int64) {
	for _, l := range d.crowds {
		n += l.connected.Load()
	}
	return n
}

// pause waits; an error says that a crowd, or the drill, has ended.
func (d *drill) pause(ctx context.Context, span time.Duration) error {
	wait := time.NewTimer(span)
	defer wait.Stop()
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		for _, l := range d.crowds {
			if err := l.ended(); err != nil {
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
