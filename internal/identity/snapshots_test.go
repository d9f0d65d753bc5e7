package identity

import (
	"io/fs"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"laststand/internal/nickname"
	"laststand/internal/testenv"
)

// FakeSnapshots stores snapshots in memory.
type FakeSnapshots struct {
	mu     sync.Mutex
	files  map[string][]byte
	isDown bool
	saves  int
}

func NewFakeSnapshots() *FakeSnapshots { return &FakeSnapshots{files: map[string][]byte{}} }

func (s *FakeSnapshots) Load(game string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	content, exists := s.files[game]
	if !exists {
		return nil, fs.ErrNotExist
	}
	return content, nil
}

func (s *FakeSnapshots) Save(game string, snapshot []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isDown {
		return errStore
	}
	s.files[game] = snapshot
	s.saves++
	return nil
}

func (s *FakeSnapshots) setDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isDown = down
}

// savedSnapshots runs a registry with one name until it has saved snapshots, and returns them.
func savedSnapshots(t *testing.T, store *fakeStore) *FakeSnapshots {
	t.Helper()
	snapshots := NewFakeSnapshots()
	store.claim(t, "Ada")
	_, end := store.startRegistry(t, snapshots.setInConfig)
	end()
	if len(snapshots.files) != 2 {
		t.Fatalf("snapshots of %d games", len(snapshots.files))
	}
	return snapshots
}

// setInConfig makes a registry use the snapshots.
func (s *FakeSnapshots) setInConfig(c *Config) { c.Snapshots = s }

func (r *startedRegistry) snapshotCount(outcome string) float64 {
	return testutil.ToFloat64(r.replicator.metrics.snapshots.WithLabelValues(outcome))
}

// A start with snapshots reads only newer claims, and does not read all names.
func TestAStartWithSnapshotsReadsOnlyNewerClaims(t *testing.T) {
	withFakeTime(t, func(t *testing.T, store *fakeStore) {
		snapshots := savedSnapshots(t, store)
		stoppedAt := store.clock()
		store.claimLate(t, "Slow", fullReadOverlap) // it commits after the stop
		time.Sleep(24 * time.Hour)
		store.claim(t, "Grace")
		builds := store.countSkeletonReads()
		store.mu.Lock()
		store.readsFrom = nil
		store.mu.Unlock()
		registry, end := store.startRegistry(t, snapshots.setInConfig)
		defer end()
		for _, name := range []string{"Ada", "Slow", "Grace"} {
			registry.expectKnown(name, true)
		}
		registry.expectKnown("Bob", false)
		if store.countSkeletonReads() != builds || registry.snapshotCount(snapshotLoaded) != 2 {
			t.Errorf("read all names %d times, %v snapshots loaded", store.countSkeletonReads()-builds, registry.snapshotCount(snapshotLoaded))
		}
		store.mu.Lock()
		defer store.mu.Unlock()
		if want := stoppedAt - fullReadOverlap.Milliseconds(); store.readsFrom[0] != want {
			t.Errorf("read since %d, want %d", store.readsFrom[0], want)
		}
	})
}

// rewriteSnapshot returns a snapshot with the same filter and changed information.
func rewriteSnapshot(t *testing.T, content []byte, change func(*nickname.SnapshotInfo)) []byte {
	t.Helper()
	filter, info, err := nickname.ParseSnapshot(content)
	if err != nil {
		t.Fatal(err)
	}
	change(&info)
	return encodeSnapshot(t, filter, info)
}

func encodeSnapshot(t *testing.T, filter *nickname.Filter, info nickname.SnapshotInfo) []byte {
	t.Helper()
	snapshot := testenv.Need(filter.Snapshot(info))(t)
	return snapshot
}

// A snapshot that is damaged, or belongs to another game, ledger or version, is counted as
// such. The view is then built from the ledger.
func TestUnusableSnapshotsAreIgnored(t *testing.T) {
	withInfo := func(change func(*nickname.SnapshotInfo)) func(*testing.T, []byte) []byte {
		return func(t *testing.T, content []byte) []byte { return rewriteSnapshot(t, content, change) }
	}
	for name, corrupt := range map[string]func(*testing.T, []byte) []byte{
		"cut off": func(_ *testing.T, content []byte) []byte { return content[:len(content)-1] },
		"empty":   func(*testing.T, []byte) []byte { return nil },
		"one bit flipped": func(_ *testing.T, content []byte) []byte {
			content = slices.Clone(content)
			content[len(content)/2] ^= 1
			return content
		},
		"other ledger":        withInfo(func(store *nickname.SnapshotInfo) { store.Epoch = "second" }),
		"other game":          withInfo(func(store *nickname.SnapshotInfo) { store.Game = otherGame }),
		"other rules":         withInfo(func(store *nickname.SnapshotInfo) { store.Rules++ }),
		"ahead of the ledger": withInfo(func(store *nickname.SnapshotInfo) { store.Watermark += fullReadOverlap.Milliseconds() + 1 }),
		"other false positive rate": func(t *testing.T, content []byte) []byte {
			_, info, err := nickname.ParseSnapshot(content)
			if err != nil {
				t.Fatal(err)
			}
			return encodeSnapshot(t, nickname.NewFilter(10, 0.5), info)
		},
	} {
		t.Run(name, func(t *testing.T) {
			withFakeTime(t, func(t *testing.T, store *fakeStore) {
				snapshots := savedSnapshots(t, store)
				snapshots.files[game] = corrupt(t, snapshots.files[game])
				registry, end := store.startRegistry(t, snapshots.setInConfig)
				defer end()
				if registry.snapshotCount(snapshotIgnored) != 1 || registry.snapshotCount(snapshotLoaded) != 1 || registry.rebuildCount(causeStart) != 1 {
					t.Errorf("%v ignored, %v loaded, built %v times", registry.snapshotCount(snapshotIgnored), registry.snapshotCount(snapshotLoaded), registry.rebuildCount(causeStart))
				}
				registry.expectKnown("Ada", true)
				registry.expectKnown("Grace", false)
			})
		})
	}
}

// Snapshots are saved at a stop and every ten minutes, if there are new names. A
// failed save is counted and repeated.
func TestSnapshotsAreSavedRegularlyAndAtTheEnd(t *testing.T) {
	withFakeTime(t, func(t *testing.T, store *fakeStore) {
		snapshots := NewFakeSnapshots()
		registry, end := store.startRegistry(t, snapshots.setInConfig)
		checkSaves := func(want int, when string) {
			t.Helper()
			snapshots.mu.Lock()
			defer snapshots.mu.Unlock()
			if snapshots.saves != want {
				t.Errorf("%d snapshots were saved %s, want %d", snapshots.saves, when, want)
			}
		}
		advance(saveInterval + time.Second)
		checkSaves(2, "after ten minutes")
		advance(saveInterval)
		checkSaves(2, "without new names")
		store.claim(t, "Ada")
		snapshots.setDown(true)
		advance(saveInterval)
		checkSaves(2, "while saving fails")
		if got := registry.snapshotCount(snapshotSaveFailed); got != 1 {
			t.Errorf("%v failures", got)
		}
		snapshots.setDown(false)
		advance(saveInterval)
		checkSaves(3, "after saving works again")
		store.claim(t, "Grace")
		advance(time.Second)
		end()
		checkSaves(4, "when the registry stops")
		laterRegistry, end := store.startRegistry(t, snapshots.setInConfig)
		laterRegistry.expectKnown("Grace", true)
		if laterRegistry.snapshotCount(snapshotLoaded) != 2 {
			t.Error("the snapshots of the stop are not used")
		}
		end()
		checkSaves(4, "by a start without new names")
	})
}
