package identity

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"laststand/internal/nickname"
	"laststand/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const (
	game      = "demo"
	otherGame = "com.example.quiz"
	device    = "kT3vJ0w9Qm2xB7sLr5Yd8Ze1"
	start     = int64(1795212345678) // time of the clocks of tests, in epoch ms
)

var errStore = errors.New("the store is unreachable")

// fakeStore is a ledger in memory. Tests can also claim nicknames in it directly, as another
// node does.
type fakeStore struct {
	mu             sync.Mutex
	keys           map[string][]Key
	players        map[[2]string]Player // by game and id
	devices        map[[2]string]string // by game and hash, the id
	names          map[[2]string]string // by game and skeleton, the id
	namedAt        map[[2]string]int64  // by game and skeleton, when the name was claimed
	uncommitted    map[string]bool      // names that are not committed yet
	readsFrom      []int64              // the start of each read by NamesBetween
	skeletonReads  int                  // calls of EachSkeleton
	onSkeletonRead func(i int)          // called by EachSkeleton after each name
	takenQueries   int                  // calls of NicknameTaken
	clockOffset    time.Duration        // added to its clock
	isDown         bool

	accounts        map[[2]string]string // by game and subject, the player; "": erased
	revocations     []Revocation         // in the order of their changes
	revision        int64
	keysRevision    int64  // the revision of the last change of keys
	failRevocations bool   // RevocationsSince fails
	keyReads        int    // calls of Keys
	afterRevision   func() // if set, Revision calls it once, after it has read the revision

	failSkeletons bool // EachSkeleton fails
}

func newStore() *fakeStore {
	return &fakeStore{
		keys: map[string][]Key{}, players: map[[2]string]Player{},
		devices: map[[2]string]string{}, names: map[[2]string]string{}, accounts: map[[2]string]string{},
		namedAt: map[[2]string]int64{}, uncommitted: map[string]bool{},
	}
}

func (s *fakeStore) Keys(_ context.Context, game string) ([]Key, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isDown {
		return nil, errStore
	}
	s.keyReads++
	return s.keys[game], nil
}

func (s *fakeStore) AddKeyIfNone(_ context.Context, game string, key Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.keys[game]) == 0 {
		s.keys[game] = []Key{key}
	}
	return nil
}

func (s *fakeStore) AddKey(_ context.Context, game string, key Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	key.CreatedAt = start
	s.keys[game] = append(slices.Clone(s.keys[game]), key)
	s.revision++
	s.keysRevision = s.revision
	return nil
}

func (s *fakeStore) RetireKey(_ context.Context, game, id string, _ int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys[game] = slices.DeleteFunc(slices.Clone(s.keys[game]), func(k Key) bool { return k.ID == id })
	s.revision++
	s.keysRevision = s.revision
	return nil
}

func (s *fakeStore) Revision(context.Context) (Revision, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isDown {
		return Revision{}, errStore
	}
	revision := Revision{s.revision, s.keysRevision}
	if afterRevision := s.afterRevision; afterRevision != nil {
		s.afterRevision = nil
		s.mu.Unlock()
		afterRevision()
		s.mu.Lock()
	}
	return revision, nil
}

func (s *fakeStore) RevocationsSince(_ context.Context, revision int64, limit int) (page []Revocation, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failRevocations {
		return nil, errStore
	}
	for _, revocation := range s.revocations {
		if revocation.Seq > revision && len(page) < limit {
			page = append(page, revocation)
		}
	}
	return page, nil
}

func (s *fakeStore) ErasedID(game, subject string) string { return "#" + game + "/" + subject }

// adminGame is the game of revocations that belong to no game.
const adminGame = "-"

// revoke adds or replaces a revocation. Nodes read it at their next read.
func (s *fakeStore) revoke(revocation Revocation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision++
	revocation.Seq = s.revision
	switch revocation.Game {
	case "":
		revocation.Game = game
	case adminGame:
		revocation.Game = ""
	}
	s.revocations = append(slices.DeleteFunc(s.revocations, func(o Revocation) bool {
		return o.Game == revocation.Game && o.Kind == revocation.Kind && o.ID == revocation.ID
	}), revocation)
}

// link assigns a subject to a player. With "" the subject counts as erased.
func (s *fakeStore) link(subject, player string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accounts[[2]string{game, subject}] = player
	delete(s.players, [2]string{game, subject})
}

func (s *fakeStore) Known(ctx context.Context, game, subject string) (Player, error) {
	s.mu.Lock()
	player, isLinked := s.accounts[[2]string{game, subject}]
	s.mu.Unlock()
	switch {
	case !isLinked:
		return s.Player(ctx, game, subject)
	case player == "":
		return Player{}, ErrErased
	}
	return s.Player(ctx, game, player)
}

func (s *fakeStore) CreateGuest(_ context.Context, p NewPlayer) (Player, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id, known := s.devices[[2]string{p.Game, p.DeviceHash}]; known {
		return s.players[[2]string{p.Game, id}], false, nil
	}
	got, created, err := s.insert(p)
	if created {
		s.devices[[2]string{p.Game, p.DeviceHash}] = p.ID
	}
	return got, created, err
}

func (s *fakeStore) EnsurePlayer(_ context.Context, p NewPlayer) (Player, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.players[[2]string{p.Game, p.ID}]; ok {
		return known, false, nil
	}
	return s.insert(p)
}

func (s *fakeStore) insert(newPlayer NewPlayer) (Player, bool, error) {
	if s.isDown {
		return Player{}, false, errStore
	}
	if _, taken := s.names[[2]string{newPlayer.Game, newPlayer.Skeleton}]; taken {
		return Player{}, false, ErrNicknameTaken
	}
	player := Player{Game: newPlayer.Game, ID: newPlayer.ID, Nickname: newPlayer.Nickname, JoinedAt: newPlayer.JoinedAt}
	s.players[[2]string{newPlayer.Game, newPlayer.ID}] = player
	s.names[[2]string{newPlayer.Game, newPlayer.Skeleton}] = newPlayer.ID
	s.namedAt[[2]string{newPlayer.Game, newPlayer.Skeleton}] = s.clock()
	return player, true, nil
}

func (s *fakeStore) Player(_ context.Context, game, id string) (Player, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, known := s.players[[2]string{game, id}]; known {
		return p, nil
	}
	return Player{}, ErrNotFound
}

func (s *fakeStore) Guest(_ context.Context, game, hash string) (Player, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id, known := s.devices[[2]string{game, hash}]; known {
		return s.players[[2]string{game, id}], nil
	}
	return Player{}, ErrNotFound
}

func (s *fakeStore) RotateDevice(_ context.Context, game, player, from, to string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.devices[[2]string{game, from}] != player {
		return ErrWrongDevice
	}
	delete(s.devices, [2]string{game, from})
	s.devices[[2]string{game, to}] = player
	return nil
}

func (s *fakeStore) ResetDevice(_ context.Context, game, id, hash string) (string, error) {
	s.removeDevices(game, id)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.devices[[2]string{game, hash}] = id
	return id, nil
}

// removeDevices removes the link of a player's device.
func (s *fakeStore) removeDevices(game, player string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.devices, func(key [2]string, id string) bool { return key[0] == game && id == player })
}

func (s *fakeStore) Rename(_ context.Context, game, id, nickname, skeleton string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if holder, taken := s.names[[2]string{game, skeleton}]; taken && holder != id {
		return ErrNicknameTaken
	}
	p, known := s.players[[2]string{game, id}]
	if !known {
		return ErrNotFound
	}
	p.Nickname = nickname
	s.players[[2]string{game, id}] = p
	s.names[[2]string{game, skeleton}] = id
	s.namedAt[[2]string{game, skeleton}] = s.clock()
	return nil
}

func (s *fakeStore) NicknameTaken(_ context.Context, game, skeleton string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takenQueries++
	_, taken := s.names[[2]string{game, skeleton}]
	return taken, nil
}

func (s *fakeStore) NamesBetween(_ context.Context, since, to int64, visit func(game, skeleton string, at int64)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isDown {
		return errStore
	}
	s.readsFrom = append(s.readsFrom, since)
	for key, at := range s.namedAt {
		if at >= since && at <= to && !s.uncommitted[key[1]] {
			visit(key[0], key[1], at)
		}
	}
	return nil
}

func (s *fakeStore) EachSkeleton(_ context.Context, game string, visit func(string)) error {
	s.mu.Lock()
	var skeletons []string
	for key := range s.names {
		if key[0] == game && !s.uncommitted[key[1]] {
			skeletons = append(skeletons, key[1])
		}
	}
	afterEach, mustFail := s.onSkeletonRead, s.isDown || s.failSkeletons
	if game == "demo" {
		s.skeletonReads++
	}
	s.mu.Unlock()
	if mustFail {
		return errStore
	}
	for i, skeleton := range skeletons {
		visit(skeleton)
		if afterEach != nil {
			afterEach(i)
		}
	}
	return nil
}

func (s *fakeStore) CountNames(_ context.Context, game string) (n int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isDown {
		return 0, errStore
	}
	for key := range s.names {
		if key[0] == game {
			n++
		}
	}
	return n, nil
}

// Clock returns the time of the test plus clockOffset.
func (s *fakeStore) Now(context.Context) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isDown {
		return 0, errStore
	}
	return s.clock(), nil
}

func (s *fakeStore) clock() int64 { return time.Now().Add(s.clockOffset).UnixMilli() }

func (s *fakeStore) setDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isDown = down
}

// claim stores a nickname without going through the registry.
func (s *fakeStore) claim(t *testing.T, request string) {
	t.Helper()
	parsed := testenv.Need(nickname.Parse(request))(t)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names[[2]string{game, parsed.Skeleton}] = "p_somebody"
	s.namedAt[[2]string{game, parsed.Skeleton}] = s.clock()
}

// openTestTokens opens the tokens of both games on a store. Their clock always reads start.
func openTestTokens(t testing.TB, store *fakeStore, configured map[string][]Key) *Tokens {
	t.Helper()
	return testenv.Need(OpenTokens(t.Context(), TokensConfig{
		Games: []string{game, otherGame}, Configured: configured, Keys: store, Now: func() int64 { return start },
	}))(t)
}

// newTestRegistry returns a registry that has read the existing names.
func newTestRegistry(t testing.TB, store *fakeStore) *Registry {
	t.Helper()
	return newTestRegistryWith(t, store, openTestTokens(t, store, nil))
}

func newTestRegistryWith(t testing.TB, store *fakeStore, tokens *Tokens) *Registry {
	t.Helper()
	registry := Open(newTestConfig(t, store, tokens))
	readNames(t, registry)
	return registry
}

func newTestConfig(t testing.TB, store *fakeStore, tokens *Tokens) Config {
	t.Helper()
	logger := slog.New(slog.DiscardHandler)
	revocations := RevocationsConfig{Store: store, Tokens: tokens, Now: tokens.now, Logger: logger}
	return Config{
		Tokens: tokens, Players: store, Devices: store, Names: store, NameSource: store, Epoch: "first", Logger: logger,
		Revocations: testenv.Need(OpenRevocations(t.Context(), revocations))(t),
	}
}

// readNames loads snapshots, reads new names and builds views once, as Run does at its start.
func readNames(t testing.TB, registry *Registry) {
	t.Helper()
	replicator := registry.replicator
	testenv.NoError(t, replicator.read(t.Context()))
	testenv.NoError(t, replicator.buildViews(t.Context()))
}

func secondsToMS(n int64) int64 { return n * time.Second.Milliseconds() }
