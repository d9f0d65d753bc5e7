package identity

import (
	"errors"
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

func isBanned(r *Registry, id string) bool {
	return errors.Is(r.Revocations.checkToken(Claims{Subject: id, Game: game, Role: RolePlayer}), ErrBanned)
}

func bansGauge(r *Registry) float64 {
	return testutil.ToFloat64(r.Revocations.metrics.revocations.WithLabelValues("ban"))
}

// After the store was restored, the view admits no player until it can read the
// revocations.
func TestBansStayInForceWhileARestoredStoreIsUnreadable(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.revoke(Revocation{Kind: KindBan, ID: "p_1"})
	s.revoke(Revocation{Kind: KindBan, ID: "p_2"})
	r := newTestRegistry(t, s)
	s.mu.Lock()
	s.revocations, s.revision, s.failRevocations = s.revocations[:1], 1, true
	s.mu.Unlock()
	for range 2 {
		if err := r.Revocations.Refresh(t.Context()); !errors.Is(err, errStore) || !isBanned(r, "p_1") || !isBanned(r, "p_2") {
			t.Fatalf("banned players are admitted while revocations cannot be read: %v", err)
		}
	}
	s.mu.Lock()
	s.failRevocations = false
	s.mu.Unlock()
	if refresh(t, r); !isBanned(r, "p_1") || isBanned(r, "p_2") || bansGauge(r) != 1 {
		t.Error("the view differs from the store")
	}
}

// A key that is retired between two queries of a read is found by the next read.
func TestAKeyRetiredDuringAReadIsReadNext(t *testing.T) {
	t.Parallel()
	s := newStore()
	r := newTestRegistry(t, s)
	if _, err := r.RotateKey(t.Context(), game); err != nil {
		t.Fatal(err)
	}
	refresh(t, r)
	retired := s.keys[game][0].ID
	c := Claims{Subject: "p_1", Game: game, Role: RolePlayer, KeyID: retired}
	s.revoke(Revocation{Kind: KindBan, ID: "p_2"})
	s.afterRevision = func() {
		if err := s.RetireKey(t.Context(), game, retired, 0); err != nil {
			t.Error(err)
		}
		s.revoke(Revocation{Kind: KindBan, ID: "p_3"})
	}
	if refresh(t, r); !isBanned(r, "p_3") {
		t.Error("revocations from during the read are not known")
	}
	if refresh(t, r); !errors.Is(r.CheckActive(c, "p_1"), ErrTokenKey) {
		t.Error("the retired key is still accepted")
	}
}

// Bans and erasures do not make a node read its keys again.
func TestRevocationsDoNotReloadKeys(t *testing.T) {
	t.Parallel()
	s := newStore()
	r := newTestRegistry(t, s)
	if _, err := r.RotateKey(t.Context(), game); err != nil {
		t.Fatal(err)
	}
	refresh(t, r)
	before := s.keyReads
	for range 10 {
		s.revoke(Revocation{Kind: KindErased, ID: "p_1", EndsAt: start + 1})
		refresh(t, r)
	}
	if s.keyReads != before {
		t.Errorf("keys were read %d times", s.keyReads-before)
	}
}

// Sessions of an erased player end also at a node that reads the erasure late. After
// SessionEndWindow the node removes the erasure from memory.
func TestErasuresLeaveMemoryAfterTheSessionEndWindow(t *testing.T) {
	t.Parallel()
	s := newStore()
	r := newTestRegistry(t, s)
	now := start
	r.Revocations.Now = func() int64 { return now }
	const many = 3 * revocationsPageSize
	for i := range many {
		s.revoke(Revocation{Kind: KindErased, ID: fmt.Sprint("p_", i), ChangedAt: now, EndsAt: now + SessionEndWindow.Milliseconds()})
	}
	s.revoke(Revocation{Kind: KindUnlinked, ID: "lifted", ChangedAt: now, EndsAt: now})
	now += 10 * SessionEndWindow.Milliseconds() // the node was cut off
	c := Claims{Subject: "p_7", Game: game, Role: RolePlayer, KeyID: s.keys[game][0].ID}
	if refresh(t, r); !errors.Is(r.CheckActive(c, "p_7"), ErrErased) || len(r.Revocations.active) != many {
		t.Errorf("sessions of erased players continue; %d revocations in memory", len(r.Revocations.active))
	}
	now += SessionEndWindow.Milliseconds() + removeEndedInterval.Milliseconds()
	if refresh(t, r); len(r.Revocations.active) != 0 || len(r.Revocations.counts) != 1 || r.Revocations.counts[KindErased] != 0 {
		t.Errorf("%d revocations are still in memory, %v", len(r.Revocations.active), r.Revocations.counts)
	}
}

// Revocations apply even if keys cannot be read.
func TestRevocationsApplyWhenKeysCannotBeRead(t *testing.T) {
	t.Parallel()
	s := newStore()
	r := newTestRegistry(t, s)
	s.mu.Lock()
	s.keys[game] = []Key{{ID: "broken", Alg: "none"}}
	s.keysRevision++
	s.mu.Unlock()
	s.revoke(Revocation{Kind: KindBan, ID: "p_1"})
	if err := r.Revocations.Refresh(t.Context()); err == nil || !isBanned(r, "p_1") {
		t.Errorf("the ban does not apply: %v", err)
	}
}

// A revocation that has ended leaves the view on time, without a change in the store. A view
// that has read no changes for longer than the store keeps ended revocations reads all
// revocations.
func TestEndedRevocationsLeaveTheView(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.revoke(Revocation{Kind: KindBan, ID: "short", EndsAt: start + 1000})
	s.revoke(Revocation{Kind: KindBan, ID: "long"})
	s.revoke(Revocation{Kind: KindBan, ID: "lifted"})
	r := newTestRegistry(t, s)
	now := start
	r.Revocations.Now = func() int64 { return now }
	now += removeEndedInterval.Milliseconds()
	if refresh(t, r); len(r.Revocations.active) != 2 || bansGauge(r) != 2 {
		t.Errorf("%d revocations in memory, %v in the metric", len(r.Revocations.active), bansGauge(r))
	}
	s.mu.Lock()
	s.revocations = s.revocations[1:2] // the ban of "lifted" was lifted, and the store has deleted it
	s.revision += 2
	s.mu.Unlock()
	now += EndedRevocationTTL.Milliseconds()/2 + 1
	if refresh(t, r); isBanned(r, "lifted") || !isBanned(r, "long") || bansGauge(r) != 1 {
		t.Error("after a long outage, the view has revocations that the store has deleted")
	}
}

// A view was cut off for longer than a store keeps revocations. It cannot know
// which players were erased in that time. So all earlier sessions end, and the
// clients reconnect.
func TestANodeThatMayHaveMissedRevocationsEndsSessions(t *testing.T) {
	t.Parallel()
	s := newStore()
	r := newTestRegistry(t, s)
	g, err := r.Guest(t.Context(), guestRequest("Ada"))
	if err != nil {
		t.Fatal(err)
	}
	session := func() Claims {
		t.Helper()
		c, err := r.Verify(t.Context(), g.Token)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	now := start
	r.Revocations.Now = func() int64 { return now }
	notified := 0
	r.Revocations.OnChange(func([]Revocation) { notified++ })
	before := session()
	now += EndedRevocationTTL.Milliseconds()
	if refresh(t, r); r.CheckActive(before, g.Player.ID) != nil || notified != 0 {
		t.Errorf("cut off for less: %v, notified %d times", r.CheckActive(before, g.Player.ID), notified)
	}
	now += EndedRevocationTTL.Milliseconds() + 1
	if refresh(t, r); !errors.Is(r.CheckActive(before, g.Player.ID), ErrTokenRevoked) || notified != 1 {
		t.Errorf("cut off for more: %v, notified %d times", r.CheckActive(before, g.Player.ID), notified)
	}
	if err := r.CheckActive(session(), g.Player.ID); err != nil {
		t.Errorf("a new session: %v", err)
	}
}

// A host's token is refused if its subject is an erased player, even after the revocation
// has ended.
func TestErasedHostsAreRefused(t *testing.T) {
	t.Parallel()
	s := newStore()
	r := newTestRegistry(t, s)
	s.link("erased", "")
	for subject, want := range map[string]error{"erased": ErrErased, "unknown": nil} {
		if err := r.CheckHost(t.Context(), Claims{Subject: subject, Game: game, Role: RoleHost}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", subject, err, want)
		}
	}
}
