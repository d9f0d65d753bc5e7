package sink

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"laststand/internal/eventq"
)

// report holds the items of a batch that can be reported.
type report struct {
	Records []record `json:"collections"` // numbered from 1

	positions []int          // of the records in the batch
	batchSize int            // of the batch
	faults    map[string]int // why items cannot be reported or were not accepted, with the number of each
}

func newReport(b eventq.Batch) report {
	r := report{batchSize: len(b.Items), faults: make(map[string]int)}
	for i, item := range b.Items {
		one, err := newRecord(item, b.Now)
		if err != nil {
			r.faults[err.Error()]++
			continue
		}
		one.No = len(r.Records) + 1
		r.Records = append(r.Records, one)
		r.positions = append(r.positions, i)
	}
	return r
}

// outcome applies the answer to the batch. Items that could not be reported are
// refused.
func (r report) outcome(a answer) eventq.Outcome {
	deliveries := slices.Repeat([]eventq.Delivery{eventq.Refused}, r.batchSize)
	for i, position := range r.positions {
		code, named := a.items[i+1]
		if !named {
			deliveries[position] = a.Delivery
			continue
		}
		deliveries[position] = meaningOf(code).delivery
		if code != codeAccepted {
			r.faults[describeCode(code)]++
		}
	}
	o := a.Outcome
	if len(r.faults) > 0 {
		o.Err = r.describeFaults(o.Err)
	}
	if slices.ContainsFunc(deliveries, func(f eventq.Delivery) bool { return f != o.Delivery }) {
		o.Items = deliveries
	}
	return o
}

// describeFaults joins why a batch was not accepted, if it was not, and why some of its
// items were not.
func (r report) describeFaults(whole error) error {
	var causes []string
	if whole != nil {
		causes = append(causes, whole.Error())
	}
	for _, fault := range slices.Sorted(maps.Keys(r.faults)) {
		causes = append(causes, fmt.Sprintf("%d × %s", r.faults[fault], fault))
	}
	return errors.New(strings.Join(causes, "; "))
}
