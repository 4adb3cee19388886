package sniff

const (
	frameHeader   = 9 // bytes (RFC 9113, section 4.1)
	frameSettings = 4 // the type, behind three bytes of length
	flagAck       = 1
)

// An ackFilter leaves the first acknowledgements of SETTINGS out of what goes
// one way on a connection of HTTP/2, and nothing else.
type ackFilter struct {
	drop int               // how many are still to come
	head [frameHeader]byte // of a frame, as far as it has come
	have int
	body int // bytes of the frame's payload that are still to come
}

// apply appends to dst what is left of src. It keeps the header of a frame back
// until it is whole.
func (f *ackFilter) apply(dst, src []byte) []byte {
	for len(src) > 0 && f.drop > 0 {
		if f.body > 0 {
			n := min(f.body, len(src))
			dst, src = append(dst, src[:n]...), src[n:]
			f.body -= n
			continue
		}
		n := copy(f.head[f.have:], src)
		src = src[n:]
		if f.have += n; f.have < frameHeader {
			break
		}
		f.have = 0
		f.body = int(f.head[0])<<16 | int(f.head[1])<<8 | int(f.head[2])
		if f.head[3] == frameSettings && f.head[4]&flagAck != 0 && f.body == 0 {
			f.drop--
			continue
		}
		dst = append(dst, f.head[:]...)
	}
	return append(dst, src...)
}

// isOver reports whether everything passes from here on.
func (f *ackFilter) isOver() bool { return f.drop == 0 }
