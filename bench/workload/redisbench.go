package workload

// Options are what redis-benchmark's flags say about a test.
type Options struct {
	// DataSize is -d, in bytes, 0 to 512 MiB.
	DataSize int64
	// KeySpace is -r: the number of keys. 0, as without -r: one literal key.
	KeySpace int64
	// Cluster is --cluster: keys carry the hash tag {tag}.
	Cluster bool
	// Sequential is --sequential: keys one after the other instead of at random.
	Sequential bool
	// Functions is --num-functions, what function_load puts into one library. 0: 10.
	Functions int
	// FCallKeys is --num-keys-in-fcall. 0: 1.
	FCallKeys int
}
