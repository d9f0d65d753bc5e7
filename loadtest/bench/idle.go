package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"laststand/loadtest/client"
	"laststand/loadtest/stats"
)

// measureIdle measures the memory of connections at rest on each kind of server. Then it
// closes them and measures a storm of connections.
func measureIdle(ctx context.Context, o connectionsOptions, r connectionTables) error {
	peer := func(flags ...string) func() (*cluster, error) {
		return func() (*cluster, error) {
			return startCluster(ctx, clusterOptions{floor: append([]string{PlainServerProcess}, flags...)})
		}
	}
	kinds := []struct {
		name  string
		start func() (*cluster, error)
	}{
		{"gorilla, default", peer()},
		{"gorilla, leanest", peer("-lean")},
		{"laststand", func() (*cluster, error) { return o.startNodes(ctx, 1) }},
	}
	for _, k := range kinds {
		c, err := k.start()
		if err != nil {
			return err
		}
		if err := errors.Join(o.measureIdleServer(ctx, r, k.name, c), c.stop()); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
	}
	return nil
}

func (o connectionsOptions) measureIdleServer(ctx context.Context, r connectionTables, name string, c *cluster) error {
	before, err := c.steadyMemory(ctx, o.heapFile("before"))
	if err != nil {
		return err
	}
	atRest, err := connectAtIntervals(ctx, c.urls[0], o.idle, o.fill)
	defer atRest.close()
	if err != nil {
		return err
	}
	after, err := c.steadyMemory(ctx, o.heapFile("after"))
	if err != nil {
		return err
	}
	r.addMemory(name, o.idle, before, after)
	if err := atRest.close(); err != nil {
		return err
	}
	if _, err := c.steadyMemory(ctx, ""); err != nil { // until the server has freed their memory
		return err
	}
	start := time.Now()
	storm, err := connectAtIntervals(ctx, c.urls[0], o.storm, o.stormTime)
	took := time.Since(start)
	if err := errors.Join(err, storm.close()); err != nil {
		return err
	}
	r.addServeTimes(name+", storm", storm.times, took, storm.refusals)
	return nil
}

// heapFile returns the file for a heap profile, "" if none is wanted.
func (o connectionsOptions) heapFile(suffix string) string {
	if o.heap == "" {
		return ""
	}
	return o.heap + "." + suffix
}

// served is the kind of the times until clients are served.
const served = "served"

// addServeTimes adds a row for clients that came at the same time: how long each waited.
func (r connectionTables) addServeTimes(row string, times *stats.Recorder, took time.Duration, refusals int) {
	q := times.Take().Quantiles(served)
	r.serveTimes.Add(row, float64(q.N), took.Seconds(), q.P50, q.P99, q.Max, float64(refusals))
}

// idleClients are clients that only stay connected.
type idleClients struct {
	isClosing atomic.Bool
	lost      atomic.Int64 // connections that ended before close
	reading   sync.WaitGroup

	times *stats.Recorder // of each client, from its scheduled start to its welcome

	mu       sync.Mutex
	open     []*client.Player
	refusals int // connections that the server refused; their clients tried again
	err      error
}

// connectAtIntervals starts clients at even intervals within a time. It does not wait for the
// earlier ones before it starts the next.
func connectAtIntervals(ctx context.Context, url string, count int, within time.Duration) (*idleClients, error) {
	c := &idleClients{times: stats.New(time.Hour)}
	start := time.Now()
	var connecting sync.WaitGroup
	for i := range count {
		scheduled := start.Add(within * time.Duration(i) / time.Duration(count))
		time.Sleep(time.Until(scheduled))
		connecting.Go(func() {
			player, refusals, err := connectPatiently(ctx, url, i)
			took := time.Since(scheduled)
			c.mu.Lock()
			defer c.mu.Unlock()
			c.refusals += refusals
			if err != nil {
				c.err = err
				return
			}
			c.times.Add(served, took)
			c.open = append(c.open, player)
			c.reading.Go(func() { c.stay(player) })
		})
	}
	connecting.Wait()
	return c, c.err
}

// clientTimeout limits every wait of a client.
const clientTimeout = time.Minute

// connectPatiently connects a client. It tries again as long as the server asks it to.
func connectPatiently(ctx context.Context, url string, number int) (player *client.Player, refusals int, err error) {
	ctx, cancel := context.WithTimeout(ctx, clientTimeout)
	defer cancel()
	d := client.Dialer{LocalDialer: client.FromAddress(number / client.PerAddress), Buffer: 1024}
	for {
		if player, err = connectPlayer(ctx, d, url, number); err == nil {
			return player, refusals, nil
		}
		delay, ok := retryDelay(err)
		if !ok {
			return nil, refusals, err
		}
		refusals++
		select {
		case <-ctx.Done():
			return nil, refusals, err
		case <-time.After(delay):
		}
	}
}

// retryDelay returns when a client must try again after a refused connection. A node that is
// short of places cuts the connections that have been silent longest, without a close code.
func retryDelay(err error) (delay time.Duration, ok bool) {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) {
		return time.Second, true
	}
	if client.CloseCode(err) == 0 {
		return 0, false
	}
	return client.ReconnectAfter(err)
}

// stay reads until the connection ends.
func (c *idleClients) stay(player *client.Player) {
	for {
		if _, err := player.ReadRaw(time.Hour); err != nil {
			break
		}
	}
	if !c.isClosing.Load() {
		c.lost.Add(1)
	}
}

// close closes all connections. It returns an error if one was lost before.
func (c *idleClients) close() error {
	c.isClosing.Store(true)
	for _, player := range c.open {
		_ = player.Close()
	}
	c.reading.Wait()
	if lost := c.lost.Load(); lost > 0 {
		return fmt.Errorf("%d connections were lost", lost)
	}
	return nil
}
