package limit

import (
	"hash/maphash"
	"slices"
	"time"
)

// guessed is what is known of guesses.
type guessed struct {
	held   int       // tokens that are taken, and may be given back
	right  []vouched // secrets that are vouched for, the newest last
	asked  time.Time // when the other nodes were asked for theirs
	untold time.Time // when they were last told in vain
}

// hold takes a token that may be given back, and says how long until there is
// one, 0 where it was there, and Soon where it is held by somebody.
func (b *bucket) hold(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := b.guesses()
	switch {
	case now.Before(b.until):
		return max(b.until.Sub(now), Soon+1)
	case b.tokens.AllowN(now, 1):
		g.held++
		return 0
	case g.held > 0:
		return Soon
	}
	return max(b.lacks(now, 1), Soon+1)
}

// settle ends a hold: the token is spent, or given back.
func (b *bucket) settle(now time.Time, spent bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.guesses().held--
	if !spent {
		b.tokens.ReserveN(now, -1) // what is more than a bucket holds runs over when next looked at
	}
}

// hashes of secrets are of this process, so that nobody can find two alike.
var hashes = maphash.MakeSeed()

// vouched is a secret, by its hash, and whether the other nodes have been told.
type vouched struct {
	hash uint64
	told bool
}

// vouch remembers a secret, in place of the oldest where there are too many, and
// says whether the other nodes are to be told.
func (b *bucket) vouch(now time.Time, secret string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	g, v := b.guesses(), b.find(secret)
	if v == nil {
		if len(g.right) == MostVouched {
			g.right = slices.Delete(g.right, 0, 1)
		}
		g.right = append(g.right, vouched{hash: maphash.String(hashes, secret)})
		v = &g.right[len(g.right)-1]
	}
	if v.told || now.Sub(g.untold) < hearsEvery {
		return false
	}
	v.told = true
	return true
}

// retell has the other nodes be told of a secret again, after a while.
func (b *bucket) retell(now time.Time, secret string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if v := b.find(secret); v != nil {
		v.told, b.guesses().untold = false, now
	}
}

func (b *bucket) vouches(secret string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.find(secret) != nil
}

// find is called under mu.
func (b *bucket) find(secret string) *vouched {
	if b.guessed == nil {
		return nil
	}
	hash := maphash.String(hashes, secret)
	for i := range b.guessed.right {
		if b.guessed.right[i].hash == hash {
			return &b.guessed.right[i]
		}
	}
	return nil
}

// guesses is called under mu.
func (b *bucket) guesses() *guessed {
	if b.guessed == nil {
		b.guessed = new(guessed)
	}
	return b.guessed
}

// asks says whether it is time to ask the other nodes, who are then asked.
func (b *bucket) asks(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	g := b.guesses()
	if now.Sub(g.asked) < hearsEvery {
		return false
	}
	g.asked = now
	return true
}
