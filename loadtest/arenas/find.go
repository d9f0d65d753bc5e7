package main

import (
	"context"
	"fmt"
)

const soonEnough = 20.0 // ms; a rate must have a p99 below this

// find offers higher and higher rates of each kind. It stops when the p99 is at least
// soonEnough twice in a row, because one such run may be chance.
func find(ctx context.Context, o options, kinds []kind) error {
	for _, k := range kinds {
		best, missed := outcome{}, 0
		for o.rate = 1000; missed < 2; o.rate += o.rate / 7 {
			one, err := once(ctx, k, o)
			if err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
			show(fmt.Sprintf("%s %d", k.name, o.rate), []outcome{one})
			if missed++; one.p99 < soonEnough {
				best, missed = one, 0
			}
		}
		if best.rate == 0 {
			return fmt.Errorf("%s: no rate has a p99 below %v ms here", k.name, soonEnough)
		}
		show(k.name+", most", []outcome{best})
	}
	return nil
}
