package config

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync/atomic"
	"time"

	"laststand/internal/identity"
	"laststand/internal/timer"
)

// keyReloadInterval is how often the server reads keys again. It applies changed keys only
// after two readings in a row have returned the same keys: a half-written file may also be a
// valid key, which would end every session. So a change takes effect within 10 s.
const keyReloadInterval = 5 * time.Second

// reloadedKeys are the keys of one setting. Only one goroutine may reload them.
type reloadedKeys[K any] struct {
	setting string
	read    func() ([]K, error)
	apply   func(ctx context.Context, keys []K) error // nil: nothing to do

	current   atomic.Pointer[[]K] // the keys in use
	lastRead  []K
	lastError string // of the last reading; "" if it succeeded
}

// reload reads the keys and applies changed ones. It returns true if it has applied keys.
// After an error it keeps the earlier keys, and logs the error unless it logged the same
// error last time.
func (k *reloadedKeys[K]) reload(ctx context.Context, log *slog.Logger) (isApplied bool) {
	keys, err := k.read()
	isConfirmed := reflect.DeepEqual(keys, k.lastRead)
	k.lastRead = keys
	if err == nil && isConfirmed && !reflect.DeepEqual(keys, *k.current.Load()) {
		if k.apply != nil {
			err = k.apply(ctx, keys)
		}
		if isApplied = err == nil; isApplied {
			k.current.Store(&keys)
			log.InfoContext(ctx, "keys reloaded", "setting", k.setting, "keys", len(keys))
		}
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != k.lastError {
		log.ErrorContext(ctx, "key reload failed; keeping the earlier keys", "setting", k.setting, "error", err)
	}
	k.lastError = text
	return isApplied
}

// GameKeys reloads the signing keys of games while the server runs: the lists of keys in the
// configuration file, and the key files. All other settings need a restart.
type GameKeys struct {
	path      string // of the configuration file; "": none, so there is nothing to reload
	log       *slog.Logger
	onApplied func() // called after keys were applied
	games     []*reloadedKeys[identity.Key]

	file    Config // as of the last reading
	fileErr error
}

// NewGameKeys returns the keys of all games, to be applied to tokens.
func NewGameKeys(c *Config, tokens *identity.Tokens, log *slog.Logger, onApplied func()) (*GameKeys, error) {
	k := &GameKeys{path: c.file.path, log: log, onApplied: onApplied}
	for _, game := range c.GameNames() {
		keys, err := c.ReadKeys(game)
		if err != nil {
			return nil, fmt.Errorf("games.%s.keys: %w", game, err)
		}
		reloaded := &reloadedKeys[identity.Key]{
			setting: "games." + game + ".keys",
			read:    func() ([]identity.Key, error) { return k.readGame(game, len(keys) > 0) },
			apply:   func(ctx context.Context, keys []identity.Key) error { return tokens.Configure(ctx, game, keys) },
		}
		reloaded.current.Store(&keys)
		k.games = append(k.games, reloaded)
	}
	return k, nil
}

// Run reloads the keys until ctx ends.
func (k *GameKeys) Run(ctx context.Context) error {
	if k.path != "" {
		timer.Every(ctx, keyReloadInterval, k.reload)
	}
	return nil
}

func (k *GameKeys) reload(ctx context.Context) {
	k.file, k.fileErr = Read(k.path)
	k.fileErr = errors.Join(k.fileErr, k.file.file.faults)
	isAnyApplied := false
	for _, keys := range k.games {
		isAnyApplied = keys.reload(ctx, k.log) || isAnyApplied
	}
	if isAnyApplied {
		k.onApplied()
	}
}

// readGame returns the keys of one game as of the last reading. A half-written file may have
// no key for a game that hadKeys, which would end every session; so that is an error.
func (k *GameKeys) readGame(game string, hadKeys bool) ([]identity.Key, error) {
	if k.fileErr != nil {
		return nil, k.fileErr
	}
	if _, isDeclared := k.file.Games[game]; !isDeclared {
		return nil, errors.New("the configuration file no longer has this game; that takes effect at the next start")
	}
	keys, err := k.file.ReadKeys(game)
	if err == nil && len(keys) == 0 && hadKeys {
		err = errors.New("the configuration file no longer has keys for this game; that takes effect at the next start")
	}
	return keys, err
}

// ReceiverKeys has the keys of all receivers in memory and reloads key files while the server
// runs. It is safe for concurrent use.
type ReceiverKeys struct {
	log       *slog.Logger
	receivers map[string]*reloadedKeys[string] // by KeySource.Setting
}

// OpenReceiverKeys loads the keys of all receivers from their files and from the ledger.
func OpenReceiverKeys(ctx context.Context, c *Config, store identity.Keys, log *slog.Logger) (*ReceiverKeys, error) {
	k := &ReceiverKeys{log: log, receivers: make(map[string]*reloadedKeys[string])}
	for _, source := range c.keySources() {
		keys, err := source.Load(ctx, store)
		if err != nil {
			return nil, err
		}
		reloaded := &reloadedKeys[string]{setting: source.Setting, read: source.read}
		if source.File == "" { // generated keys do not change
			reloaded.read = func() ([]string, error) { return keys, nil }
		}
		reloaded.current.Store(&keys)
		k.receivers[source.Setting] = reloaded
	}
	return k, nil
}

// Current returns the keys of a source, the current key first.
func (k *ReceiverKeys) Current(source KeySource) []string {
	return *k.receivers[source.Setting].current.Load()
}

// Run reloads key files until ctx ends.
func (k *ReceiverKeys) Run(ctx context.Context) error {
	timer.Every(ctx, keyReloadInterval, func(ctx context.Context) {
		for _, keys := range k.receivers {
			keys.reload(ctx, k.log)
		}
	})
	return nil
}
