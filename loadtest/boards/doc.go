// Package boards measures settlement and leaderboards, on real services that
// each benchmark starts for itself.
//
//	go test -run '^$' -bench . -benchtime 1x -timeout 60m ./loadtest/boards             # boards of 1,000,000
//	go test -run '^$' -bench Roll -benchtime 1x -timeout 3h ./loadtest/boards -entries 10000000
//	go test -run '^$' -bench Read -benchtime 1x -timeout 3h ./loadtest/boards -entries 10000000 -clients 4,64 -rounds 3
//	go test -run '^$' -bench Settle -benchtime 1x ./loadtest/boards -rounds 3
//
// Settle takes results of duels from the end of their match to visible on all,
// day and one rolling window: as many as it can, then half as many a second. Its
// floor writes as many rows in transactions as large to the same database, and the
// players to as many sorted sets. -cpuprofile is of the node and the benchmark.
// Roll turns the day of a rolling board, beside the ZUNIONSTORE that the same
// takes on plain sorted sets: what a client that pings waits at the most. over-5ms
// are scripts that took longer by the wall clock, idle-over-5ms those of as many of
// the same length that touch nothing, reading-over-5ms those that only read members
// at random: the machine has held them up.
// Read asks a server over HTTP for ranks, pages and neighbourhoods, then for the
// floors of the same: a command of Redis, a script that finds no more than is needed,
// by plain go-redis (redis-) and by a bare HTTP server that answers with as many
// bytes (bare-). -profile keeps profiles of the server, -server names another one, to
// compare two. What each takes of the processor is printed, by process. Nakama, where
// -nakama names its binary, answers the same over a board of as many:
//
//	go mod download -json github.com/heroiclabs/nakama/v3@v3.40.0    # says where it lies: copy that folder, then there
//	go build -o /tmp/nakama .
package boards
