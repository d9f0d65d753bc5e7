package ledger

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"laststand/internal/identity"
	"laststand/internal/testenv"
)

func ban(id string) identity.Revocation {
	return identity.Revocation{Game: game, Kind: identity.KindBan, ID: id, Reason: "cheats", SetBy: "ops"}
}

func TestRevocationsAreSetListedAndLifted(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		addGuest(t, l, "p1")
		testenv.NoError(t, l.Accounts.LinkAccount(t.Context(), game, "p1", "account"))
		first := testenv.Need(l.Revocations.SetRevocation(t.Context(), ban("account")))(t)
		if first.ID != "p1" || first.Seq == 0 || first.ChangedAt == 0 {
			t.Errorf("a ban of an account is stored as %+v", first)
		}
		all := testenv.Need(l.Revocations.SetRevocation(t.Context(), identity.Revocation{Game: game, Kind: identity.KindSubject, ID: "svc", Reason: "lost"}))(t)
		if all.IssuedBefore%1000 != 0 || all.IssuedBefore <= all.ChangedAt+30_000 || all.IssuedBefore > all.ChangedAt+31_000 {
			t.Errorf("tokens issued before %d are revoked at %d", all.IssuedBefore, all.ChangedAt)
		}
		token := testenv.Need(l.Revocations.SetRevocation(t.Context(), identity.Revocation{Game: game, Kind: identity.KindToken, ID: "account", Reason: "lost"}))(t)
		if token.ID != "account" {
			t.Errorf("a token's id was used as an account: %+v", token)
		}
		again := testenv.Need(l.Revocations.SetRevocation(t.Context(), ban("p1")))(t)
		accountBan := again
		accountBan.ID, accountBan.Seq = "account", again.Seq-1
		revision := testenv.Need(l.Revocations.Revision(t.Context()))(t).Revocations
		changes := testenv.Need(l.Revocations.RevocationsSince(t.Context(), 0, 10))(t)
		if want := []identity.Revocation{all, token, accountBan, again}; !slices.Equal(changes, want) || again.Seq != revision {
			t.Errorf("changes %+v\nwant %+v up to %d", changes, want, revision)
		}
		if rest := testenv.Need(l.Revocations.RevocationsSince(t.Context(), all.Seq, 1))(t); len(rest) != 1 || rest[0] != token {
			t.Errorf("after %d: %+v", all.Seq, rest)
		}
		page := testenv.Need(l.Revocations.ListRevocations(t.Context(), game, "", 0, 1))(t)
		if len(page) != 1 || page[0] != token {
			t.Errorf("page %+v", page)
		}
		if page = testenv.Need(l.Revocations.ListRevocations(t.Context(), game, "", page[0].Seq, 2))(t); len(page) != 1 || page[0] != all {
			t.Errorf("next page %+v", page)
		}
		if page = testenv.Need(l.Revocations.ListRevocations(t.Context(), game, identity.KindBan, 0, 2))(t); len(page) != 2 || page[0] != again || page[1] != accountBan {
			t.Errorf("bans %+v", page)
		}
		for range 2 {
			err := l.Revocations.LiftRevocation(t.Context(), ban("account"))
			if revision += 2; revision == testenv.Need(l.Revocations.Revision(t.Context()))(t).Revocations {
				if err != nil {
					t.Error(err)
				}
			} else if !errors.Is(err, identity.ErrNotRevoked) {
				t.Errorf("lifted twice: %v", err)
			}
		}
		if bans := testenv.Need(l.Revocations.ListRevocations(t.Context(), game, identity.KindBan, 0, 10))(t); len(bans) > 0 {
			t.Errorf("lifted, and in force: %+v", bans)
		}
		if page = testenv.Need(l.Revocations.ListRevocations(t.Context(), "other.game", "", 0, 10))(t); len(page) > 0 {
			t.Errorf("of another game: %+v", page)
		}
	})
}

// The tokens of a subject were revoked before it became a guest's account. The revocation
// can be lifted by the subject's id and by the guest's id.
func TestARevocationFromBeforeTheLinkCanBeLifted(t *testing.T) {
	t.Parallel()
	l := openLedger(t, testenv.SQL{Dir: t.TempDir()})
	revoked := identity.Revocation{Game: game, Kind: identity.KindSubject, Reason: "lost", IssuedBefore: 1000}
	for i, by := range []string{"account0", "p1"} {
		p, account := fmt.Sprint("p", i), fmt.Sprint("account", i)
		addGuest(t, l, p)
		revoked.ID = account
		testenv.Need(l.Revocations.SetRevocation(t.Context(), revoked))(t)
		testenv.NoError(t, l.Accounts.LinkAccount(t.Context(), game, p, account))
		revoked.ID = by
		if err := l.Revocations.LiftRevocation(t.Context(), revoked); err != nil {
			t.Errorf("lift the revocation of %s by %s: %v", account, by, err)
		}
	}
	if left := testenv.Need(l.Revocations.ListRevocations(t.Context(), game, "", 0, 10))(t); len(left) > 0 {
		t.Errorf("still in force: %+v", left)
	}
}

// The next change deletes bans that ended long ago, even if it adds no ban.
func TestEndedRevocationsAreDeleted(t *testing.T) {
	t.Parallel()
	l := openLedger(t, testenv.SQL{Dir: t.TempDir()})
	past := testenv.Need(l.Revocations.SetRevocation(t.Context(), ban("p1")))(t).ChangedAt - identity.EndedRevocationTTL.Milliseconds()
	for _, b := range []identity.Revocation{{ID: "late", EndsAt: past + 60_000}, {ID: "old", EndsAt: past - 1000}} {
		b.Game, b.Kind = game, identity.KindBan
		testenv.Need(l.Revocations.SetRevocation(t.Context(), b))(t)
	}
	addGuest(t, l, "p2")
	testenv.NoError(t, l.Accounts.Erase(t.Context(), game, "p2"))
	var ids []string
	for _, b := range testenv.Need(l.Revocations.RevocationsSince(t.Context(), 0, 10))(t) {
		ids = append(ids, b.ID)
	}
	if slices.Sort(ids); !slices.Equal(ids, []string{"late", "p1", "p2"}) {
		t.Errorf("stored ids %v", ids)
	}
}

// Revisions are in commit order. A reader that has read up to a revision misses no
// earlier one.
func TestRevisionsAreInCommitOrder(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		const writers, each = 4, 10
		seen, last := map[string]bool{}, int64(0)
		read := func() {
			revision := testenv.Need(l.Revocations.Revision(t.Context()))(t).Revocations
			for _, b := range testenv.Need(l.Revocations.RevocationsSince(t.Context(), last, 1000))(t) {
				seen[b.ID], last = true, b.Seq
			}
			last = max(last, revision)
		}
		runConcurrently(writers+1, func(n int) {
			for i := range each {
				if n == writers {
					read()
				} else if _, err := l.Revocations.SetRevocation(t.Context(), ban(fmt.Sprint(n, "-", i))); err != nil {
					t.Error(err)
				}
			}
		})
		if read(); len(seen) != writers*each {
			t.Errorf("%d of %d revocations were read", len(seen), writers*each)
		}
	})
}

func TestKeysAreRotated(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		key := func(id string) identity.Key {
			return identity.Key{ID: id, Alg: identity.HS256, Secret: []byte("secret " + id)}
		}
		testenv.NoError(t, l.TokenKeys.AddKeyIfNone(t.Context(), game, key("k1")))
		testenv.Need(l.Revocations.SetRevocation(t.Context(), ban("p1")))(t)
		first := testenv.Need(l.Revocations.Revision(t.Context()))(t)
		before := first.Revocations
		if first.Keys != 0 {
			t.Errorf("a ban has moved the revision of keys: %+v", first)
		}
		if err := l.TokenKeys.RetireKey(t.Context(), game, "k1", 0); !errors.Is(err, identity.ErrKeyInUse) {
			t.Errorf("the only key: %v", err)
		}
		testenv.NoError(t, l.TokenKeys.AddKey(t.Context(), game, key("k2")))
		keys := testenv.Need(l.TokenKeys.Keys(t.Context(), game))(t)
		if len(keys) != 2 || keys[1].ID != "k2" || string(keys[1].Secret) != "secret k2" || keys[1].CreatedAt < keys[0].CreatedAt || keys[0].CreatedAt == 0 {
			t.Errorf("keys %+v", keys)
		}
		if now := testenv.Need(l.Revocations.Revision(t.Context()))(t); now != (identity.Revision{Revocations: before + 1, Keys: before + 1}) {
			t.Errorf("revision %+v after %d", now, before)
		}
		for _, step := range []struct {
			id       string
			minAgeMS int64
			want     error
		}{
			{"k1", 60_000, identity.ErrKeyInUse}, {"k9", 0, identity.ErrNoKey}, {"k1", 0, nil}, {"k2", 0, identity.ErrKeyInUse},
		} {
			if err := l.TokenKeys.RetireKey(t.Context(), game, step.id, step.minAgeMS); !errors.Is(err, step.want) {
				t.Errorf("retire %s: %v, want %v", step.id, err, step.want)
			}
		}
		for i := range maxKeys - 1 {
			testenv.NoError(t, l.TokenKeys.AddKey(t.Context(), game, key(fmt.Sprint("more", i))))
		}
		if err := l.TokenKeys.AddKey(t.Context(), game, key("one more")); !errors.Is(err, identity.ErrTooManyKeys) {
			t.Errorf("beyond the bound: %v", err)
		}
	})
}
