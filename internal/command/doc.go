// Package command is the table of Redis and Valkey commands: arity, flags, where the keys stand, what a command does to the conn it runs on, whether it may
// be repeated, and how long it may wait on the server.
//
// The table is generated from a server's own COMMAND output (gen/commands.json, redis-server 7.0.15) merged with gen/classes.tsv, which says what no server
// tells: whether a conn can be shared, and whether a retry is safe. Commands newer than that server are in the table with what classes.tsv knows of them; their
// Arity is 0. Whoever finds no entry must take the command for a write that may not be retried.
//
// The package holds no state, never allocates in a lookup, reads no network and decides nothing: which lane a command takes is its callers' business. All
// of it is safe for concurrent use. The entries are shared: they must not be changed.
//
// Start reading at Lookup; then Info.BlockTimeout; then gen, which writes table_gen.go.
package command

//go:generate go run ./gen
