package bench

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/players"
)

// watchers are connections that receive the pushes of an arena.
type watchers struct {
	all     []*players.Player
	reading sync.WaitGroup

	mu     sync.Mutex
	pushes map[int64]*watchedPush // by the time at which the question opened, epoch ms
}

// watchedPush is a push that watchers have received.
type watchedPush struct {
	last  time.Time // when the last watcher received it
	count int       // watchers that received it
	size  int       // bytes
}

func connectWatchers(ctx context.Context, url, code string, count int) (*watchers, error) {
	w := &watchers{all: make([]*players.Player, count), pushes: make(map[int64]*watchedPush)}
	connecting, ctx := errgroup.WithContext(ctx)
	connecting.SetLimit(64)
	for i := range w.all {
		connecting.Go(func() error {
			id := "watcher_" + strconv.Itoa(i)
			token, err := testenv.Token("host", id) // hosts need no row in the ledger
			if err != nil {
				return err
			}
			d := players.Dialer{LocalDialer: players.FromAddress(i / players.PerAddress), Buffer: 1024}
			if w.all[i], err = d.Connect(ctx, url, players.Guest{ID: id, Token: token}, nil); err != nil {
				return err
			}
			return w.all[i].Ask(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: code, As: "spectator"})
		})
	}
	if err := connecting.Wait(); err != nil {
		w.close()
		return nil, err
	}
	for _, one := range w.all {
		w.reading.Go(func() { w.read(one) })
	}
	return w, nil
}

// read records the questions that a watcher receives, until its connection is closed.
func (w *watchers) read(one *players.Player) {
	for {
		frame, err := one.ReadRaw(playTimeout)
		if err != nil {
			return
		}
		receivedAt := time.Now()
		openedAt, ok := players.ParseNumber(players.TextAfter(frame, `"opens_at":`))
		if !ok || !bytes.HasPrefix(frame, []byte(`{"type":"`+protocol.TypeQuestion+`",`)) {
			continue
		}
		w.mu.Lock()
		p := w.pushes[openedAt]
		if p == nil {
			p = &watchedPush{size: len(frame)}
			w.pushes[openedAt] = p
		}
		p.count++
		if receivedAt.After(p.last) {
			p.last = receivedAt
		}
		w.mu.Unlock()
	}
}

// times returns how long each push took to reach all watchers, in ms and sorted.
func (w *watchers) times(pushes int) (ms []float64, size int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pushes) != pushes {
		return nil, 0, fmt.Errorf("watchers received %d pushes, want %d", len(w.pushes), pushes)
	}
	for openedAt, p := range w.pushes {
		if p.count != len(w.all) {
			return nil, 0, fmt.Errorf("a push reached %d of %d watchers", p.count, len(w.all))
		}
		ms, size = append(ms, float64(p.last.UnixMicro())/1000-float64(openedAt)), p.size
	}
	slices.Sort(ms)
	return ms, size, nil
}

func (w *watchers) close() {
	for _, one := range w.all {
		if one != nil {
			_ = one.Close()
		}
	}
	w.reading.Wait()
}
