package code

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rpccode "google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/anypb"

	spb "google.golang.org/genproto/googleapis/rpc/status"
)

// outside are codes that gRPC does not define but its wire can carry.
var outside = []codes.Code{17, 42, 99, math.MaxInt32, math.MaxInt32 + 1, math.MaxUint32}

func all() []codes.Code {
	var cs []codes.Code
	for c := range codes.Code(17) {
		cs = append(cs, c)
	}
	return append(cs, outside...)
}

func TestNamesAreThoseOfGoogleRPC(t *testing.T) {
	if len(table) != len(rpccode.Code_name) {
		t.Errorf("%d codes, google.rpc.Code has %d", len(table), len(rpccode.Code_name))
	}
	for i, r := range table {
		if int(r.code) != i {
			t.Errorf("row %d is for code %d", i, r.code)
		}
		if want := rpccode.Code_name[int32(i)]; r.name != want {
			t.Errorf("code %d has the name %q, want %q", i, r.name, want)
		}
	}
}

func TestNameParse(t *testing.T) {
	for _, c := range all() {
		if got, ok := Parse(Name(c)); !ok || got != c {
			t.Errorf("code %d is %q, which is %d, %v", uint32(c), Name(c), uint32(got), ok)
		}
	}
	for _, s := range []string{"", "not_found", "NotFound", "NOT FOUND", "-1", "4294967296", "5.0", "CANCELED"} {
		if c, ok := Parse(s); ok {
			t.Errorf("Parse(%q) = %d", s, c)
		}
	}
}

func TestHTTP(t *testing.T) {
	for _, c := range all() {
		n := HTTP(c)
		back := FromHTTP(n)
		switch c {
		// Several codes share a status; the way back leads to one of them.
		case codes.FailedPrecondition, codes.OutOfRange:
			if n != 400 || back != codes.InvalidArgument {
				t.Errorf("%v is HTTP %d, back %v", c, n, back)
			}
		case codes.AlreadyExists:
			if n != 409 || back != codes.Aborted {
				t.Errorf("%v is HTTP %d, back %v", c, n, back)
			}
		case codes.Unknown, codes.DataLoss:
			if n != 500 || back != codes.Internal {
				t.Errorf("%v is HTTP %d, back %v", c, n, back)
			}
		default:
			if !Known(c) {
				if n != 500 {
					t.Errorf("code %d is HTTP %d", c, n)
				}
			} else if back != c {
				t.Errorf("%v is HTTP %d, back %v", c, n, back)
			}
		}
	}
}

func TestFromHTTP(t *testing.T) {
	for n, want := range map[int]codes.Code{
		200: codes.OK, 204: codes.OK, 206: codes.OK,
		100: codes.Unknown, 301: codes.Unknown, 304: codes.Unknown, 418: codes.Unknown, 599: codes.Unknown, 0: codes.Unknown, -1: codes.Unknown,
		405: codes.Unimplemented, 406: codes.InvalidArgument, 408: codes.DeadlineExceeded, 412: codes.FailedPrecondition,
		413: codes.ResourceExhausted, 415: codes.InvalidArgument, 416: codes.OutOfRange, 422: codes.InvalidArgument,
		431: codes.ResourceExhausted, 502: codes.Unavailable,
	} {
		if got := FromHTTP(n); got != want {
			t.Errorf("FromHTTP(%d) = %v, want %v", n, got, want)
		}
	}
	for n := 300; n < 600; n++ {
		if FromHTTP(n) == codes.OK {
			t.Errorf("HTTP status %d is OK", n)
		}
	}
}

func TestJSONRPC(t *testing.T) {
	seen := map[int]codes.Code{}
	for _, c := range all() {
		n := JSONRPC(c)
		if !Known(c) {
			if n != ServerError {
				t.Errorf("code %d is %d", c, n)
			}
			continue
		}
		if other, dup := seen[n]; dup {
			t.Errorf("%v and %v are both %d", c, other, n)
		}
		seen[n] = c
		if c == codes.OK {
			continue
		}
		if back := FromJSONRPC(int64(n)); back != c {
			t.Errorf("%v is %d, back %v", c, n, back)
		}
		reserved := n >= -32099 && n <= -32000
		if named := n == InvalidParams || n == MethodNotFound || n == InternalError; !reserved && !named {
			t.Errorf("%v is %d, which section 5.1 leaves to applications", c, n)
		}
	}
	for n, want := range map[int64]codes.Code{
		ParseError: codes.Internal, InvalidRequest: codes.Internal,
		ServerError: codes.Unknown, 0: codes.Unknown, 1: codes.Unknown, -1: codes.Unknown, math.MinInt64: codes.Unknown,
		int64(JSONRPC(codes.NotFound)) + 1<<32: codes.Unknown,
	} {
		if got := FromJSONRPC(n); got != want {
			t.Errorf("FromJSONRPC(%d) = %v, want %v", n, got, want)
		}
	}
}

func TestStatusRoundTrip(t *testing.T) {
	details := []proto.Message{
		&errdetails.ErrorInfo{Reason: "FULL", Domain: "kv", Metadata: map[string]string{"k": "v"}},
		&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: "key", Description: "empty"}}},
		&errdetails.RequestInfo{},
	}
	for _, c := range all()[1:] {
		want := status.New(c, "why: “so”\n")
		p := want.Proto()
		for _, d := range details {
			a, err := anypb.New(d)
			if err != nil {
				t.Fatal(err)
			}
			p.Details = append(p.Details, a)
		}
		want = status.FromProto(p)
		got := Status(want.Code(), want.Message(), Details(want))
		if !proto.Equal(want.Proto(), got.Proto()) {
			t.Errorf("code %d: got %v, want %v", c, got.Proto(), want.Proto())
		}
	}
}

func TestDetailsOfUnknownTypes(t *testing.T) {
	s := status.FromProto(&spb.Status{Code: 5, Details: []*anypb.Any{{TypeUrl: "example.com/their.Message", Value: []byte{8, 1}}}})
	want := []Detail{{Type: "their.Message", Value: []byte{8, 1}}}
	if d := cmp.Diff(want, Details(s)); d != "" {
		t.Error(d)
	}
	if ds := Details(status.New(codes.NotFound, "")); ds != nil {
		t.Errorf("details of a status without: %v", ds)
	}
}

func TestStatusIsNeverOK(t *testing.T) {
	s := Status(codes.OK, "failed", nil)
	if s.Code() != codes.Unknown || s.Message() != "failed" || s.Err() == nil {
		t.Errorf("got %v", s)
	}
	// A detail can be read by the type that it says.
	info, err := status.New(codes.Aborted, "").WithDetails(protoadapt.MessageV1Of(&errdetails.ErrorInfo{Reason: "R"}))
	if err != nil {
		t.Fatal(err)
	}
	got := Status(codes.Aborted, "", Details(info)).Details()
	if len(got) != 1 || got[0].(*errdetails.ErrorInfo).GetReason() != "R" {
		t.Errorf("details: %v", got)
	}
}

// docs/spec/status.md has the table for readers.
func TestPageHasTheTable(t *testing.T) {
	page, err := os.ReadFile("../../../docs/spec/status.md")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) < 6 {
			continue
		}
		for i := range cells {
			cells[i] = strings.Trim(cells[i], " `\n")
		}
		if _, err := strconv.Atoi(cells[1]); err == nil {
			got = append(got, strings.Join(cells[1:5], " "))
		}
	}
	want := make([]string, 0, len(table))
	for _, r := range table {
		rpc := strconv.Itoa(r.jsonrpc)
		if r.code == codes.OK {
			rpc = "–"
		}
		want = append(want, fmt.Sprintf("%d %s %d %s", r.code, r.name, r.http, rpc))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("docs/spec/status.md differs from the table (-code +page):\n%s", d)
	}
}
