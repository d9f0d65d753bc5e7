package main

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"laststand/internal/config"
	"laststand/internal/testenv"
)

// packagedConfigHead is the part of the packaged configuration file with its own values.
const packagedConfigHead = `# The configuration of the service laststand. Restart the service after a change:
#   systemctl restart laststand
# Lines with a # show the defaults. To change a key in a section, remove the # of the section too.
# To see the values in force, run: laststand config

# Address that serves players and the page, on all networks.
listen: ":8080"
# Folder of the embedded database.
data: /var/lib/laststand

# An embedded Redis and SQLite need no other software, but they serve only one node. Instead, use:
#redis: redis://127.0.0.1:6379
#database: postgres://laststand@127.0.0.1/laststand
# A file can have a URL with a password. Let only root and the group laststand read it:
#database: file:/etc/laststand/database.url
`

// packagedConfig returns the text of packaging/files/laststand.yaml: what differs from the defaults,
// and all other keys as comments.
func packagedConfig(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(packagedConfigHead)
	inGame := false
	for _, k := range configKeys(t) {
		if strings.Contains(k.path, "[]") || slices.Contains([]string{"listen", "data", "redis", "database"}, k.path) {
			continue
		}
		depth := strings.Count(k.path, ".")
		if depth == 0 {
			b.WriteString("\n")
		}
		if strings.Contains(k.path, ".GAME.") && !inGame {
			inGame = true
			b.WriteString("#  # The name of a game. To use another name, replace demo.\n#  demo:\n")
		}
		writeCommentedKey(&b, k, strings.Repeat("  ", depth))
	}
	return b.String()
}

// writeCommentedKey writes a key with its meaning and default, as a comment.
func writeCommentedKey(b *strings.Builder, k configKey, indent string) {
	text := k.meaning
	if k.values != "" {
		text += " Values: " + k.values + "."
	}
	prefix := "# "
	if indent != "" {
		prefix = "#" + indent + "# "
	}
	for _, line := range wrapWords(text, 100-len(prefix)) {
		b.WriteString(prefix + line + "\n")
	}
	name := k.path[strings.LastIndex(k.path, ".")+1:]
	b.WriteString(strings.TrimRight("#"+indent+name+": "+yamlDefault(k), " ") + "\n")
}

// yamlDefault returns the default of a key as YAML. A section has none.
func yamlDefault(k configKey) string {
	switch k.kind {
	case "section":
		return ""
	case "list", "list of sections":
		return cmp.Or(k.defaultValue, "[]")
	case "text":
		quoted, _ := yaml.Marshal(k.defaultValue)
		return strings.TrimSpace(string(quoted))
	}
	return k.defaultValue
}

func wrapWords(text string, width int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}

var proseComment = regexp.MustCompile(`(?m)^# \S.*$`)

// The packaged configuration is valid. All its comments together are the defaults.
func TestThePackagedConfigurationShowsTheDefaults(t *testing.T) {
	t.Parallel()
	text := packagedConfig(t)
	_, comments, _ := strings.Cut(text, packagedConfigHead)
	for name, file := range map[string]string{
		"as installed":       text,
		"without comment":    regexp.MustCompile(`(?m)^#`).ReplaceAllString(proseComment.ReplaceAllString(comments, ""), ""),
		"without the head":   comments,
		"stores by two keys": strings.NewReplacer("#redis: redis://127", "redis: redis://127", "#database: postgres", "database: postgres").Replace(text),
	} {
		c, err := config.Read(configFile(t, file))
		if err == nil {
			err = c.Validate()
		}
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, file)
		}
		want := config.Default()
		switch name {
		case "as installed":
			want.Listen, want.Data = ":8080", "/var/lib/laststand"
		case "stores by two keys":
			want.Listen, want.Data = ":8080", "/var/lib/laststand"
			want.Redis, want.Database = "redis://127.0.0.1:6379", "postgres://laststand@127.0.0.1/laststand"
		}
		got, wanted := printed(t, c), printed(t, want)
		if got != wanted {
			t.Errorf("%s: %s", name, firstDifference(got, wanted))
		}
	}
}

func printed(t *testing.T, c config.Config) string {
	t.Helper()
	var out strings.Builder
	testenv.NoError(t, c.Print(&out))
	return out.String()
}
