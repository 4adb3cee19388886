package grpcwire

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"github.com/everywire/everywire/wire/wiretest/probepb"
)

// post sends one call as a client that is not grpc-go would, with net/http's
// HTTP/2, and returns the response with its body and its trailers read.
func post(t *testing.T, addr, path string, header http.Header, messages ...[]byte) (*http.Response, []byte) {
	t.Helper()
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &protocols}
	t.Cleanup(transport.CloseIdleConnections)
	var body bytes.Buffer
	for _, m := range messages {
		body.WriteByte(0)
		body.Write(binary.BigEndian.AppendUint32(nil, uint32(len(m))))
		body.Write(m)
	}
	req, err := http.NewRequestWithContext(testContext(t), http.MethodPost, "http://"+addr+path, &body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	req.Header.Set("TE", "trailers")
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, data
}

// grpcStatus reads the status from trailers, or from the headers of a reply
// that has only trailers.
func grpcStatus(t *testing.T, resp *http.Response) (codes.Code, string) {
	t.Helper()
	for _, h := range []http.Header{resp.Trailer, resp.Header} {
		if s := h.Get("Grpc-Status"); s != "" {
			n, err := strconv.ParseUint(s, 10, 32)
			if err != nil {
				t.Fatal(err)
			}
			return codes.Code(n), h.Get("Grpc-Message")
		}
	}
	t.Fatalf("no grpc-status in %v, %v", resp.Header, resp.Trailer)
	return 0, ""
}

func TestContentTypes(t *testing.T) {
	addr, _ := start(t, testRegistry())
	protoBody, protoReply := []byte{0x0a, 0x02, 20, 21}, []byte{0x08, 41}
	jsonBody, jsonReply := []byte(`{"numbers":[20,21]}`), []byte(`{"sum":41}`)
	msgpackBody, msgpackReply := []byte("\x81\xa7numbers\x92\x14\x15"), []byte("\x81\xa3sum\x29")
	cborBody, cborReply := []byte("\xa1\x67numbers\x82\x14\x15"), []byte("\xa1\x63sum\x18\x29")
	for _, test := range []struct {
		contentType string
		body, reply []byte
		http        int
		code        codes.Code
	}{
		{"application/grpc", protoBody, protoReply, 200, codes.OK},
		{"application/grpc+proto", protoBody, protoReply, 200, codes.OK},
		{"application/grpc+protobuf", protoBody, protoReply, 200, codes.OK},
		{"application/grpc+json", jsonBody, jsonReply, 200, codes.OK},
		{"application/grpc+JSON", jsonBody, jsonReply, 200, codes.OK},
		{"application/grpc+msgpack", msgpackBody, msgpackReply, 200, codes.OK},
		{"application/grpc+cbor", cborBody, cborReply, 200, codes.OK},
		{"application/grpc; charset=utf-8", protoBody, protoReply, 200, codes.OK},
		{"application/grpc+proto;charset=utf-8", protoBody, protoReply, 200, codes.OK},
		{"application/grpc+json ; charset=utf-8; v=1", jsonBody, jsonReply, 200, codes.OK},
		{"application/grpc;json", jsonBody, jsonReply, 200, codes.OK},
		{"application/grpc+avro", protoBody, nil, 200, codes.Unimplemented},
		{"application/grpc+avro;charset=utf-8", protoBody, nil, 200, codes.Unimplemented},
		{"application/grpc;avro", protoBody, nil, 200, codes.Unimplemented},
		{"application/grpc+json+x", jsonBody, nil, 200, codes.Unimplemented},
		{"application/grpcweb", protoBody, nil, 415, codes.InvalidArgument},
		{"application/json", jsonBody, nil, 415, codes.InvalidArgument},
		{"", protoBody, nil, 415, codes.InvalidArgument},
	} {
		t.Run(test.contentType, func(t *testing.T) {
			header := http.Header{}
			if test.contentType != "" {
				header.Set("Content-Type", test.contentType)
			}
			resp, body := post(t, addr, "/"+sumMethod, header, test.body)
			code, msg := grpcStatus(t, resp)
			if resp.StatusCode != test.http || code != test.code {
				t.Fatalf("got HTTP %d, %v %q", resp.StatusCode, code, msg)
			}
			if test.reply == nil {
				if len(body) != 0 {
					t.Errorf("got the body %q", body)
				}
				return
			}
			if !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/grpc") {
				t.Errorf("the reply's content-type is %q", resp.Header.Get("Content-Type"))
			}
			if want := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(test.reply))), test.reply...); !bytes.Equal(body, want) {
				t.Errorf("got % x, want % x", body, want)
			}
		})
	}
}

// A subtype that is not known is refused before any handler runs, on streams
// and on the built-in services too.
func TestUnknownSubtypeRunsNothing(t *testing.T) {
	addr, _ := start(t, testRegistry())
	cc, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(rawCodec{"avro"})))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	for _, method := range []string{
		probepb.Probe_Chat_FullMethodName, probepb.Probe_Download_FullMethodName,
		"/grpc.health.v1.Health/Watch", "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
	} {
		s, err := cc.NewStream(testContext(t), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
		if err != nil {
			t.Fatal(err)
		}
		var out []byte
		wantCode(t, s.RecvMsg(&out), codes.Unimplemented)
	}
	var out []byte
	wantCode(t, cc.Invoke(testContext(t), "/grpc.health.v1.Health/Check", []byte{}, &out), codes.Unimplemented)
}

// What a client got wrong is InvalidArgument with the place, not Internal.
func TestUndecodableRequest(t *testing.T) {
	addr, _ := start(t, testRegistry())
	for _, test := range []struct{ contentType, path, body, want string }{
		{"application/grpc", "/" + sumMethod, "\xff", "request of arith.Arith/Sum: "},
		{"application/grpc+json", "/" + sumMethod, `{"numbers":[1,"x"]}`, "numbers"},
		{"application/grpc+json", "/" + sumMethod, "", "request of arith.Arith/Sum: "},
		{"application/grpc+msgpack", "/" + sumMethod, "\xc1", "request of arith.Arith/Sum: "},
		{"application/grpc", "/everywire.wiretest.Probe/Run", "\xff", "request of everywire.wiretest.Probe/Run: "},
		{"application/grpc+json", "/everywire.wiretest.Probe/Upload", "[]", "request of everywire.wiretest.Probe/Upload: "},
		{"application/grpc", "/everywire.wiretest.Probe/Download", "\xff", "request of everywire.wiretest.Probe/Download: "},
	} {
		t.Run(test.contentType+test.path, func(t *testing.T) {
			resp, _ := post(t, addr, test.path, http.Header{"Content-Type": {test.contentType}}, []byte(test.body))
			code, msg := grpcStatus(t, resp)
			if code != codes.InvalidArgument || !strings.Contains(msg, test.want) {
				t.Errorf("got %v %q, want %q in it", code, msg, test.want)
			}
		})
	}
}

func TestMalformedCalls(t *testing.T) {
	addr, _ := start(t, testRegistry())
	plain := func() http.Header { return http.Header{"Content-Type": {"application/grpc"}} }
	with := func(k, v string) http.Header {
		h := plain()
		h.Set(k, v)
		return h
	}
	body := []byte{0x0a, 0x01, 1}
	for name, test := range map[string]struct {
		path     string
		header   http.Header
		messages [][]byte
		want     codes.Code
	}{
		"no message":          {"/" + sumMethod, plain(), nil, codes.Internal},
		"two messages":        {"/" + sumMethod, plain(), [][]byte{body, body}, codes.Internal},
		"bad timeout":         {"/" + sumMethod, with("Grpc-Timeout", "soon"), [][]byte{body}, codes.Internal},
		"timeout has passed":  {"/" + sumMethod, with("Grpc-Timeout", "0n"), [][]byte{body}, codes.DeadlineExceeded},
		"bad binary metadata": {"/" + sumMethod, with("X-Bin", "*"), [][]byte{body}, codes.Internal},
		"unknown encoding":    {"/" + sumMethod, with("Grpc-Encoding", "lzma"), [][]byte{body}, codes.Unimplemented},
		"bad method name":     {"/sum", plain(), [][]byte{body}, codes.Unimplemented},
	} {
		t.Run(name, func(t *testing.T) {
			resp, _ := post(t, addr, test.path, test.header, test.messages...)
			if code, msg := grpcStatus(t, resp); code != test.want {
				t.Errorf("got %v %q, want %v", code, msg, test.want)
			}
		})
	}
}

func TestDetailsOnTheWire(t *testing.T) {
	addr, _ := start(t, testRegistry())
	resp, _ := post(t, addr, "/"+sumMethod, http.Header{"Content-Type": {"application/grpc+json"}}, []byte(`{"numbers":[-1]}`))
	raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(resp.Trailer.Get("Grpc-Status-Details-Bin")+resp.Header.Get("Grpc-Status-Details-Bin"), "="))
	if err != nil {
		t.Fatal(err)
	}
	var s spb.Status
	if err := proto.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	if s.GetCode() != int32(codes.OutOfRange) || len(s.GetDetails()) != 1 {
		t.Errorf("got %v", &s)
	}
}

func FuzzSubtype(f *testing.F) {
	for _, s := range []string{"", "+", ";", "+json", ";json", "+proto; a=b", "; a=b", "+ JSON ;"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, rest string) {
		got := subtypeOf(contentType + rest)
		if strings.ContainsRune(got, ';') || got != strings.TrimSpace(got) {
			t.Errorf("subtype of %q is %q", rest, got)
		}
		if name, params, ok := strings.Cut(rest, ";"); ok && got != subtypeOf(contentType+name) && name != "" {
			t.Errorf("the parameters %q change the subtype of %q to %q", params, rest, got)
		}
	})
}
