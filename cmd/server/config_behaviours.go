package main

import (
	"cmp"
	"slices"
	"time"

	"laststand/internal/eventq"
)

// behaviours configures the behaviour queue and the sink of a game. A field with its zero
// value gets its default.
type behaviours struct {
	// Behaviours that the queue holds. Higher: longer outages of the sink without a loss, more Redis memory.
	MaxLen int `yaml:"max_len" range:"1..10000000"`
	// Reaction to a full queue: drop the oldest behaviour, drop the new one, or refuse the post with overloaded.
	Overflow string `yaml:"overflow" allowed:"drop_oldest, drop_newest, reject"`
	// When a batch leaves.
	Batch batchRules `yaml:"batch"`
	// Age at which an unsent behaviour is dropped. Nothing older than 3 minutes leaves the server.
	MaxAge string `yaml:"max_age" allowed:"1ms to 2m55s"`
	// Attempts to send, of all nodes together and with retries.
	Rate rateRules `yaml:"rate"`
	// Whether the game gets a reporter of its own from the start. A busy game gets one by itself.
	Hot bool `yaml:"hot"`
	// The server's own behaviours that it reports. The default is none without a section behaviours, else all that the sink takes.
	Report []string `yaml:"report,flow" allowed:"online, offline, match_start, match_end (a sink nppa: online, offline)"`
	// Where the behaviours go.
	Sink sink `yaml:"sink"`
}

type batchRules struct {
	// Behaviours of a batch: a full batch leaves at once.
	MaxSize int `yaml:"max_size" range:"1..128"`
	// Longest time that the oldest behaviour of a batch waits. Higher: fewer, larger batches. Lower: earlier reports. Must be less than max_age.
	FlushInterval string `yaml:"flush_interval" allowed:"1ms or more"`
}

type rateRules struct {
	// Attempts per second.
	PerSecond float64 `yaml:"per_second" range:"0.01..100000"`
	// Attempts at once. For a sink nppa the default is 1: over 10 attempts within a second ban the game for 60 s.
	Burst int `yaml:"burst" range:"1..100000"`
}

// fill sets the defaults. isConfigured tells whether the file has a section behaviours;
// without it the server reports no behaviours of its own.
func (b *behaviours) fill(isConfigured bool) {
	b.MaxLen = cmp.Or(b.MaxLen, 10_000)
	b.Overflow = cmp.Or(b.Overflow, string(eventq.DropOldest))
	b.Batch.MaxSize = cmp.Or(b.Batch.MaxSize, eventq.MaxBatch)
	b.Batch.FlushInterval = cmp.Or(b.Batch.FlushInterval, "1s")
	b.MaxAge = cmp.Or(b.MaxAge, "170s")
	b.Rate.PerSecond = cmp.Or(b.Rate.PerSecond, 8)
	b.Sink.fill()
	burst := 8
	if b.Sink.Type == sinkNPPA {
		burst = 1 // the NPPA bans a game for 60 s after more than 10 attempts within a second
	}
	b.Rate.Burst = cmp.Or(b.Rate.Burst, burst)
	if isConfigured && b.Report == nil {
		b.Report = b.Sink.reportableTypes()
	}
}

// queueTerms returns the settings of a game's queue.
func (c *config) queueTerms(name string) eventq.Policy {
	b := c.Games[name].Behaviours
	flush, _ := time.ParseDuration(b.Batch.FlushInterval) // validate checked both durations
	age, _ := time.ParseDuration(b.MaxAge)
	return eventq.Policy{
		Game: name, MaxLen: b.MaxLen, Overflow: eventq.Overflow(b.Overflow), BatchSize: b.Batch.MaxSize,
		FlushMS: flush.Milliseconds(), MaxAgeMS: age.Milliseconds(), PerSecond: b.Rate.PerSecond, Burst: b.Rate.Burst,
		Hot: b.Hot, Report: b.Report,
	}
}

func (c *config) validateBehaviours(name string, f *faults) {
	b, prefix := c.Games[name].Behaviours, "games."+name+".behaviours."
	f.validateOneOf(prefix+"overflow", b.Overflow, string(eventq.DropOldest), string(eventq.DropNewest), string(eventq.Reject))
	flush := f.parseDuration(prefix+"batch.flush_interval", b.Batch.FlushInterval)
	age := f.parseDuration(prefix+"max_age", b.MaxAge)
	switch {
	case age > maxAge:
		f.addf("%smax_age: %q is over %v: a try takes up to %v, and nothing leaves that is over 3 minutes old", prefix, b.MaxAge, maxAge, tryTime)
	case age > 0 && flush >= age:
		f.addf("%sbatch.flush_interval: %q is not less than max_age (%s); the behaviours would be too old to send", prefix, b.Batch.FlushInterval, b.MaxAge)
	}
	for _, kind := range b.Report {
		f.validateOneOf(prefix+"report", kind, b.Sink.reportableTypes()...)
	}
	b.Sink.validate(prefix+"sink.", f)
	c.validateSinkPath(name, f)
}

const (
	maxAge  = eventq.MaxAgeMS * time.Millisecond
	tryTime = eventq.SendTimeoutMS * time.Millisecond
)

// validateOneOf reports a value that is not in the list.
func (f *faults) validateOneOf(where, word string, words ...string) {
	if !slices.Contains(words, word) {
		f.addf("%s: %q is none of %v", where, word, words)
	}
}

// parseDuration parses a duration of at least 1 ms. It reports any other text and returns 0.
func (f *faults) parseDuration(where, text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Millisecond {
		f.addf("%s: %q is no duration, such as 1s", where, text)
		return 0
	}
	return d
}
