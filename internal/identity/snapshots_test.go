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
	mu     sync.Mutex
	files  map[string][]byte
	isDown bool
	saves  int
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
	if m.isDown {
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
	m.isDown = down
}

// savedSnapshots runs a registry with one name until it has saved snapshots, and returns them.
func savedSnapshots(t *testing.T, s *fakeStore) *fakeSnapshots {
	t.Helper()
	snapshots := &fakeSnapshots{files: map[string][]byte{}}
	s.claim(t, "Ada")
	_, end := s.startRegistry(t, snapshots.config)
	end()
	if len(snapshots.files) != 2 {
		t.Fatalf("snapshots of %d games", len(snapshots.files))
	}
	return snapshots
}

// config makes a registry use the snapshots.
func (m *fakeSnapshots) config(c *Config) { c.Snapshots = m }

func (r *replication) snapshotCount(outcome string) float64 {
	return testutil.ToFloat64(r.replicator.metrics.snapshots.WithLabelValues(outcome))
}

// A start with snapshots reads only newer claims, and does not read all names.
func TestAStartWithSnapshotsReadsOnlyNewerClaims(t *testing.T) {
	withFakeTime(t, func(t *testing.T, s *fakeStore) {
		snapshots := savedSnapshots(t, s)
		stoppedAt := s.clock()
		s.claimAt(t, "Slow", fullReadOverlap) // it commits after the stop
		time.Sleep(24 * time.Hour)
		s.claim(t, "Grace")
		builds := s.countSkeletonReads()
		s.mu.Lock()
		s.readsFrom = nil
		s.mu.Unlock()
		r, end := s.startRegistry(t, snapshots.config)
		defer end()
		for _, name := range []string{"Ada", "Slow", "Grace"} {
			r.expect(name, true)
		}
		r.expect("Bob", false)
		if s.countSkeletonReads() != builds || r.snapshotCount(snapshotLoaded) != 2 {
			t.Errorf("read all names %d times, %v snapshots loaded", s.countSkeletonReads()-builds, r.snapshotCount(snapshotLoaded))
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if want := stoppedAt - fullReadOverlap.Milliseconds(); s.readsFrom[0] != want {
			t.Errorf("read since %d, want %d", s.readsFrom[0], want)
		}
	})
}

// rewriteSnapshot returns a snapshot with the same filter and changed information.
func rewriteSnapshot(t *testing.T, content []byte, change func(*nickname.SnapshotInfo)) []byte {
	t.Helper()
	f, info, err := nickname.ReadFilter(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	change(&info)
	var out bytes.Buffer
	if err := f.Write(&out, info); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A snapshot that is damaged, or belongs to another game, ledger or version, is counted as
// such. The view is then built from the ledger.
func TestUnusableSnapshotsAreIgnored(t *testing.T) {
	withInfo := func(change func(*nickname.SnapshotInfo)) func(*testing.T, []byte) []byte {
		return func(t *testing.T, content []byte) []byte { return rewriteSnapshot(t, content, change) }
	}
	for name, tt := range map[string]struct {
		outcome string
		spoil   func(*testing.T, []byte) []byte
	}{
		"cut off": {snapshotBroken, func(_ *testing.T, content []byte) []byte { return content[:len(content)-1] }},
		"empty":   {snapshotBroken, func(*testing.T, []byte) []byte { return nil }},
		"one bit flipped": {snapshotBroken, func(_ *testing.T, content []byte) []byte {
			content = slices.Clone(content)
			content[len(content)/2] ^= 1
			return content
		}},
		"newer format": {snapshotNewerFormat, func(_ *testing.T, content []byte) []byte {
			return bytes.Replace(content, []byte("version 1\n"), []byte("version 2\n"), 1)
		}},
		"other ledger":        {snapshotForeign, withInfo(func(s *nickname.SnapshotInfo) { s.Epoch = "second" })},
		"other game":          {snapshotForeign, withInfo(func(s *nickname.SnapshotInfo) { s.Game = other })},
		"other rules":         {snapshotForeign, withInfo(func(s *nickname.SnapshotInfo) { s.Rules++ })},
		"ahead of the ledger": {snapshotAhead, withInfo(func(s *nickname.SnapshotInfo) { s.Watermark += fullReadOverlap.Milliseconds() + 1 })},
		"other false positive rate": {snapshotForeign, func(t *testing.T, content []byte) []byte {
			var out bytes.Buffer
			_, info, err := nickname.ReadFilter(bytes.NewReader(content))
			if err := errors.Join(err, nickname.NewFilter(10, 0.5).Write(&out, info)); err != nil {
				t.Fatal(err)
			}
			return out.Bytes()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			withFakeTime(t, func(t *testing.T, s *fakeStore) {
				snapshots := savedSnapshots(t, s)
				snapshots.files[game] = tt.spoil(t, snapshots.files[game])
				r, end := s.startRegistry(t, snapshots.config)
				defer end()
				if r.snapshotCount(tt.outcome) != 1 || r.snapshotCount(snapshotLoaded) != 1 || r.rebuildCount(causeStart) != 1 {
					t.Errorf("%v %s, %v loaded, built %v times", r.snapshotCount(tt.outcome), tt.outcome, r.snapshotCount(snapshotLoaded), r.rebuildCount(causeStart))
				}
				r.expect("Ada", true)
				r.expect("Grace", false)
			})
		})
	}
}

// Snapshots are saved at a stop and every ten minutes, if there are new names. A
// failed save is counted and repeated.
func TestSnapshotsAreSavedRegularlyAndAtTheEnd(t *testing.T) {
	withFakeTime(t, func(t *testing.T, s *fakeStore) {
		snapshots := &fakeSnapshots{files: map[string][]byte{}}
		r, end := s.startRegistry(t, snapshots.config)
		saves := func(want int, when string) {
			t.Helper()
			snapshots.mu.Lock()
			defer snapshots.mu.Unlock()
			if snapshots.saves != want {
				t.Errorf("%d snapshots were saved %s, want %d", snapshots.saves, when, want)
			}
		}
		advance(saveInterval + time.Second)
		saves(2, "after ten minutes")
		advance(saveInterval)
		saves(2, "without new names")
		s.claim(t, "Ada")
		snapshots.setDown(true)
		advance(saveInterval)
		saves(2, "while saving fails")
		if got := r.snapshotCount(snapshotSaveFailed); got != 1 {
			t.Errorf("%v failures", got)
		}
		snapshots.setDown(false)
		advance(saveInterval)
		saves(3, "after saving works again")
		s.claim(t, "Grace")
		advance(time.Second)
		end()
		saves(4, "when the registry stops")
		later, end := s.startRegistry(t, snapshots.config)
		later.expect("Grace", true)
		if later.snapshotCount(snapshotLoaded) != 2 {
			t.Error("the snapshots of the stop are not used")
		}
		end()
		saves(4, "by a start without new names")
	})
}
