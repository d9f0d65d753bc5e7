package main

import "github.com/prometheus/client_golang/prometheus"

// newUnreplicatedWinsCounter counts the winners of buzzer questions that the server announced
// before a replica had the answer.
func newUnreplicatedWinsCounter(r prometheus.Registerer) func() {
	c := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "laststand_match_unreplicated_wins_total",
		Help: "Buzzer questions whose winner was announced although no replica confirmed the answer within 100 ms.",
	})
	r.MustRegister(c)
	return c.Inc
}
