// Package testenv starts the real services that tests run against. These are Redis
// (embedded, alone, with a replica, as a cluster), SQLite, PostgreSQL, a browser,
// interpreters and receivers of webhooks. For load programs it also starts stores, nodes
// and floors, which are servers to compare nodes with. Only _test.go files and loadtest import it.
//
// Start reading at Redis, SQL (with EachRedis and EachSQL) and Main. For a program, start
// at StartNodes, Must and StopShared.
//
// A server belongs to the test that started it; a shared one belongs to the test binary.
// It ends with its owner, even when the binary panics or is killed. Every server has its
// own port on 127.0.0.1. So tests can run in parallel, and packages can run at the same
// time.
//
// If a program is not installed, LASTSTAND_TEST_REQUIRE=all makes the test fail. Without
// this variable, the test skips the part that needs the program, and logs that. It also
// appends the program's name as a line to the file that LASTSTAND_TEST_UNTRIED names.
//
// The package must not import packages of the game layer.
package testenv
