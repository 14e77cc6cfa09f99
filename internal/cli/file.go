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
// one for <(…), or a device.
func readFile(ctx context.Context, flag, name string) ([]byte, error) {
	return readInput(ctx, "--"+flag, func() (io.ReadCloser, error) { return os.Open(name) })
}

// readInput reads what a user gives, at most maxFile of it. It ends with ctx: neither to
// open a pipe that nobody writes to nor to read a terminal can be interrupted.
func readInput(ctx context.Context, what string, open func() (io.ReadCloser, error)) ([]byte, error) {
	type outcome struct {
		data []byte
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		data, err := readAll(open)
		done <- outcome{data, err}
	}()
	select {
	case o := <-done:
		if o.err != nil {
			return nil, fmt.Errorf("%s: %w", what, o.err)
		}
		return o.data, nil
	case <-ctx.Done():
		return nil, failed(fmt.Errorf("interrupted while %s was read; nothing was run", what))
	}
}

func readAll(open func() (io.ReadCloser, error)) ([]byte, error) {
	f, err := open()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("it is larger than %d MiB; give less", maxFile>>20)
	}
	return data, nil
}
