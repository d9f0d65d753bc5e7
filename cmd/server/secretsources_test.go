package main

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"laststand/internal/testenv"
)

// secretSources are the ways to give the server a secret. Each has the prefix of a setting that
// stands for a file; with "" the setting is the secret.
var secretSources = map[string]string{
	"configuration file": "", "environment": "", "file": "file:", "systemd credential": "credential:",
}

func writeSecret(t *testing.T, dir, name, text string) {
	t.Helper()
	testenv.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o600))
}

// No secret is visible on a running server, in whatever way it gets them: not in its command line, its
// log, `server config`, its profiles and its metrics.
func TestSecretsAreNotVisibleOnARunningServer(t *testing.T) {
	t.Parallel()
	for source, prefix := range secretSources {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
				t.Parallel()
				if db.URL != "" { // the embedded stores have no password
					checkSecretSource(t, source == "environment", prefix, db.URL)
				}
			})
		})
	}
}

func checkSecretSource(t *testing.T, isEnvironment bool, prefix, databaseURL string) {
	t.Helper()
	cache := testenv.Redis(t)
	redisCommand(t, cache, "ACL", "SETUSER", "quiz", "on", ">"+secret+"-redis", "~*", "&*", "+@all")
	redis := strings.Replace(cache.URL, "://", "://quiz:"+secret+"-redis@", 1)
	database := databaseURL + "&password=" + secret + "-database"
	if !strings.Contains(databaseURL, "?") {
		database = databaseURL + "?password=" + secret + "-database"
	}
	unused := freeAddress(t)
	path := configFile(t, "")
	dir := filepath.Dir(path)
	give := func(name, text string) (setting string) {
		if prefix == "" {
			return text
		}
		writeSecret(t, dir, name, text)
		return prefix + name
	}
	keyFile := func(name, text string) (setting string) {
		writeSecret(t, dir, name, text)
		return strings.TrimPrefix(prefix, "file:") + name
	}
	env := []string{"CREDENTIALS_DIRECTORY=" + dir}
	stores := fmt.Sprintf("redis: %q\ndatabase: %q\n", give("redis.url", redis), give("database.url", database))
	if isEnvironment {
		stores, env = "", []string{"LASTSTAND_REDIS=" + redis, "LASTSTAND_DATABASE=" + database}
	}
	webhookKey := testenv.WebhookKeyPrefix + base64.StdEncoding.EncodeToString([]byte(secret+strings.Repeat("-", 26)))
	testenv.WriteBeside(t, path, "laststand.yaml", stores+fmt.Sprintf(`games:
  demo:
    keys: [{id: k1, alg: HS256, secret_file: %q}]
    webhooks: [{name: hook, url: %q, secret_file: %q, allow_private: true}]
    behaviours: {batch: {flush_interval: 10ms}, sink: {type: webhook, url: %q, secret_file: %[3]q, allow_private: true}}
`, keyFile("game.key", secret+"-key-of-at-least-32-bytes-123456"), give("hook.url", "http://u:"+secret+"@"+unused+"/x?key="+secret),
		keyFile("hook.key", webhookKey), give("sink.url", "http://u:"+secret+"@"+unused+"/y?key="+secret)))
	p := startProcessWith(t, env, "--config="+path, "--data="+t.TempDir())
	waitUntil(t, "the node is ready", func() bool { return get(t, p.url+"/readyz", nil) == 200 })
	newPlayer(t, p.url).Close() // causes a behaviour, which cannot be sent
	checkNothingShowsSecrets(t, p, env, path, webhookKey)
}

// checkNothingShowsSecrets searches all that a running node shows.
func checkNothingShowsSecrets(t *testing.T, p *nodeProcess, env []string, path, webhookKey string) {
	t.Helper()
	check := func(source, text string) {
		t.Helper()
		checkNoSecret(t, source, strings.ReplaceAll(text, webhookKey, secret))
	}
	code, token, stderr := commandIn(t, env, "token", "--role=admin", "--sub=ops", "--config="+path)
	if code != 0 {
		t.Fatal(stderr)
	}
	commandLine := testenv.Need(os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.cmd.Process.Pid)))(t)
	check("the command line", string(commandLine))
	code, printed, stderr := commandIn(t, env, "config", "--config="+path)
	if code != 0 {
		t.Fatal(stderr)
	}
	check("server config", printed)
	for _, profile := range []string{"goroutine?debug=2", "goroutine?debug=1", "heap?debug=1", "allocs", "cmdline", "threadcreate?debug=1"} {
		check(profile, send(t, "GET", p.opsURL+"/debug/pprof/"+profile, strings.TrimSpace(token), nil).String())
	}
	for _, path := range []string{"/webhooks", "/games/demo/queue", "/keys", "/games/demo/keys"} {
		check(path, send(t, "GET", p.opsURL+"/admin/v1"+path, strings.TrimSpace(token), nil).String())
	}
	check("a failed delivery", send(t, "POST", p.opsURL+"/admin/v1/games/demo/webhooks/hook/ping", strings.TrimSpace(token), nil).String())
	check("the metrics", metrics(t, p.opsURL))
	p.stopAndWait(t)
	check("the log", p.log.String())
}

// A missing or an empty file of a secret ends the start. The server must not use an embedded store in place
// of the one that the file names.
func TestAStartFailsWithoutTheFileOfASecret(t *testing.T) {
	t.Parallel()
	path := configFile(t, "database: file:database.url\nredis: credential:redis")
	testenv.WriteBeside(t, path, "database.url", "\n")
	code, _, stderr := commandIn(t, []string{"CREDENTIALS_DIRECTORY=" + filepath.Dir(path)}, "serve", "--config="+path, "--data="+t.TempDir())
	if code != 1 {
		t.Errorf("ended with %d", code)
	}
	checkContains(t, stderr, `database: the file of "file:database.url" must have one line`, `redis: the file of "credential:redis" cannot be read`)
}

// Other users of the machine can see command lines, so passwords there are refused.
func TestPasswordsOnTheCommandLineAreRefused(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"--redis=redis://:" + secret + "@127.0.0.1:1", "--database=postgres://u:" + secret + "@h/db", "--database=postgres://u@h/db?password=" + secret} {
		code, _, stderr := command("config", flag)
		if code != 2 {
			t.Errorf("%s: ended with %d", flag, code)
		}
		checkContains(t, stderr, "the URL has a password", "LASTSTAND_", "file:PATH")
		checkNoSecret(t, flag, stderr)
	}
}
