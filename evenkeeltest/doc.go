// Package evenkeeltest helps to test programs that talk to Redis or Valkey, when
// all is well and when it is not.
//
// Three things can stand at the other end of a client:
//
//   - [Server] is a real, private redis-server or valkey-server on a free loopback
//     port: [StartServer] in tests, [Launch] elsewhere. It is stopped, killed and
//     restarted at will, and always cleaned up.
//   - [Fake] is a scriptable server that speaks RESP2 and RESP3 over any
//     net.Listener, so also in virtual time: it answers late, half, wrongly or
//     never, and records what it was asked.
//   - [Relay] stands in front of a server and spoils the network: delay, loss,
//     cuts, resets, trickle, back-pressure, forgotten flows. It counts conns from
//     outside, which a frozen server cannot.
//
// What it never does: keep data on disk, listen on anything but loopback, put a
// password on a command line, or leave a process, a goroutine or a file behind
// after Close. The fake is no model of a server's commands beyond the few that
// clients need to get going: for those there are real servers.
//
// Invariants: every goroutine ends at Close, which waits for it; no lock is held
// across I/O or a wait; counters are taken where the conn is, so that they agree
// with what the peer could observe.
//
// The package does not import the client, so the client's own tests can use it.
//
// Start reading at launch.go, fake.go or relay.go.
package evenkeeltest
