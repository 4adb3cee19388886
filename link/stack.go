package link

import (
	"fmt"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

const (
	nic = 1
	// mtu is Ethernet's. Full segments carry 1420 bytes: 1500 less IP and TCP
	// headers of 20 and the longest options, for which netstack always keeps room.
	// A kernel's carry 1448.
	mtu = 1500
)

// newStack makes an end's TCP. Every option is stated, so that what a link
// measures does not change with the library's defaults; most are what a Linux
// kernel does, because that is what the link stands for.
func newStack(e *End, c clock) (*stack.Stack, error) {
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol},
		Clock:              c,
		// A packet to the end itself must not take a way around the link.
		HandleLocal: false,
	})
	if err := setUp(s, e); err != nil {
		s.Destroy()
		return nil, err
	}
	return s, nil
}

func setUp(s *stack.Stack, e *End) error {
	// Selective acknowledgements (RFC 2018): on in every system; without them one
	// lost packet in a window costs a round trip each.
	sack := tcpip.TCPSACKEnabled(true)
	// Loss detection by time (RACK-TLP, RFC 8985), as in Linux since 4.4: a lost
	// tail is found after about two round trips and not by the retransmission
	// timer. After a lone segment the probe waits 200 ms more, for an
	// acknowledgement that may be delayed (section 7.2), here as in Linux: so long
	// at least takes a small call that lost a packet.
	recovery := tcpip.TCPRACKLossDetection
	// CUBIC (RFC 9438): the default of Linux, macOS and Windows.
	congestion := tcpip.CongestionControlOption("cubic")
	// Nagle's algorithm off: Go's net turns it off on every connection.
	nagle := tcpip.TCPDelayEnabled(false)
	// The retransmission timer's bounds are Linux's; RFC 6298 would have 1 s.
	minRTO := tcpip.TCPMinRTOOption(200 * time.Millisecond)
	maxRTO := tcpip.TCPMaxRTOOption(120 * time.Second)
	// Linux's tcp_retries2 and tcp_syn_retries.
	retries := tcpip.TCPMaxRetriesOption(15)
	synRetries := tcpip.TCPSynRetriesOption(6)
	// The receive buffer is Linux's tcp_rmem: it starts with a window of 64 KiB
	// and grows with what the reader takes. The send buffer's limits are tcp_wmem's;
	// it starts with 128 KiB, because here a segment's bookkeeping counts
	// towards it and the initial window of 10 segments must fit well.
	receive := tcpip.TCPReceiveBufferSizeRangeOption{Min: 4 << 10, Default: 128 << 10, Max: 6 << 20}
	send := tcpip.TCPSendBufferSizeRangeOption{Min: 4 << 10, Default: 128 << 10, Max: 4 << 20}
	moderate := tcpip.TCPModerateReceiveBufferOption(true)
	// A connection per call leaves thousands of closed ones behind. Nothing on
	// this link is older than its delay and its buffer, so a second does for the
	// minute of the kernel's TIME_WAIT, and a port may be used again at once
	// (tcp_tw_reuse) because timestamps are on.
	timeWait := tcpip.TCPTimeWaitTimeoutOption(time.Second)
	reuse := tcpip.TCPTimeWaitReuseGlobal
	// FIN_WAIT_2 of a connection that nobody holds any more: Linux's
	// tcp_fin_timeout.
	linger := tcpip.TCPLingerTimeoutOption(60 * time.Second)
	// SYN cookies forget the options of the handshake; nobody floods this link.
	cookies := tcpip.TCPAlwaysUseSynCookies(false)
	for _, o := range []tcpip.SettableTransportProtocolOption{
		&sack, &recovery, &congestion, &nagle, &minRTO, &maxRTO, &retries, &synRetries,
		&receive, &send, &moderate, &timeWait, &reuse, &linger, &cookies,
	} {
		if err := s.SetTransportProtocolOption(tcp.ProtocolNumber, o); err != nil {
			return fmt.Errorf("link: setting %T: %s", o, err)
		}
	}
	if err := s.CreateNIC(nic, e.port); err != nil {
		return fmt.Errorf("link: %s", err)
	}
	address := tcpip.ProtocolAddress{Protocol: ipv4.ProtocolNumber, AddressWithPrefix: tcpip.AddrFrom4(e.addr.As4()).WithPrefix()}
	if err := s.AddProtocolAddress(nic, address, stack.AddressProperties{}); err != nil {
		return fmt.Errorf("link: %s", err)
	}
	s.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: nic}})
	return nil
}

// A port is where an end's stack is plugged into the link.
type port struct {
	end *End

	mu         sync.RWMutex
	dispatcher stack.NetworkDispatcher // nil while unplugged
}

var _ stack.LinkEndpoint = (*port)(nil)

// WritePackets sends packets of the stack.
func (p *port) WritePackets(pkts stack.PacketBufferList) (int, tcpip.Error) {
	for _, pkt := range pkts.AsSlice() {
		data := make([]byte, 0, pkt.Size())
		for _, s := range pkt.AsSlices() {
			data = append(data, s...)
		}
		p.end.send(data)
	}
	return pkts.Len(), nil
}

// inject gives the stack a packet from the link.
func (p *port) inject(data []byte) {
	p.mu.RLock()
	d := p.dispatcher
	p.mu.RUnlock()
	if d == nil {
		return
	}
	pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(data)})
	defer pkt.DecRef()
	d.DeliverNetworkPacket(header.IPv4ProtocolNumber, pkt)
}

// MTU implements stack.LinkEndpoint.
func (*port) MTU() uint32 { return mtu }

// SetMTU implements stack.LinkEndpoint: a link has one MTU.
func (*port) SetMTU(uint32) {}

// MaxHeaderLength implements stack.LinkEndpoint: frames have no header.
func (*port) MaxHeaderLength() uint16 { return 0 }

// LinkAddress implements stack.LinkEndpoint: two ends need none.
func (*port) LinkAddress() tcpip.LinkAddress { return "" }

// SetLinkAddress implements stack.LinkEndpoint.
func (*port) SetLinkAddress(tcpip.LinkAddress) {}

// Capabilities implements stack.LinkEndpoint. A link loses packets and never
// changes them: checksums would take CPU time and find nothing.
func (*port) Capabilities() stack.LinkEndpointCapabilities {
	return stack.CapabilityRXChecksumOffload | stack.CapabilityTXChecksumOffload
}

// Attach implements stack.LinkEndpoint.
func (p *port) Attach(d stack.NetworkDispatcher) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dispatcher = d
}

// IsAttached implements stack.LinkEndpoint.
func (p *port) IsAttached() bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.dispatcher != nil
}

// Wait implements stack.LinkEndpoint: a port has no goroutine.
func (*port) Wait() {}

// ARPHardwareType implements stack.LinkEndpoint.
func (*port) ARPHardwareType() header.ARPHardwareType { return header.ARPHardwareNone }

// AddHeader implements stack.LinkEndpoint.
func (*port) AddHeader(*stack.PacketBuffer) {}

// ParseHeader implements stack.LinkEndpoint.
func (*port) ParseHeader(*stack.PacketBuffer) bool { return true }

// Close implements stack.LinkEndpoint.
func (*port) Close() {}

// SetOnCloseAction implements stack.LinkEndpoint.
func (*port) SetOnCloseAction(func()) {}
