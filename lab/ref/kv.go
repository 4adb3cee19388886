package ref

import (
	"context"

	"google.golang.org/grpc"

	"github.com/everywire/everywire/service/kv"
	"github.com/everywire/everywire/service/kv/kvpb"
)

// kvServer is the store behind generated messages: what differs from our wire is
// how calls come to it.
type kvServer struct {
	kvpb.UnimplementedKeyValueServiceServer
	store *kv.Store
}

func newKVStore(o Options) *kv.Store {
	return kv.New(kv.Options{ReadDelay: o.ReadDelay, WriteDelay: o.WriteDelay})
}

func (s kvServer) Create(ctx context.Context, in *kvpb.CreateRequest) (*kvpb.CreateResponse, error) {
	out, err := s.store.Create(ctx, &kv.CreateRequest{Key: in.GetKey(), Value: in.GetValue()})
	if err != nil {
		return nil, err
	}
	return &kvpb.CreateResponse{Version: out.Version}, nil
}

func (s kvServer) Retrieve(ctx context.Context, in *kvpb.RetrieveRequest) (*kvpb.RetrieveResponse, error) {
	out, err := s.store.Retrieve(ctx, &kv.RetrieveRequest{Key: in.GetKey()})
	if err != nil {
		return nil, err
	}
	return &kvpb.RetrieveResponse{Value: out.Value, Version: out.Version}, nil
}

func (s kvServer) Update(ctx context.Context, in *kvpb.UpdateRequest) (*kvpb.UpdateResponse, error) {
	out, err := s.store.Update(ctx, &kv.UpdateRequest{Key: in.GetKey(), Value: in.GetValue()})
	if err != nil {
		return nil, err
	}
	return &kvpb.UpdateResponse{Version: out.Version}, nil
}

func (s kvServer) Delete(ctx context.Context, in *kvpb.DeleteRequest) (*kvpb.DeleteResponse, error) {
	if _, err := s.store.Delete(ctx, &kv.DeleteRequest{Key: in.GetKey()}); err != nil {
		return nil, err
	}
	return &kvpb.DeleteResponse{}, nil
}

// invokeKV calls with the generated client what the load has in plain structs. known
// is false if in and out are none of them.
func invokeKV(ctx context.Context, client kvpb.KeyValueServiceClient, in, out any) (known bool, err error) {
	switch in := in.(type) {
	case *kv.CreateRequest:
		if out, ok := out.(*kv.CreateResponse); ok {
			reply, err := client.Create(ctx, &kvpb.CreateRequest{Key: in.Key, Value: in.Value})
			out.Version = reply.GetVersion()
			return true, err
		}
	case *kv.RetrieveRequest:
		if out, ok := out.(*kv.RetrieveResponse); ok {
			reply, err := client.Retrieve(ctx, &kvpb.RetrieveRequest{Key: in.Key})
			out.Value, out.Version = reply.GetValue(), reply.GetVersion()
			return true, err
		}
	case *kv.UpdateRequest:
		if out, ok := out.(*kv.UpdateResponse); ok {
			reply, err := client.Update(ctx, &kvpb.UpdateRequest{Key: in.Key, Value: in.Value})
			out.Version = reply.GetVersion()
			return true, err
		}
	case *kv.DeleteRequest:
		if _, ok := out.(*kv.DeleteResponse); ok {
			_, err := client.Delete(ctx, &kvpb.DeleteRequest{Key: in.Key})
			return true, err
		}
	}
	return false, nil
}

// plainKV serves the store's four methods with plain structs.
func plainKV(s *grpc.Server, store *kv.Store) {
	plainService(s, map[string]grpc.MethodHandler{
		kv.Create:   plainHandler(store.Create),
		kv.Retrieve: plainHandler(store.Retrieve),
		kv.Update:   plainHandler(store.Update),
		kv.Delete:   plainHandler(store.Delete),
	})
}
