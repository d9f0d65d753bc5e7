package nppa

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"laststand/internal/eventq"
)

// report is what of a batch can be reported.
type report struct {
	Records []record `json:"collections"` // numbered from 1

	places []int          // of the records in the batch
	size   int            // of the batch
	faults map[string]int // why the rest cannot be, and how many each
}

func collect(b eventq.Batch) report {
	r := report{size: len(b.Items), faults: make(map[string]int)}
	for i, item := range b.Items {
		one, err := newRecord(item, b.Now)
		if err != nil {
			r.faults[err.Error()]++
			continue
		}
		one.No = len(r.Records) + 1
		r.Records = append(r.Records, one)
		r.places = append(r.places, i)
	}
	return r
}

// outcome is what the answer makes of the batch; what could not be reported is
// refused.
func (r report) outcome(a answer) eventq.Outcome {
	fates := slices.Repeat([]eventq.Fate{eventq.Refused}, r.size)
	faults := maps.Clone(r.faults)
	for i, place := range r.places {
		code, named := a.items[i+1]
		if !named {
			fates[place] = a.fate
			continue
		}
		fates[place] = meaningOf(code).fate
		if code != taken {
			faults[fault(code)]++
		}
	}
	o := eventq.Outcome{Fate: a.fate, After: a.after, Code: a.code, Err: because(a.err, faults)}
	if slices.ContainsFunc(fates, func(f eventq.Fate) bool { return f != o.Fate }) {
		o.Items = fates
	}
	return o
}

// because puts together why a batch was not taken, and why items of it were not.
func because(whole error, faults map[string]int) error {
	if len(faults) == 0 {
		return whole
	}
	var why []string
	if whole != nil {
		why = append(why, whole.Error())
	}
	for _, fault := range slices.Sorted(maps.Keys(faults)) {
		why = append(why, fmt.Sprintf("%d × %s", faults[fault], fault))
	}
	return errors.New(strings.Join(why, "; "))
}
