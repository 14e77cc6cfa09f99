// Package evenkeel is a client for Redis and Valkey that keeps an application's connections steady: few, fast, bounded and
// visible, in calm and in storm.
//
//	client, err := evenkeel.Open("redis://localhost:6379")
//	if err != nil { … }
//	defer client.Close(context.Background())
//	err = client.Do(ctx, "SET", "greeting", "hello").Err()
//	text, err := client.Do(ctx, "GET", "greeting").Text()
//
// What it promises, and tests: every call returns by its deadline, and a caller that gives up costs no conn, no goroutine and
// never another caller's reply; the server never sees more conns than MaxConns, with at most two dials under way, one while it
// fails; callers that overlap share conns and batches, and a lone caller pays no hand-over.
//
// Commands of many callers travel together on a few shared conns (the shared lane). What needs a conn of its own gets one from
// a pool: [Client.WithConn], large requests and long pipelines (the exclusive lane), and commands that wait on the server (the
// blocking lane, recognised by themselves). All lanes together stay within one budget.
//
// It never opens a conn without leave of its [Governor], never repeats a command that may have run unless that command only
// reads, and never reconnects inside a transaction. It does not do pub/sub, clusters or Sentinel yet.
//
// Start reading at [Config], [Client.Do] and [Reply]; docs/design.md is the map of the inside.
package evenkeel
