// Command server is Laststand: a backend for live quiz battles.
package main

import (
	"os"
	_ "time/tzdata" // a day starts at midnight in the time zone of its game; the machine may have no time zone database

	_ "golang.org/x/crypto/x509roots/fallback" // webhooks need certificate authorities; a container may have none

	"laststand/internal/cli"
)

func main() {
	os.Exit(run(os.Args[1:], cli.Output{Stdout: os.Stdout, Stderr: os.Stderr}))
}

func run(args []string, output cli.Output) int {
	return cli.Program{Serve: serveUntilSignal, Build: buildLine()}.Run(args, output)
}
