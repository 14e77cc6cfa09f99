// Package workload says what a load generator sends: which keys, which values, which commands and in which shares. A [Workload] describes it in
// exported fields, which a YAML file ([Parse]), a name ([Preset], [Test]) or a Go program fills in; [Workload.Compile] turns it into a [Plan] that all
// workers share; a [Stream] is one worker's endless (or, for a preload, finite) sequence of encoded requests.
//
// What it never does: it opens no connection, starts no goroutine, reads no clock and prints nothing. The only file it reads is a list of keys that a
// workload names. It decides nothing about when a request is sent.
//
// Invariants: fields are taken literally, and what is left at zero is documented at the field. A Plan never changes and may be used from any goroutine; a
// Stream belongs to one. Batch allocates nothing once its buffers have grown. The same Plan and Slice give the same requests, byte for byte, on every
// machine. Which keys are hot, how long a key's name is and what a value contains depend on the key alone and not on a seed, so that workers, processes and
// machines agree on them without talking to each other.
//
// Start reading at workload.go; then plan.go, what is made of it; stream.go, how requests are written; dist.go and size.go, what is drawn; content.go, how a
// value says whose it is.
package workload
