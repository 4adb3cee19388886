package grpcwire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/internal/needs"
	"github.com/everywire/everywire/wire/internal/rpc"
)

var wantServices = []string{
	"arith.Arith", "echo.Echo", "everywire.wiretest.Probe",
	"grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection",
}

// ask sends one request to the reflection service.
func ask(t *testing.T, conn grpc.ClientConnInterface, req *reflectionpb.ServerReflectionRequest) *reflectionpb.ServerReflectionResponse {
	t.Helper()
	s, err := reflectionpb.NewServerReflectionClient(conn).ServerReflectionInfo(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(req); err != nil {
		t.Fatal(err)
	}
	if err := s.CloseSend(); err != nil {
		t.Fatal(err)
	}
	resp, err := s.Recv()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(); !errors.Is(err, io.EOF) {
		t.Fatalf("the stream goes on: %v", err)
	}
	return resp
}

func askSymbol(t *testing.T, conn grpc.ClientConnInterface, name string) *reflectionpb.ServerReflectionResponse {
	t.Helper()
	return ask(t, conn, &reflectionpb.ServerReflectionRequest{
		MessageRequest: &reflectionpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: name},
	})
}

func TestReflection(t *testing.T) {
	addr, _ := start(t, testRegistry())
	eachCodec(t, addr, func(t *testing.T, _ string, conn rpc.Conn) {
		list := ask(t, conn, &reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}})
		names := make([]string, 0, len(wantServices))
		for _, s := range list.GetListServicesResponse().GetService() {
			names = append(names, s.GetName())
		}
		slices.Sort(names)
		if diff := cmp.Diff(wantServices, names); diff != "" {
			t.Error(diff)
		}
		for service, method := range map[string]string{
			"arith.Arith":              "Sum(arith.SumRequest) arith.SumReply",
			"echo.Echo":                "Echo(google.protobuf.Value) google.protobuf.Value",
			"everywire.wiretest.Probe": "Run(everywire.wiretest.RunRequest) everywire.wiretest.RunReply",
			"grpc.health.v1.Health":    "Check(grpc.health.v1.HealthCheckRequest) grpc.health.v1.HealthCheckResponse",
		} {
			m := reflected(t, conn, service).Methods().Get(0)
			got := string(m.Name()) + "(" + string(m.Input().FullName()) + ") " + string(m.Output().FullName())
			if got != method {
				t.Errorf("%s has %s, want %s", service, got, method)
			}
		}
		sum := reflected(t, conn, "arith.Arith").Methods().Get(0)
		if f := sum.Input().Fields().Get(0); f.Name() != "numbers" || f.Number() != 1 || f.Kind() != protoreflect.Int64Kind || !f.IsPacked() {
			t.Errorf("the plain struct's field is %v", f)
		}
		resp := askSymbol(t, conn, "no.Such")
		if got := resp.GetErrorResponse().GetErrorCode(); codes.Code(got) != codes.NotFound {
			t.Errorf("an unknown symbol gets %v", resp)
		}
	})
}

// reflected builds a service's descriptor from nothing but what reflection
// sends.
func reflected(t *testing.T, conn grpc.ClientConnInterface, service string) protoreflect.ServiceDescriptor {
	t.Helper()
	var set descriptorpb.FileDescriptorSet
	for _, raw := range askSymbol(t, conn, service).GetFileDescriptorResponse().GetFileDescriptorProto() {
		fd := new(descriptorpb.FileDescriptorProto)
		if err := proto.Unmarshal(raw, fd); err != nil {
			t.Fatal(err)
		}
		set.File = append(set.File, fd)
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		t.Fatalf("%s: %v", service, err)
	}
	d, err := files.FindDescriptorByName(protoreflect.FullName(service))
	if err != nil {
		t.Fatal(err)
	}
	return d.(protoreflect.ServiceDescriptor)
}

// Clients that know only the older v1alpha get the same answers: its messages
// have v1's fields, under another name.
func TestReflectionV1Alpha(t *testing.T) {
	addr, _ := start(t, testRegistry())
	conn := connect(t, clientConfig(nil, addr))
	desc := &reflectionpb.ServerReflection_ServiceDesc.Streams[0]
	s, err := conn.NewStream(testContext(t), desc, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")
	if err != nil {
		t.Fatal(err)
	}
	req := &reflectionpb.ServerReflectionRequest{
		MessageRequest: &reflectionpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "arith.Arith"},
	}
	if err := s.SendMsg(req); err != nil {
		t.Fatal(err)
	}
	if err := s.CloseSend(); err != nil {
		t.Fatal(err)
	}
	got := new(reflectionpb.ServerReflectionResponse)
	if err := s.RecvMsg(got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(askSymbol(t, conn, "arith.Arith"), got, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	if err := s.RecvMsg(got); !errors.Is(err, io.EOF) {
		t.Errorf("the stream goes on: %v", err)
	}
}

// A service that protobuf cannot name is served, and does not hide the others.
func TestReflectionLeavesOutWhatItCannotDescribe(t *testing.T) {
	reg := testRegistry()
	everywire.Handle(reg, "my-service/Echo", echo)
	var log bytes.Buffer
	addr, _ := start(t, reg, func(c *rpc.ServerConfig) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	conn := connect(t, clientConfig(nil, addr))
	if _, err := everywire.Call[everywire.Document](testContext(t), conn, "my-service/Echo", &everywire.Document{Value: true}); err != nil {
		t.Error(err)
	}
	reflected(t, conn, "arith.Arith")
	if !strings.Contains(log.String(), "service=my-service") {
		t.Errorf("the log says %q", log.String())
	}
}

func TestHealth(t *testing.T) {
	addr, srv := start(t, testRegistry())
	conn := connect(t, clientConfig(nil, addr))
	client := healthpb.NewHealthClient(conn)
	for _, service := range []string{"", "arith.Arith", "everywire.wiretest.Probe"} {
		out, err := client.Check(testContext(t), &healthpb.HealthCheckRequest{Service: service})
		if err != nil || out.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("%q: %v, %v", service, out, err)
		}
	}
	_, err := client.Check(testContext(t), &healthpb.HealthCheckRequest{Service: "no.Such"})
	wantCode(t, err, codes.NotFound)

	watch, err := client.Watch(testContext(t), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := watch.Recv(); err != nil || out.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Fatalf("got %v, %v", out, err)
	}
	// A watch does not hold up the shutdown; it may say why it ends.
	if err := srv.Shutdown(testContext(t)); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	out, err := watch.Recv()
	if err == nil {
		if out.GetStatus() != healthpb.HealthCheckResponse_NOT_SERVING {
			t.Errorf("got %v", out)
		}
		_, err = watch.Recv()
	}
	wantCode(t, err, codes.Canceled)
}

type ownHealth struct {
	healthpb.UnimplementedHealthServer
}

func (ownHealth) Check(context.Context, *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponse_NOT_SERVING}, nil
}

func TestRegistrysOwnHealthServiceWins(t *testing.T) {
	reg := testRegistry()
	healthpb.RegisterHealthServer(reg, ownHealth{})
	addr, _ := start(t, reg)
	out, err := healthpb.NewHealthClient(connect(t, clientConfig(nil, addr))).Check(testContext(t), &healthpb.HealthCheckRequest{})
	if err != nil || out.GetStatus() != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Errorf("got %v, %v", out, err)
	}
}

// grpcurl is a client by others that knows a service from reflection only.
func TestGrpcurl(t *testing.T) {
	path := needs.Program(t, "grpcurl", "go install github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.4")
	addr, _ := start(t, testRegistry())
	run := func(want string, args ...string) {
		t.Helper()
		var stderr bytes.Buffer
		cmd := exec.CommandContext(testContext(t), path, append([]string{"-plaintext"}, args...)...)
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if got := strings.Join(strings.Fields(string(out)), " "); err != nil || !strings.Contains(got, want) {
			t.Errorf("grpcurl %q printed %q, want %q in it: %v %s", args, got, want, err, stderr.String())
		}
	}
	run(strings.Join(wantServices, " "), addr, "list")
	run("rpc Sum ( .arith.SumRequest ) returns ( .arith.SumReply );", addr, "describe", "arith.Arith")
	run("repeated int64 numbers = 1;", addr, "describe", "arith.SumRequest")
	run(`{ "sum": "41" }`, "-d", `{"numbers":[20,21]}`, addr, sumMethod)
	run(`{ "a": [ 1, "x", null ] }`, "-d", `{"a":[1,"x",null]}`, addr, "echo.Echo/Echo")
	run(`"name": "n"`, "-d", `{"name":"n"}`, addr, "everywire.wiretest.Probe/Run")
	run(`"SERVING"`, addr, "grpc.health.v1.Health/Check")
}
