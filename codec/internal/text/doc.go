// Package text has the forms that values other than strings take as text, which
// docs/spec/types.md makes the same for every codec: numbers, times, durations,
// and the paths of field masks; and how an error's path is written.
package text
