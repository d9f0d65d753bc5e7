package config

import (
	"cmp"
	"time"
)

// Behaviours configures the behaviour queue and the sink of a game. applyDefaults replaces the
// zero value of a field by its default.
type Behaviours struct {
	// Maximum number of behaviours in the queue. Higher: the queue survives longer outages of the sink without a loss, and uses more Redis memory.
	MaxLen int `yaml:"max_len" default:"10000" range:"1..10000000"`
	// Reaction of a full queue to a new behaviour: drop the oldest behaviour instead, drop the new behaviour, or refuse the request with the error overloaded.
	Overflow string `yaml:"overflow" default:"drop_oldest" oneof:"drop_oldest, drop_newest, reject"`
	// When the server sends a batch.
	Batch Batch `yaml:"batch"`
	// Maximum age of an unsent behaviour; the queue drops older ones. An attempt to send takes up to 5 s, and the server never sends a behaviour that is older than 3 minutes.
	MaxAge string `yaml:"max_age" default:"170s" range:"1ms..2m55s"`
	// Maximum rate of attempts to send, retries included. All nodes share this limit.
	Rate Rate `yaml:"rate"`
	// Whether the game's batches never wait for a free worker. Otherwise that holds only while the game is behind.
	Hot bool `yaml:"hot"`
	// Types of behaviours that the server creates itself and reports. Default: none if the game has no section behaviours, else all types that the sink accepts.
	Report []string `yaml:"report,flow" allowed:"online, offline, match_start, match_end (a sink nppa: online, offline)"`
	// Destination of the behaviours.
	Sink Sink `yaml:"sink"`
}

// Batch configures when the server sends a batch of behaviours: when it is full, or when
// its oldest behaviour has waited for FlushInterval.
type Batch struct {
	// Maximum number of behaviours in a batch. The server sends a full batch immediately.
	MaxSize int `yaml:"max_size" default:"128" range:"1..128"`
	// Maximum time that the oldest behaviour of a batch waits for the batch to fill. Higher: fewer, larger batches. Lower: earlier reports. Must be less than max_age.
	FlushInterval string `yaml:"flush_interval" default:"1s" range:"1ms..2m55s"`
}

// Rate limits the attempts to send the batches of a game.
type Rate struct {
	// Maximum number of attempts per second, on average.
	PerSecond float64 `yaml:"per_second" default:"8" range:"0.01..100000"`
	// Maximum number of attempts in a burst. The default is 8, for a sink of type nppa 1: the NPPA bans a game for 60 s after more than 10 attempts within a second.
	Burst int `yaml:"burst" range:"1..100000"`
}

// applyDefaults sets the fields that have their zero value to their defaults. isConfigured
// reports whether the configuration file has a section behaviours for the game. Without the
// section the server reports no behaviours that it creates itself.
func (b *Behaviours) applyDefaults(isConfigured bool) {
	setDefaults(b)
	b.Sink.applyDefaults()
	b.Sink.isConfigured = isConfigured
	burst := 8
	if b.Sink.Type == SinkNPPA {
		burst = 1 // the NPPA bans a game for 60 s after more than 10 attempts within a second
	}
	b.Rate.Burst = cmp.Or(b.Rate.Burst, burst)
	if isConfigured && b.Report == nil {
		b.Report = b.Sink.reportableTypes()
	}
}

func (b *Behaviours) validate(prefix string, errs *validationErrors) {
	flush, _ := time.ParseDuration(b.Batch.FlushInterval) // the tags check both
	if age, _ := time.ParseDuration(b.MaxAge); flush >= age && age > 0 {
		errs.addf("%sbatch.flush_interval: %q is not less than max_age (%s); the behaviours would be too old to send", prefix, b.Batch.FlushInterval, b.MaxAge)
	}
	for _, kind := range b.Report {
		errs.add(prefix+"report", checkOneOf(kind, b.Sink.reportableTypes()))
	}
	b.Sink.validate(prefix+"sink.", errs)
}
