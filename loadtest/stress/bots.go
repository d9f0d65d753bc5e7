package stress

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"laststand/internal/protocol"
	"laststand/loadtest/checker"
	"laststand/loadtest/players"
)

// maxBots is the highest number of bots.
const maxBots = 24

// cheat runs bots that play duels of the arcade against each other, and try everything
// that could be of advantage. The checker judges their matches.
func cheat(ctx context.Context, a *attacker) {
	group := players.NewGroup(ctx, players.Config{
		Servers: func() []string { return []string{a.URL} }, Dialer: a.dialer, Stats: players.NewRecorder(time.Hour),
		Checker: &checker.Checker{LimitMS: arcadeLimitMS, Leavers: true, Strangers: true},
		Token:   func(_, id string) (string, error) { return arcadeToken(id), nil }, IDPrefix: "bot_" + rand.Text()[:6] + "_",
		Habits: players.Habits{Cheats: true}, OtherMatch: a.Match, ConnectsPerSecond: a.PerSecond,
		ReplyTimeout: callTimeout, ConnectTimeout: time.Hour, SilenceTimeout: time.Hour, LateMatchWait: time.Second,
	})
	defer time.AfterFunc(time.Until(a.until), group.Stop).Stop()
	group.SetDuellists(min(a.Sockets, maxBots) &^ 1) // an even number: each needs an opponent
	group.Wait()
	group.Disconnect()
	group.Checker.JudgeRest()
	listed, _ := group.Checker.Violations.All()
	for _, line := range listed {
		a.violation("%s", line)
	}
	for name, n := range group.Stats.All().Counts {
		outcome, isAnswer := strings.CutPrefix(name, protocol.TypeAnswer+" ")
		if isAnswer {
			a.stats.Count(actions, n)
		}
		if isAnswer && outcome != "accepted" && outcome != "repeated" {
			a.stats.Count("error "+outcome, n)
		}
	}
}
