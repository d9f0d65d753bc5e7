// Package cli is the command line of the server: its flags, the commands of operators, and
// their help.
//
// Words: a command is a noun and a verb, such as `server bans add`. Most commands call the
// admin API of the running server. The commands of question banks, tokens and generated keys
// read the database.
//
// The main function is [Program.Run]. Start reading at the type commandLine, which lists all
// commands, then at adminClient. Each group of commands has a file.
//
// The package must not start services: Program.Serve does that.
package cli
