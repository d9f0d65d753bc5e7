package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"laststand/internal/testenv"
)

// runFailingStart starts a server that cannot start, and returns its error output. The server
// must end with the exit code 1. It runs in this process, where a goroutine that it leaves running
// fails the tests.
func runFailingStart(t *testing.T, args ...string) string {
	t.Helper()
	flags := []string{"--listen=127.0.0.1:0", "--ops-listen=127.0.0.1:0"}
	code, out, stderr := command(append(flags, args...)...)
	if code != 1 || out != "" || strings.Contains(stderr, "panic") || strings.Contains(stderr, "goroutine") {
		t.Fatalf("%v ended with %d, printed %q and the error\n%s", args, code, out, stderr)
	}
	return stderr
}

// checkContains checks that the output contains all the parts.
func checkContains(t *testing.T, output string, parts ...string) {
	t.Helper()
	for _, want := range parts {
		if !strings.Contains(output, want) {
			t.Errorf("the output is %q, want %q in it", output, want)
		}
	}
}

func TestAStartFailsOnABusyAddress(t *testing.T) {
	t.Parallel()
	listener := testenv.Need(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	for _, flag := range []string{"listen", "ops-listen"} {
		output := runFailingStart(t, "--data="+t.TempDir(), "--"+flag+"="+listener.Addr().String())
		checkContains(t, output, listener.Addr().String()+" is taken", "--"+flag)
	}
}

func TestAStartFailsOnAForeignAddress(t *testing.T) {
	t.Parallel()
	checkContains(t, runFailingStart(t, "--data="+t.TempDir(), "--listen=192.0.2.1:8080"), "--listen", "192.0.2.1:8080")
}

func TestAStartFailsWithUnreachableStores(t *testing.T) {
	t.Parallel()
	unusedAddress := freeAddress(t)
	dir := "--data=" + t.TempDir()
	checkContains(t, runFailingStart(t, dir, "--config="+configFile(t, "redis: redis://:s3cret@"+unusedAddress)), unusedAddress, "--redis", "start it")
	checkContains(t, runFailingStart(t, dir, "--redis=redis://"+unusedAddress+"?cluster=true"), unusedAddress, "--redis")
	output := runFailingStart(t, dir, "--config="+configFile(t, "database: postgres://u:s3cret@"+unusedAddress+"/x"))
	checkContains(t, output, unusedAddress, "--database", "start it")
	if strings.Contains(output, "s3cret") {
		t.Errorf("the error shows the password: %s", output)
	}
}

// freeAddress returns an address that has no listener.
func freeAddress(t *testing.T) string {
	t.Helper()
	l := testenv.Need(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	return l.Addr().String()
}

func TestAStartFailsIfRedisRefuses(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	redisCommand(t, server, "CONFIG", "SET", "requirepass", "right")
	for _, credentials := range []string{"", ":s3cret@"} {
		output := runFailingStart(t, "--data="+t.TempDir(), "--config="+configFile(t, "redis: redis://"+credentials+server.Addr))
		checkContains(t, output, "correct the user and password in --redis")
		if strings.Contains(output, "s3cret") {
			t.Errorf("the error shows the password: %s", output)
		}
	}
}

func TestAStartFailsWithoutItsDatabase(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		if db.URL == "" {
			checkContains(t, runFailingStart(t, "--data="+existingFile(t)), "--data", "not a directory")
			return
		}
		serverURL, _, _ := strings.Cut(db.URL, "/testenv_")
		checkContains(t, runFailingStart(t, "--database="+serverURL+"/nowhere?sslmode=disable"), `"nowhere" does not exist`, "--database")
	})
}

func existingFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	testenv.NoError(t, os.WriteFile(path, nil, 0o600))
	return path
}

func TestAStartFailsWithAReadOnlyDataFolder(t *testing.T) {
	t.Parallel()
	readOnly := filepath.Join(t.TempDir(), "closed")
	testenv.NoError(t, os.Mkdir(readOnly, 0o500))
	if os.Geteuid() == 0 { // root ignores file permissions
		readOnly = "/proc/self"
	}
	checkContains(t, runFailingStart(t, "--data="+filepath.Join(readOnly, "data")), readOnly, "make it writable or name another with --data")
}

func TestAStartFailsIfTheDatabaseFileIsInvalid(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testenv.NoError(t, os.WriteFile(filepath.Join(dir, "laststand.db"), []byte(strings.Repeat("no database ", 1000)), 0o600))
	checkContains(t, runFailingStart(t, "--data="+dir), "laststand.db", "--data")
}

func TestAStartFailsWithInvalidBanks(t *testing.T) {
	t.Parallel()
	db := testenv.SQL{Dir: t.TempDir()}
	bankCommand(t, db, "import", "--bank=small", questionFile(t, "en", 9))
	file := configFile(t, "games:\n  one: {banks: [none, builtin]}\n  two: {banks: [small]}\n")
	checkContains(t, runFailingStart(t, "--data="+db.Dir, "--config="+file),
		`games.one.banks: bank "none" does not exist; import it with`, "games.two.banks: a duel needs 10 questions in one language, but the banks have 9 questions in all languages")
}

func TestAStartFailsWithInvalidGameKeys(t *testing.T) {
	t.Parallel()
	file := configFile(t, "games:\n  one: {keys: [{id: k1, alg: HS256, secret_file: short.key}]}\n  two: {keys: [{id: k2, alg: EdDSA, secret_file: none.pem}]}\n")
	testenv.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(file), "short.key"), []byte("s3cret"), 0o600))
	output := runFailingStart(t, "--data="+t.TempDir(), "--config="+file)
	checkContains(t, output, "games.one.keys:", "6 bytes", "games.two.keys:", `"k2"`, "none.pem", "no such file")
	if strings.Contains(output, "s3cret") {
		t.Errorf("the error shows the key: %s", output)
	}
}

func TestAStartFailsWithoutTheConfigurationFile(t *testing.T) {
	t.Parallel()
	checkContains(t, runFailingStart(t, "--config="+filepath.Join(t.TempDir(), "none.yaml")), "none.yaml", "no such file")
}
