package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// cli is the command line, as kong parses it. A flag that is not given takes its value from the
// environment variable, then from the configuration file, then from the defaults.
type cli struct {
	Listen    *string `placeholder:"ADDR" env:"LASTSTAND_LISTEN" help:"The address for players and HTTP (default 127.0.0.1:8080); port 0 picks a free one."`
	OpsListen *string `placeholder:"ADDR" env:"LASTSTAND_OPS_LISTEN" help:"The address for metrics, profiles and the admin API (default 127.0.0.1:8081)."`
	Data      *string `placeholder:"DIR" env:"LASTSTAND_DATA" help:"The folder of the embedded database (default data)."`
	Redis     *string `placeholder:"URL" env:"LASTSTAND_REDIS" help:"The Redis URL: redis://, rediss://, redis+sentinel://; several addresses or ?cluster=true for a cluster (default: embedded)."`
	Database  *string `placeholder:"URL" env:"LASTSTAND_DATABASE" help:"The database URL: postgres:// (default: embedded SQLite)."`
	Config    string  `placeholder:"FILE" env:"LASTSTAND_CONFIG" help:"The YAML file with games, limits and these settings."`
	Drain     *string `placeholder:"TIME" env:"LASTSTAND_DRAIN" help:"How long a stop waits for matches to end (default 20s)."`
	TLSCert   *string `name:"tls-cert" placeholder:"FILE" env:"LASTSTAND_TLS_CERT" help:"The PEM file with the certificate chain for --listen; the server reloads it on change."`
	TLSKey    *string `name:"tls-key" placeholder:"FILE" env:"LASTSTAND_TLS_KEY" help:"The PEM file with the private key of --tls-cert."`

	Serve      serveCmd      `cmd:"" default:"1" help:"Run the server (the default)."`
	Bank       bankCmd       `cmd:"" help:"Import, check and export question banks."`
	Boards     boardsCmd     `cmd:"" help:"Verify and rebuild leaderboards, disqualify results."`
	Tasks      tasksCmd      `cmd:"" help:"List, edit, requeue and discard tasks."`
	TaskQueues taskQueuesCmd `cmd:"" help:"List the queues of tasks."`
	Queue      queueCmd      `cmd:"" help:"List, peek, drain, pause and resize behaviour queues."`
	Webhooks   webhooksCmd   `cmd:"" help:"List, ping, enable and disable webhooks."`
	Audit      auditCmd      `cmd:"" help:"List what operators changed or read."`
	Token      tokenCmd      `cmd:"" help:"Print a signed token."`
	Keys       keysCmd       `cmd:"" help:"List, rotate and retire generated signing keys."`
	Tokens     tokensCmd     `cmd:"" help:"Revoke tokens, restore them, list revocations."`
	Bans       bansCmd       `cmd:"" help:"Add, remove and list bans of players."`
	Players    playersCmd    `cmd:"" help:"Erase players, reset devices, unlink accounts."`
	Days       daysCmd       `cmd:"" help:"Confirm days after a jump of the database clock."`
	ShowConfig configCmd     `cmd:"" name:"config" help:"Print the configuration in force, with secrets masked."`
	Version    versionCmd    `cmd:"" help:"Print the version of the server."`
}

// commandOutput is where a command writes: its standard output and standard error.
type commandOutput struct{ stdout, stderr io.Writer }

// load reads and validates the configuration, key files and word lists included.
func (f *cli) load() (config, error) {
	c, err := f.read()
	if err == nil {
		err = c.validate()
	}
	return c, err
}

// loadWithoutKeys is load, but does not read key files and word lists. Commands that need at
// most some of the keys use it.
func (f *cli) loadWithoutKeys() (config, error) {
	c, err := f.read()
	if err == nil {
		err = c.validateWithoutKeys().join()
	}
	return c, err
}

// read returns the configuration of the file, overridden by the environment and by flags. It
// does not validate it.
func (f *cli) read() (config, error) {
	c, err := readConfig(f.Config)
	if err != nil {
		return c, err
	}
	for _, override := range []struct {
		flag    *string
		setting *string
	}{
		{f.Listen, &c.Listen}, {f.OpsListen, &c.OpsListen}, {f.Data, &c.Data}, {f.Redis, &c.Redis},
		{f.Database, &c.Database}, {f.Drain, &c.Drain}, {f.TLSCert, &c.TLSCert}, {f.TLSKey, &c.TLSKey},
	} {
		if override.flag != nil {
			*override.setting = *override.flag
		}
	}
	return c, nil
}

// about is the first paragraph of the help of the program.
const about = "Laststand is a backend for live quiz matches. Without flags it needs no other software.\n\n" +
	"Example: server --listen :8080 --config laststand.yaml"

// newParser returns the parser of the command line. The parser stores the parsed flags in
// flags. It calls exit after it has printed help.
func newParser(flags *cli, output commandOutput, exit func(int)) (*kong.Kong, error) {
	return kong.New(flags, kong.Name("server"), kong.Writers(output.stdout, output.stderr),
		kong.Description(about), kong.Exit(exit), kong.BindTo(output, (*commandOutput)(nil)), kong.Bind(output))
}

// run parses a command line and runs its command. It returns the exit code: 0 for success, 1 if
// the command failed, 2 if the command line is invalid.
func run(args []string, output commandOutput) int {
	var flags cli
	exitCode := -1
	parser, err := newParser(&flags, output, func(c int) { exitCode = c })
	if err != nil {
		fmt.Fprintln(output.stderr, "server:", err)
		return 1
	}
	if len(args) > 0 && args[0] == "help" {
		args = append(args[1:len(args):len(args)], "--help")
	}
	command, err := parser.Parse(args)
	if exitCode >= 0 { // the parser has printed help
		return exitCode
	}
	if err != nil {
		text := commandLineError(err)
		separator := "; see"
		if strings.HasSuffix(text, "?") {
			separator = " See"
		}
		fmt.Fprintf(output.stderr, "server: %s%s `%s --help`\n", text, separator, failedCommand(err))
		return 2
	}
	if err := command.Run(&flags, output); err != nil {
		fmt.Fprintln(output.stderr, "server:", err)
		return 1
	}
	return 0
}

// commandLineError returns the text of an error of the parser. An argument where a command is
// expected is an unknown command.
func commandLineError(err error) string {
	text := err.Error()
	parseError, ok := errors.AsType[*kong.ParseError](err)
	if !ok {
		return text
	}
	path := parseError.Context.Path
	if last := path[len(path)-1].Node(); last == nil || len(last.Children) == 0 {
		return text
	}
	return strings.Replace(text, "unexpected argument", "unknown command", 1)
}

// failedCommand returns the words of the command whose command line could not be parsed, such
// as "server bank import".
func failedCommand(err error) string {
	command := "server"
	if parseError, ok := errors.AsType[*kong.ParseError](err); ok {
		for _, step := range parseError.Context.Path {
			if step.Command != nil && step.Command.Tag.Default == "" {
				command += " " + step.Command.Name
			}
		}
	}
	return command
}
