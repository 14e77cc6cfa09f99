package workload

// route keeps a stream's keys to some hash slots.
type route struct {
	from, to int // the first key of the request that was written last
}

func (r *route) putTag(dst []byte, random *random) {}
