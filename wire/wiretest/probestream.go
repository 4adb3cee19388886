package wiretest

import (
	"errors"
	"io"

	"google.golang.org/grpc"

	"github.com/everywire/everywire/wire/wiretest/probepb"
)

// Download replies once for each number, and then does as the request says.
func (p *probe) Download(in *probepb.RunRequest, stream grpc.ServerStreamingServer[probepb.RunReply]) error {
	if err := setMetadata(stream.Context(), in, &probepb.RunReply{}); err != nil {
		return err
	}
	for _, n := range in.GetNumbers() {
		if err := stream.Send(&probepb.RunReply{Numbers: []int64{n}, Payload: in.GetPayload()}); err != nil {
			return err
		}
		p.sent.Add(1)
	}
	in.Header, in.Trailer, in.SendHeaderTwice = nil, nil, false
	_, err := p.Run(stream.Context(), in)
	return err
}

// Upload does as each request says and gathers their numbers.
func (p *probe) Upload(stream grpc.ClientStreamingServer[probepb.RunRequest, probepb.RunReply]) error {
	out := &probepb.RunReply{}
	for {
		in, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return stream.SendAndClose(out)
		}
		if err != nil {
			return err
		}
		p.received.Add(1)
		out.Numbers = append(out.Numbers, in.GetNumbers()...)
		reply, err := p.Run(stream.Context(), in)
		if err != nil {
			return err
		}
		out.Metadata, out.DeadlineMs, out.PeerAuth, out.Method = reply.GetMetadata(), reply.GetDeadlineMs(), reply.GetPeerAuth(), reply.GetMethod()
		if in.GetLast() {
			return stream.SendAndClose(out)
		}
	}
}

// Chat replies to every request as Run does.
func (p *probe) Chat(stream grpc.BidiStreamingServer[probepb.RunRequest, probepb.RunReply]) error {
	for {
		in, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		p.received.Add(1)
		out, err := p.Run(stream.Context(), in)
		if err != nil {
			return err
		}
		if err := stream.Send(out); err != nil {
			return err
		}
		p.sent.Add(1)
		if in.GetLast() {
			return nil
		}
	}
}

// asGenerated makes a stream of plain structs one of generated messages.
func asGenerated(stream grpc.ServerStream) *grpc.GenericServerStream[probepb.RunRequest, probepb.RunReply] {
	return &grpc.GenericServerStream[probepb.RunRequest, probepb.RunReply]{ServerStream: convertingServer{stream}}
}

type convertingServer struct{ grpc.ServerStream }

func (s convertingServer) SendMsg(m any) error {
	return s.ServerStream.SendMsg(mustConvert(new(RunReply), m))
}

func (s convertingServer) RecvMsg(m any) error {
	in := new(RunRequest)
	if err := s.ServerStream.RecvMsg(in); err != nil {
		return err
	}
	mustConvert(m.(*probepb.RunRequest), in)
	return nil
}
