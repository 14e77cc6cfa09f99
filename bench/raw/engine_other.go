//go:build !linux

package raw

func (r *run) newEngine(w *worker, conns []opened) (engine, error) {
	return newPortable(w, conns), nil
}
