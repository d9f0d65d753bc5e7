package main

import (
	"cmp"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"laststand/internal/eventq"
)

// Types of sinks.
const (
	sinkFile    = "file"
	sinkWebhook = "webhook"
	sinkNPPA    = "nppa"
)

// sink configures where the behaviours of a game go. Settings of other types are "", 0 or
// false.
type sink struct {
	// Kind of the destination.
	Type string `yaml:"type" allowed:"file, webhook, nppa"`

	// File for a sink file, relative to the working directory. Empty: DATA/behaviours/GAME.ndjson.
	Path string `yaml:"path,omitempty" allowed:"a path that no other game uses"`
	// Size at which a sink file starts a new file. The default of a sink file is 64.
	MaxFileMiB int `yaml:"max_file_mib,omitempty" range:"1..100000"`
	// Full files that a sink file keeps. The default of a sink file is 8. Higher: a longer history, more disk.
	MaxFiles int `yaml:"max_files,omitempty" range:"1..1000"`

	// Address of a sink webhook (required) or nppa (empty: the official one).
	URL string `yaml:"url,omitempty" allowed:"http:// or https:// URL"`
	// File with the sink's keys, one per line, the current one first, relative to the configuration file. A sink webhook without it gets a generated key; a sink nppa needs it.
	SecretFile string `yaml:"secret_file,omitempty" allowed:"a path"`
	// Format of a sink webhook. Empty: standard-webhooks.
	Format string `yaml:"format,omitempty" allowed:"standard-webhooks, cloudevents-batch"`
	// Whether the sink may send to addresses of private networks.
	AllowPrivate bool `yaml:"allow_private,omitempty"`

	// Company id that the NPPA issued, for a sink nppa.
	AppID string `yaml:"app_id,omitempty" allowed:"1 to 64 of A-Z a-z 0-9 _ -"`
	// Game id that the NPPA issued, for a sink nppa.
	BizID string `yaml:"biz_id,omitempty" allowed:"1 to 64 of A-Z a-z 0-9 _ -"`
	// Code of a test in the NPPA's portal: with it a sink nppa reports to the test system.
	TestCode string `yaml:"test_code,omitempty" allowed:"1 to 64 of A-Z a-z 0-9 _ -"`
}

func (s *sink) fill() {
	s.Type = cmp.Or(s.Type, sinkFile)
	switch s.Type {
	case sinkFile:
		s.MaxFileMiB, s.MaxFiles = cmp.Or(s.MaxFileMiB, 64), cmp.Or(s.MaxFiles, 8)
	case sinkWebhook:
		s.Format = cmp.Or(s.Format, "standard-webhooks")
	}
}

// reportableTypes returns the types of the server's own behaviours that the sink accepts.
func (s *sink) reportableTypes() []string {
	if s.Type == sinkNPPA {
		return []string{eventq.Online, eventq.Offline}
	}
	return []string{eventq.Online, eventq.Offline, eventq.MatchStart, eventq.MatchEnd}
}

// sinkOptions configures the sink of a game.
type sinkOptions struct {
	sink
	Keys      func() ([]string, error) // as in the file, the current one first; called for every attempt
	OpenLater bool                     // open the file only for the first behaviour, because the game does not configure behaviours
}

// sinkOptions returns the options of a game's sink.
func (c *config) sinkOptions(name string, keys *receiverKeys) sinkOptions {
	source := c.sinkKeySource(name)
	return sinkOptions{c.sink(name), func() ([]string, error) { return keys.keysOf(source), nil }, !c.isSet("games", name, "behaviours")}
}

// sinkKeySource returns the source of the keys of a game's sink.
func (c *config) sinkKeySource(name string) keySource {
	s, p := c.sink(name), keySource{setting: "games." + name + ".behaviours.sink.secret_file"}
	switch s.Type {
	case sinkWebhook:
		p.check, p.ledgerName = checkWebhookKey, "webhook/"+name // cannot be the name of a game
	case sinkNPPA:
		p.check = checkNPPAKey
	}
	if p.check != nil && s.SecretFile != "" {
		p.file = c.resolvePath(s.SecretFile)
	}
	return p
}

// sink returns the sink of a game, with its default file.
func (c *config) sink(name string) sink {
	s := c.Games[name].Behaviours.Sink
	if s.Type == sinkFile {
		s.Path = cmp.Or(s.Path, filepath.Join(c.Data, "behaviours", name+".ndjson"))
	}
	return s
}

// settings lists the settings that only some types of sinks have.
func (s *sink) settings() []setting {
	return []setting{
		{"path", s.Path != "", []string{sinkFile}},
		{"max_file_mib", s.MaxFileMiB != 0, []string{sinkFile}},
		{"max_files", s.MaxFiles != 0, []string{sinkFile}},
		{"url", s.URL != "", []string{sinkWebhook, sinkNPPA}},
		{"secret_file", s.SecretFile != "", []string{sinkWebhook, sinkNPPA}},
		{"format", s.Format != "", []string{sinkWebhook}},
		{"allow_private", s.AllowPrivate, []string{sinkWebhook, sinkNPPA}},
		{"app_id", s.AppID != "", []string{sinkNPPA}},
		{"biz_id", s.BizID != "", []string{sinkNPPA}},
		{"test_code", s.TestCode != "", []string{sinkNPPA}},
	}
}

type setting struct {
	name  string
	set   bool
	types []string
}

func (s *sink) validate(prefix string, f *faults) {
	types := []string{sinkFile, sinkWebhook, sinkNPPA}
	f.validateOneOf(prefix+"type", s.Type, types...)
	for _, one := range s.settings() {
		if one.set && slices.Contains(types, s.Type) && !slices.Contains(one.types, s.Type) {
			f.addf("%s%s: a sink of type %s has none", prefix, one.name, s.Type)
		}
	}
	if s.URL != "" {
		f.validateURL(prefix+"url", s.URL)
	}
	if s.Format != "" {
		f.validateOneOf(prefix+"format", s.Format, "standard-webhooks", "cloudevents-batch")
	}
	switch s.Type {
	case sinkWebhook:
		if s.URL == "" {
			f.addf("%surl: a sink of type webhook needs one", prefix)
		}
	case sinkNPPA:
		s.validateNPPA(prefix, f)
	}
}

// validateURL checks a URL. Its errors do not show the URL, which may contain a secret.
func (f *faults) validateURL(where, text string) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		f.addf("%s: it is not of the form https://host/path", where)
		return
	}
	if port, err := strconv.ParseUint(cmp.Or(u.Port(), "443"), 10, 16); err != nil || port == 0 {
		f.addf("%s: its port is not one of 1 to 65535", where)
	}
}

// nppaID matches the ids and codes of the NPPA.
var nppaID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func (s *sink) validateNPPA(prefix string, f *faults) {
	if !nppaID.MatchString(s.AppID) {
		f.addf("%sapp_id: %q is none; the NPPA issues one to a company", prefix, s.AppID)
	}
	if !nppaID.MatchString(s.BizID) {
		f.addf("%sbiz_id: %q is none; the NPPA issues one to a game", prefix, s.BizID)
	}
	if s.TestCode != "" && !nppaID.MatchString(s.TestCode) {
		f.addf("%stest_code: %q is none; the portal shows it when a test is begun", prefix, s.TestCode)
	}
	if s.SecretFile == "" {
		f.addf("%ssecret_file: a sink of type nppa needs one, with the key that the NPPA issued", prefix)
	}
}

// validateSinkPath reports a file that two games would write.
func (c *config) validateSinkPath(name string, f *faults) {
	own := c.sink(name)
	for _, other := range c.gameNames() {
		if other == name {
			return
		}
		if own.Path != "" && filepath.Clean(own.Path) == filepath.Clean(c.sink(other).Path) {
			f.addf("games.%s.behaviours.sink.path: %s is that of game %s", name, own.Path, other)
		}
	}
}
