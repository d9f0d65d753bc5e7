package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

type boardsCmd struct {
	Verify     boardsVerify     `cmd:"" help:"Verify the leaderboards against the ledger."`
	Rebuild    boardsRebuild    `cmd:"" help:"Rebuild the leaderboards from the ledger."`
	Disqualify boardsDisqualify `cmd:"" help:"Disqualify the results of a match, or of one player."`
}

// Help implements kong's help provider.
func (*boardsCmd) Help() string {
	return opsHelp + "\n\nExample: server boards verify --game demo"
}

// gameFlag is the flag --game of commands that act on one game.
type gameFlag struct {
	Game string `required:"" placeholder:"NAME" help:"The game."`
}

func (g gameFlag) path(suffix string) string { return "/games/" + url.PathEscape(g.Game) + suffix }

type boardsVerify struct{ gameFlag }

// Help implements kong's help provider.
func (*boardsVerify) Help() string {
	return "The command prints each difference, and exits with 1 if there is one.\n\nExample: server boards verify --game demo"
}

// verifyLine is one line of the response of a verification. Each line has one of three forms: a
// difference (the first fields), the final summary (Verified), or an error that ended it.
type verifyLine struct {
	Kind, Window, ID, Field, Ledger, Leaderboard string

	Verified *struct{ Leaderboards, Entries, Differences, Position int64 }
	Error    *struct{ Detail string }
}

// Run prints each difference between the leaderboards and the ledger. It fails if there is one.
func (b *boardsVerify) Run(flags *cli, output commandOutput) error {
	return withAdmin(flags, func(ctx context.Context, admin adminClient) error {
		body, err := admin.open(ctx, http.MethodGet, b.path("/leaderboards/verify"), nil)
		if err != nil {
			return err
		}
		defer body.Close()
		return b.print(json.NewDecoder(body), output)
	})
}

// print prints lines until the final summary.
func (b *boardsVerify) print(lines *json.Decoder, output commandOutput) error {
	for {
		var line verifyLine
		switch err := lines.Decode(&line); {
		case errors.Is(err, io.EOF):
			return errors.New("the server stopped the verification before its end; see the log of the server")
		case err != nil:
			return fmt.Errorf("verification failed: %w", err)
		case line.Error != nil:
			return fmt.Errorf("verification failed: %s", line.Error.Detail)
		case line.Verified == nil:
			fmt.Fprintf(output.stdout, "%s %s %s: %s: ledger %s, leaderboard %s\n", line.Kind, line.Window, line.ID, line.Field, line.Ledger, line.Leaderboard)
			continue
		}
		totals := line.Verified
		fmt.Fprintf(output.stdout, "%s: %d leaderboards with %d entries compared at position %d: %d differences\n", b.Game, totals.Leaderboards, totals.Entries, totals.Position, totals.Differences)
		if totals.Differences > 0 {
			return fmt.Errorf("leaderboards differ from the ledger; run `server boards rebuild --game %s`", b.Game)
		}
		return nil
	}
}

type boardsRebuild struct {
	gameFlag
	Wait bool `help:"Wait until the new leaderboards are served."`
}

// Help implements kong's help provider.
func (*boardsRebuild) Help() string {
	return "The server serves the current leaderboards until the new ones are complete.\n\nExample: server boards rebuild --game demo --wait"
}

// rebuildPoll is the interval at which --wait asks the server whether the rebuild has ended.
const rebuildPoll = 200 * time.Millisecond

// Run starts a rebuild of the leaderboards of a game.
func (b *boardsRebuild) Run(flags *cli, output commandOutput) error {
	return withAdmin(flags, func(ctx context.Context, admin adminClient) error {
		var state struct{ Building bool }
		if err := admin.call(ctx, http.MethodPost, b.path("/leaderboards/rebuild"), nil, &state); err != nil {
			return err
		}
		if !b.Wait {
			fmt.Fprintf(output.stdout, "%s: rebuild started\n", b.Game)
			return nil
		}
		for state.Building {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(rebuildPoll):
			}
			if err := admin.call(ctx, http.MethodGet, b.path("/leaderboards/rebuild"), nil, &state); err != nil {
				return err
			}
		}
		fmt.Fprintf(output.stdout, "%s: new leaderboards are served\n", b.Game)
		return nil
	})
}

type boardsDisqualify struct {
	gameFlag
	Match  string `required:"" placeholder:"ID" help:"The match."`
	Player string `placeholder:"ID" help:"The player (default: all players of the match and their teams)."`
	Reason string `required:"" placeholder:"TEXT" help:"The reason; the server keeps it."`
}

// Help implements kong's help provider.
func (*boardsDisqualify) Help() string {
	return "The command adds a correction to the ledger, which takes effect on all leaderboards, totals and days. Running it again changes nothing.\n\n" +
		"Example: server boards disqualify --game demo --match m_1 --player p_42 --reason 'two accounts'"
}

// Run disqualifies the results of a match, or of one player in it.
func (b *boardsDisqualify) Run(flags *cli, output commandOutput) error {
	return withAdmin(flags, func(ctx context.Context, admin adminClient) error {
		var disqualified struct{ Rows int }
		body := map[string]string{"match": b.Match, "player": b.Player, "reason": b.Reason}
		if err := admin.call(ctx, http.MethodPost, b.path("/corrections"), body, &disqualified); err != nil {
			return err
		}
		fmt.Fprintf(output.stdout, "%s: %d rows of the ledger cancelled\n", b.Match, disqualified.Rows)
		return nil
	})
}
