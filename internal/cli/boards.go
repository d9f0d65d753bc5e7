package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"laststand/internal/ops"
	"laststand/internal/timer"
)

type boardsCmd struct {
	Verify     boardsVerify  `cmd:"" help:"Verify the leaderboards against the ledger."`
	Rebuild    boardsRebuild `cmd:"" help:"Rebuild the leaderboards from the ledger."`
	Disqualify struct {
		gameFlag
		Match  string `required:"" placeholder:"ID" body:"match" help:"The match."`
		Player string `placeholder:"ID" body:"player" help:"The player (default: all players of the match and their teams)."`
		Reason string `required:"" placeholder:"TEXT" body:"reason" help:"The reason; the server keeps it."`
	} `cmd:"" help:"Disqualify the results of a match, or of one player."`
}

type boardsVerify struct{ gameFlag }

// Run prints each difference between the leaderboards and the ledger. It fails if there is one.
func (b *boardsVerify) Run(ctx context.Context, admin *adminClient) error {
	body, err := admin.open(ctx, http.MethodGet, b.path("/leaderboards/verify"), nil)
	if err != nil {
		return err
	}
	defer body.Close()
	return b.print(json.NewDecoder(body), admin.output)
}

func (b *boardsVerify) print(lines *json.Decoder, output Output) error {
	for {
		var line ops.VerifyLine
		switch err := lines.Decode(&line); {
		case errors.Is(err, io.EOF):
			return errors.New("the server stopped the verification before its end; see the log of the server")
		case err != nil:
			return fmt.Errorf("verification failed: %w", err)
		case line.Error != nil:
			return fmt.Errorf("verification failed: %s", line.Error.Detail)
		case line.Difference != nil:
			fmt.Fprintf(output.Stdout, "%s %s %s: %s: ledger %s, leaderboard %s\n", line.Kind, line.Span, line.Holder, line.Field, line.Want, line.Have)
			continue
		case line.Verified == nil:
			continue
		}
		totals := line.Verified
		fmt.Fprintf(output.Stdout, "%s: %d leaderboards with %d entries compared at position %d: %d differences\n", b.Game, totals.Boards, totals.Entries, totals.Pos, totals.Differences)
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

// rebuildPoll is the interval at which --wait asks the server whether the rebuild has ended.
const rebuildPoll = 200 * time.Millisecond

func (b *boardsRebuild) Run(ctx context.Context, admin *adminClient) error {
	rebuild, err := call[ops.Rebuild](ctx, admin, http.MethodPost, b.path("/leaderboards/rebuild"), nil)
	if err == nil && !b.Wait {
		return admin.printf("%s: rebuild started\n", b.Game)
	}
	for err == nil && rebuild.IsBuilding && timer.Sleep(ctx, rebuildPoll) {
		rebuild, err = call[ops.Rebuild](ctx, admin, http.MethodGet, b.path("/leaderboards/rebuild"), nil)
	}
	if err := cmp.Or(err, ctx.Err()); err != nil {
		return err
	}
	return admin.printf("%s: new leaderboards are served\n", b.Game)
}

type matchesCmd struct {
	Void struct {
		gameFlag
		Match    string `required:"" placeholder:"ID" help:"The match."`
		Question int    `required:"" placeholder:"N" help:"The number of the question; the first is 0."`
		Reason   string `required:"" placeholder:"TEXT" body:"reason" help:"The reason; the server keeps it."`
	} `cmd:"" help:"Void a question of a settled match."`
}

type daysCmd struct {
	Confirm daysConfirm `cmd:"" help:"Confirm that a day may start after a jump of the database clock."`
}

type daysConfirm struct {
	gameFlag
	Day string `required:"" placeholder:"YYYY-MM-DD" help:"The last day that may start."`
}

func (d *daysConfirm) Validate() error {
	if _, err := time.Parse(time.DateOnly, d.Day); err != nil {
		return fmt.Errorf("--day %q is not a date; use YYYY-MM-DD", d.Day)
	}
	return nil
}
