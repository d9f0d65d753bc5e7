package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"laststand/internal/config"
	"laststand/internal/testenv"
)

// The server accepts its configuration in the Compose file and in the Kubernetes manifests. The module
// packaging checks the rest of both.
func TestTheServerAcceptsTheConfigurationOfDeployments(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	writeText(t, filepath.Join(folder, "redis"), "redis://cache:6379")
	writeText(t, filepath.Join(folder, "database"), "postgres://laststand@db/laststand")
	manifests := readText(t, "kubernetes/laststand.yaml")
	var configMap struct{ Data map[string]string }
	if err := yaml.Unmarshal([]byte(manifests), &configMap); err != nil { // the first document
		t.Fatal(err)
	}
	for name, text := range map[string]string{"kubernetes.yaml": configMap.Data["laststand.yaml"], "compose.yaml": readText(t, "compose/laststand.yaml")} {
		file := filepath.Join(folder, name)
		writeText(t, file, strings.ReplaceAll(text, "/etc/laststand/secrets", folder))
		c, err := config.Read(file)
		if err == nil {
			err = c.Validate()
		}
		if err != nil || len(c.TrustedProxies) == 0 || len(c.Games) != 1 || c.Redis == "" {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

// Prometheus and Caddy accept their files of the Compose file.
func TestTheFilesOfTheComposeFileAreValid(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, file := range []string{"compose/prometheus.yaml", "monitoring/rules.yaml", "compose/Caddyfile"} {
		writeText(t, filepath.Join(folder, filepath.Base(file)), readText(t, file))
	}
	for program, args := range map[string][]string{
		"promtool": {"check", "config", filepath.Join(folder, "prometheus.yaml")},
		"caddy":    {"validate", "--adapter", "caddyfile", "--config", filepath.Join(folder, "Caddyfile")},
	} {
		path, ok := testenv.Interpreter(t, program)
		if !ok {
			continue
		}
		cmd := exec.CommandContext(t.Context(), path, args...)
		cmd.Env = append(os.Environ(), "HOME="+folder)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s %v: %v\n%s", program, args, err, out)
		}
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
