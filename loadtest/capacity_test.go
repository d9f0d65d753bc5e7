package main

import (
	"flag"
	"os"
	"strings"
	"testing"

	"laststand/internal/testenv"
)

// The table of docs/operate/capacity.md is what the program prints without flags.
func TestTheCapacityPageHasTheComputedTable(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/operate/capacity.md")
	if err != nil {
		t.Fatal(err)
	}
	var c capacityPlan
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	c.register(flags)
	if err := flags.Parse(nil); err != nil {
		t.Fatal(err)
	}
	if table := c.table(); !strings.Contains(string(page), table) {
		t.Errorf("docs/operate/capacity.md lacks this table:\n%s", table)
	}
}

func TestCapacityRefusesImpossibleFigures(t *testing.T) {
	t.Parallel()
	for _, arguments := range [][]string{{"-players", "0"}, {"-players", "1,x"}, {"-online", "1.1"}, {"-online", "NaN"}, {"-questions", "0"}, {"-duels", "-1"}} {
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		run := capacityCommand(flags)
		if err := flags.Parse(arguments); err != nil {
			t.Fatal(err)
		}
		err := func() (err error) {
			defer testenv.Recover(&err)
			run(t.Context())
			return nil
		}()
		if err == nil || !strings.Contains(err.Error(), arguments[0]) {
			t.Errorf("%v: %v", arguments, err)
		}
	}
}
