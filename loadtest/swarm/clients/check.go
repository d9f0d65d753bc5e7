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

	player "laststand/loadtest/client"
	"laststand/loadtest/swarm/rules"
)

// settleWithin bounds the time from the end of play until the stored data must be correct.
const settleWithin = time.Minute

// Check runs when all clients have left. It compares the all-time board and the profiles in
// the ledger with what the players received. It returns the number of players checked.
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

// profileShare is the divisor for profiles: Check reads the profile of one player in 20.
const profileShare = 20

// awaitAgreement repeats the comparison until nothing differs. At the end it reports the
// remaining differences.
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

// compareBoard returns the differences between the board and the sums of some players.
func (c *Clients) compareBoard(ctx context.Context, n int, ids []string, want map[string]rules.Sums) []string {
	var page struct {
		Entries []rules.Entry `json:"entries"`
	}
	err := player.GetJSON(ctx, c.server(n)+"/v1/games/demo/leaderboards/all?limit=200&players="+url.QueryEscape(strings.Join(ids, ",")), &page)
	if err != nil {
		return []string{err.Error()}
	}
	some := make(map[string]rules.Sums, len(ids))
	for _, id := range ids {
		some[id] = want[id]
	}
	return rules.CompareBoard(some, page.Entries)
}

// compareProfile returns the differences between a player's profile and the player's own
// sums.
func (c *Clients) compareProfile(ctx context.Context, n int, id string, want rules.Sums) []string {
	var got rules.Sums
	if err := player.GetJSON(ctx, c.server(n)+"/v1/games/demo/players/"+id, &got); err != nil {
		return []string{err.Error()}
	}
	if got != want {
		return []string{fmt.Sprintf("the ledger has %s with %+v, and the matches add up to %+v", id, got, want)}
	}
	return nil
}
