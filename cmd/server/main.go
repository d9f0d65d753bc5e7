// Command server is Laststand: a backend for live quiz battles.
package main

import (
	"os"
	_ "time/tzdata" // days turn by the zones of games, also where the machine has none
)

func main() {
	os.Exit(run(os.Args[1:], console{out: os.Stdout, err: os.Stderr}))
}
