package clients

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"
)

// RunProcess carries out the plan in the first line of the input, and then commands. After
// the stop command it checks the stored data and ends. If the input ends first, the parent
// process is gone and RunProcess drops everything.
func RunProcess(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	var order Plan
	if err := readLine(lines, &order); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := Start(ctx, order)
	encoder := json.NewEncoder(out)
	stopped := make(chan struct{})
	go func() { // ends with the input, which the parent closes at the latest after the last line of the output
		c.readCommands(lines, cancel, stopped)
	}()
	ended := make(chan *Summary, 1)
	var work sync.WaitGroup
	work.Go(func() {
		<-stopped
		c.Wait()
		checked, unsure := c.Check(ctx)
		ended <- c.Summarize(checked, unsure)
	})
	defer work.Wait()
	return c.writeUpdates(ctx, encoder, ended)
}

func readLine(lines *bufio.Reader, v any) error {
	raw, err := lines.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, v)
}

// readCommands carries out commands until the input ends, and then calls drop. It closes
// stopped at the stop command or at the end of the input.
func (c *Clients) readCommands(lines *bufio.Reader, drop func(), stopped chan<- struct{}) {
	var growing sync.WaitGroup
	once := sync.OnceFunc(func() {
		c.Stop()
		growing.Wait()
		close(stopped)
	})
	for {
		var cmd Command
		if readLine(lines, &cmd) != nil {
			drop()
			once()
			return
		}
		if cmd.Stop {
			once()
			continue
		}
		if cmd.Collect {
			collectNow()
		}
		growing.Wait() // one change after another
		if cmd.Duellists > 0 {
			growing.Go(func() { c.SetDuellists(cmd.Duellists) })
		}
	}
}

// writeUpdates writes an update at each interval, and the summary at the end.
func (c *Clients) writeUpdates(ctx context.Context, to *json.Encoder, ended <-chan *Summary) error {
	every := time.NewTicker(c.UpdateEvery)
	defer every.Stop()
	for {
		var done *Summary
		select {
		case <-ctx.Done():
		case done = <-ended:
		case <-every.C:
		}
		if ctx.Err() != nil {
			return errors.New("the swarm was given up")
		}
		s, err := c.TakeUpdate()
		if err != nil {
			return err
		}
		s.Done = done
		if err := to.Encode(s); err != nil || done != nil {
			return err
		}
	}
}
