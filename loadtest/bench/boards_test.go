package bench_test

import "flag"

// The benchmarks Settle, Roll, Read and Nakama measure settlement and leaderboards.
//
//	go test -run '^$' -bench Settle -benchtime 1x ./loadtest/bench -rounds 3
//	go test -run '^$' -bench Roll -benchtime 1x -timeout 3h ./loadtest/bench -entries 10000000
//	go test -run '^$' -bench Read -benchtime 1x -timeout 3h ./loadtest/bench -entries 10000000 -clients 4,64 -rounds 3
//
// Settle measures the time from the end of a duel until its result is visible on
// all, day and one rolling window. It first offers as many results as possible,
// then half of that rate. Its floor writes as many rows to the same database in
// transactions of the same size, and the players to as many sorted sets.
// The flag -cpuprofile covers the node and the benchmark.
//
// Roll ends the day of a rolling leaderboard. It reports the longest wait of a client that
// sends PING.
//
// Read asks a server over HTTP for ranks, pages and neighbours. It prints the processor time of
// each process. The flag -server names another binary, to compare two.
//
// Nakama answers the same requests on a leaderboard of the same size, if -nakama
// names its binary. To build it, run the first command, copy the folder that it
// prints, and run the second command there:
//
//	go mod download -json github.com/heroiclabs/nakama/v3@v3.40.0
//	go build -o /tmp/nakama .
var (
	entries = flag.Int("entries", 1_000_000, "of the boards that are read and rolled")
	clients = flag.String("clients", "4", "that read at once; several numbers, with commas between them, are measured in turn")
	rounds  = flag.Int("rounds", 1, "in which each kind of read is measured, on the same boards")
	server  = flag.String("server", "", "path of the server that is read, to compare two; none: it is built")
)

const game = "bench"
