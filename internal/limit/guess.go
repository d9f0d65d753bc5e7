package limit

import (
	"context"
	"errors"
	"time"

	"laststand/internal/protocol"
)

// Guesses bound how many wrong secrets anybody may try. They hold exactly,
// however many are tried at once: a try holds a token, which is given back where
// the secret was right, or nobody can say. While all tokens are held a try waits
// for one, a second at the most.
//
// A secret that has once been right from somewhere is vouched for there, and
// needs no token: who guesses beside those who have it does not shut them out.
// But whether one is vouched for may not be found out by trying, either: see
// Vain. A nil *Guesses, and one of a nil Wrong, allow all. It is safe for
// concurrent use.
type Guesses struct {
	Wrong *Rule // by whom it comes from; refusals are its own

	// Beyond Wrong only those get a try whom Guess.By names, of whom each has few:
	// so that who has the secret is not one among the thousands that a guesser
	// sends, but one among as many as the guesser can be.
	Late     *Rule // by whom it comes from; nil: nobody does
	LateEach *Rule // by Guess.By; nil: nobody does

	// Vain counts by whom it comes from what is refused. Where there is too much of
	// it what is vouched for is tried only for those who have tries of LateEach
	// left, which a refusal takes too.
	Vain *Rule
}

// Guess is a try of a secret.
type Guess struct {
	From   Key
	By     Key // the zero Key: nobody that is known
	Secret string
}

// Soon is the wait for what is held: short, and nobody knows how short. No other
// wait is that.
const Soon time.Duration = 1

// MostVouched is for how many secrets a key is vouched for, the newest.
const MostVouched = 64

// Try does what may be a guess, or refuses with a *protocol.Error of the code
// rate_limited and does nothing. The secret is wrong where it ends with a
// *protocol.Error of the code not_found, and right where it ends well.
func (g *Guesses) Try(ctx context.Context, of Guess, try func() error) error {
	if g == nil || g.Wrong == nil {
		return try()
	}
	held, err := g.admit(ctx, of)
	if err != nil {
		return err
	}
	spent := true // also where it ends in a panic
	defer func() { held.settle(ctx, spent) }()
	err = try()
	wrong, ok := errors.AsType[*protocol.Error](err)
	spent = ok && wrong.Code == protocol.CodeNotFound
	if err == nil {
		g.Wrong.vouch(ctx, of)
	}
	return err
}

// Vouch says that a secret is right and known there: it has been given out.
func (g *Guesses) Vouch(ctx context.Context, of Guess) {
	if g != nil && g.Wrong != nil {
		g.Wrong.vouch(ctx, of)
	}
}

// admit holds what a try may cost, which is nothing where it is vouched for.
func (g *Guesses) admit(ctx context.Context, of Guess) (holds, error) {
	known := func() bool { return g.Wrong.vouches(of) && g.trusts(ctx, of) }
	if known() {
		return nil, nil
	}
	held, wait := g.Wrong.hold(ctx, of.From, known)
	if wait <= 0 || g.Wrong.hears(ctx, of) && g.trusts(ctx, of) {
		return held, nil
	}
	g.Vain.Spend(ctx, of.From)
	if of.By != (Key{}) && g.Late != nil && g.LateEach != nil {
		var late time.Duration
		if held, late = g.late(ctx, of, known); late <= 0 {
			return held, nil
		}
		wait = min(wait, late)
	}
	return nil, g.Wrong.refuse(wait)
}

// trusts says whether who tries may be told that a secret is vouched for.
func (g *Guesses) trusts(ctx context.Context, of Guess) bool {
	return g.Vain.has(ctx, of.From) || of.By != (Key{}) && g.LateEach.has(ctx, of.By)
}

// late holds a token of the address and one of who tries, who has lost it where
// the address has none.
func (g *Guesses) late(ctx context.Context, of Guess, known func() bool) (holds, time.Duration) {
	each, wait := g.LateEach.hold(ctx, of.By, known)
	if wait > 0 || each == nil {
		return nil, wait
	}
	all, wait := g.Late.hold(ctx, of.From, known)
	if wait > 0 {
		each.settle(ctx, true)
		return nil, wait
	}
	g.Late.told.allowed.Inc()
	return append(each, all...), 0
}
