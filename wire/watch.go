package wire

import (
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// A watched value was read from files, and is read again when they have changed. To
// ask costs a stat of each: that is little beside a handshake, finds files behind
// symbolic links, where secrets are often exchanged, and needs nothing that runs.
type watched[T any] struct {
	files  []string
	load   func() (*T, error)
	logger *slog.Logger

	mu    sync.Mutex
	value *T
	seen  []os.FileInfo // of the files when they were read last, well or not
	fresh bool          // they may change once more and look the same
	said  string        // the error that was logged last
}

// freshness is how long a file may be written without a change of its time, which
// has the steps of the system's clock or, on some file systems, of seconds.
const freshness = 2 * time.Second

// watch reads the files for the first time; they must be right then.
func watch[T any](logger *slog.Logger, files []string, load func() (*T, error)) (*watched[T], error) {
	w := &watched[T]{files: files, load: load, logger: logger}
	w.look() // before the files are read, so that nothing is missed
	var err error
	w.value, err = load()
	return w, err
}

// get returns the value of the files, or if they are broken the last one that was
// not.
func (w *watched[T]) get() *T {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.look() {
		return w.value
	}
	value, err := w.load()
	if err == nil {
		w.value, w.said = value, ""
		return value
	}
	if text := err.Error(); text != w.said {
		w.said = text
		logger := w.logger
		if logger == nil {
			logger = slog.Default()
		}
		logger.Error("a file of TLS cannot be used: what it held before stays in force", slog.String("files", strings.Join(w.files, ", ")), slog.Any("error", err))
	}
	return w.value
}

// look reports whether the files may have changed since the last time.
func (w *watched[T]) look() bool {
	now := make([]os.FileInfo, len(w.files)) // nil for a file that is not there
	fresh := false
	for i, file := range w.files {
		if info, err := os.Stat(file); err == nil {
			now[i] = info
			fresh = fresh || time.Since(info.ModTime()).Abs() < freshness
		}
	}
	changed := w.fresh || !slices.EqualFunc(now, w.seen, sameVersion)
	w.seen, w.fresh = now, fresh
	return changed
}

func sameVersion(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size() && os.SameFile(a, b)
}
