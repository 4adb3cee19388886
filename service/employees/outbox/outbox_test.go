package outbox

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var quiet = slog.New(slog.DiscardHandler)

// open makes an outbox that ends with the test.
func open(t *testing.T, transport Transport, opts Options) *Outbox {
	t.Helper()
	opts.Logger = quiet
	o, err := New(transport, opts)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// flush closes the outbox when all is delivered or given up.
func flush(t *testing.T, o *Outbox) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := o.Close(ctx); err != nil {
		t.Error(err)
	}
}

var hello = Message{To: Address{Name: "Ada", Address: "ada@example.org"}, Subject: "Hello", Text: "Hi.\n.\n..two\nbye"}

func TestDelivery(t *testing.T) {
	config, pool := certificate(t)
	for name, secure := range map[string]*tls.Config{"plain": nil, "tls": config} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, secure, nil)
			o := open(t, &SMTP{Addr: s.addr(), Hello: "here", TLS: &tls.Config{RootCAs: pool}}, Options{From: Address{Address: "hr@example.org"}})
			id, err := o.Add(hello)
			if err != nil {
				t.Fatal(err)
			}
			flush(t, o)
			mails := s.taken()
			if len(mails) != 1 {
				t.Fatalf("the server took %d mails", len(mails))
			}
			m := mails[0]
			if m.from != "FROM:<hr@example.org>" || m.to != "TO:<ada@example.org>" || m.secure != (secure != nil) || m.hello != "here" {
				t.Errorf("got %+v", m)
			}
			got, err := mail.ReadMessage(strings.NewReader(m.data))
			if err != nil {
				t.Fatal(err)
			}
			if got.Header.Get("Message-ID") != "<"+id+">" {
				t.Errorf("the Message-ID is %q, want %q", got.Header.Get("Message-ID"), id)
			}
			if text := textOf(t, got); text != "Hi.\r\n.\r\n..two\r\nbye\r\n" {
				t.Errorf("the text is %q", text)
			}
		})
	}
}

func textOf(t interface{ Fatal(...any) }, m *mail.Message) string {
	b, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A server's failures: some pass, some do not.
func TestFailures(t *testing.T) {
	config, pool := certificate(t)
	once := func(command, reply string) func(string, int) string {
		return func(c string, n int) string {
			if c == command && n == 1 {
				return reply
			}
			return ""
		}
	}
	for name, tt := range map[string]struct {
		reply   func(string, int) string
		secure  *tls.Config
		require bool
		taken   int
		tries   int // connections
	}{
		"busy":                   {reply: once("CONNECT", "421 too busy"), taken: 1, tries: 2},
		"hangs up at once":       {reply: once("CONNECT", "hang up"), taken: 1, tries: 2},
		"hangs up after DATA":    {reply: once(".", "hang up"), taken: 1, tries: 2},
		"hangs up after QUIT":    {reply: once("QUIT", "hang up"), taken: 1, tries: 1},
		"grey list":              {reply: once("RCPT", "450 later"), taken: 1, tries: 2},
		"full for now":           {reply: once(".", "452 full"), taken: 1, tries: 2},
		"no EHLO":                {reply: once("EHLO", "502 what?"), taken: 1, tries: 1},
		"says nothing":           {reply: once("MAIL", "silence"), taken: 1, tries: 2},
		"no such mailbox":        {reply: once("RCPT", "550 nobody here"), tries: 1},
		"spam":                   {reply: once(".", "554 no"), tries: 1},
		"no data":                {reply: once("DATA", "503 no"), tries: 1},
		"never":                  {reply: func(c string, _ int) string { return map[string]string{"MAIL": "451 no"}[c] }, tries: 3},
		"no TLS where needed":    {require: true, tries: 1},
		"a certificate unknown":  {secure: config, tries: 3},
		"STARTTLS is refused":    {secure: config, reply: once("STARTTLS", "454 not now"), tries: 3},
		"TLS where it is needed": {secure: config, require: true, tries: 1, taken: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, tt.secure, tt.reply)
			transport := &SMTP{Addr: s.addr(), RequireTLS: tt.require, TLS: &tls.Config{}}
			if name == "TLS where it is needed" {
				transport.TLS.RootCAs = pool
			}
			timeout := 20 * time.Second
			if name == "says nothing" {
				timeout = 500 * time.Millisecond
			}
			o := open(t, transport, Options{MaxAttempts: 3, Backoff: time.Millisecond, Timeout: timeout})
			if _, err := o.Add(hello); err != nil {
				t.Fatal(err)
			}
			flush(t, o)
			if got := len(s.taken()); got != tt.taken {
				t.Errorf("%d mails were taken, want %d", got, tt.taken)
			}
			if got := s.count("CONNECT"); got != tt.tries && name != "says nothing" || got < tt.tries {
				t.Errorf("%d connections, want %d", got, tt.tries)
			}
		})
	}
}

// Nobody listens.
func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	err = (&SMTP{Addr: l.Addr().String()}).Deliver(t.Context(), &Mail{})
	var permanent *permanentError
	if err == nil || errors.As(err, &permanent) {
		t.Errorf("got %v", err)
	}
	if err := (&SMTP{Addr: "nowhere"}).Deliver(t.Context(), &Mail{}); !errors.As(err, &permanent) {
		t.Errorf("an address without a port: %v", err)
	}
}

// fake is a transport that fails as it is told.
type fake struct {
	fail  func(n int) error
	times []time.Duration
	start time.Time
	ids   []string
}

func (f *fake) Deliver(_ context.Context, m *Mail) error {
	f.times = append(f.times, time.Since(f.start))
	err := f.fail(len(f.times))
	if err == nil {
		f.ids = append(f.ids, m.ID)
	}
	return err
}

func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{fail: func(int) error { return errors.New("not now") }, start: time.Now()}
		o := open(t, f, Options{MaxAttempts: 6, Backoff: time.Second, MaxBackoff: 5 * time.Second})
		if _, err := o.Add(hello); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		// The waits are 1, 2, 4, 5 and 5 seconds.
		if got := fmt.Sprint(f.times); got != "[0s 1s 3s 7s 12s 17s]" {
			t.Errorf("attempts at %v", got)
		}
		if err := o.Close(t.Context()); err != nil {
			t.Errorf("after the message was given up: %v", err)
		}
	})
}

// A message that has to wait keeps no other from being delivered.
func TestOthersGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{fail: func(n int) error { return map[int]error{1: errors.New("later"), 3: Permanent(errors.New("never"))}[n] }, start: time.Now()}
		o := open(t, f, Options{Backoff: time.Minute})
		var ids []string
		for range 4 {
			id, err := o.Add(hello)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
			synctest.Wait()
		}
		if len(f.ids) != 2 || f.ids[0] != ids[1] || f.ids[1] != ids[3] {
			t.Errorf("delivered %v of %v", f.ids, ids)
		}
		if err := o.Close(t.Context()); err != nil { // waits for the first one
			t.Error(err)
		}
		if len(f.ids) != 3 || f.ids[2] != ids[0] || time.Since(f.start) != time.Minute {
			t.Errorf("delivered %v of %v after %v", f.ids, ids, time.Since(f.start))
		}
	})
}

// stuck is a transport that waits for its context.
type stuck struct{}

func (stuck) Deliver(ctx context.Context, _ *Mail) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := open(t, stuck{}, Options{MaxQueue: 2, Timeout: time.Hour})
		for i, want := range []error{nil, nil, ErrFull, ErrFull} {
			if _, err := o.Add(hello); !errors.Is(err, want) {
				t.Errorf("message %d: %v, want %v", i+1, err, want)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := o.Close(ctx); err == nil || err.Error() != "the outbox has e-mails that were not delivered: 2" {
			t.Errorf("closed: %v", err)
		}
		if _, err := o.Add(hello); !errors.Is(err, ErrClosed) {
			t.Errorf("a message after Close: %v", err)
		}
		if err := o.Close(ctx); err == nil {
			t.Error("a second Close says that all is well")
		}
	})
	if _, err := New(stuck{}, Options{From: Address{Address: "nobody"}}); err == nil {
		t.Error("a sender without a domain")
	}
}

func TestDir(t *testing.T) {
	dir := t.TempDir()
	o := open(t, Dir(dir), Options{})
	for range 3 {
		if _, err := o.Add(hello); err != nil {
			t.Fatal(err)
		}
	}
	flush(t, o)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 3 {
		t.Fatalf("the folder has %v, %v", files, err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil || !strings.HasSuffix(name, ".eml") {
			t.Fatal(name, err)
		}
		if _, err := mail.ReadMessage(bytes.NewReader(data)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
	if err := Dir(filepath.Join(dir, "none")).Deliver(t.Context(), &Mail{}); err == nil {
		t.Error("a folder that is not there")
	}
}

// Whatever the name, subject and text are, the mail says just that, in lines
// that every server takes, and has the headers that it should have.
func TestCompose(t *testing.T) {
	printable := rapid.OneOf(
		rapid.StringOf(rapid.Rune().Filter(func(r rune) bool { return isPrintable(string(r), 0x10ffff) })),
		rapid.Just(strings.Repeat("森", 200)), // some twenty lines
	)
	now := time.Date(2026, time.February, 3, 4, 5, 6, 0, time.FixedZone("", 3600))
	decoder := new(mime.WordDecoder)
	rapid.Check(t, func(t *rapid.T) {
		in := Message{
			To:      Address{Name: printable.Draw(t, "name"), Address: "ada@example.org"},
			Subject: printable.Draw(t, "subject"), Text: rapid.String().Draw(t, "text"),
		}
		m, err := compose(Address{Name: "Büro", Address: "hr@example.org"}, in, now)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(m.Data) {
			if !bytes.HasSuffix(line, []byte("\r\n")) || bytes.ContainsAny(line[:len(line)-2], "\r\n") || len(line) > 1000 {
				t.Fatalf("the line %q", line)
			}
			if i := bytes.IndexFunc(line, func(r rune) bool { return r > 126 }); i >= 0 {
				t.Fatalf("the line %q is not ASCII", line)
			}
		}
		got, err := mail.ReadMessage(bytes.NewReader(m.Data))
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Header) != 8 {
			t.Errorf("the headers are %v", got.Header)
		}
		to, err := mail.ParseAddress(got.Header.Get("To"))
		if err != nil || to.Address != in.To.Address || to.Name != in.To.Name {
			t.Errorf("to %q: %v, %v", got.Header.Get("To"), to, err)
		}
		subject, err := decoder.DecodeHeader(got.Header.Get("Subject"))
		if err != nil || subject != strings.Trim(in.Subject, " \t") && subject != in.Subject {
			t.Errorf("the subject is %q, %v, want %q", subject, err, in.Subject)
		}
		if date, err := got.Header.Date(); err != nil || !date.Equal(now) {
			t.Errorf("the date is %v, %v", date, err)
		}
		lines := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(in.Text)
		if text := strings.ReplaceAll(textOf(t, got), "\r\n", "\n"); text != lines && text != lines+"\n" {
			t.Errorf("the text is %q, want %q", text, lines)
		}
	})
}

// Nothing that is put into a header can begin another one.
func TestInjection(t *testing.T) {
	good := hello
	for name, m := range map[string]Message{
		"subject CR LF":  {To: good.To, Subject: "x\r\nBcc: all@example.org"},
		"subject LF":     {To: good.To, Subject: "x\nBcc: all@example.org"},
		"subject CR":     {To: good.To, Subject: "x\rBcc: all@example.org"},
		"subject NUL":    {To: good.To, Subject: "x\x00"},
		"subject LS":     {To: good.To, Subject: "x\u2028y"},
		"subject bytes":  {To: good.To, Subject: "\xff"},
		"subject length": {To: good.To, Subject: strings.Repeat("x", 1000)},
		"name":           {To: Address{Name: "Ada\r\nBcc: all@example.org", Address: "ada@example.org"}},
		"address":        {To: Address{Address: "ada@example.org>\r\nRCPT TO:<all@example.org"}},
		"two addresses":  {To: Address{Address: "ada@example.org, all@example.org"}},
		"with a name":    {To: Address{Address: "Ada <ada@example.org>"}},
		"not ASCII":      {To: Address{Address: "ädä@example.org"}},
		"no address":     {},
		"text":           {To: good.To, Text: "\xff"},
	} {
		if _, err := compose(good.To, m, time.Now()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
