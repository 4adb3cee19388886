// Package allocs is for tests that bound the memory which something takes.
package allocs

import "runtime"

// Bytes returns how many bytes f allocates, with whatever else runs meanwhile.
func Bytes(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
