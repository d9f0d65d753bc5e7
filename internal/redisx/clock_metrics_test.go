package redisx

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func TestClockMetricsCountStepsAndFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewPedanticRegistry()
		reference := &fakeReference{delayTo: 10 * time.Millisecond, delayFrom: 10 * time.Millisecond}
		clock, err := newClock(t.Context(), reference.read, ClockConfig{Registry: registry})
		if err != nil {
			t.Fatal(err)
		}
		for _, skew := range []time.Duration{time.Second, 0, 0, 4 * time.Second} {
			reference.setSkew(skew)
			if err := clock.readAndApply(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		reference.setSkew(time.Second)
		if err := clock.readAndApply(t.Context()); err != nil {
			t.Fatal(err)
		}
		reference.set(func(reference *fakeReference) { reference.err = errRefused })
		if err := clock.readAndApply(t.Context()); err == nil {
			t.Error("a refused reading succeeded")
		}
		advance(10 * time.Second)
		want := map[string]float64{
			"laststand_clock_steps_total ahead":        2,
			"laststand_clock_steps_total behind":       2,
			"laststand_clock_read_failures_total":      1,
			"laststand_clock_offset_seconds":           1.998,
			"laststand_clock_unconfirmed_step_seconds": 0,
			"laststand_clock_uncertainty_seconds":      0.015021,
			"laststand_clock_reference_age_seconds":    10.02,
		}
		for name, value := range gatherValues(t, registry) {
			if difference := value - want[name]; difference > 1e-9 || difference < -1e-9 {
				t.Errorf("%s is %v, want %v", name, value, want[name])
			}
			delete(want, name)
		}
		if len(want) > 0 {
			t.Errorf("missing metrics: %v", want)
		}
	})
}

// gatherValues returns the values of all metrics of a registry, by name and label value.
func gatherValues(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		for _, sample := range family.GetMetric() {
			name := family.GetName()
			for _, label := range sample.GetLabel() {
				name += " " + label.GetValue()
			}
			values[name] = sample.GetGauge().GetValue() + sample.GetCounter().GetValue()
		}
	}
	return values
}
