package main

import (
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
	if table := parse(new(capacityPlan), nil).(*capacityPlan).table(); !strings.Contains(string(page), table) {
		t.Errorf("docs/operate/capacity.md lacks this table:\n%s", table)
	}
}

func TestCapacityRefusesImpossibleFigures(t *testing.T) {
	t.Parallel()
	for _, argument := range []string{"-players=0", "-players=1,x", "-online=1.1", "-online=NaN", "-questions=0", "-duels=-1"} {
		err := func() (err error) {
			defer testenv.Recover(&err)
			parse(new(capacityPlan), []string{argument})
			return nil
		}()
		if name, _, _ := strings.Cut(argument, "="); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v: %v", argument, err)
		}
	}
}
