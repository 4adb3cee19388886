package link

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A frame is what travels from one end of a link to the other.
type frame struct {
	kind frameKind
	// due is when the far end gets it, on the clock of the end that holds the
	// frame.
	due int64
	// data is an IP packet, a probe's number, or nothing.
	data []byte
}

type frameKind uint8

const (
	framePacket     frameKind = iota + 1
	frameProbe                // measures the delay: comes back as an echo
	frameEcho                 //
	frameLost                 // tells the far end that a packet was lost
	frameOverflowed           // that one did not fit into the line's buffer
)

// length says how much data a frame of this kind may have.
func (k frameKind) length() (least, most int, ok bool) {
	switch k {
	case framePacket:
		return 1, mtu, true
	case frameProbe, frameEcho:
		return 8, 8, true
	case frameLost, frameOverflowed:
		return 0, 0, true
	}
	return 0, 0, false
}

// Between processes a frame is its kind (1 byte), due (8) and the length of its
// data (2), big-endian, and the data.
const frameHeader = 1 + 8 + 2

func appendFrame(dst []byte, f frame) []byte {
	dst = append(dst, byte(f.kind))
	dst = binary.BigEndian.AppendUint64(dst, uint64(f.due))       //nolint:gosec // its bits
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(f.data))) //nolint:gosec // at most mtu
	return append(dst, f.data...)
}

// readFrame reads one frame; io.EOF only between frames.
func readFrame(r *bufio.Reader) (frame, error) {
	var h [frameHeader]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return frame{}, err
	}
	f := frame{kind: frameKind(h[0]), due: int64(binary.BigEndian.Uint64(h[1:]))} //nolint:gosec // its bits
	n := int(binary.BigEndian.Uint16(h[9:]))
	least, most, ok := f.kind.length()
	if !ok {
		return frame{}, fmt.Errorf("link: the other end sent a frame of unknown kind %d", h[0])
	}
	if n < least || n > most {
		return frame{}, fmt.Errorf("link: the other end sent a frame of kind %d with %d bytes", h[0], n)
	}
	if n > 0 {
		f.data = make([]byte, n)
		if _, err := io.ReadFull(r, f.data); errors.Is(err, io.EOF) {
			return frame{}, io.ErrUnexpectedEOF
		} else if err != nil {
			return frame{}, err
		}
	}
	return f, nil
}
