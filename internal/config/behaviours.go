package config

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"

	"laststand/internal/eventq"
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

// The values of behaviours.sink.type.
const (
	SinkFile    = "file"
	SinkWebhook = "webhook"
	SinkNPPA    = "nppa"
)

// Sink configures the destination of a game's behaviours. Type decides which fields
// apply. The other fields must have their zero value.
type Sink struct {
	// Type of the sink: a file, a webhook, or China's anti-addiction interface (nppa). The type decides which other keys apply. The default is file.
	Type string `yaml:"type" default:"file" oneof:"file, webhook, nppa"`

	// For type file: path of the file to append to, relative to the working directory. Empty: behaviours/GAME.ndjson in the folder of the key data.
	Path string `yaml:"path,omitempty" sinks:"file" allowed:"a path that no other game uses"`
	// For type file: maximum size of a file in MiB; then the sink starts a new file. 0: the default of 64.
	MaxFileMiB int `yaml:"max_file_mib,omitempty" sinks:"file" range:"1..100000"`
	// For type file: maximum number of full files; the sink deletes the oldest. 0: the default of 8. Higher: a longer history, more disk space.
	MaxFiles int `yaml:"max_files,omitempty" sinks:"file" range:"1..1000"`

	// For type webhook: URL that the sink posts to; required. For type nppa: URL of its interface. Empty: the official URL.
	URL string `yaml:"url,omitempty" sinks:"webhook nppa" required:"webhook" check:"url" allowed:"http:// or https:// URL, file:PATH, credential:NAME"`
	// For types webhook and nppa: file with the keys that sign the reports, one per line, the current key first. A relative path starts at the folder of the configuration file. Empty for a webhook: the server generates a key. Required for nppa.
	SecretFile string `yaml:"secret_file,omitempty" sinks:"webhook nppa" required:"nppa" allowed:"a path, credential:NAME"`
	// For type webhook: format of the requests. Empty: standard-webhooks.
	Format string `yaml:"format,omitempty" sinks:"webhook" oneof:"standard-webhooks, cloudevents-batch"`
	// For types webhook and nppa: whether the sink may connect to addresses in private networks. The default is false.
	AllowPrivate bool `yaml:"allow_private,omitempty" sinks:"webhook nppa"`

	// For type nppa, required: id that the NPPA issued to the company.
	AppID string `yaml:"app_id,omitempty" sinks:"nppa" required:"nppa" check:"nppa id" allowed:"1 to 64 of A-Z a-z 0-9 _ -"`
	// For type nppa, required: id that the NPPA issued to the game.
	BizID string `yaml:"biz_id,omitempty" sinks:"nppa" required:"nppa" check:"nppa id" allowed:"1 to 64 of A-Z a-z 0-9 _ -"`
	// For type nppa: code of a test in the NPPA's portal. The sink then reports to the test system. Empty: the sink reports to the production system.
	TestCode string `yaml:"test_code,omitempty" sinks:"nppa" check:"nppa id" allowed:"1 to 64 of A-Z a-z 0-9 _ -"`

	isConfigured bool // the game has a section behaviours
}

// IsConfigured returns true if the game configures its behaviours.
func (s Sink) IsConfigured() bool { return s.isConfigured }

// applyDefaults sets the empty fields that have a default for this type of sink.
func (s *Sink) applyDefaults() {
	switch s.Type {
	case SinkFile:
		s.MaxFileMiB, s.MaxFiles = cmp.Or(s.MaxFileMiB, 64), cmp.Or(s.MaxFiles, 8)
	case SinkWebhook:
		s.Format = cmp.Or(s.Format, "standard-webhooks")
	}
}

// reportableTypes returns the types of behaviours that the server creates itself and the sink
// accepts.
func (s *Sink) reportableTypes() []string {
	if s.Type == SinkNPPA {
		return []string{eventq.Online, eventq.Offline}
	}
	return []string{eventq.Online, eventq.Offline, eventq.MatchStart, eventq.MatchEnd}
}

// validate adds an error for each key that this type of sink does not have, and for each that it
// requires and lacks.
func (s *Sink) validate(prefix string, errs *validationErrors) {
	isKnown := slices.Contains([]string{SinkFile, SinkWebhook, SinkNPPA}, s.Type)
	for field, value := range reflect.ValueOf(*s).Fields() {
		key, _ := yamlKey(field)
		switch types, isLimited := field.Tag.Lookup("sinks"); {
		case isLimited && !value.IsZero() && isKnown && !strings.Contains(types, s.Type):
			errs.addf("%s%s: a sink of type %s does not have this key; remove it", prefix, key, s.Type)
		case value.IsZero() && isKnown && strings.Contains(field.Tag.Get("required"), s.Type):
			errs.addf("%s%s: a sink of type %s needs this key; set it", prefix, key, s.Type)
		}
	}
}

// Webhook configures a webhook: an endpoint that receives events of a game.
type Webhook struct {
	// Name of the webhook, unique in the game.
	Name string `yaml:"name" allowed:"1 to 64 of A-Z a-z 0-9 _ . : -"`
	// URL that the server posts events to.
	URL string `yaml:"url" check:"url" allowed:"http:// or https:// URL, file:PATH, credential:NAME"`
	// File with the keys that sign events, one per line, the current key first. A relative path starts at the folder of the configuration file. Empty: the server generates a key.
	SecretFile string `yaml:"secret_file,omitempty" allowed:"a path, credential:NAME"`
	// Types of events that the server sends to the webhook. Default: all types. The list must not be empty.
	Events []string `yaml:"events,flow" allowed:"names of events"`
	// Whether the server sends one event at a time, in order. Then an event that fails blocks the later events, for about 3 days at most.
	Ordered bool `yaml:"ordered,omitempty"`
	// Whether the URL may lead to an address in a private network. The default is false.
	AllowPrivate bool `yaml:"allow_private,omitempty"`
}
