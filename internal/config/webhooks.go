package config

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
