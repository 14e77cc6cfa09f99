// Package report shows results: as text tables for a terminal, as one JSON
// document, and as one self-contained HTML page with plots.
//
// The caller describes what it found once, as a [Page] of sections with prose,
// tables, bars and plots; [WriteText] and [WriteHTML] render the same page for
// a terminal and for a browser. [WriteJSON] writes the result structs
// themselves, because a machine wants the numbers and not their presentation.
//
// What the package never does: it measures nothing, knows no Redis, imports no
// door and decides no wording. It fetches nothing, and neither does a page that
// it wrote: styles, scripts and data stand inside the file, which works from
// file:// and forbids everything else by its Content-Security-Policy.
//
// Invariants: every string that reaches a page or a terminal is escaped, so a
// server's error text can neither run a script nor move the cursor; output
// depends on the input alone (no clock, no randomness), so golden files hold.
//
// All types are plain values; the writers keep no state and may be called from
// any goroutine. Start reading at page.go.
package report
