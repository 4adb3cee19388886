package members

// longest is the longest name that is kept.
const longest = 32

// An Interner makes strings of names, and mostly the same string of the same
// name: documents are often lists of maps with the same keys. It keeps the
// names that it saw last, a bounded number of them.
type Interner struct{ names [64]string }

// String returns name as a string.
func (in *Interner) String(name []byte) string {
	n := len(name)
	if n == 0 || n > longest {
		return string(name)
	}
	hash := uint(n)
	hash = hash*31 + uint(name[0])
	hash = hash*31 + uint(name[n/2])
	hash = hash*31 + uint(name[n-1])
	slot := &in.names[hash%uint(len(in.names))]
	if *slot != string(name) {
		*slot = string(name)
	}
	return *slot
}
