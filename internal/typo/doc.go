// Package typo measures how far a mistyped name is from a known one, for the "did you mean" of errors.
//
// It knows no names and suggests none: what is near enough is for the caller to say. It keeps no state and may be called
// concurrently. All there is to read is [Distance].
package typo
