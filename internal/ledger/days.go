package ledger

import (
	"fmt"
	"time"
)

// maxStartedDays limits the days that one transaction may start: a hundred years.
const maxStartedDays = 36525

// civilDay returns the date of an instant (epoch ms) in a zone, YYYY-MM-DD.
func civilDay(at int64, zone *time.Location) string {
	return time.UnixMilli(at).In(zone).Format(time.DateOnly)
}

// daysAfter returns the dates after day up to and including today, in order. It returns
// none if today is not after day, and only today if day is "" (no day yet).
func daysAfter(day, today string) ([]string, error) {
	if day == "" {
		return []string{today}, nil
	}
	from, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return nil, fmt.Errorf("the game's day: %w", err)
	}
	to, err := time.Parse(time.DateOnly, today)
	if err != nil {
		return nil, fmt.Errorf("the database's clock: %w", err)
	}
	if n := to.Sub(from) / (24 * time.Hour); n > maxStartedDays {
		return nil, fmt.Errorf("the database's clock shows %s, but the game's last day is %s; correct the clock", today, day)
	}
	var days []string
	for d := from.AddDate(0, 0, 1); !d.After(to); d = d.AddDate(0, 0, 1) {
		days = append(days, d.Format(time.DateOnly))
	}
	return days, nil
}
