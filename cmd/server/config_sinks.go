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

// The values of behaviours.sink.type.
const (
	sinkFile    = "file"
	sinkWebhook = "webhook"
	sinkNPPA    = "nppa"
)

// sinkConfig configures the destination of a game's behaviours. Type decides which fields
// apply. The other fields must have their zero value.
type sink struct {
	// Type of the sink: a file, a webhook, or China's anti-addiction interface (nppa). The type decides which other keys apply. The default is file.
	Type string `yaml:"type" allowed:"file, webhook, nppa"`

	// For type file: path of the file to append to, relative to the working directory. Empty: behaviours/GAME.ndjson in the folder of the key data.
	Path string `yaml:"path,omitempty" allowed:"a path that no other game uses"`
	// For type file: maximum size of a file in MiB; then the sink starts a new file. 0: the default of 64.
	MaxFileMiB int `yaml:"max_file_mib,omitempty" range:"1..100000"`
	// For type file: maximum number of full files; the sink deletes the oldest. 0: the default of 8. Higher: a longer history, more disk space.
	MaxFiles int `yaml:"max_files,omitempty" range:"1..1000"`

	// For type webhook: URL that the sink posts to; required. For type nppa: URL of its interface. Empty: the official URL.
	URL string `yaml:"url,omitempty" allowed:"http:// or https:// URL"`
	// For types webhook and nppa: file with the keys that sign the reports, one per line, the current key first. A relative path starts at the folder of the configuration file. Empty for a webhook: the server generates a key. Required for nppa.
	SecretFile string `yaml:"secret_file,omitempty" allowed:"a path"`
	// For type webhook: format of the requests. Empty: standard-webhooks.
	Format string `yaml:"format,omitempty" allowed:"standard-webhooks, cloudevents-batch"`
	// For types webhook and nppa: whether the sink may connect to addresses in private networks. The default is false.
	AllowPrivate bool `yaml:"allow_private,omitempty"`

	// For type nppa, required: id that the NPPA issued to the company.
	AppID string `yaml:"app_id,omitempty" allowed:"1 to 64 of A-Z a-z 0-9 _ -"`
	// For type nppa, required: id that the NPPA issued to the game.
	BizID string `yaml:"biz_id,omitempty" allowed:"1 to 64 of A-Z a-z 0-9 _ -"`
	// For type nppa: code of a test in the NPPA's portal. The sink then reports to the test system. Empty: the sink reports to the production system.
	TestCode string `yaml:"test_code,omitempty" allowed:"1 to 64 of A-Z a-z 0-9 _ -"`
}

// applyDefaults sets the empty fields that have a default for this type of sink.
func (s *sink) fill() {
	s.Type = cmp.Or(s.Type, sinkFile)
	switch s.Type {
	case sinkFile:
		s.MaxFileMiB, s.MaxFiles = cmp.Or(s.MaxFileMiB, 64), cmp.Or(s.MaxFiles, 8)
	case sinkWebhook:
		s.Format = cmp.Or(s.Format, "standard-webhooks")
	}
}

// reportableTypes returns the types of behaviours that the server creates itself and the sink
// accepts.
func (s *sink) reportableTypes() []string {
	if s.Type == sinkNPPA {
		return []string{eventq.Online, eventq.Offline}
	}
	return []string{eventq.Online, eventq.Offline, eventq.MatchStart, eventq.MatchEnd}
}

// sinkOptions is what openSink needs to open the sink of a game.
type sinkOptions struct {
	sink
	Keys      func() ([]string, error) // the keys that sign reports, the current key first; the sink calls it for each attempt to send
	OpenLater bool                     // create the file when the first behaviour arrives; true if the game does not configure behaviours
}

// gameSinkOptions returns the options that open the sink of a game.
func (c *config) sinkOptions(name string, keys *receiverKeys) sinkOptions {
	source := c.sinkKeySource(name)
	return sinkOptions{c.sink(name), func() ([]string, error) { return keys.keysOf(source), nil }, !c.isSet("games", name, "behaviours")}
}

// sinkKeySource returns where the server reads the keys that sign the reports of a game.
func (c *config) sinkKeySource(name string) keySource {
	s, p := c.sink(name), keySource{setting: "games." + name + ".behaviours.sink.secret_file"}
	switch s.Type {
	case sinkWebhook:
		p.check, p.ledgerName = checkWebhookKey, "webhook/"+name // the slash keeps it apart from names of games
	case sinkNPPA:
		p.check = checkNPPAKey
	}
	if p.check != nil && s.SecretFile != "" {
		p.file = c.resolvePath(s.SecretFile)
	}
	return p
}

// gameSink returns the sink configuration of a game, with the default path of type file.
func (c *config) sink(name string) sink {
	s := c.Games[name].Behaviours.Sink
	if s.Type == sinkFile {
		s.Path = cmp.Or(s.Path, filepath.Join(c.Data, "behaviours", name+".ndjson"))
	}
	return s
}

// settings returns the keys that apply only to some types of sinks.
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

// sinkSetting is a key of a sink, without its value.
type setting struct {
	name  string
	set   bool     // the configuration sets the key
	types []string // types of sinks that have the key
}

func (s *sink) validate(prefix string, f *faults) {
	types := []string{sinkFile, sinkWebhook, sinkNPPA}
	f.validateOneOf(prefix+"type", s.Type, types...)
	for _, one := range s.settings() {
		if one.set && slices.Contains(types, s.Type) && !slices.Contains(one.types, s.Type) {
			f.addf("%s%s: a sink of type %s does not have this key; remove it", prefix, one.name, s.Type)
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
			f.addf("%surl: a sink of type webhook needs a URL", prefix)
		}
	case sinkNPPA:
		s.validateNPPA(prefix, f)
	}
}

// validateURL adds an error if text is not an http or https URL with a host. The error does
// not show the URL, because the URL may contain a secret. path is the configuration key.
func (f *faults) validateURL(where, text string) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		f.addf("%s: the URL is not of the form https://host/path", where)
		return
	}
	if port, err := strconv.ParseUint(cmp.Or(u.Port(), "443"), 10, 16); err != nil || port == 0 {
		f.addf("%s: the port of the URL is out of range; use 1 to 65535", where)
	}
}

// nppaID matches the ids and test codes that the NPPA issues.
var nppaID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func (s *sink) validateNPPA(prefix string, f *faults) {
	if !nppaID.MatchString(s.AppID) {
		f.addf("%sapp_id: %q is not an id; use the id that the NPPA issued to the company", prefix, s.AppID)
	}
	if !nppaID.MatchString(s.BizID) {
		f.addf("%sbiz_id: %q is not an id; use the id that the NPPA issued to the game", prefix, s.BizID)
	}
	if s.TestCode != "" && !nppaID.MatchString(s.TestCode) {
		f.addf("%stest_code: %q is not a test code; use the code that the portal shows when a test starts", prefix, s.TestCode)
	}
	if s.SecretFile == "" {
		f.addf("%ssecret_file: a sink of type nppa needs a file with the key that the NPPA issued", prefix)
	}
}

// validateSinkPath adds an error if a game with an earlier name writes to the same file.
func (c *config) validateSinkPath(name string, f *faults) {
	own := c.sink(name)
	for _, other := range c.gameNames() {
		if other == name {
			return
		}
		if own.Path != "" && filepath.Clean(own.Path) == filepath.Clean(c.sink(other).Path) {
			f.addf("games.%s.behaviours.sink.path: %s is the file of game %s; use another path", name, own.Path, other)
		}
	}
}
