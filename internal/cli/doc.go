// Package cli is the command line of the server: its flags, the commands of operators, and
// their help.
//
// Words: a command is a noun and a verb, such as `server bans add`. Most commands call the
// admin API of the running server. The commands of question banks, tokens and generated keys
// read the database.
//
// The main function is [Program.Run]. Start reading at the type commandLine, which lists all
// commands, then at apiCommands, which has their requests and output. The other commands have a
// method Run.
//
// The package must not start services: Program.Serve does that.
package cli
