package identity

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"laststand/internal/nickname"
)

// fakeSnapshots stores snapshots in memory.
type fakeSnapshots struct {
	mu    sync.Mutex
	files map[string][]byte
	down  bool
	saves int
}

func (m *fakeSnapshots) Open(game string) (io.ReadCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, has := m.files[game]
	if !has {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}

func (m *fakeSnapshots) Save(game string, write func(io.Writer) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down {
		return errStore
	}
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	m.files[game] = b.Bytes()
	m.saves++
	return nil
}

func (m *fakeSnapshots) setDown(down bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.down = down
}

// kept runs a registry with one name until it has saved snapshots, and returns them.
func kept(t *testing.T, s *fakeStore) *fakeSnapshots {
	t.Helper()
	m := &fakeSnapshots{files: map[string][]byte{}}
	s.claim(t, "Ada")
	_, end := s.run(t, m.config)
	end()
	if len(m.files) != 2 {
		t.Fatalf("snapshots of %d games", len(m.files))
	}
	return m
}

func (m *fakeSnapshots) config(c *Config) { c.Snapshots = m }

func (w *replication) snapshots(outcome string) float64 {
	return testutil.ToFloat64(w.replicator.metrics.snapshots.WithLabelValues(outcome))
}

// A start with snapshots reads only newer claims, and does not read all names.
func TestAStartFromSnapshots(t *testing.T) {
	withFakeTime(t, func(t *testing.T, s *fakeStore) {
		m := kept(t, s)
		left := s.clock()
		s.claimAt(t, "Slow", fullReadOverlap) // it commits after the stop
		time.Sleep(24 * time.Hour)
		s.claim(t, "Grace")
		builds := s.tried()
		s.mu.Lock()
		s.reads = nil
		s.mu.Unlock()
		w, end := s.run(t, m.config)
		defer end()
		for _, name := range []string{"Ada", "Slow", "Grace"} {
			w.expect(name, true)
		}
		w.expect("Bob", false)
		if s.tried() != builds || w.snapshots(loaded) != 2 {
			t.Errorf("read all names %d times, %v snapshots loaded", s.tried()-builds, w.snapshots(loaded))
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if want := left - fullReadOverlap.Milliseconds(); s.reads[0] != want {
			t.Errorf("read since %d, want %d", s.reads[0], want)
		}
	})
}

// rewritten returns a snapshot with another stamp.
func rewritten(t *testing.T, b []byte, change func(*nickname.SnapshotInfo)) []byte {
	t.Helper()
	f, stamp, err := nickname.ReadFilter(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	change(&stamp)
	var out bytes.Buffer
	if err := f.Write(&out, stamp); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A snapshot that is broken or belongs elsewhere is counted, and the view is built
// from the ledger.
func TestSnapshotsThatAreNotUsed(t *testing.T) {
	stamped := func(change func(*nickname.SnapshotInfo)) func(*testing.T, []byte) []byte {
		return func(t *testing.T, b []byte) []byte { return rewritten(t, b, change) }
	}
	for name, tt := range map[string]struct {
		outcome string
		spoil   func(*testing.T, []byte) []byte
	}{
		"cut off": {broken, func(_ *testing.T, b []byte) []byte { return b[:len(b)-1] }},
		"empty":   {broken, func(*testing.T, []byte) []byte { return nil }},
		"flipped": {broken, func(_ *testing.T, b []byte) []byte { b = slices.Clone(b); b[len(b)/2] ^= 1; return b }},
		"newer": {newer, func(_ *testing.T, b []byte) []byte {
			return bytes.Replace(b, []byte("version 1\n"), []byte("version 2\n"), 1)
		}},
		"other ledger": {foreign, stamped(func(s *nickname.SnapshotInfo) { s.Epoch = "second" })},
		"other game":   {foreign, stamped(func(s *nickname.SnapshotInfo) { s.Game = other })},
		"other rules":  {foreign, stamped(func(s *nickname.SnapshotInfo) { s.Rules++ })},
		"ahead":        {ahead, stamped(func(s *nickname.SnapshotInfo) { s.Watermark += fullReadOverlap.Milliseconds() + 1 })},
		"other rate": {foreign, func(t *testing.T, b []byte) []byte {
			var out bytes.Buffer
			_, stamp, err := nickname.ReadFilter(bytes.NewReader(b))
			if err := errors.Join(err, nickname.NewFilter(10, 0.5).Write(&out, stamp)); err != nil {
				t.Fatal(err)
			}
			return out.Bytes()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			withFakeTime(t, func(t *testing.T, s *fakeStore) {
				m := kept(t, s)
				m.files[game] = tt.spoil(t, m.files[game])
				w, end := s.run(t, m.config)
				defer end()
				if w.snapshots(tt.outcome) != 1 || w.snapshots(loaded) != 1 || w.built(reasonStart) != 1 {
					t.Errorf("%v %s, %v loaded, built %v times", w.snapshots(tt.outcome), tt.outcome, w.snapshots(loaded), w.built(reasonStart))
				}
				w.expect("Ada", true)
				w.expect("Grace", false)
			})
		})
	}
}

// Snapshots are saved at a stop and every ten minutes, if there are new names. A
// failed save is counted and repeated.
func TestSnapshotsAreKeptNowAndThen(t *testing.T) {
	withFakeTime(t, func(t *testing.T, s *fakeStore) {
		m := &fakeSnapshots{files: map[string][]byte{}}
		w, end := s.run(t, m.config)
		saves := func(want int, when string) {
			t.Helper()
			m.mu.Lock()
			defer m.mu.Unlock()
			if m.saves != want {
				t.Errorf("%d saved %s, want %d", m.saves, when, want)
			}
		}
		pass(saveEvery + time.Second)
		saves(2, "after ten minutes")
		pass(saveEvery)
		saves(2, "with nothing new")
		s.claim(t, "Ada")
		m.setDown(true)
		pass(saveEvery)
		saves(2, "where nothing can be")
		if got := w.snapshots(unsaved); got != 1 {
			t.Errorf("%v failures", got)
		}
		m.setDown(false)
		pass(saveEvery)
		saves(3, "once it can be")
		s.claim(t, "Grace")
		pass(time.Second)
		end()
		saves(4, "at the stop")
		later, end := s.run(t, m.config)
		later.expect("Grace", true)
		if later.snapshots(loaded) != 2 {
			t.Error("the snapshots of the stop are not used")
		}
		end()
		saves(4, "by a start without new names")
	})
}
