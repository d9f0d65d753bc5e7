package testenv

import (
	"errors"
	"os"
	"syscall"
)

// StartRedis starts an empty redis-server for a program, without a test.
func StartRedis() (*Server, error) {
	dir, err := storeFolder(redisServerPath(), "redis-server")
	if err != nil {
		return nil, err
	}
	s, err := startOnFreePort(func(port int) (*Server, error) { return startRedis(dir, port) })
	if err != nil {
		return nil, err
	}
	onExit(s.End)
	return s, nil
}

// StartProgramCluster starts a Redis cluster for a program, without a test.
func StartProgramCluster(masters int) (url string, servers []*Server, err error) {
	dir, err := storeFolder(redisServerPath(), "redis-server")
	if err != nil {
		return "", nil, err
	}
	servers, err = startNodes(dir, masters, func(s *Server) { onExit(s.End) }, "--cluster-node-timeout", "2000")
	if err != nil {
		return "", nil, err
	}
	return clusterURL(servers), servers, formCluster(servers)
}

// StartPostgres starts an empty PostgreSQL with fsync for a program, without a test.
func StartPostgres() (*Server, error) {
	dir, err := storeFolder(initdbPath(), "postgresql")
	if err != nil {
		return nil, err
	}
	server, err := startPostgres(dir, "-c", "shared_buffers=128MB", "-c", "max_connections=400")
	if err != nil {
		return nil, err
	}
	onExit(server.End)
	return server, nil
}

// storeFolder creates a folder for a store, whose program must be installed.
func storeFolder(path, name string) (string, error) {
	if path == "" {
		return "", errors.New(name + " is not installed; on Debian: apt-get install " + name)
	}
	shared, err := sharedDir()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(shared, "store-")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755) // PostgreSQL runs as another user
}

// storePriority is the nice value of stores after RaisePriority.
const storePriority = -10

// RaisePriority raises the priority of a store above that of nodes and clients, if the
// system permits it. A store usually has a machine of its own. Here it would get the share
// of one thread among many when the load is highest.
func (s *Server) RaisePriority() {
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, s.PID(), storePriority) // only root may
}

// PID returns the id of the running server's process.
func (s *Server) PID() int { return s.child.pid() }

// End ends a server that a program has started. It does nothing if the server has ended.
func (s *Server) End() error { return s.child.stop(syscall.SIGINT) }
