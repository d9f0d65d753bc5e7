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
	Verify     boardsVerify     `cmd:"" help:"Compare the boards with the ledger."`
	Rebuild    boardsRebuild    `cmd:"" help:"Build the boards anew beside the live ones."`
	Disqualify boardsDisqualify `cmd:"" help:"Take back what a match gave."`
}

// Help implements kong's help provider.
func (*boardsCmd) Help() string {
	return "Speaks to the running server, at its --ops-listen.\n\nExample: server boards verify --game demo"
}

// ofGame names the game that a command is about.
type ofGame struct {
	Game string `required:"" placeholder:"NAME" help:"The game."`
}

func (g ofGame) path(rest string) string { return "/games/" + url.PathEscape(g.Game) + rest }

type boardsVerify struct{ ofGame }

// Help implements kong's help provider.
func (*boardsVerify) Help() string {
	return "Prints each difference, and ends with 1 if there is one.\n\nExample: server boards verify --game demo"
}

// compared is a line of a verification.
type compared struct {
	Kind, Span, Holder, What, Want, Have string

	Verified *struct{ Boards, Entries, Differences, Pos int64 }
	Error    *struct{ Detail string }
}

// Run prints what boards have and the ledger does not, or the other way round.
func (b *boardsVerify) Run(flags *cli, to console) error {
	return withAdmin(flags, func(ctx context.Context, a adminClient) error {
		body, err := a.open(ctx, http.MethodGet, b.path("/boards/verify"), nil)
		if err != nil {
			return err
		}
		defer body.Close()
		return b.print(json.NewDecoder(body), to)
	})
}

func (b *boardsVerify) print(lines *json.Decoder, to console) error {
	for {
		var line compared
		switch err := lines.Decode(&line); {
		case errors.Is(err, io.EOF):
			return errors.New("the server broke the comparison off; look at its log")
		case err != nil:
			return fmt.Errorf("the comparison broke off: %w", err)
		case line.Error != nil:
			return fmt.Errorf("the comparison broke off: %s", line.Error.Detail)
		case line.Verified == nil:
			fmt.Fprintf(to.out, "%s %s %s: %s: the ledger says %s, the board %s\n", line.Kind, line.Span, line.Holder, line.What, line.Want, line.Have)
			continue
		}
		v := line.Verified
		fmt.Fprintf(to.out, "%s: %d boards with %d entries compared at position %d: %d differences\n", b.Game, v.Boards, v.Entries, v.Pos, v.Differences)
		if v.Differences > 0 {
			return fmt.Errorf("boards are not what the ledger says; `server boards rebuild --game %s` puts them right", b.Game)
		}
		return nil
	}
}

type boardsRebuild struct {
	ofGame
	Wait bool `help:"End only when the new boards are served."`
}

// Help implements kong's help provider.
func (*boardsRebuild) Help() string {
	return "The live boards go on serving until the new ones are whole.\n\nExample: server boards rebuild --game demo --wait"
}

// rebuildPoll is how often it is asked whether the boards are built.
const rebuildPoll = 200 * time.Millisecond

// Run has the boards of a game built anew.
func (b *boardsRebuild) Run(flags *cli, to console) error {
	return withAdmin(flags, func(ctx context.Context, a adminClient) error {
		var state struct{ Building bool }
		if err := a.call(ctx, http.MethodPost, b.path("/boards/rebuild"), nil, &state); err != nil {
			return err
		}
		if !b.Wait {
			fmt.Fprintf(to.out, "%s: boards are being built beside the live ones\n", b.Game)
			return nil
		}
		for state.Building {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(rebuildPoll):
			}
			if err := a.call(ctx, http.MethodGet, b.path("/boards/rebuild"), nil, &state); err != nil {
				return err
			}
		}
		fmt.Fprintf(to.out, "%s: new boards are served\n", b.Game)
		return nil
	})
}

type boardsDisqualify struct {
	ofGame
	Match  string `required:"" placeholder:"ID" help:"The match."`
	Player string `placeholder:"ID" help:"The player (default: all of the match, and their teams)."`
	Reason string `required:"" placeholder:"TEXT" help:"Why; it is kept."`
}

// Help implements kong's help provider.
func (*boardsDisqualify) Help() string {
	return "Puts every board, totals and days right by a correction in the ledger; done twice it changes nothing.\n\n" +
		"Example: server boards disqualify --game demo --match m_1 --player p_42 --reason 'two accounts'"
}

// Run takes results back.
func (b *boardsDisqualify) Run(flags *cli, to console) error {
	return withAdmin(flags, func(ctx context.Context, a adminClient) error {
		var done struct{ Rows int }
		body := map[string]string{"match": b.Match, "player": b.Player, "reason": b.Reason}
		if err := a.call(ctx, http.MethodPost, b.path("/corrections"), body, &done); err != nil {
			return err
		}
		fmt.Fprintf(to.out, "%s: %d rows of the ledger taken back\n", b.Match, done.Rows)
		return nil
	})
}
