package members

// longest is the longest name that is kept.
const longest = 32

// An Interner makes strings of names, and mostly the same string of the same
// name: documents are often lists of maps with the same keys. It keeps a bounded
// number of the names that it saw last.
type Interner struct {
	names [32][2]string // by hash; of each pair the later one comes first
}

// String returns name as a string.
func (in *Interner) String(name []byte) string {
	n := len(name)
	if n == 0 || n > longest {
		return string(name)
	}
	hash := uint32(n)<<24 ^ uint32(name[0])<<16 ^ uint32(name[n/2])<<8 ^ uint32(name[n-1])
	pair := &in.names[hash*0x9e3779b1>>27] // Fibonacci hashing: the high bits are mixed best
	switch string(name) {
	case pair[0]:
		return pair[0]
	case pair[1]:
		return pair[1]
	}
	pair[0], pair[1] = string(name), pair[0]
	return pair[0]
}
