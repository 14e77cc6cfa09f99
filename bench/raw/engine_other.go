//go:build !linux

package raw

func (r *run) newEngine(w *worker, conns []opened) (engine, error) { return newPortable(w, conns), nil }

func engineName(*Config) string { return "portable" }

func timerName(*Config) string { return "the runtime's" }
