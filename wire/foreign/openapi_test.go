package foreign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/internal/needs"
)

type (
	member struct {
		_       struct{}  `wire:"name=staff.Member"`
		ID      int64     `wire:"1" json:",string" doc:"Given by the server."`
		Name    string    `wire:"2"`
		Since   time.Time `wire:"3"`
		Teams   []string  `wire:"4"`
		Version uint32    `wire:"5" http:"etag"`
	}
	memberID struct {
		_  struct{} `wire:"name=staff.MemberID"`
		ID int64    `wire:"1" json:",string"`
	}
	search struct {
		_        struct{} `wire:"name=staff.Search"`
		Tenant   string   `wire:"1" http:"header=X-Tenant"`
		Language []string `wire:"2" doc:"Languages, the preferred one first."`
		PerPage  int32    `wire:"3" http:"query=per-page" doc:"At most 100; <img src=x onerror=alert(1)> is no markup."`
		Where    *member  `wire:"4"`
	}
	found struct {
		_       struct{}  `wire:"name=staff.Found"`
		Asked   string    `wire:"1"`
		Members []*member `wire:"2"`
	}
	count32 struct {
		_     struct{} `wire:"name=staff.Count"`
		Count int32    `wire:"1"`
	}
)

// withStaff adds a service with what kv and arith do not have: parameters in
// headers and queries, a reply that is created, entity tags, a stream, and names
// and texts that would be harmful as markup.
func withStaff(s *service) *service {
	var ids atomic.Int64
	ids.Store(1 << 60) // more than a double holds
	reads := everywire.WithIdempotency(everywire.NoSideEffects)
	everywire.Handle(s.reg, "staff.Staff/Hire", func(_ context.Context, in *member) (*member, error) {
		in.ID, in.Version = ids.Add(1), 1
		return in, nil
	}, everywire.WithRoute("POST", "/staff", "*", everywire.Created("/staff/{id}")), everywire.WithDoc("Hires <b onclick=\"alert(1)\">somebody</b>.\n\n</script><script>alert(1)</script>"))
	everywire.Handle(s.reg, "staff.Staff/Get", func(_ context.Context, in *memberID) (*member, error) {
		if in.ID < 1<<60 {
			return nil, status.Errorf(codes.NotFound, "there is no member %d", in.ID)
		}
		return &member{ID: in.ID, Name: "Ada", Version: 7}, nil
	}, reads, everywire.WithRoute("GET", "/staff/{id}", ""))
	everywire.Handle(s.reg, "staff.Staff/Search", func(_ context.Context, in *search) (*found, error) {
		out := &found{Asked: fmt.Sprintf("%s %s %d", in.Tenant, strings.Join(in.Language, "+"), in.PerPage)}
		if in.Where != nil {
			out.Members = append(out.Members, in.Where)
		}
		return out, nil
	}, reads, everywire.WithRoute("GET", "/staff", ""))
	everywire.HandleServerStream(s.reg, "staff.Staff/Count", func(in *count32, stream grpc.ServerStreamingServer[count32]) error {
		for i := range in.Count {
			if err := stream.Send(&count32{Count: i + 1}); err != nil {
				return err
			}
		}
		return nil
	}, reads, everywire.WithRoute("GET", "/count", ""))
	everywire.HandleBidi(s.reg, "staff.Staff/Chat", func(stream grpc.BidiStreamingServer[memberID, member]) error {
		for {
			in, err := stream.Recv()
			switch {
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return err
			case in.ID == 0:
				return status.Error(codes.OutOfRange, "nobody is 0")
			}
			if err := stream.Send(&member{ID: in.ID}); err != nil {
				return err
			}
		}
	}, everywire.WithRoute("POST", "/staff/{id}:chat", "*"))
	s.reg.RegisterService(&grpc.ServiceDesc{
		ServiceName: `evil.<img src=x onerror="alert(1)">`,
		Methods:     []grpc.MethodDesc{{MethodName: `"><b onclick='alert(1)'>&amp;`}},
	}, nil)
	return s
}

// TestOpenAPIValidator: the documents are valid for the schemas of the OpenAPI
// Initiative.
func TestOpenAPIValidator(t *testing.T) {
	base := "http://" + withStaff(newService()).serve(t, "rest://127.0.0.1:0") + "/openapi.json"
	results := runNode(t, "openapi-validate.js", map[string]any{"urls": []string{base, base + "?version=3.0"}})
	check(t, results, map[string]string{
		base:                  `{"valid":true,"version":"3.1"}`,
		base + "?version=3.0": `{"valid":true,"version":"3.0"}`,
	})
}

// TestOpenAPIClient: a client that others' tools make from the document compiles
// and makes its calls.
func TestOpenAPIClient(t *testing.T) {
	base := "http://" + withStaff(newService()).serve(t, "rest://127.0.0.1:0/api") + "/api"
	results := runNode(t, "openapi-client.js", map[string]any{"document": base + "/openapi.json", "base": base})
	check(t, results, map[string]string{
		"sum":     `41`,
		"made":    `200`,
		"value":   `"aGk="`,
		"problem": `[404,"NOT_FOUND",404]`,
		"hired":   `[201,"/api/staff/1152921504606846977","1152921504606846977","Ada"]`,
		"fetched": `["\"7\"","Ada"]`,
		"again":   `304`,
		"found":   `"blue en+de 5"`,
		"where":   `"Ada"`,
		"stream":  `"{\"count\":1}\n{\"count\":2}\n"`,
	})
}

// TestDocsPage opens the documentation page in a browser: it is whole at several
// widths, in light and in dark, loads nothing from elsewhere, makes no markup of
// names and texts, and its forms make calls. SHOTS is a folder for pictures.
func TestDocsPage(t *testing.T) {
	chromium := needs.Program(t, "chromium", "on Debian, apt-get install chromium")
	page := "http://" + withStaff(newService()).serve(t, "rest://127.0.0.1:0/api") + "/api/docs"
	type try struct {
		Method string            `json:"method"`
		Route  string            `json:"route"`
		Values map[string]string `json:"values"`
	}
	results := runNode(t, "docs-page.js", map[string]any{
		"chromium": chromium, "profile": t.TempDir(), "url": page, "shots": os.Getenv("SHOTS"),
		"chat": "staff.Staff/Chat",
		"tries": map[string]try{
			"sum":    {"arith.Arith/Sum", "POST/sum", map[string]string{"Body": `{"numbers":[9007199254740993]}`}},
			"hire":   {"staff.Staff/Hire", "POST/staff", map[string]string{"Body": `{"name":"O'Hara"}`}},
			"get":    {"staff.Staff/Get", "GET/staff/{id}", map[string]string{"id": "5"}},
			"search": {"staff.Staff/Search", "GET/staff", map[string]string{"X-Tenant": "blue", "language": "en\nde", "per-page": "5"}},
			"count":  {"staff.Staff/Count", "GET/count", map[string]string{"count": "3"}},
			"events": {"staff.Staff/Count", "GET/staff.Staff/Count", map[string]string{"count": "1", "Accept": "text/event-stream"}},
			"create": {"io.grpc.KeyValueService/Create", "POST/kv", map[string]string{"Body": `{"key":"a2V5"}`}},
			"view":   {"io.grpc.KeyValueService/Retrieve", "GET/kv/{key}", map[string]string{"key": "a2V5", "Accept": "application/cbor"}},
		},
	})
	base := strings.TrimSuffix(page, "/docs")
	outcome := func(status, reply, messages, curl string) string {
		if reply != "" {
			reply = `"reply":` + reply + `,`
		}
		return fmt.Sprintf(`{"status":%q,"timed":true,"headers":true,%s"messages":%s,"curl":%q}`, status, reply, messages, strings.ReplaceAll(curl, "BASE", base))
	}
	said := `{\n  \"id\": \"%s\",\n  \"name\": \"\",\n  \"since\": \"0001-01-01T00:00:00Z\",\n  \"teams\": [],\n  \"version\": 0\n}`
	delete(results, "methods")
	check(t, results, map[string]string{
		"faults": `[]`, "troubles": `[]`, "elsewhere": `[]`, "markup": `0`,
		"chat":     fmt.Sprintf(`{"messages":["{}","`+said+`","{}","`+said+`"],"status":"Ended well"}`, "7", "7"),
		"failed":   `{"messages":["{}"],"status":"Failed with code 11: nobody is 0"}`,
		"title":    `"arith.Arith, echo.Echo, evil.<img src=x onerror=\"alert(1)\">, io.grpc.KeyValueService, peer.Peer, staff.Staff"`,
		"filtered": `["Sum","arith.SumReply","arith.SumRequest"]`,
		"sum":      outcome("200 OK", `"{\n  \"sum\": 9007199254740993\n}"`, "[]", "curl -X POST 'BASE/sum' \\\n  -H 'Content-Type: application/json' \\\n  -d '{\"numbers\":[9007199254740993]}'"),
		"hire": outcome("201 Created", `"{\n  \"id\": \"1152921504606846977\",\n  \"name\": \"O'Hara\",\n  \"since\": \"0001-01-01T00:00:00Z\",\n  \"teams\": [],\n  \"version\": 1\n}"`, "[]",
			"curl -X POST 'BASE/staff' \\\n  -H 'Content-Type: application/json' \\\n  -d '{\"name\":\"O'\\''Hara\"}'"),
		"get": outcome("404 Not Found", `"{\n  \"type\": \"about:blank\",\n  \"title\": \"Not Found\",\n  \"status\": 404,\n  \"detail\": \"there is no member 5\",\n  \"code\": \"NOT_FOUND\"\n}"`, "[]",
			"curl 'BASE/staff/5'"),
		"search": outcome("200 OK", `"{\n  \"asked\": \"blue en+de 5\",\n  \"members\": []\n}"`, "[]", "curl 'BASE/staff?language=en&language=de&per-page=5' \\\n  -H 'X-Tenant: blue'"),
		"count":  outcome("200 OK", "", `["{\n  \"count\": 1\n}","{\n  \"count\": 2\n}","{\n  \"count\": 3\n}"]`, "curl 'BASE/count?count=3' \\\n  -H 'Accept: application/x-ndjson' \\\n  -N"),
		"events": outcome("200 OK", "", `["{\n  \"count\": 1\n}","event: end\nid: everywire:end\n{}"]`, "curl 'BASE/staff.Staff/Count?count=1' \\\n  -H 'Accept: text/event-stream' \\\n  -N"),
		"create": outcome("200 OK", `"{\n  \"version\": 1\n}"`, "[]", "curl -X POST 'BASE/kv' \\\n  -H 'Content-Type: application/json' \\\n  -d '{\"key\":\"a2V5\"}'"),
		"view":   outcome("200 OK", `"a2 65 76 61 6c 75 65 40 67 76 65 72 73 69 6f 6e  .evalue@gversion\n01                                               ."`, "[]", "curl 'BASE/kv/a2V5' \\\n  -H 'Accept: application/cbor'"),
	})
}
