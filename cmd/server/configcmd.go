package main

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

type configCmd struct{}

// Help implements kong's help provider.
func (*configCmd) Help() string {
	return "Example: LASTSTAND_REDIS=redis://cache:6379 server config --config laststand.yaml"
}

// Run prints the configuration in force as YAML, in the form of the configuration file. Passwords
// and query values in URLs are masked.
func (*configCmd) Run(flags *cli, output commandOutput) error {
	c, err := flags.load()
	if err != nil {
		return err
	}
	c.Redis, c.Database = maskPasswords(c.Redis), maskPasswords(c.Database)
	for name, g := range c.Games {
		g.Behaviours.Sink = c.gameSink(name)
		g.Behaviours.Sink.URL = maskURL(g.Behaviours.Sink.URL)
		g.Webhooks = slices.Clone(g.Webhooks)
		for i := range g.Webhooks {
			g.Webhooks[i].URL = maskURL(g.Webhooks[i].URL)
		}
		c.Games[name] = g
	}
	e := yaml.NewEncoder(output.stdout)
	e.SetIndent(2)
	if err := e.Encode(c); err != nil {
		return fmt.Errorf("print the configuration: %w", err)
	}
	return e.Close()
}
