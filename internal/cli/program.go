package cli

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"laststand/internal/config"
)

// Program is what the command line runs besides the commands of this package.
type Program struct {
	Serve func(c config.Config, output Output) error // runs the server until it is stopped
	Build string                                     // version and source of the program, for `server version`
}

type commandLine struct {
	Flags

	Serve      serveCmd      `cmd:"" default:"1" help:"Run the server (the default)."`
	Bank       bankCmd       `cmd:"" help:"Import, check and export question banks."`
	Boards     boardsCmd     `cmd:"" help:"Verify and rebuild leaderboards, disqualify results."`
	Matches    matchesCmd    `cmd:"" help:"Void questions of settled matches."`
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
	Backup     backupCmd     `cmd:"" help:"Back up the database to a file."`
	Restore    restoreCmd    `cmd:"" help:"Restore a backup into an empty database."`
	Health     healthCmd     `cmd:"" help:"Check that the server works."`
	ShowConfig configCmd     `cmd:"" name:"config" help:"Print the configuration in force, with secrets masked."`
	Version    versionCmd    `cmd:"" help:"Print the version of the server."`
}

type serveCmd struct{}

func (serveCmd) Run(program Program, flags *Flags, output Output) error {
	c, err := flags.Load()
	if err != nil {
		return err
	}
	return program.Serve(c, output)
}

type configCmd struct{}

// Run prints the configuration in force as YAML, in the form of the configuration file.
func (configCmd) Run(flags *Flags, output Output) error {
	c, err := flags.Load()
	if err != nil {
		return err
	}
	return c.Print(output.Stdout)
}

type versionCmd struct{}

func (versionCmd) Run(program Program, output Output) error {
	_, err := fmt.Fprintln(output.Stdout, program.Build)
	return err
}

// About is the first paragraph of the help of the program.
const About = "Laststand is a backend for live quiz matches. Without flags it needs no other software.\n\n" +
	"Example: server --listen :8080 --config laststand.yaml"

// newParser returns the parser of a command line. It calls exit after it has printed help.
func newParser(line *commandLine, output Output, exit func(int), binds ...any) (*kong.Kong, error) {
	return kong.New(line, kong.Name("server"), kong.Description(About), kong.Exit(exit), kong.Writers(output.Stdout, output.Stderr),
		kong.Bind(append(binds, output, &line.Flags)...), kong.BindFor(context.Background()),
		kong.PostBuild(func(k *kong.Kong) error {
			addHelp(k.Model.Node)
			return nil
		}))
}

// Model returns kong's model of the command line, for the reference.
func Model() (*kong.Application, error) {
	parser, err := newParser(new(commandLine), Output{io.Discard, io.Discard}, func(int) {})
	if err != nil {
		return nil, err
	}
	return parser.Model, nil
}

// Run parses a command line and runs its command. It returns the exit code: 0 for success, 1 if
// the command failed, 2 if the command line is invalid.
func (p Program) Run(args []string, output Output) int {
	var line commandLine
	admin := &adminClient{flags: &line.Flags, output: output}
	exitCode := -1
	parser, err := newParser(&line, output, func(c int) { exitCode = c }, p, admin)
	if err != nil {
		fmt.Fprintln(output.Stderr, "server:", err)
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
		fmt.Fprintln(output.Stderr, "server:", commandLineError(err))
		return 2
	}
	if err := refusePasswords(command); err != nil {
		fmt.Fprintln(output.Stderr, "server:", err)
		return 2
	}
	if api, ok := apiCommands[command.Selected().Path()]; ok {
		err = api.print(context.Background(), admin, api.newRequest(command.Selected()))
	} else {
		err = command.Run()
	}
	if err != nil {
		fmt.Fprintln(output.Stderr, "server:", err)
		return 1
	}
	return 0
}

func refusePasswords(command *kong.Context) error {
	for _, part := range command.Path {
		if part.Flag == nil || part.Resolved {
			continue
		}
		if url, ok := command.FlagValue(part.Flag).(*string); ok && url != nil && config.HasPassword(*url) {
			return fmt.Errorf("--%s: the URL has a password, and every user of this machine can see command lines; use %s, the key %[1]s of the configuration file, or --%[1]s=file:PATH",
				part.Flag.Name, part.Flag.Envs[0])
		}
	}
	return nil
}

// commandLineError returns the text of an error of the parser, and the command whose help the
// operator needs. An argument where a command is expected is an unknown command.
func commandLineError(err error) string {
	text, command := err.Error(), "server"
	if parseError, ok := errors.AsType[*kong.ParseError](err); ok {
		path := parseError.Context.Path
		for _, step := range path {
			if step.Command != nil && step.Command.Tag.Default == "" {
				command += " " + step.Command.Name
			}
		}
		if last := path[len(path)-1].Node(); last != nil && len(last.Children) > 0 {
			text = strings.Replace(text, "unexpected argument", "unknown command", 1)
		}
	}
	if strings.HasSuffix(text, "?") {
		return text + " See `" + command + " --help`"
	}
	return text + "; see `" + command + " --help`"
}

// helpText has a section for each command: a text, then its examples as code.
//
//go:embed help.md
var helpText string

// addHelp adds to each command and group of commands what `--help` prints about it after its first
// sentence.
func addHelp(command *kong.Node) {
	_, section, _ := strings.Cut(helpText, "\n## "+command.Path()+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if text, examples, hasExamples := strings.Cut(section, "\n    "); hasExamples {
		examples = strings.ReplaceAll(strings.TrimSpace(examples), "\n    ", "\n         ")
		command.Detail = strings.TrimSpace(strings.TrimSpace(text) + "\n\nExample: " + examples)
	}
	for _, child := range command.Children {
		addHelp(child)
	}
}
