package leaderboard

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// memory is a Store of one game in memory, with every promise of the real one.
// Fail is asked before each call by the name of the method, and may call back;
// lost after each that writes.
type memory struct {
	mu       sync.Mutex
	copies   map[string]*memoryCopy // by id
	served   map[string]string      // form → id
	building map[string]string
	forms    []Config // published, the last one first
	leases   map[Duty]leased
	swept    []int64
	fail     func(method string) error
	lost     func(method string) error

	writes int // calls that may write
	steps  int
	widest int      // most writes of a step
	faults []string // of steps that do not fit what they build on
}

type leased struct {
	holder string
	until  time.Time
}

// memoryCopy is one generation.
type memoryCopy struct {
	state  State
	boards map[Board]map[string]Held
	ranked map[Board]map[Order]map[string]float64
	asOf   map[Board]int64
	days   map[string]map[Kind]int64
}

func newMemory() *memory {
	return &memory{
		copies: map[string]*memoryCopy{}, served: map[string]string{}, building: map[string]string{},
		leases: map[Duty]leased{},
		fail:   func(string) error { return nil }, lost: func(string) error { return nil },
	}
}

// lock begins a call.
func (m *memory) lock(method string) error {
	err := m.fail(method)
	m.mu.Lock()
	switch method {
	case "Begin", "Publish", "Sweep", "Commit":
		m.writes++
	}
	return err
}

func (m *memory) find(pointers map[string]string, game, form string) State {
	state := State{Generation: Generation{Game: game, Form: form, ID: pointers[form]}}
	c := m.copies[state.ID]
	if c == nil {
		return state
	}
	state = c.state
	state.Rolls = maps.Clone(c.state.Rolls)
	return state
}

func (m *memory) Served(_ context.Context, game, form string) (State, error) {
	err := m.lock("Served")
	defer m.mu.Unlock()
	if err != nil {
		return State{}, err
	}
	state := m.find(m.served, game, form)
	state.Served = state.ID != ""
	return state, nil
}

func (m *memory) Building(_ context.Context, game, form string) (State, error) {
	err := m.lock("Building")
	defer m.mu.Unlock()
	if err != nil {
		return State{}, err
	}
	state := m.find(m.building, game, form)
	if state.ID != "" {
		state.Before = m.served[form]
	}
	return state, nil
}

func (m *memory) Begin(_ context.Context, cfg Config, fresh State, instead string) error {
	err := m.lock("Begin")
	defer m.mu.Unlock()
	if err != nil {
		return err
	}
	form := fresh.Form
	building, served := m.building[form], m.served[form]
	if building != "" && building != instead || building == "" && served != "" && served != instead {
		return nil
	}
	delete(m.copies, building)
	m.building[form] = fresh.ID
	m.copies[fresh.ID] = &memoryCopy{
		state: fresh, boards: map[Board]map[string]Held{}, ranked: map[Board]map[Order]map[string]float64{},
		asOf: map[Board]int64{}, days: map[string]map[Kind]int64{},
	}
	m.forms = append(slices.DeleteFunc(m.forms, func(c Config) bool { return c.Form() == form }), cfg)
	return m.lost("Begin")
}

func (m *memory) Publish(_ context.Context, s State) error {
	err := m.lock("Publish")
	defer m.mu.Unlock()
	if err != nil {
		return err
	}
	c := m.copies[s.ID]
	if m.building[s.Form] != s.ID || m.served[s.Form] != s.Before || c == nil || c.state.Loading {
		return nil
	}
	delete(m.copies, s.Before)
	delete(m.building, s.Form)
	m.served[s.Form] = s.ID
	slices.SortStableFunc(m.forms, func(a, b Config) int {
		return cmp.Compare(truth(b.Form() == s.Form), truth(a.Form() == s.Form))
	})
	return m.lost("Publish")
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (m *memory) Forms(_ context.Context, game string) ([]Config, error) {
	err := m.lock("Forms")
	defer m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	unserved := func(c Config) bool { return c.Game != game || m.served[c.Form()] == "" }
	return slices.DeleteFunc(slices.Clone(m.forms), unserved), nil
}

func (m *memory) Sweep(_ context.Context, _, _ string, before int64) error {
	err := m.lock("Sweep")
	defer m.mu.Unlock()
	m.swept = append(m.swept, before)
	return err
}

func (m *memory) Lease(_ context.Context, d Duty, holder string, ttl time.Duration) (bool, error) {
	err := m.lock("Lease")
	defer m.mu.Unlock()
	if err != nil {
		return false, err
	}
	if l, taken := m.leases[d]; taken && l.holder != holder && time.Now().Before(l.until) {
		return false, nil
	}
	m.leases[d] = leased{holder, time.Now().Add(ttl)}
	return true, nil
}

func (m *memory) Release(_ context.Context, d Duty, holder string) error {
	err := m.lock("Release")
	defer m.mu.Unlock()
	if err == nil && m.leases[d].holder == holder {
		delete(m.leases, d)
	}
	return err
}

// expire ends every lease, as its time does for who died.
func (m *memory) expire() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.leases)
}

func (m *memory) Held(_ context.Context, g Generation, wants []Want) ([]Content, error) {
	err := m.lock("Held")
	defer m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return m.held(g, wants), nil
}

func (m *memory) held(g Generation, wants []Want) []Content {
	answers := make([]Content, len(wants))
	c := m.copies[g.ID]
	for i, w := range wants {
		if c == nil {
			continue
		}
		answers[i].Entries = int64(len(c.boards[w.Board]))
		for _, id := range w.IDs {
			if h, there := c.boards[w.Board][id]; there {
				answers[i].Held = append(answers[i].Held, h)
			}
		}
	}
	return answers
}

func (m *memory) Members(_ context.Context, g Generation, v View, from int64, limit int) ([]Held, error) {
	err := m.lock("Members")
	defer m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	c := m.copies[g.ID]
	if c == nil {
		return nil, nil
	}
	keys := c.ranked[v.Board][v.Ranking]
	members := slices.SortedFunc(maps.Keys(keys), func(a, b string) int {
		return cmp.Or(cmp.Compare(keys[a], keys[b]), cmp.Compare(a, b))
	})
	var held []Held
	for _, member := range members[min(int(from), len(members)):min(int(from)+limit, len(members))] {
		_, id, _ := strings.Cut(member, ":")
		held = append(held, c.boards[v.Board][id])
	}
	return held, nil
}

func (m *memory) Sealed(_ context.Context, g Generation, day string) (Sealed, bool, error) {
	err := m.lock("Sealed")
	defer m.mu.Unlock()
	if err != nil {
		return Sealed{}, false, err
	}
	c := m.copies[g.ID]
	if c == nil || c.days[day] == nil {
		return Sealed{}, false, nil
	}
	return Sealed{Day: day, Entries: maps.Clone(c.days[day])}, true, nil
}

func (m *memory) Inspect(_ context.Context, g Generation, rankings []Order, wants []Want) (Inspection, error) {
	err := m.lock("Inspect")
	defer m.mu.Unlock()
	if err != nil {
		return Inspection{}, err
	}
	c := m.copies[g.ID]
	if c == nil || c.state.Stamp == "" {
		return Inspection{}, ErrStale
	}
	seen := Inspection{Progress: c.state.Progress}
	seen.Rolls = maps.Clone(seen.Rolls)
	for i, content := range m.held(g, wants) {
		board := wants[i].Board
		one := Inspected{Content: content, Ranked: map[Order]int64{}}
		for _, h := range content.Held {
			keys := map[Order]float64{}
			for _, o := range rankings {
				if key, there := c.ranked[board][o][h.Member()]; there {
					keys[o] = key
				}
			}
			one.Keys = append(one.Keys, keys)
		}
		for _, o := range rankings {
			one.Ranked[o] = int64(len(c.ranked[board][o]))
		}
		seen.Boards = append(seen.Boards, one)
	}
	return seen, nil
}

func (m *memory) Commit(_ context.Context, g Generation, steps []Step) error {
	err := m.lock("Commit")
	defer m.mu.Unlock()
	if err != nil {
		return err
	}
	for _, s := range steps {
		c := m.copies[g.ID]
		switch {
		case c == nil:
			return ErrStale
		case c.state.Stamp == s.Stamp:
			continue
		case c.state.Stamp != s.Expect:
			return ErrStale
		}
		m.steps++
		m.widest = max(m.widest, writes(s))
		m.faults = append(m.faults, c.take(s)...)
	}
	return m.lost("Commit")
}

// writes counts what a step changes.
func writes(s Step) int {
	n := len(s.Seal) + len(s.Drop)
	for _, c := range s.Changes {
		n += len(c.Put) + len(c.Gone)
		for _, members := range c.Out {
			n += len(members)
		}
		for _, members := range c.In {
			n += len(members)
		}
	}
	return n
}

// take writes a step, and says what does not fit.
func (c *memoryCopy) take(s Step) (faults []string) {
	for _, change := range s.Changes {
		faults = append(faults, c.change(change)...)
	}
	for _, day := range s.Seal {
		c.days[day.Day] = maps.Clone(day.Entries)
	}
	for _, day := range s.Drop {
		for _, kind := range Kinds() {
			delete(c.boards, Board{kind, day})
			delete(c.ranked, Board{kind, day})
			delete(c.asOf, Board{kind, day})
		}
		delete(c.days, day)
	}
	// A step is kept as it is written, so what it holds must bear JSON.
	raw, err := json.Marshal(s.Progress)
	if err != nil {
		panic(err)
	}
	c.state.Progress = Progress{}
	if err := json.Unmarshal(raw, &c.state.Progress); err != nil {
		panic(err)
	}
	c.state.Stamp, c.state.Loading = s.Stamp, s.Loading
	return faults
}

func (c *memoryCopy) change(change Change) (faults []string) {
	b := change.Board
	if c.boards[b] == nil {
		c.boards[b], c.ranked[b] = map[string]Held{}, map[Order]map[string]float64{}
	}
	if change.AsOf > 0 {
		c.asOf[b] = change.AsOf
	}
	for _, h := range change.Put {
		c.boards[b][h.ID] = h
	}
	for _, id := range change.Gone {
		delete(c.boards[b], id)
	}
	for o, members := range change.Out {
		for _, member := range members {
			if _, there := c.ranked[b][o][member]; !there {
				faults = append(faults, fmt.Sprintf("%v by %s: %s leaves and is not there", b, o, member))
			}
			delete(c.ranked[b][o], member)
		}
	}
	for o, members := range change.In {
		if c.ranked[b][o] == nil {
			c.ranked[b][o] = map[string]float64{}
		}
		for _, r := range members {
			c.ranked[b][o][r.Member] = r.Key
		}
	}
	return faults
}
