package ref

import (
	"context"
	"net/http"
	"time"

	"google.golang.org/grpc"

	"github.com/everywire/everywire/service/sample"
	"github.com/everywire/everywire/service/sample/samplepb"
)

// sampleData is the reply of GET /.
type sampleData struct {
	ID           int32  `json:"id" wire:"1"`
	Name         string `json:"name" wire:"2"`
	EnjoysCoding bool   `json:"enjoysCoding" wire:"3"`
}

// sample answers GET / after the delay.
func (s *httpServer) sample(w http.ResponseWriter, r *http.Request) {
	if err := wait(r.Context(), s.options.Delay); err != nil {
		return // the client has gone
	}
	s.writeReply(w, &sampleData{ID: fixed.ID, Name: fixed.Name, EnjoysCoding: fixed.EnjoysCoding})
}

// getSample calls GET /.
func (c *httpConn) getSample(ctx context.Context, out *sample.SampleData) error {
	var reply sampleData
	err := c.call(ctx, http.MethodGet, "/", nil, &reply)
	out.ID, out.Name, out.EnjoysCoding = reply.ID, reply.Name, reply.EnjoysCoding
	return err
}

// fixed is what every call answers.
var fixed = sample.Data()

// sampleServer is the service behind generated messages.
type sampleServer struct {
	samplepb.UnimplementedSampleDataServiceServer
	delay time.Duration
}

func (s sampleServer) GetSampleData(ctx context.Context, _ *samplepb.Empty) (*samplepb.SampleData, error) {
	if err := wait(ctx, s.delay); err != nil {
		return nil, err
	}
	return &samplepb.SampleData{Id: fixed.ID, Name: fixed.Name, EnjoysCoding: fixed.EnjoysCoding}, nil
}

// getSample calls with the generated client.
func getSample(ctx context.Context, conn *grpc.ClientConn, out *sample.SampleData) error {
	reply, err := samplepb.NewSampleDataServiceClient(conn).GetSampleData(ctx, &samplepb.Empty{})
	out.ID, out.Name, out.EnjoysCoding = reply.GetId(), reply.GetName(), reply.GetEnjoysCoding()
	return err
}

// wait waits for the delay, or fails when the context ends first.
func wait(ctx context.Context, delay time.Duration) error {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return failed(ctx, ctx.Err())
	}
}
