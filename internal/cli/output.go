package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/evenkeel-go/evenkeel/report"
)

// outputFlags say in which forms a result is wanted.
type outputFlags struct {
	json  bool
	html  string
	quiet bool
}

func (o *outputFlags) register(fs *pflag.FlagSet) {
	fs.BoolVar(&o.json, "json", false, "print one JSON document on standard output, and nothing else there")
	fs.StringVar(&o.html, "html", o.html, "write a self-contained page with plots to `FILE`")
	fs.BoolVar(&o.quiet, "quiet", false, "no plan, progress or notes on standard error")
}

// open prepares the page's file, so that a path that cannot be written is known
// before the run and not after it. It returns nil if no page is wanted.
func (o *outputFlags) open() (*htmlFile, error) {
	if o.html == "" {
		return nil, nil
	}
	if info, err := os.Stat(o.html); err == nil && info.IsDir() {
		return nil, fmt.Errorf("--html: %s is a directory; give a file", o.html)
	}
	// Beside its place, so that the rename stays within one file system.
	f, err := os.CreateTemp(filepath.Dir(o.html), ".evenkeel-*.html")
	if err != nil {
		return nil, fmt.Errorf("--html: %w; give a file in a directory that can be written", cause(err))
	}
	return &htmlFile{f: f, path: o.html}, nil
}

// cause drops the temporary file's name, which means nothing to the user.
func cause(err error) error {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		return fmt.Errorf("%s: %w", filepath.Dir(p.Path), p.Err)
	}
	return err
}

// htmlFile becomes the file at path once it is complete: a run that fails leaves
// an earlier page as it was.
type htmlFile struct {
	f    *os.File
	path string
	done bool
}

func (h *htmlFile) write(p report.Page) error {
	err := report.WriteHTML(h.f, p)
	err = errors.Join(err, h.f.Chmod(0o644), h.f.Close())
	if err == nil {
		err = os.Rename(h.f.Name(), h.path)
	}
	if err != nil {
		return fmt.Errorf("the page could not be written to %s: %w", h.path, err)
	}
	h.done = true
	return nil
}

// discard removes what was not completed. It may be called on nil, and twice.
func (h *htmlFile) discard() {
	if h == nil || h.done {
		return
	}
	// Nothing was promised yet, and closing twice does no harm.
	_ = h.f.Close()
	_ = os.Remove(h.f.Name())
}

// terminalWidth returns the columns of a terminal, or 0 if w is none.
func terminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
