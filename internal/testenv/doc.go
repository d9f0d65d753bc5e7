// Package testenv starts the real services that tests run against. These are Redis
// (embedded, alone, with a replica, as a cluster), SQLite, PostgreSQL, a browser,
// interpreters and receivers of webhooks. For load programs it also starts nodes, stores
// and subprocesses. Only _test.go files and loadtest import it.
//
// Start reading at Redis, SQL (with EachRedis and EachSQL) and Main. For a program, start
// at StartNode, StartRedis and StopShared.
//
// A server belongs to the test that started it, or to the test binary if its function
// says so. It ends with its owner, also when the binary panics or is killed. Every
// address is on 127.0.0.1 with a port of its own. So tests run in parallel, and
// packages run beside each other.
//
// If a program is not installed, LASTSTAND_TEST_REQUIRE=all makes the test fail. Without
// it, the test skips the part that needs the program, and logs that. It also appends the
// program's name as a line to the file that LASTSTAND_TEST_UNTRIED names.
//
// The package knows no package of the game; it must not import them.
package testenv
