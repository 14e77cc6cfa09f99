package workload

import (
	"bytes"
	"embed"
	"fmt"
	"strings"

	"github.com/evenkeel-go/evenkeel/internal/typo"
)

// presets are workload files with numbers that others have published, each with its source.
//
//go:embed presets/*.yaml
var presets embed.FS

// Presets are the names that Preset knows, sorted.
func Presets() []string {
	entries, _ := presets.ReadDir("presets") // embedded: it is there
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".yaml")
	}
	return names
}

// Preset gives a copy of a named workload, which the caller may change. For an unknown name the error tells the ones that are spelt alike.
func Preset(name string) (*Workload, error) {
	text, err := PresetFile(name)
	if err != nil {
		return nil, err
	}
	return Parse(bytes.NewReader(text))
}

// PresetFile gives the file of a named workload, to begin one's own with.
func PresetFile(name string) ([]byte, error) {
	text, err := presets.ReadFile("presets/" + name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("there is no preset %q; %s", name, near(name, Presets()))
	}
	return text, nil
}

// near says which of the names could have been meant, or lists all.
func near(name string, names []string) string {
	var alike []string
	for _, n := range names {
		if typo.Distance(strings.ToLower(name), n) <= max(2, len(n)/4) || len(name) > 2 && strings.Contains(n, strings.ToLower(name)) {
			alike = append(alike, n)
		}
	}
	if len(alike) > 0 {
		return "did you mean " + strings.Join(alike, " or ") + "?"
	}
	return "there are " + strings.Join(names, ", ")
}
