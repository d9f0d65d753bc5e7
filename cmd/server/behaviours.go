package main

import (
	"cmp"
	"slices"
	"time"

	"laststand/internal/behaviour"
)

// behaviours are what a game's queue of behaviours is kept by, and where it
// leads. The zero value of a field stands for its default.
type behaviours struct {
	MaxLen   int    `yaml:"max_len"`
	Overflow string `yaml:"overflow"`
	Batch    struct {
		MaxSize       int    `yaml:"max_size"`
		FlushInterval string `yaml:"flush_interval"`
	} `yaml:"batch"`
	MaxAge string `yaml:"max_age"`
	Rate   struct {
		PerSecond float64 `yaml:"per_second"`
		Burst     int     `yaml:"burst"`
	} `yaml:"rate"`
	Hot    bool     `yaml:"hot"`
	Report []string `yaml:"report,flow"`
	Sink   sink     `yaml:"sink"`
}

// fill puts defaults in. The server's own players are reported only where the
// file says something of behaviours.
func (b *behaviours) fill(said bool) {
	b.MaxLen = cmp.Or(b.MaxLen, 10_000)
	b.Overflow = cmp.Or(b.Overflow, string(behaviour.DropOldest))
	b.Batch.MaxSize = cmp.Or(b.Batch.MaxSize, behaviour.MaxBatch)
	b.Batch.FlushInterval = cmp.Or(b.Batch.FlushInterval, "1s")
	b.MaxAge = cmp.Or(b.MaxAge, "170s")
	b.Rate.PerSecond = cmp.Or(b.Rate.PerSecond, 8)
	b.Sink.fill()
	burst := 8
	if b.Sink.Type == sinkNPPA {
		burst = 1 // whoever tries more than 10 times within a second is banned for 60 s
	}
	b.Rate.Burst = cmp.Or(b.Rate.Burst, burst)
	if said && b.Report == nil {
		b.Report = b.Sink.reportable()
	}
}

// terms are what the queue of a game is kept by.
func (c *config) terms(name string) behaviour.Terms {
	b := c.Games[name].Behaviours
	flush, _ := time.ParseDuration(b.Batch.FlushInterval) // validated, both
	age, _ := time.ParseDuration(b.MaxAge)
	return behaviour.Terms{
		Game: name, MaxLen: b.MaxLen, Overflow: behaviour.Overflow(b.Overflow), BatchSize: b.Batch.MaxSize,
		FlushMS: flush.Milliseconds(), MaxAgeMS: age.Milliseconds(), PerSecond: b.Rate.PerSecond, Burst: b.Rate.Burst,
		Hot: b.Hot, Report: b.Report,
	}
}

func (c *config) validateBehaviours(name string, f *faults) {
	b, in := c.Games[name].Behaviours, "games."+name+".behaviours."
	f.between(in+"max_len", int64(b.MaxLen), 1, behaviour.MostLen)
	f.oneOf(in+"overflow", b.Overflow, string(behaviour.DropOldest), string(behaviour.DropNewest), string(behaviour.Reject))
	f.between(in+"batch.max_size", int64(b.Batch.MaxSize), 1, behaviour.MaxBatch)
	flush := f.duration(in+"batch.flush_interval", b.Batch.FlushInterval)
	age := f.duration(in+"max_age", b.MaxAge)
	switch {
	case age > maxAge:
		f.addf("%smax_age: %q is over %v: a try takes up to %v, and nothing leaves that is over 3 minutes old", in, b.MaxAge, maxAge, tryTime)
	case age > 0 && flush >= age:
		f.addf("%sbatch.flush_interval: %q is not less than max_age (%s): what waits so long is too old", in, b.Batch.FlushInterval, b.MaxAge)
	}
	if r := b.Rate.PerSecond; !(r >= 0.01 && r <= 100_000) { // so that NaN is refused
		f.addf("%srate.per_second: %g is not between 0.01 and 100000", in, r)
	}
	f.between(in+"rate.burst", int64(b.Rate.Burst), 1, 100_000)
	for _, kind := range b.Report {
		f.oneOf(in+"report", kind, b.Sink.reportable()...)
	}
	b.Sink.validate(in+"sink.", f)
	c.validateSinkPath(name, f)
}

const (
	maxAge  = behaviour.MaxAgeMS * time.Millisecond
	tryTime = behaviour.TryMS * time.Millisecond
)

// oneOf checks a word.
func (f *faults) oneOf(where, word string, words ...string) {
	if !slices.Contains(words, word) {
		f.addf("%s: %q is none of %v", where, word, words)
	}
}

// duration reads a span of time of 1 ms or more; 0 is none.
func (f *faults) duration(where, text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Millisecond {
		f.addf("%s: %q is no duration, such as 1s", where, text)
		return 0
	}
	return d
}
