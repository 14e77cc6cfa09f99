package raw

// newEngine uses the descriptors where every conn of a worker has one, and net.Conn
// otherwise.
func (r *run) newEngine(w *worker, conns []opened) (engine, error) {
	if r.cfg.Portable || !canReact(conns) {
		return newPortable(w, conns), nil
	}
	return newReactor(w, conns)
}

func canReact(conns []opened) bool {
	for _, o := range conns {
		if !isPlain(o.conn) {
			return false
		}
	}
	return true
}
