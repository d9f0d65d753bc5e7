package identity

import (
	"errors"
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"laststand/internal/testenv"
)

func isBanned(registry *Registry, id string) bool {
	return errors.Is(registry.Revocations.checkToken(Claims{Subject: id, Game: game, Role: RolePlayer}), ErrBanned)
}

func bansGauge(registry *Registry) float64 {
	return testutil.ToFloat64(registry.Revocations.metrics.revocations.WithLabelValues("ban"))
}

// After the store was restored, the view admits no player until it can read the
// revocations.
func TestBansStayInForceWhileARestoredStoreIsUnreadable(t *testing.T) {
	t.Parallel()
	store := newStore()
	store.revoke(Revocation{Kind: KindBan, ID: "p_1"})
	store.revoke(Revocation{Kind: KindBan, ID: "p_2"})
	registry := newTestRegistry(t, store)
	store.mu.Lock()
	store.revocations, store.revision, store.failRevocations = store.revocations[:1], 1, true
	store.mu.Unlock()
	for range 2 {
		if err := registry.Revocations.Refresh(t.Context()); !errors.Is(err, errStore) || !isBanned(registry, "p_1") || !isBanned(registry, "p_2") {
			t.Fatalf("banned players are admitted while revocations cannot be read: %v", err)
		}
	}
	store.mu.Lock()
	store.failRevocations = false
	store.mu.Unlock()
	if refresh(t, registry); !isBanned(registry, "p_1") || isBanned(registry, "p_2") || bansGauge(registry) != 1 {
		t.Error("the view differs from the store")
	}
}

// A key that is retired between two queries of a read is found by the next read.
func TestAKeyRetiredDuringAReadIsReadNext(t *testing.T) {
	t.Parallel()
	store := newStore()
	registry := newTestRegistry(t, store)
	testenv.Need(registry.RotateKey(t.Context(), game))(t)
	refresh(t, registry)
	retiredKeyID := store.keys[game][0].ID
	claims := Claims{Subject: "p_1", Game: game, Role: RolePlayer, KeyID: retiredKeyID}
	store.revoke(Revocation{Kind: KindBan, ID: "p_2"})
	store.afterRevision = func() {
		if err := store.RetireKey(t.Context(), game, retiredKeyID, 0); err != nil {
			t.Error(err)
		}
		store.revoke(Revocation{Kind: KindBan, ID: "p_3"})
	}
	if refresh(t, registry); !isBanned(registry, "p_3") {
		t.Error("revocations from during the read are not known")
	}
	if refresh(t, registry); !errors.Is(registry.CheckActive(claims, "p_1"), ErrTokenKey) {
		t.Error("the retired key is still accepted")
	}
}

// Bans and erasures do not make a node read its keys again.
func TestRevocationsDoNotReloadKeys(t *testing.T) {
	t.Parallel()
	store := newStore()
	registry := newTestRegistry(t, store)
	testenv.Need(registry.RotateKey(t.Context(), game))(t)
	refresh(t, registry)
	before := store.keyReads
	for range 10 {
		store.revoke(Revocation{Kind: KindErased, ID: "p_1", EndsAt: start + 1})
		refresh(t, registry)
	}
	if store.keyReads != before {
		t.Errorf("keys were read %d times", store.keyReads-before)
	}
}

// Sessions of an erased player end also at a node that reads the erasure late. After
// SessionEndWindow the node removes the erasure from memory.
func TestErasuresLeaveMemoryAfterTheSessionEndWindow(t *testing.T) {
	t.Parallel()
	store := newStore()
	registry := newTestRegistry(t, store)
	now := start
	registry.Revocations.Now = func() int64 { return now }
	const erasedPlayers = 3 * revocationsPageSize
	for i := range erasedPlayers {
		store.revoke(Revocation{Kind: KindErased, ID: fmt.Sprint("p_", i), ChangedAt: now, EndsAt: now + SessionEndWindow.Milliseconds()})
	}
	store.revoke(Revocation{Kind: KindUnlinked, ID: "lifted", ChangedAt: now, EndsAt: now})
	now += 10 * SessionEndWindow.Milliseconds() // the node was cut off
	claims := Claims{Subject: "p_7", Game: game, Role: RolePlayer, KeyID: store.keys[game][0].ID}
	if refresh(t, registry); !errors.Is(registry.CheckActive(claims, "p_7"), ErrErased) || len(registry.Revocations.active) != erasedPlayers {
		t.Errorf("sessions of erased players continue; %d revocations in memory", len(registry.Revocations.active))
	}
	now += SessionEndWindow.Milliseconds() + removeEndedInterval.Milliseconds()
	if refresh(t, registry); len(registry.Revocations.active) != 0 {
		t.Errorf("%d revocations are still in memory", len(registry.Revocations.active))
	}
}

// Revocations apply even if keys cannot be read.
func TestRevocationsApplyWhenKeysCannotBeRead(t *testing.T) {
	t.Parallel()
	store := newStore()
	registry := newTestRegistry(t, store)
	store.mu.Lock()
	store.keys[game] = []Key{{ID: "broken", Alg: "none"}}
	store.keysRevision++
	store.mu.Unlock()
	store.revoke(Revocation{Kind: KindBan, ID: "p_1"})
	if err := registry.Revocations.Refresh(t.Context()); err == nil || !isBanned(registry, "p_1") {
		t.Errorf("the ban does not apply: %v", err)
	}
}

// A revocation that has ended leaves the view on time, without a change in the store. A view
// that has read no changes for longer than the store keeps ended revocations reads all
// revocations.
func TestEndedRevocationsLeaveTheView(t *testing.T) {
	t.Parallel()
	store := newStore()
	store.revoke(Revocation{Kind: KindBan, ID: "short", EndsAt: start + 1000})
	store.revoke(Revocation{Kind: KindBan, ID: "long"})
	store.revoke(Revocation{Kind: KindBan, ID: "lifted"})
	registry := newTestRegistry(t, store)
	now := start
	registry.Revocations.Now = func() int64 { return now }
	now += removeEndedInterval.Milliseconds()
	if refresh(t, registry); len(registry.Revocations.active) != 2 || bansGauge(registry) != 2 {
		t.Errorf("%d revocations in memory, %v in the metric", len(registry.Revocations.active), bansGauge(registry))
	}
	store.mu.Lock()
	store.revocations = store.revocations[1:2] // the ban of "lifted" was lifted, and the store has deleted it
	store.revision += 2
	store.mu.Unlock()
	now += EndedRevocationTTL.Milliseconds()/2 + 1
	if refresh(t, registry); isBanned(registry, "lifted") || !isBanned(registry, "long") || bansGauge(registry) != 1 {
		t.Error("after a long outage, the view has revocations that the store has deleted")
	}
}

// A view was cut off for longer than a store keeps revocations. It cannot know
// which players were erased in that time. So all earlier sessions end, and the
// clients reconnect.
func TestANodeThatMayHaveMissedRevocationsEndsSessions(t *testing.T) {
	t.Parallel()
	store := newStore()
	registry := newTestRegistry(t, store)
	guest := testenv.Need(registry.Guest(t.Context(), guestRequest("Ada")))(t)
	newSession := func() Claims {
		t.Helper()
		claims := testenv.Need(registry.Verify(t.Context(), guest.Token))(t)
		return claims
	}
	now := start
	registry.Revocations.Now = func() int64 { return now }
	notified := 0
	registry.Revocations.OnChange(func([]Revocation) { notified++ })
	oldSession := newSession()
	now += EndedRevocationTTL.Milliseconds()
	if refresh(t, registry); registry.CheckActive(oldSession, guest.Player.ID) != nil || notified != 0 {
		t.Errorf("cut off for less: %v, notified %d times", registry.CheckActive(oldSession, guest.Player.ID), notified)
	}
	now += EndedRevocationTTL.Milliseconds() + 1
	if refresh(t, registry); !errors.Is(registry.CheckActive(oldSession, guest.Player.ID), ErrTokenRevoked) || notified != 1 {
		t.Errorf("cut off for more: %v, notified %d times", registry.CheckActive(oldSession, guest.Player.ID), notified)
	}
	if err := registry.CheckActive(newSession(), guest.Player.ID); err != nil {
		t.Errorf("a new session: %v", err)
	}
}

// A host's token is refused if its subject is an erased player, even after the revocation
// has ended.
func TestErasedHostsAreRefused(t *testing.T) {
	t.Parallel()
	store := newStore()
	registry := newTestRegistry(t, store)
	store.link("erased", "")
	for subject, want := range map[string]error{"erased": ErrErased, "unknown": nil} {
		if err := registry.CheckHost(t.Context(), Claims{Subject: subject, Game: game, Role: RoleHost}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", subject, err, want)
		}
	}
}

// The ledger went back, and then reached the same revision with other changes. The node learns
// of it only because it reads everything again.
func TestRevocationsAndKeysAreReadAgainAfterTheLedgerWentBack(t *testing.T) {
	t.Parallel()
	store := newStore()
	store.revoke(Revocation{Kind: KindBan, ID: "p_1"})
	registry := newTestRegistry(t, store)
	store.mu.Lock()
	store.revocations, store.revision = nil, 0
	readKeys := store.keyReads
	store.mu.Unlock()
	store.revoke(Revocation{Kind: KindBan, ID: "p_2"})
	if refresh(t, registry); !isBanned(registry, "p_1") || isBanned(registry, "p_2") {
		t.Fatal("the revision is not the same")
	}
	registry.LedgerWentBack(0)
	store.mu.Lock()
	store.failRevocations = true
	store.mu.Unlock()
	if err := registry.Revocations.Refresh(t.Context()); !errors.Is(err, errStore) || !isBanned(registry, "p_1") {
		t.Errorf("a failed read: %v", err)
	}
	store.mu.Lock()
	store.failRevocations = false
	store.mu.Unlock()
	if refresh(t, registry); isBanned(registry, "p_1") || !isBanned(registry, "p_2") || store.keyReads == readKeys {
		t.Errorf("the view differs from the store; keys were read %d times, before %d", store.keyReads, readKeys)
	}
	if cause := registry.views[game].buildCause(); cause != causeWentBack && cause != causeStart {
		t.Errorf("the nicknames are built again because of %q", cause)
	}
}
