package link

import (
	"encoding/binary"
	"sync/atomic"
)

// Traffic counts the packets of one direction. What is retransmitted counts
// again.
type Traffic struct {
	// Packets are IP packets, IPBytes their lengths.
	Packets int64 `json:"packets"`
	IPBytes int64 `json:"ip_bytes"`
	// PayloadBytes are those of TCP.
	PayloadBytes int64 `json:"payload_bytes"`
	// PureACKs are packets that carry no payload and open or close nothing. A
	// user-space TCP sends more of them than a kernel, which waits for data to
	// send them with.
	PureACKs int64 `json:"pure_acks"`
	// Lost were lost by chance, Overflowed did not fit into the buffer of a line
	// with a rate.
	Lost       int64 `json:"lost"`
	Overflowed int64 `json:"overflowed"`
}

// Minus is what was counted since earlier.
func (t Traffic) Minus(earlier Traffic) Traffic {
	t.Packets -= earlier.Packets
	t.IPBytes -= earlier.IPBytes
	t.PayloadBytes -= earlier.PayloadBytes
	t.PureACKs -= earlier.PureACKs
	t.Lost -= earlier.Lost
	t.Overflowed -= earlier.Overflowed
	return t
}

// counter is a Traffic that grows.
type counter struct {
	packets, ipBytes, payloadBytes, pureACKs, lost, overflowed atomic.Int64
}

func (c *counter) packet(p []byte) {
	c.packets.Add(1)
	c.ipBytes.Add(int64(len(p)))
	payload, pureACK := classify(p)
	c.payloadBytes.Add(int64(payload))
	if pureACK {
		c.pureACKs.Add(1)
	}
}

func (c *counter) drop(k frameKind) {
	if k == frameLost {
		c.lost.Add(1)
	} else {
		c.overflowed.Add(1)
	}
}

func (c *counter) snapshot() Traffic {
	return Traffic{
		Packets: c.packets.Load(), IPBytes: c.ipBytes.Load(), PayloadBytes: c.payloadBytes.Load(),
		PureACKs: c.pureACKs.Load(), Lost: c.lost.Load(), Overflowed: c.overflowed.Load(),
	}
}

// classify reads the headers of an IPv4 packet (RFC 791) with TCP (RFC 9293)
// in it: how much payload it has, and whether it is nothing but an
// acknowledgement. Of anything else it says 0 and false.
func classify(p []byte) (payload int, pureACK bool) {
	const (
		ipv4, tcp            = 4, 6
		minHeader            = 20
		fin, syn, reset, ack = 1, 2, 4, 16
	)
	if len(p) < minHeader || p[0]>>4 != ipv4 || p[9] != tcp {
		return 0, false
	}
	ip := int(p[0]&15) * 4
	total := int(binary.BigEndian.Uint16(p[2:]))
	if ip < minHeader || total > len(p) || total < ip+minHeader {
		return 0, false
	}
	segment := p[ip:total]
	header := int(segment[12]>>4) * 4
	if header < minHeader || header > len(segment) {
		return 0, false
	}
	payload = len(segment) - header
	return payload, payload == 0 && segment[13]&(fin|syn|reset|ack) == ack
}
