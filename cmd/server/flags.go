package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/alecthomas/kong"
)

// cli is the command line. A flag that is not given leaves what the
// environment, the configuration file and the defaults say, in this order.
type cli struct {
	Listen    *string `placeholder:"ADDR" env:"LASTSTAND_LISTEN" help:"Address for players and HTTP (default 127.0.0.1:8080); port 0 picks a free one."`
	OpsListen *string `placeholder:"ADDR" env:"LASTSTAND_OPS_LISTEN" help:"Address for metrics, profiles and admin (default 127.0.0.1:8081)."`
	Data      *string `placeholder:"DIR" env:"LASTSTAND_DATA" help:"Folder of the embedded database (default data)."`
	Redis     *string `placeholder:"URL" env:"LASTSTAND_REDIS" help:"redis://, rediss://, several addresses or ?cluster=true, redis+sentinel:// (default: embedded)."`
	Database  *string `placeholder:"URL" env:"LASTSTAND_DATABASE" help:"postgres:// (default: embedded SQLite)."`
	Config    string  `placeholder:"FILE" env:"LASTSTAND_CONFIG" help:"A YAML file with games, limits and all of these."`
	Drain     *string `placeholder:"TIME" env:"LASTSTAND_DRAIN" help:"How long a stop waits for matches (default 20s)."`
	TLSCert   *string `name:"tls-cert" placeholder:"FILE" env:"LASTSTAND_TLS_CERT" help:"Certificate for --listen, PEM, with its chain; followed as it changes."`
	TLSKey    *string `name:"tls-key" placeholder:"FILE" env:"LASTSTAND_TLS_KEY" help:"Its private key."`

	Serve      serveCmd    `cmd:"" default:"withargs" help:"Run the server (the default)."`
	Bank       bankCmd     `cmd:"" help:"Import, check and export banks of questions."`
	Boards     boardsCmd   `cmd:"" help:"Verify and rebuild boards, disqualify results."`
	Tasks      tasksCmd    `cmd:"" help:"List, mend and requeue what could not be done."`
	Queue      queueCmd    `cmd:"" help:"Look at queues of behaviours, drain, pause and bound them."`
	Webhooks   webhooksCmd `cmd:"" help:"List, ping, enable and disable webhooks."`
	Acts       actsCmd     `cmd:"" help:"List what operators changed."`
	Token      tokenCmd    `cmd:"" help:"Print a signed token."`
	Keys       keysCmd     `cmd:"" help:"List, rotate and retire generated keys."`
	Bars       barsCmd     `cmd:"" help:"Ban players, revoke tokens, lift both."`
	Players    playersCmd  `cmd:"" help:"Erase players."`
	Days       daysCmd     `cmd:"" help:"Confirm a jump of the database's clock."`
	ShowConfig configCmd   `cmd:"" name:"config" help:"Print the configuration in force, secrets masked."`
	Version    versionCmd  `cmd:"" help:"Print the version of the server."`
}

// console is where a command writes to.
type console struct{ out, err io.Writer }

// load reads the configuration that the command line asks for, with its files of
// keys.
func (f *cli) load() (config, error) {
	c, err := f.read()
	if err == nil {
		err = c.validate()
	}
	return c, err
}

// loadWithoutKeys is load for commands, which read those keys that they need.
func (f *cli) loadWithoutKeys() (config, error) {
	c, err := f.read()
	if err == nil {
		err = c.faults().join()
	}
	return c, err
}

func (f *cli) read() (config, error) {
	c, err := readConfig(f.Config)
	if err != nil {
		return c, err
	}
	for _, o := range []struct {
		given *string
		into  *string
	}{
		{f.Listen, &c.Listen}, {f.OpsListen, &c.OpsListen}, {f.Data, &c.Data}, {f.Redis, &c.Redis},
		{f.Database, &c.Database}, {f.Drain, &c.Drain}, {f.TLSCert, &c.TLSCert}, {f.TLSKey, &c.TLSKey},
	} {
		if o.given != nil {
			*o.into = *o.given
		}
	}
	return c, nil
}

const about = "Laststand, a backend for live quiz battles. With no flags it runs with nothing installed.\n\n" +
	"Example: server --listen :8080 --config laststand.yaml"

// run parses a command line and runs its command. It gives the exit code: 0,
// 1 for what failed, 2 for a command line that says nothing.
func run(args []string, to console) int {
	var flags cli
	code := -1
	parser, err := kong.New(&flags, kong.Name("server"), kong.Writers(to.out, to.err),
		kong.Description(about), kong.Exit(func(c int) { code = c }), kong.BindTo(to, (*console)(nil)), kong.Bind(to))
	if err != nil {
		fmt.Fprintln(to.err, "server:", err)
		return 1
	}
	command, err := parser.Parse(args)
	if code >= 0 { // --help has been answered
		return code
	}
	if err != nil {
		fmt.Fprintf(to.err, "server: %v; see `%s --help`\n", err, meant(err))
		return 2
	}
	if err := command.Run(&flags, to); err != nil {
		fmt.Fprintln(to.err, "server:", err)
		return 1
	}
	return 0
}

// meant is the command that a faulty command line is about.
func meant(err error) string {
	command := "server"
	if faulty, ok := errors.AsType[*kong.ParseError](err); ok {
		for _, step := range faulty.Context.Path {
			if step.Command != nil && step.Command.Tag.Default == "" {
				command += " " + step.Command.Name
			}
		}
	}
	return command
}
