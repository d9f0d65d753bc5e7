package main

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

type daysCmd struct {
	Confirm daysConfirm `cmd:"" help:"Confirm a jump of the database's clock."`
}

// Help implements kong's help provider.
func (*daysCmd) Help() string {
	return "Speaks to the running server, at its --ops-listen.\n\nExample: server days confirm --game demo --day 2026-11-22"
}

type daysConfirm struct {
	ofGame
	Day string `required:"" placeholder:"YYYY-MM-DD" help:"The last day that may begin."`
}

// Help implements kong's help provider.
func (*daysConfirm) Help() string {
	return "The day of a game is held while the database's clock is days ahead, or cluster time disagrees. Confirm the day that it really is.\n\n" +
		"Example: server days confirm --game demo --day 2026-11-22"
}

// Validate implements kong's validation.
func (d *daysConfirm) Validate() error {
	if _, err := time.Parse(time.DateOnly, d.Day); err != nil {
		return fmt.Errorf("--day %q is no date; write YYYY-MM-DD", d.Day)
	}
	return nil
}

// Run confirms a day.
func (d *daysConfirm) Run(flags *cli, to console) error {
	return withAdmin(flags, func(ctx context.Context, a adminClient) error {
		body, err := a.open(ctx, http.MethodPut, d.path("/days/"+d.Day+"/confirmation"), nil)
		if err != nil {
			return err
		}
		if err := body.Close(); err != nil {
			return err
		}
		_, err = fmt.Fprintf(to.out, "days of %s may turn up to %s\n", d.Game, d.Day)
		return err
	})
}
