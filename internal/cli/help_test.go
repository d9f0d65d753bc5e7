package cli

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// verbs are the verbs of commands. A command has the name VERB or VERB-OBJECT, and its
// help starts with a verb of this list too.
var verbs = []string{
	"add", "check", "confirm", "disable", "discard", "disqualify", "drain", "edit", "enable", "erase", "export", "import", "list", "pause", "peek",
	"ping", "rebuild", "remove", "requeue", "reset", "restore", "resume", "retire", "revoke", "rotate", "send", "set", "show", "unlink", "verify", "void",
	"back", "ban", "print", "replace", "run",
}

// contractCommands have one word: the contract names all but version, health, backup and restore,
// which many programs have by these names.
var contractCommands = []string{"serve", "token", "config", "version", "health", "backup", "restore"}

// singularNouns are the nouns of commands that are not plural: the contract names bank and
// queue, and there is one audit log.
var singularNouns = []string{"bank", "queue", "audit"}

// retiredCommandWords occur in no command, flag, help text or path.
var retiredCommandWords = regexp.MustCompile(`(?i)\b(acts?|bar|bars|barred|lift|lifted|lines|bound|bounded|mend|mended|untie|untied|tied|told|why|whom|whose|anew|board)\b`)

// commandTree is the command line as kong knows it.
func commandTree(t *testing.T) *kong.Node {
	t.Helper()
	model, err := Model()
	if err != nil {
		t.Fatal(err)
	}
	return model.Node
}

// commandFaults lists the violations of the naming rules by a command and the commands below it.
func commandFaults(n *kong.Node) (faults []string) {
	words := strings.Fields(n.Path())
	name := strings.Join(words, " ")
	addFault := func(text string) { faults = append(faults, "server "+name+": "+text) }
	switch {
	case len(words) == 0 || len(words) == 1 && slices.Contains(contractCommands, name):
	case len(words) == 1 && n.Leaf():
		addFault("a command is NOUN VERB")
	case len(words) == 1 && !strings.HasSuffix(name, "s") && !slices.Contains(singularNouns, name):
		addFault("the noun is not plural")
	case len(words) == 2 && !startsWithVerb(words[1], "-"):
		addFault("the second word does not start with a verb")
	case len(words) > 2:
		addFault("a command has two words")
	}
	if len(words) > 0 && (!startsWithVerb(n.Help, " ") && !startsWithVerb(n.Help, ",") || !strings.HasSuffix(n.Help, ".")) {
		addFault("the help is not a sentence that starts with a verb: " + n.Help)
	}
	if !strings.Contains(n.Help+n.Detail, "Example: ") || !strings.Contains(n.Help+n.Detail, "server "+strings.ReplaceAll(name, "serve", "")) {
		addFault("the help has no example of the command")
	}
	text := n.Name + " " + n.Help + " " + n.Detail
	for _, flag := range n.Flags {
		text += " " + flag.Name + " " + flag.Help
		if !strings.HasSuffix(flag.Help, ".") {
			addFault("the help of --" + flag.Name + " has no full stop")
		}
	}
	for _, arg := range n.Positional {
		text += " " + arg.Help
	}
	if word := retiredCommandWords.FindString(text); word != "" {
		addFault("it has the retired word " + word)
	}
	for _, child := range n.Children {
		faults = append(faults, commandFaults(child)...)
	}
	return faults
}

func startsWithVerb(text, separator string) bool {
	first, _, _ := strings.Cut(text, separator)
	return slices.Contains(verbs, strings.ToLower(first))
}

func TestCommandsAreNounVerbWithHelpAndExample(t *testing.T) {
	t.Parallel()
	root := commandTree(t)
	if leaves := len(root.Leaves(false)); leaves < 35 {
		t.Fatalf("there are %d commands", leaves)
	}
	for _, fault := range commandFaults(root) {
		t.Error(fault)
	}
}

// The check of commands finds each kind of fault.
func TestTheCommandCheckFindsFaults(t *testing.T) {
	t.Parallel()
	for name, commandLine := range map[string]any{
		"a command is NOUN VERB": &struct {
			Audit struct{} `cmd:"" help:"List what operators did."`
		}{},
		"the noun is not plural": &struct {
			Key struct {
				List struct{} `cmd:"" help:"List keys."`
			} `cmd:"" help:"List keys."`
		}{},
		"the second word does not start with a verb": &struct {
			Webhooks struct {
				Key struct{} `cmd:"" help:"Print the key."`
			} `cmd:"" help:"List webhooks."`
		}{},
		"the help is not a sentence that starts with a verb": &struct {
			Bans struct {
				List struct{} `cmd:"" help:"Who is kept out."`
			} `cmd:"" help:"List bans."`
		}{},
		"the help has no example of the command": &struct {
			Bans struct {
				List struct{} `cmd:"" help:"List bans."`
			} `cmd:"" help:"List bans."`
		}{},
		"the help of --reason has no full stop": &struct {
			Reason string `help:"The reason"`
		}{},
		"it has the retired word why": &struct {
			Why string `help:"The reason."`
		}{},
	} {
		parser, err := kong.New(commandLine, kong.Name("server"))
		if err != nil {
			t.Fatal(err)
		}
		if found := strings.Join(commandFaults(parser.Model.Node), "\n"); !strings.Contains(found, name) {
			t.Errorf("%s: found only %s", name, found)
		}
	}
}
