// Command server is Laststand: a backend for live quiz battles.
package main

import (
	"os"
	_ "time/tzdata" // a day starts at midnight in the time zone of its game; the machine may have no time zone database
)

func main() {
	os.Exit(run(os.Args[1:], commandOutput{stdout: os.Stdout, stderr: os.Stderr}))
}
