package outbox

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net/mail"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// An Address is a mailbox, with the name of who reads it or without.
type Address struct {
	Name    string
	Address string // such as ada@example.org
}

// ErrAddress is the error of [CheckAddress].
var ErrAddress = errors.New("not an e-mail address such as ada@example.org, in ASCII")

// CheckAddress returns an error if s is not one mailbox. It must be ASCII: not
// every server takes others (RFC 6531).
func CheckAddress(s string) error {
	a, err := mail.ParseAddress(s)
	if err != nil || a.Name != "" || a.Address != s || len(s) > 254 || !isPrintable(s, unicode.MaxASCII) {
		return ErrAddress
	}
	return nil
}

func (a Address) check() error {
	if !isPrintable(a.Name, unicode.MaxRune) {
		return fmt.Errorf("the name %q has a character that no header can have", a.Name)
	}
	if err := CheckAddress(a.Address); err != nil {
		return fmt.Errorf("%q is %w", a.Address, err)
	}
	return nil
}

// A Message is a text to one reader.
type Message struct {
	To      Address
	Subject string
	Text    string
}

// A Mail is a message as it travels.
type Mail struct {
	// ID is its Message-ID, without the angle brackets.
	ID string
	// From and To are the envelope's addresses.
	From, To string
	// Date is when it was queued.
	Date time.Time
	// Data is the header and the body, all in ASCII, with lines that end in
	// CR LF.
	Data []byte
}

// maxLine is RFC 5322's limit (section 2.1.1), with the line's end.
const maxLine = 1000

// compose makes a mail of a message; RFC 5322, with the text in UTF-8 by RFC
// 2045 and RFC 2047.
func compose(from Address, m Message, now time.Time) (*Mail, error) {
	if err := m.To.check(); err != nil {
		return nil, err
	}
	// A line break would end the header, and what follows would be another one.
	if !isPrintable(m.Subject, unicode.MaxRune) {
		return nil, fmt.Errorf("the subject %q has a character that no header can have", m.Subject)
	}
	if !utf8.ValidString(m.Text) {
		return nil, errors.New("the text is not valid UTF-8")
	}
	_, domain, _ := strings.Cut(from.Address, "@")
	p := &Mail{ID: rand.Text() + "@" + domain, From: from.Address, To: m.To.Address, Date: now}
	var b bytes.Buffer
	header := func(name, value string) {
		// Encoded words may stand on lines of their own.
		b.WriteString(name + ": " + strings.ReplaceAll(value, "?= =?", "?=\r\n =?") + "\r\n")
	}
	header("From", from.header())
	header("To", m.To.header())
	header("Subject", mime.QEncoding.Encode("utf-8", m.Subject))
	header("Date", now.Format("Mon, 02 Jan 2006 15:04:05 -0700"))
	header("Message-ID", "<"+p.ID+">")
	header("MIME-Version", "1.0")
	header("Content-Type", "text/plain; charset=utf-8")
	header("Content-Transfer-Encoding", "quoted-printable")
	for line := range bytes.Lines(b.Bytes()) {
		if len(line) > maxLine {
			return nil, fmt.Errorf("a header of %d bytes: a line has at most %d", len(line), maxLine)
		}
	}
	b.WriteString("\r\n")
	text := quotedprintable.NewWriter(&b) // its lines are at most 76 bytes
	_, err := text.Write([]byte(m.Text))
	if err = errors.Join(err, text.Close()); err != nil {
		return nil, err
	}
	if !bytes.HasSuffix(b.Bytes(), []byte("\r\n")) {
		b.WriteString("\r\n")
	}
	p.Data = b.Bytes()
	return p, nil
}

// header is the address as it stands in a header.
func (a Address) header() string {
	if isPrintable(a.Name, unicode.MaxASCII) {
		return (&mail.Address{Name: a.Name, Address: a.Address}).String()
	}
	// In base64, for in a name an encoded word has few characters that may stand
	// for themselves (RFC 2047, section 5).
	return mime.BEncoding.Encode("utf-8", a.Name) + " <" + a.Address + ">"
}

// isPrintable reports whether s is valid UTF-8 up to the last rune, without
// control characters and line breaks of any kind.
func isPrintable(s string, last rune) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return r > last || unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
	})
}
