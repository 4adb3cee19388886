package employees

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"

	"github.com/everywire/everywire/service/employees/outbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fields returns the names of the fields that an error is about.
func fields(err error) []string {
	var names []string
	for _, d := range status.Convert(err).Details() {
		if bad, ok := d.(*errdetails.BadRequest); ok {
			for _, v := range bad.GetFieldViolations() {
				names = append(names, v.GetField())
			}
		}
	}
	return names
}

// Every field that is wrong is named, and no call is made then.
func TestValidation(t *testing.T) {
	s := New(Options{})
	ctx := t.Context()
	for name, tt := range map[string]struct {
		call func() error
		want string
	}{
		"list": {func() error {
			_, err := s.list(ctx, &ListRequest{Language: "e!", PerPage: 101, Offset: -1})
			return err
		}, "language perpage offset"},
		"list, less than nothing": {func() error { _, err := s.list(ctx, &ListRequest{PerPage: -1}); return err }, "perpage"},
		"create":                  {func() error { _, err := s.create(ctx, &CreateRequest{Language: "x"}); return err }, "name email language"},
		"create, long": {func() error {
			_, err := s.create(ctx, &CreateRequest{Name: strings.Repeat("ü", 101), Email: strings.Repeat("a", 260) + "@example.org", Language: "abcdefghi"})
			return err
		}, "name email language"},
		"create, two lines": {func() error {
			_, err := s.create(ctx, &CreateRequest{Name: "A\r\nBcc: b", Email: "a@example.org\r\nx"})
			return err
		}, "name email"},
		"create, blank": {func() error {
			_, err := s.create(ctx, &CreateRequest{Name: " \t", Email: "Ada <a@example.org>"})
			return err
		}, "name email"},
		"rename": {func() error { _, err := s.rename(ctx, &RenameRequest{ID: 1, IfMatch: `"1", x`}); return err }, "name ifMatch"},
		"fire":   {func() error { _, err := s.fire(ctx, &FireRequest{ID: 1, IfMatch: "latest"}); return err }, "ifMatch"},
		"email":  {func() error { _, err := s.email(ctx, &EmailRequest{UserID: 1, Subject: "a\nb"}); return err }, "text subject"},
		"email, long": {func() error {
			_, err := s.email(ctx, &EmailRequest{UserID: 1, Subject: strings.Repeat("x", 201), Text: strings.Repeat("x", 65537)})
			return err
		}, "text subject"},
		"watch": {func() error { return s.watch(&WatchRequest{Language: "%"}, nil) }, "language"},
	} {
		err := tt.call()
		if got := strings.Join(fields(err), " "); status.Code(err) != codes.InvalidArgument || got != tt.want {
			t.Errorf("%s: %v names %q, want %q", name, err, got, tt.want)
		}
		for _, field := range strings.Fields(tt.want) {
			if !strings.Contains(status.Convert(err).Message(), field+": ") {
				t.Errorf("%s: the message %q does not name %s", name, status.Convert(err).Message(), field)
			}
		}
	}
	if page, err := s.list(ctx, &ListRequest{}); err != nil || page.Total != int64(len(invented)) {
		t.Errorf("after that there are %v, %v", page, err)
	}
}

func TestPages(t *testing.T) {
	var staff []Employee
	for i := range 130 {
		staff = append(staff, Employee{Name: strconv.Itoa(i), Language: []string{"en", "pt-BR"}[i%2]})
	}
	s := New(Options{Staff: staff})
	for _, tt := range []struct {
		in           ListRequest
		first, count int
		total        int64
	}{
		{ListRequest{}, 1, 20, 130},
		{ListRequest{PerPage: 100}, 1, 100, 130},
		{ListRequest{PerPage: 100, Offset: 100}, 101, 30, 130},
		{ListRequest{Offset: 129}, 130, 1, 130},
		{ListRequest{Offset: 130}, 0, 0, 130},
		{ListRequest{Offset: 1<<63 - 1, PerPage: 100}, 0, 0, 130},
		{ListRequest{Language: "PT-br", PerPage: 3, Offset: 1}, 4, 3, 65},
		{ListRequest{Language: "fr"}, 0, 0, 0},
	} {
		out, err := s.list(t.Context(), &tt.in)
		if err != nil || len(out.Employees) != tt.count || out.Total != tt.total || tt.count > 0 && out.Employees[0].ID != int64(tt.first) {
			t.Errorf("%+v: %+v, %v", tt.in, out, err)
		}
	}
}

// Random changes against a list that is kept in the plainest way. Versions are
// right, and the events tell what has happened.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := New(Options{Staff: []Employee{}, MaxEmployees: 5})
		var (
			model  = map[int64]Employee{}
			last   int64
			events []string
		)
		ctx := t.Context()
		ids := rapid.Int64Range(-1, 12)
		match := rapid.SampledFrom([]string{"", "*", `"1"`, "2", `"7", "3"`, `W/"1"`})
		matches := func(m string, e Employee) bool {
			return m == "" || m == "*" || !strings.HasPrefix(m, "W/") && strings.Contains(m, strconv.FormatInt(e.Version, 10))
		}
		rt.Repeat(map[string]func(*rapid.T){
			"create": func(t *rapid.T) {
				email := rapid.SampledFrom([]string{"a@x.org", "A@x.org", "b@x.org", "c@x.org", "d@x.org", "e@x.org", "f@x.org"}).Draw(t, "email")
				taken := false
				for _, e := range model {
					taken = taken || strings.EqualFold(e.Email, email)
				}
				out, err := s.create(ctx, &CreateRequest{Name: " N ", Email: email})
				switch {
				case len(model) == 5:
					if status.Code(err) != codes.ResourceExhausted {
						t.Fatalf("the list is full: %v", err)
					}
				case taken:
					if status.Code(err) != codes.AlreadyExists {
						t.Fatalf("%s is taken: %v", email, err)
					}
				default:
					last++
					if err != nil || out.ID != last || out.Version != 1 || out.Name != "N" || out.Language != "en" || out.Hired.IsZero() {
						t.Fatalf("created %+v, %v", out, err)
					}
					model[last] = *out
					events = append(events, fmt.Sprint("created ", last))
				}
			},
			"rename": func(t *rapid.T) {
				id, m, name := ids.Draw(t, "id"), match.Draw(t, "match"), rapid.SampledFrom([]string{"N", "M"}).Draw(t, "name")
				out, err := s.rename(ctx, &RenameRequest{ID: id, Name: name, IfMatch: m})
				old, ok := model[id]
				switch {
				case !ok:
					if status.Code(err) != codes.NotFound {
						t.Fatalf("there is no %d: %v", id, err)
					}
				case old.Name == name:
					if err != nil || *out != old {
						t.Fatalf("nothing to do: %+v, %v", out, err)
					}
				case !matches(m, old):
					if status.Code(err) != codes.Aborted {
						t.Fatalf("%s is not %d: %v", m, old.Version, err)
					}
				default:
					old.Name = name
					old.Version++
					if err != nil || *out != old {
						t.Fatalf("renamed %+v, %v, want %+v", out, err, old)
					}
					model[id] = old
					events = append(events, fmt.Sprint("renamed ", id))
				}
			},
			"fire": func(t *rapid.T) {
				id, m := ids.Draw(t, "id"), match.Draw(t, "match")
				_, err := s.fire(ctx, &FireRequest{ID: id, IfMatch: m})
				old, ok := model[id]
				switch {
				case !ok && id >= 1 && id <= last:
					if err != nil {
						t.Fatalf("%d is gone already: %v", id, err)
					}
				case !ok:
					if status.Code(err) != codes.NotFound {
						t.Fatalf("there never was %d: %v", id, err)
					}
				case !matches(m, old):
					if status.Code(err) != codes.Aborted {
						t.Fatalf("%s is not %d: %v", m, old.Version, err)
					}
				default:
					if err != nil {
						t.Fatal(err)
					}
					delete(model, id)
					events = append(events, fmt.Sprint("fired ", id))
				}
			},
			"": func(t *rapid.T) {
				page, err := s.list(ctx, &ListRequest{})
				if err != nil || len(page.Employees) != len(model) {
					t.Fatalf("the list is %+v, %v, want %v", page, err, model)
				}
				for _, e := range page.Employees {
					if got, err := s.get(ctx, &GetRequest{ID: e.ID}); err != nil || *got != model[e.ID] || *e != *got {
						t.Fatalf("%d is %+v, %v, want %+v", e.ID, got, err, model[e.ID])
					}
				}
				var told []string
				for _, e := range s.feed.events {
					told = append(told, fmt.Sprint(e.Kind, " ", e.Employee.ID))
				}
				if !slices.Equal(told, events) {
					t.Fatalf("the events are %v, want %v", told, events)
				}
			},
		})
	})
}

// watching is the server's end of a stream. It blocks while nobody takes what
// is sent.
type watching struct {
	grpc.ServerStream
	ctx  context.Context
	sent chan *Event
}

func (w *watching) Context() context.Context     { return w.ctx }
func (w *watching) SendHeader(metadata.MD) error { return nil }
func (w *watching) Send(e *Event) error {
	select {
	case w.sent <- e:
		return nil
	case <-w.ctx.Done():
		return w.ctx.Err()
	}
}

func (s *Service) startWatch(ctx context.Context, in *WatchRequest) (*watching, <-chan error) {
	w, done := &watching{ctx: ctx, sent: make(chan *Event)}, make(chan error, 1)
	go func() { done <- s.watch(in, w) }()
	synctest.Wait()
	return w, done
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		all, allDone := s.startWatch(ctx, &WatchRequest{})
		french, frenchDone := s.startWatch(ctx, &WatchRequest{Language: "fr"})
		if _, err := s.fire(ctx, &FireRequest{ID: 1}); err != nil {
			t.Fatal(err)
		}
		if e := <-all.sent; e.Sequence != 1 || e.Kind != "fired" || e.Employee.ID != 1 || e.Employee.Name != invented[0].Name {
			t.Errorf("got %+v", e)
		}
		if _, err := s.rename(ctx, &RenameRequest{ID: 4, Name: "Léa Martin"}); err != nil {
			t.Fatal(err)
		}
		for _, w := range []*watching{all, french} {
			if e := <-w.sent; e.Sequence != 2 || e.Kind != "renamed" || e.Employee.Name != "Léa Martin" || e.Employee.Version != 2 {
				t.Errorf("got %+v", e)
			}
		}
		// One who was away.
		later, laterDone := s.startWatch(ctx, &WatchRequest{After: new(int64)})
		for n := int64(1); n <= 2; n++ {
			if e := <-later.sent; e.Sequence != n {
				t.Errorf("got %+v, want event %d", e, n)
			}
		}
		for n, want := range map[int64]codes.Code{-1: codes.OutOfRange, 3: codes.OutOfRange} {
			if err := s.watch(&WatchRequest{After: &n}, nil); status.Code(err) != want {
				t.Errorf("after %d: %v", n, err)
			}
		}
		cancel()
		if err := <-frenchDone; status.Code(err) != codes.Canceled {
			t.Errorf("a client that left: %v", err)
		}
		<-allDone
		<-laterDone
		if len(s.feed.watchers) != 0 {
			t.Errorf("%d are still watching", len(s.feed.watchers))
		}

		_, done := s.startWatch(t.Context(), &WatchRequest{})
		s.Close()
		if err := <-done; status.Code(err) != codes.Unavailable {
			t.Errorf("after Close: %v", err)
		}
		if err := s.watch(&WatchRequest{}, nil); status.Code(err) != codes.Unavailable {
			t.Errorf("after Close: %v", err)
		}
		if _, err := s.fire(t.Context(), &FireRequest{ID: 2}); err != nil {
			t.Error(err)
		}
	})
}

// A client that reads nothing is dropped and holds up nobody, and only so many
// events are kept.
func TestSlowWatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		_, done := s.startWatch(t.Context(), &WatchRequest{})
		rename := func() {
			for i := range 2 {
				if _, err := s.rename(t.Context(), &RenameRequest{ID: 1, Name: fmt.Sprint("N", i)}); err != nil {
					t.Fatal(err)
				}
			}
		}
		w, _ := s.startWatch(t.Context(), &WatchRequest{Language: "fr"}) // which passes over them
		for range kept {
			rename()
			synctest.Wait()
		}
		select {
		case err := <-done:
			t.Fatalf("a watcher that sends: %v", err)
		default: // it is in Send still
		}
		if len(s.feed.watchers) != 1 || len(s.feed.events) > kept {
			t.Errorf("%d watch, %d events are kept", len(s.feed.watchers), len(s.feed.events))
		}
		if err := s.watch(&WatchRequest{After: new(int64)}, w); status.Code(err) != codes.OutOfRange {
			t.Errorf("events that are gone: %v", err)
		}
		s.Close()
	})
}

func TestSlowWatcherIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		w, done := s.startWatch(t.Context(), &WatchRequest{})
		for i := range behind + 10 {
			if _, err := s.rename(t.Context(), &RenameRequest{ID: 1, Name: strconv.Itoa(i)}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		got := 0
		for {
			select {
			case <-w.sent:
				got++
				continue
			case err := <-done:
				if status.Code(err) != codes.ResourceExhausted || got != behind+1 {
					t.Errorf("after %d events: %v", got, err)
				}
			}
			break
		}
	})
}

// A mailbox is a transport that keeps what it is given.
type mailbox struct {
	mu    sync.Mutex
	mails []*outbox.Mail
}

func (b *mailbox) Deliver(_ context.Context, m *outbox.Mail) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mails = append(b.mails, m)
	return nil
}

func TestEmail(t *testing.T) {
	var box mailbox
	out, err := outbox.New(&box, outbox.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{Outbox: out})
	reply, err := s.email(t.Context(), &EmailRequest{UserID: 5, Text: "こんにちは", Subject: "会議"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.email(t.Context(), &EmailRequest{UserID: 99, Text: "x"}); status.Code(err) != codes.NotFound {
		t.Errorf("to nobody: %v", err)
	}
	if err := out.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(box.mails) != 1 || box.mails[0].ID != reply.MessageID || box.mails[0].To != "yuki.mori@example.org" {
		t.Errorf("delivered %v", box.mails)
	}
	if _, err := s.email(t.Context(), &EmailRequest{UserID: 5, Text: "x"}); status.Code(err) != codes.Unavailable {
		t.Errorf("after the outbox was closed: %v", err)
	}
	if _, err := New(Options{}).email(t.Context(), &EmailRequest{UserID: 5, Text: "x"}); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("without an outbox: %v", err)
	}
}

type stuck struct{}

func (stuck) Deliver(ctx context.Context, _ *outbox.Mail) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestOutboxIsFull(t *testing.T) {
	out, err := outbox.New(stuck{}, outbox.Options{MaxQueue: 1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{Outbox: out})
	for _, want := range []codes.Code{codes.OK, codes.ResourceExhausted} {
		if _, err := s.email(t.Context(), &EmailRequest{UserID: 1, Text: "x"}); status.Code(err) != want {
			t.Errorf("%v, want %v", err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := out.Close(ctx); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("closed: %v", err)
	}
}

func TestManyAtOnce(t *testing.T) {
	s := New(Options{})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 50 {
				e, err := s.create(t.Context(), &CreateRequest{Name: "x", Email: fmt.Sprintf("%d.%d@example.org", i, j)})
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := s.rename(t.Context(), &RenameRequest{ID: e.ID, Name: "y", IfMatch: `"1"`}); err != nil {
					t.Error(err)
				}
				if _, err := s.fire(t.Context(), &FireRequest{ID: e.ID, IfMatch: "2"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if s.feed.last != 8*50*3 || len(s.store.all) != len(invented) {
		t.Errorf("%d events, %d employees", s.feed.last, len(s.store.all))
	}
}
