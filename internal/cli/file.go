package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxFile is more than a password or any bundle of certificates takes, in bytes.
const maxFile = 4 << 20

// readFile reads a file that a flag names. It may be a pipe, as a shell makes
// one for <(…), or a device: reading ends with ctx and at maxFile.
func readFile(ctx context.Context, flag, name string) ([]byte, error) {
	type outcome struct {
		data []byte
		err  error
	}
	done := make(chan outcome, 1)
	go func() { // to open a pipe that nobody writes to cannot be interrupted
		data, err := readAll(name)
		done <- outcome{data, err}
	}()
	select {
	case o := <-done:
		if o.err != nil {
			return nil, fmt.Errorf("--%s: %w", flag, o.err)
		}
		return o.data, nil
	case <-ctx.Done():
		return nil, failed(fmt.Errorf("interrupted while --%s was read; nothing was run", flag))
	}
}

func readAll(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d MiB; give another file", name, maxFile>>20)
	}
	return data, nil
}
