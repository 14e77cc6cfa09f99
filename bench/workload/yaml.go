package workload

import (
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/goccy/go-yaml"
)

// maxFile bounds a workload's file.
const maxFile = 4 << 20

// Parse reads a workload from YAML, of at most 4 MiB. What it does not know is an error, and every error of form says line and column. The workload
// is valid when the error is nil.
func Parse(r io.Reader) (*Workload, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read the workload: %w", err)
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("the workload is longer than %d bytes", maxFile)
	}
	w := &Workload{}
	if err := yaml.UnmarshalWithOptions(text, w, yaml.Strict()); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("is empty")
		}
		return nil, fmt.Errorf("the workload: %w", err)
	}
	if reflect.ValueOf(*w).IsZero() { // comments alone, too
		return nil, errors.New("the workload: is empty; give at least its commands, such as commands: [{command: GET __key__}]")
	}
	if err := w.Validate(); err != nil {
		return nil, fmt.Errorf("the workload: %w", err)
	}
	return w, nil
}
