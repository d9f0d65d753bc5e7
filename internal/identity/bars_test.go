package identity

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestBarsKeepOut(t *testing.T) {
	t.Parallel()
	s := newStore()
	s.tie("account", "p_1")
	s.players[[2]string{game, "p_1"}] = Player{Game: game, ID: "p_1"}
	issued := start / 1000 * 1000
	player := func(subject string) Claims {
		return Claims{Subject: subject, Game: game, Role: RolePlayer, ID: "t1", IssuedAt: issued}
	}
	host := Claims{Subject: "h_1", Game: game, Role: RoleHost, IssuedAt: issued}
	service := Claims{Subject: "s_1", Game: game, Role: RoleService, IssuedAt: issued}
	for name, tt := range map[string]struct {
		bar    Bar
		claims Claims
		want   error
	}{
		"banned":                    {Bar{Kind: BarBan, ID: "p_1"}, player("p_1"), ErrBanned},
		"banned for a while":        {Bar{Kind: BarBan, ID: "p_1", EndsAt: start + 1}, player("p_1"), ErrBanned},
		"ban that has ended":        {Bar{Kind: BarBan, ID: "p_1", EndsAt: start}, player("p_1"), nil},
		"banned in another game":    {Bar{Game: other, Kind: BarBan, ID: "p_1"}, player("p_1"), nil},
		"another is banned":         {Bar{Kind: BarBan, ID: "p_2"}, player("p_1"), nil},
		"account of the banned":     {Bar{Kind: BarBan, ID: "p_1"}, player("account"), ErrBanned},
		"banned by the account":     {Bar{Kind: BarBan, ID: "account"}, player("account"), ErrBanned},
		"host":                      {Bar{Kind: BarBan, ID: "h_1"}, host, ErrBanned},
		"a service is not banned":   {Bar{Kind: BarBan, ID: "s_1"}, service, nil},
		"revoked by its id":         {Bar{Kind: BarToken, ID: "t1"}, player("p_1"), ErrTokenRevoked},
		"another token revoked":     {Bar{Kind: BarToken, ID: "t2"}, player("p_1"), nil},
		"an id of no token":         {Bar{Kind: BarToken, ID: "p_1"}, player("p_1"), nil},
		"revoked with all before":   {Bar{Kind: BarSubject, ID: "p_1", IssuedBefore: issued + 1000}, player("p_1"), ErrTokenRevoked},
		"issued since":              {Bar{Kind: BarSubject, ID: "p_1", IssuedBefore: issued}, player("p_1"), nil},
		"revoked, of the account":   {Bar{Kind: BarSubject, ID: "p_1", IssuedBefore: issued + 1000}, player("account"), ErrTokenRevoked},
		"revoked of a service":      {Bar{Kind: BarSubject, ID: "s_1", IssuedBefore: issued + 1000}, service, ErrTokenRevoked},
		"erased":                    {Bar{Kind: BarErased, ID: "p_1"}, player("p_1"), ErrErased},
		"erased, of the account":    {Bar{Kind: BarErased, ID: "p_1"}, player("account"), ErrErased},
		"a host of an erased id":    {Bar{Kind: BarErased, ID: "h_1"}, host, ErrErased},
		"a service is not erased":   {Bar{Kind: BarErased, ID: "s_1"}, service, nil},
		"erased, by the hash":       {Bar{Kind: BarErased, ID: "#demo/p_1"}, player("p_1"), ErrErased},
		"another's hash":            {Bar{Kind: BarErased, ID: "#demo/p_2"}, player("p_1"), nil},
		"another game's hash":       {Bar{Kind: BarErased, ID: "#other/p_1"}, player("p_1"), nil},
		"tied, with a new token":    {Bar{Kind: BarTied, ID: "account"}, player("account"), nil},
		"tied, as the former":       {Bar{Kind: BarTied, ID: "p_1"}, player("p_1"), ErrTokenRevoked},
		"a host of the tied's name": {Bar{Kind: BarTied, ID: "h_1"}, host, nil},
	} {
		s.bars, s.revision = nil, 0
		tt.bar.Reason = "the reason"
		s.bar(tt.bar)
		r := registryOf(t, s)
		got := admitted(t, r, tt.claims)
		if !errors.Is(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
		id := tt.claims.Subject
		if id == "account" {
			id = "p_1"
		}
		tt.claims.Key = s.keys[game][0].ID
		if still := r.Stands(tt.claims, id); !errors.Is(still, tt.want) {
			t.Errorf("%s: a session: %v, want %v", name, still, tt.want)
		}
		if errors.Is(got, ErrBanned) && (errors.Is(got, ErrToken) || !strings.Contains(got.Error(), "the reason")) {
			t.Errorf("%s: says %v", name, got)
		}
	}
}

// admitted is what an edge does with a token.
func admitted(t *testing.T, r *Registry, c Claims) error {
	t.Helper()
	if err := r.Bars.token(c); err != nil {
		return err
	}
	if c.Role != RolePlayer {
		return nil
	}
	_, err := r.Ensure(t.Context(), c)
	return err
}

// A guest who is banned gets no token, one whose tokens are revoked a new one for a
// new device only.
func TestGuestsWhoAreBarred(t *testing.T) {
	t.Parallel()
	s := newStore()
	r := registryOf(t, s)
	first, err := r.Guest(t.Context(), ask("Ada"))
	if err != nil {
		t.Fatal(err)
	}
	id := first.Player.ID
	s.bar(Bar{Kind: BarSubject, ID: id, IssuedBefore: wholeSecond(start)})
	s.detach(game, id)
	refresh(t, r)
	if _, err := r.Verify(t.Context(), first.Token); !errors.Is(err, ErrTokenRevoked) {
		t.Errorf("a revoked token: %v", err)
	}
	_, fresh, err := r.ResetDevice(t.Context(), game, id)
	if err != nil {
		t.Fatal(err)
	}
	anew := GuestRequest{Game: game, Device: fresh}
	again, err := r.Guest(t.Context(), anew)
	if err != nil || again.Player.ID != id {
		t.Fatalf("%+v, %v", again, err)
	}
	if _, err := r.Verify(t.Context(), again.Token); err != nil {
		t.Errorf("the token of the same second that came after: %v", err)
	}
	s.bar(Bar{Kind: BarBan, ID: id, Reason: "two accounts", EndsAt: start + 1})
	refresh(t, r)
	if _, err := r.Guest(t.Context(), anew); !errors.Is(err, ErrBanned) {
		t.Errorf("a banned guest: %v", err)
	}
	if n := testutil.ToFloat64(r.refused.WithLabelValues("banned")); n != 1 {
		t.Errorf("%v refusals are counted", n)
	}
}

func wholeSecond(ms int64) int64 { return (ms + 1000) / 1000 * 1000 }

func refresh(t *testing.T, r *Registry) {
	t.Helper()
	if err := r.Bars.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// A retired key ends the sessions that began with it.
func TestStandsByItsKey(t *testing.T) {
	t.Parallel()
	s := newStore()
	r := registryOf(t, s)
	c := Claims{Subject: "p_1", Game: game, Role: RolePlayer, Key: s.keys[game][0].ID}
	if err := r.Stands(c, "p_1"); err != nil {
		t.Error(err)
	}
	if _, err := r.RotateKey(t.Context(), game); err != nil {
		t.Fatal(err)
	}
	if err := s.RetireKey(t.Context(), game, c.Key, 0); err != nil { // at another node
		t.Fatal(err)
	}
	refresh(t, r)
	if err := r.Stands(c, "p_1"); !errors.Is(err, ErrTokenKey) {
		t.Errorf("a session of a retired key: %v", err)
	}
}

// The view follows the store: every second, when woken at once, not while it is
// away, and from the beginning where it was put back.
func TestViewFollows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		for i := range barsPage + 1 {
			s.bar(Bar{Kind: BarBan, ID: fmt.Sprint("early", i)})
		}
		r := registryOf(t, s)
		var told [][]Bar
		r.Bars.OnChange(func(bars []Bar) { told = append(told, bars) })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- r.Bars.Run(ctx) }() // waited for below
		banned := func(id string) bool {
			return errors.Is(r.Bars.token(Claims{Subject: id, Game: game, Role: RolePlayer}), ErrBanned)
		}
		if !banned("early0") || !banned(fmt.Sprint("early", barsPage)) {
			t.Error("bars from before the start are not known")
		}
		s.bar(Bar{Kind: BarBan, ID: "p_1"})
		pass(barsEvery - time.Millisecond)
		if banned("p_1") {
			t.Error("it is known before it was read")
		}
		pass(time.Millisecond)
		s.bar(Bar{Kind: BarBan, ID: "p_2"})
		r.Bars.Wake()
		synctest.Wait()
		if !banned("p_1") || !banned("p_2") {
			t.Error("a second later, and woken, the view does not know the bars")
		}
		if len(told) != 2 || len(told[0]) != 1 || told[1][0].ID != "p_2" {
			t.Errorf("told of %+v", told)
		}
		s.setDown(true)
		s.bar(Bar{Kind: BarBan, ID: "p_3"})
		pass(3 * barsEvery)
		if !banned("p_1") || banned("p_3") || testutil.ToFloat64(r.Bars.metrics.failures) != 3 {
			t.Error("while the store is away the view knows something else than before")
		}
		s.setDown(false)
		s.bar(Bar{Kind: BarBan, ID: "p_1", EndsAt: 1}) // lifted
		pass(barsEvery)
		if banned("p_1") || !banned("p_3") {
			t.Error("what was missed was not caught up with")
		}
		if n := testutil.ToFloat64(r.Bars.metrics.known.WithLabelValues("ban")); n != barsPage+3 {
			t.Errorf("%v bans are shown", n)
		}
		s.mu.Lock()
		s.bars, s.revision = nil, 0 // another store
		s.mu.Unlock()
		s.bar(Bar{Kind: BarBan, ID: "p_4"})
		pass(barsEvery)
		if banned("p_2") || !banned("p_4") {
			t.Error("the view is of the former store")
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestBarsThatAreRefused(t *testing.T) {
	t.Parallel()
	good := Bar{Game: game, Kind: BarBan, ID: "p_1", Reason: "x"}
	if err := good.Check(start); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Bar){
		"no kind":                func(b *Bar) { b.Kind = "" },
		"not an operator's kind": func(b *Bar) { b.Kind = BarErased },
		"no id":                  func(b *Bar) { b.ID = "" },
		"bad id":                 func(b *Bar) { b.ID = "a b" },
		"no player's id":         func(b *Bar) { b.ID = reserved },
		"no reason":              func(b *Bar) { b.Reason = "" },
		"long reason":            func(b *Bar) { b.Reason = strings.Repeat("x", MaxReason+1) },
		"ended":                  func(b *Bar) { b.EndsAt = start },
		"no instant":             func(b *Bar) { b.EndsAt = 1 << 60 },
		"a ban of tokens":        func(b *Bar) { b.IssuedBefore = start },
		"tokens to come":         func(b *Bar) { b.Kind, b.IssuedBefore = BarSubject, start+31_000 },
	} {
		b := good
		change(&b)
		if err := b.Check(start); !errors.Is(err, ErrBadBar) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAccountOf(t *testing.T) {
	t.Parallel()
	s := newStore()
	r := registryOf(t, s)
	guest := Claims{Subject: "p_1", Game: game, Role: RolePlayer}
	s.bar(Bar{Kind: BarBan, ID: "banned"})
	refresh(t, r)
	for name, tt := range map[string]struct {
		token string
		want  error
	}{
		"account":      {minted(t, r.Tokens, Claims{Subject: "op:1", Game: game, Role: RolePlayer}), nil},
		"host":         {minted(t, r.Tokens, Claims{Subject: "op:1", Game: game, Role: RoleHost}), ErrBadAccount},
		"another game": {minted(t, r.Tokens, Claims{Subject: "op:1", Game: other, Role: RolePlayer}), ErrBadAccount},
		"forged":       {"a.b.c", ErrBadAccount},
		"banned":       {minted(t, r.Tokens, Claims{Subject: "banned", Game: game, Role: RolePlayer}), ErrBanned},
	} {
		account, err := r.AccountOf(t.Context(), Tying{Guest: guest, Token: tt.token})
		if !errors.Is(err, tt.want) || (account == "op:1") != (tt.want == nil) {
			t.Errorf("%s: %q, %v", name, account, err)
		}
	}
}

// Tokens of admins are barred as others are, one by one and by their subject, and
// those of a game's host of the same name are not.
func TestAdminsAreBarred(t *testing.T) {
	t.Parallel()
	s := newStore()
	r := registryOf(t, s)
	mint := func(c Claims) (string, Claims) {
		t.Helper()
		token, _, err := r.Mint(c, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		claims, err := r.Tokens.Verify(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		return token, claims
	}
	admin, claims := mint(Claims{Subject: "ops", Role: RoleAdmin})
	other, otherClaims := mint(Claims{Subject: "ops", Role: RoleAdmin})
	host, _ := mint(Claims{Subject: "ops", Game: game, Role: RoleHost})
	for _, step := range []struct {
		bar  Bar
		want []error // of admin, other, host
	}{
		{Bar{Kind: BarToken, ID: claims.ID, Game: ofAdmins}, []error{ErrTokenRevoked, nil, nil}},
		{Bar{Kind: BarSubject, ID: "ops", Game: ofAdmins, IssuedBefore: otherClaims.IssuedAt + 1000}, []error{ErrTokenRevoked, ErrTokenRevoked, nil}},
	} {
		s.bar(step.bar)
		refresh(t, r)
		for i, token := range []string{admin, other, host} {
			if _, err := r.Verify(t.Context(), token); !errors.Is(err, step.want[i]) {
				t.Errorf("%s, token %d: %v, want %v", step.bar.Kind, i, err, step.want[i])
			}
		}
	}
	if err := (Bar{Kind: BarBan, ID: "ops", Reason: "x"}).Check(0); !errors.Is(err, ErrBadBar) {
		t.Errorf("an admin is banned: %v", err)
	}
}
