package main

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

type daysCmd struct {
	Confirm daysConfirm `cmd:"" help:"Confirm that a day may start after a jump of the database clock."`
}

// Help implements kong's help provider.
func (*daysCmd) Help() string {
	return opsHelp + "\n\nExample: server days confirm --game demo --day 2026-11-22"
}

type daysConfirm struct {
	gameFlag
	Day string `required:"" placeholder:"YYYY-MM-DD" help:"The last day that may start."`
}

// Help implements kong's help provider.
func (*daysConfirm) Help() string {
	return "The server does not start a new day of a game while the database clock is days ahead or differs from cluster time. Confirm the real date.\n\n" +
		"Example: server days confirm --game demo --day 2026-11-22"
}

// Validate implements kong's validation.
func (d *daysConfirm) Validate() error {
	if _, err := time.Parse(time.DateOnly, d.Day); err != nil {
		return fmt.Errorf("--day %q is not a date; use YYYY-MM-DD", d.Day)
	}
	return nil
}

// Run confirms a day.
func (d *daysConfirm) Run(flags *cli, output commandOutput) error {
	return withAdmin(flags, func(ctx context.Context, admin adminClient) error {
		body, err := admin.open(ctx, http.MethodPut, d.path("/days/"+d.Day+"/confirmation"), nil)
		if err != nil {
			return err
		}
		if err := body.Close(); err != nil {
			return err
		}
		_, err = fmt.Fprintf(output.stdout, "%s: days up to %s may start\n", d.Game, d.Day)
		return err
	})
}
