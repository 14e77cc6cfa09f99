package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// ErrNoSchema is returned by [WriteJSON] for a document that does not begin
// with its schema.
var ErrNoSchema = errors.New(`report: the first field of a JSON document must be a non-empty "schema"`)

// WriteJSON writes doc as one indented JSON document with a final newline. The
// document must be a struct whose first field is encoded as "schema", so that a
// reader knows after one line what it holds; anything else is [ErrNoSchema].
// Nothing is written if doc cannot be encoded, for instance because of a NaN.
func WriteJSON(w io.Writer, doc any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return err
	}
	head := []byte("{\n  \"schema\": \"")
	if !bytes.HasPrefix(buf.Bytes(), head) || buf.Bytes()[len(head)] == '"' {
		return ErrNoSchema
	}
	_, err := w.Write(buf.Bytes())
	return err
}
