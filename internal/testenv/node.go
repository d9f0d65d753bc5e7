package testenv

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// NodeOptions configure a node. Nodes that share Redis and Database form one cluster.
type NodeOptions struct {
	Count    int           // of the nodes of StartNodes
	Binary   string        // of the server; see BuildServer
	Env      []string      // added to the environment of this process
	Redis    string        // URL, or a word for StartNodes; "": the node embeds one
	Database string        // URL of a PostgreSQL, or a word for StartNodes; "": SQLite in the folder of the node
	Drain    time.Duration // how long the node continues after the request to stop

	RedisReplicas int // of a Redis cluster that StartNodes starts

	Proxy    string // one of Proxies, in front of the nodes of StartNodes; "": none
	keepPort bool   // listen for players on the same port after a restart, for a proxy

	Game     string            // settings of the game demo, as YAML in braces; no limits apply to clients
	More     string            // more settings at the top level, as lines of YAML
	Settings string            // the whole configuration file, instead of Game; see KeysYAML
	Files    map[string][]byte // files to write beside the configuration file
	Bank     []byte            // questions to import as the bank `load`; nil: none

	Floor []string // arguments with which StartNodes starts this program again, as a floor in place of the nodes; with -redis; nil: nodes

	WriteLedger func(folder string) error // writes a ledger into the folder before the start; nil: none
}

// Node is a server in a process and a folder of its own, for a program or a test. It ends
// with this process. Stop, Kill, Signal and Restart must be called one at a time.
type Node struct {
	URL    string // for players
	OpsURL string // for operations
	Dir    string

	process
	options  NodeOptions
	flags    []string // that name the configuration and the stores
	logStart int      // size of the log when the process started

	adminMu sync.Mutex
	admin   string // see AdminToken
}

// nodeTimeout limits the start and the stop of a node. A large ledger takes minutes.
const nodeTimeout = 5 * time.Minute

// BuildServer returns the given binary of the server. If none is given (""), it compiles
// this tree.
func BuildServer(ctx context.Context, given string, tags ...string) (binary string, err error) {
	if given != "" {
		return given, nil
	}
	dir, err := sharedDir()
	if err != nil {
		return "", err
	}
	binary = filepath.Join(dir, strings.Join(append([]string{"server"}, tags...), "-"))
	_, err = Output(exec.CommandContext(ctx, "go", "build", "-tags", strings.Join(tags, ","), "-o", binary, "laststand/cmd/server"))
	return binary, err
}

// StartNode starts a node on free loopback ports and waits until it listens.
func StartNode(ctx context.Context, o NodeOptions) (n *Node, err error) {
	defer Recover(&err)
	n = &Node{Dir: Must(newServerDir("node", o.Binary)), options: o}
	n.flags = []string{"--data", n.Dir, "--config", filepath.Join(n.Dir, "load.yaml")}
	if o.Redis != "" {
		n.flags = append(n.flags, "--redis", o.Redis)
	}
	if o.Database != "" {
		n.flags = append(n.flags, "--database", o.Database)
	}
	port := 0
	if o.keepPort {
		port = Must(FreePort())
	}
	n.process = process{
		path: o.Binary, env: o.Env, log: filepath.Join(n.Dir, "log"), timeout: nodeTimeout, ready: n.readAddresses,
		args: append([]string{"--listen", fmt.Sprintf("127.0.0.1:%d", port), "--ops-listen", "127.0.0.1:0", "--drain", o.Drain.String()}, n.flags...),
	}
	MustDo(n.writeFiles())
	n.importBank(ctx)
	if o.WriteLedger != nil {
		MustDo(o.WriteLedger(n.Dir))
	}
	onExit(n.Kill)
	return n, n.Restart()
}

// unlimited is a configuration whose game demo has the given settings and keys, without
// limits on clients.
const unlimited = `games: {demo: %s, %s}}
limits: {messages_per_second: 10000, guests_per_minute_per_address: 0, nickname_lookups_per_minute_per_address: 0, reads_per_second_per_address: 0,
  arena_guests_per_minute_per_address: 0, guests_per_minute_per_arena: 0, behaviours_per_second_per_service: 0,
  task_requests_per_second_per_service: 0, arenas_per_hour_per_host: 0, arenas_per_hour_per_address: 0,
  code_attempts_per_hour_per_address: 0, connections_per_address: 0, hellos_per_minute: 0, hellos_per_minute_per_address: 0, max_concurrent_requests: 0, max_scheduler_lag_ms: 0,
  matches_per_day_per_player: 0, matches_per_day_per_address: 0}
`

func (n *Node) writeFiles() error {
	settings := n.options.Settings
	if settings == "" {
		settings = fmt.Sprintf(unlimited, strings.TrimSuffix(strings.TrimSpace(n.options.Game), "}"), KeysYAML)
	}
	files := map[string][]byte{"load.yaml": []byte(settings + n.options.More), "load.key": []byte(secret), "bank.json": n.options.Bank}
	maps.Copy(files, n.options.Files)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(n.Dir, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// importBank imports the bank, if there is one. It fails by Must.
func (n *Node) importBank(ctx context.Context) {
	if n.options.Bank == nil {
		return
	}
	arguments := []string{"bank", "import", "--data", n.Dir, "--bank", "load", filepath.Join(n.Dir, "bank.json")}
	if n.options.Database != "" {
		arguments = append(arguments, "--database", n.options.Database)
	}
	n.command(ctx, arguments...)
}

// command runs a command of the server, and returns what it prints. It fails by Must.
func (n *Node) command(ctx context.Context, arguments ...string) string {
	cmd := exec.CommandContext(ctx, n.options.Binary, arguments...)
	cmd.Env = append(os.Environ(), n.options.Env...)
	defer Must(cmd.StdinPipe()).Close() // some programs end when their input ends
	return Must(Output(cmd))
}

// addressLine is how a node prints an address.
var addressLine = regexp.MustCompile(`(?m)^(listening|operations) on (\S+)\n`)

// readAddresses reads the addresses that the process has printed since its start.
func (n *Node) readAddresses(context.Context, int) error {
	addresses := make(map[string]string)
	for _, line := range addressLine.FindAllStringSubmatch(n.Log()[n.logStart:], -1) {
		addresses[line[1]] = line[2]
	}
	if n.URL, n.OpsURL = addresses["listening"], addresses["operations"]; n.URL == "" || n.OpsURL == "" {
		return errors.New("it does not listen yet")
	}
	return nil
}

// Restart starts the node again on new ports. If the node still runs, Restart stops it first.
func (n *Node) Restart() error {
	if _, err := n.Stop(); err != nil {
		return err
	}
	n.logStart = len(n.Log())
	return n.start()
}

// UseBinary makes the next Restart start another program.
func (n *Node) UseBinary(binary string) { n.path = binary }

// Stop asks the node to stop, waits for its end and returns its exit code. After Stop or
// Kill it does nothing.
func (n *Node) Stop() (exitCode int, err error) {
	err = n.stop(syscall.SIGTERM)
	return n.exitCode, err
}

// Kill ends the node as a power failure does.
func (n *Node) Kill() error { return n.stop(syscall.SIGKILL) }

// StartFloor starts this program again with some arguments, as a server to compare nodes with.
// The new process must call ServeFloor.
func StartFloor(arguments ...string) (n *Node, err error) {
	defer Recover(&err)
	self := Must(os.Executable())
	n = &Node{Dir: Must(newServerDir("floor", self)), admin: "nobody"} // ServeFloor checks no token
	n.process = process{path: self, args: arguments, log: filepath.Join(n.Dir, "log"), ready: n.readAddresses}
	onExit(n.Kill)
	return n, n.Restart()
}

// ServeFloor serves a handler on loopback, and beside it the Go metrics and the garbage
// collection of this process. It ends with the context.
func ServeFloor(ctx context.Context, handler http.Handler) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
	mux := http.NewServeMux()
	mux.Handle("/", handler)
	mux.Handle("/metrics", promhttp.Handler())
	mux.Handle("/debug/pprof/heap", pprof.Handler("heap"))
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	fmt.Printf("listening on http://%s\noperations on http://%[1]s\n", listener.Addr())
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	if err := server.Serve(listener); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
