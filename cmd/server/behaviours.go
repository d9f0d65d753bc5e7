package main

import (
	"net/url"
	"slices"
	"time"
)

// validate checks what is said; the zero value of a field stands for its
// default.
func (b *behaviours) validate(in string, f *faults) {
	f.between(in+"max_len", int64(b.MaxLen), 0, 10_000_000)
	f.oneOf(in+"overflow", b.Overflow, "drop_oldest", "drop_newest", "reject")
	f.between(in+"batch.max_size", int64(b.Batch.MaxSize), 0, 128)
	f.duration(in+"batch.flush_interval", b.Batch.FlushInterval, time.Minute)
	f.duration(in+"max_age", b.MaxAge, 3*time.Minute)
	if r := b.Rate.PerSecond; !(r >= 0 && r <= 100_000) { // so that NaN is refused
		f.addf("%srate.per_second: %g is not between 0 and 100000", in, r)
	}
	f.between(in+"rate.burst", int64(b.Rate.Burst), 0, 100_000)
	f.oneOf(in+"sink.type", b.Sink.Type, "file", "webhook", "nppa")
	f.oneOf(in+"sink.format", b.Sink.Format, "standard-webhooks", "cloudevents-batch")
	if u, err := url.Parse(b.Sink.URL); err != nil || b.Sink.URL != "" && (u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		f.addf("%ssink.url: %q is not of the form https://host/path", in, b.Sink.URL)
	}
}

// oneOf checks a word that may be left out.
func (f *faults) oneOf(where, word string, words ...string) {
	if word != "" && !slices.Contains(words, word) {
		f.addf("%s: %q is none of %v", where, word, words)
	}
}

// duration checks a span of time that may be left out.
func (f *faults) duration(where, text string, most time.Duration) {
	if text == "" {
		return
	}
	if d, err := time.ParseDuration(text); err != nil || d <= 0 || d > most {
		f.addf("%s: %q is no duration up to %v, such as 1s", where, text, most)
	}
}
