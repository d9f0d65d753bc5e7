package clients

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"laststand/loadtest/player"
	"laststand/loadtest/swarm/rules"
)

// settleWithin bounds how long, after all has been played, what the server keeps
// may take to agree with it.
const settleWithin = time.Minute

// Check holds, when all have gone, the board of all time and the profiles of the
// ledger against what players were told, and says how many players that was.
func (c *Clients) Check(ctx context.Context) (checked, unsure int) {
	want := make(map[string]rules.Sums)
	for _, p := range c.clients {
		switch {
		case p.isUnsure:
			unsure++
		case p.sums.Matches > 0:
			want[p.ID] = p.sums
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	ids := slices.Sorted(maps.Keys(want))
	for n, some := range slices.Collect(slices.Chunk(ids, 100)) {
		group.Go(func() error {
			return c.awaitAgreement(ctx, func() []string { return c.compareBoard(ctx, n, some, want) })
		})
	}
	for n := 0; n < len(ids); n += profileShare {
		group.Go(func() error {
			return c.awaitAgreement(ctx, func() []string { return c.compareProfile(ctx, n, ids[n], want[ids[n]]) })
		})
	}
	if err := group.Wait(); err != nil {
		c.addViolation("what is kept could not be checked: %v", err)
	}
	return len(want), unsure
}

// profileShare is of how many players one's profile is read from the ledger too.
const profileShare = 20

// awaitAgreement compares until nothing differs, and says what does in the end.
func (c *Clients) awaitAgreement(ctx context.Context, compare func() []string) error {
	wait := time.NewTicker(time.Second)
	defer wait.Stop()
	for until := time.Now().Add(settleWithin); ; {
		differs := compare()
		if len(differs) == 0 {
			return nil
		}
		if time.Now().After(until) {
			for _, one := range differs {
				c.addViolation("after %v: %s", settleWithin, one)
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wait.C:
		}
	}
}

// compareBoard says how the board differs from what some players have.
func (c *Clients) compareBoard(ctx context.Context, n int, ids []string, want map[string]rules.Sums) []string {
	var page struct {
		Entries []rules.Entry `json:"entries"`
	}
	err := player.Get(ctx, c.server(n)+"/v1/games/demo/leaderboards/all?limit=200&players="+url.QueryEscape(strings.Join(ids, ",")), &page)
	if err != nil {
		return []string{err.Error()}
	}
	some := make(map[string]rules.Sums, len(ids))
	for _, id := range ids {
		some[id] = want[id]
	}
	return rules.CompareBoard(some, page.Entries)
}

// compareProfile says how a player's profile differs from what the player has.
func (c *Clients) compareProfile(ctx context.Context, n int, id string, want rules.Sums) []string {
	var got rules.Sums
	if err := player.Get(ctx, c.server(n)+"/v1/games/demo/players/"+id, &got); err != nil {
		return []string{err.Error()}
	}
	if got != want {
		return []string{fmt.Sprintf("the ledger has %s with %+v, and the matches add up to %+v", id, got, want)}
	}
	return nil
}
