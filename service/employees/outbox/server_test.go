package outbox

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// A server is an SMTP server as small as RFC 5321 lets it be. It keeps what it
// has taken.
type server struct {
	t        *testing.T
	listener net.Listener
	tls      *tls.Config // offered by STARTTLS, if set
	// reply answers a command in another way than usual: "" is as usual,
	// "hang up" closes the connection, "silence" says nothing. "CONNECT" and
	// "." are the beginning and the end of the data. n counts what it was asked
	// for each command.
	reply func(command string, n int) string

	mu       sync.Mutex
	asked    map[string]int
	mails    []received
	sessions sync.WaitGroup
	conns    map[net.Conn]struct{}
}

// received is a mail as the server got it.
type received struct {
	from, to string
	data     string
	secure   bool
	hello    string
}

func newServer(t *testing.T, secure *tls.Config, reply func(command string, n int) string) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, listener: l, tls: secure, reply: reply, asked: map[string]int{}, conns: map[net.Conn]struct{}{}}
	s.sessions.Go(s.serve)
	t.Cleanup(func() {
		l.Close()
		s.mu.Lock()
		for c := range s.conns {
			c.Close()
		}
		s.mu.Unlock()
		s.sessions.Wait()
	})
	return s
}

func (s *server) addr() string { return s.listener.Addr().String() }

func (s *server) taken() []received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]received(nil), s.mails...)
}

func (s *server) count(command string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[command]
}

func (s *server) serve() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[conn] = struct{}{}
		s.mu.Unlock()
		s.sessions.Go(func() {
			defer func() {
				conn.Close()
				s.mu.Lock()
				delete(s.conns, conn)
				s.mu.Unlock()
			}()
			s.session(conn)
		})
	}
}

// say answers a command; it returns false if the session is over.
func (s *server) say(conn net.Conn, command, usual string) bool {
	s.mu.Lock()
	s.asked[command]++
	n := s.asked[command]
	s.mu.Unlock()
	text := usual
	if s.reply != nil {
		if other := s.reply(command, n); other != "" {
			text = other
		}
	}
	switch text {
	case "hang up":
		return false
	case "silence":
		_, _ = conn.Read(make([]byte, 1)) // until the client is gone
		return false
	}
	_, err := conn.Write([]byte(text + "\r\n"))
	return err == nil
}

func (s *server) session(conn net.Conn) {
	var mail received
	if !s.say(conn, "CONNECT", "220 test ESMTP") {
		return
	}
	in := bufio.NewReader(conn)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		command, rest, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		usual := "250 ok"
		switch command {
		case "EHLO":
			mail.hello = rest
			if s.tls != nil && !mail.secure {
				usual = "250-test\r\n250 STARTTLS"
			}
		case "STARTTLS":
			usual = "220 go ahead"
		case "MAIL":
			mail.from = rest
		case "RCPT":
			mail.to = rest
		case "DATA":
			usual = "354 go ahead"
		case "QUIT":
			usual = "221 bye"
		}
		if !s.say(conn, command, usual) {
			return
		}
		switch command {
		case "STARTTLS":
			secure := tls.Server(conn, s.tls)
			if secure.Handshake() != nil {
				return
			}
			conn, in, mail.secure = secure, bufio.NewReader(secure), true
		case "DATA":
			if s.reply != nil && s.reply("DATA", s.count("DATA")) != "" {
				continue
			}
			var data strings.Builder
			for {
				line, err := in.ReadString('\n')
				if err != nil {
					return
				}
				if line == ".\r\n" {
					break
				}
				data.WriteString(strings.TrimPrefix(line, "."))
			}
			mail.data = data.String()
			if s.reply == nil || s.reply(".", s.count(".")+1) == "" {
				s.mu.Lock()
				s.mails = append(s.mails, mail)
				s.mu.Unlock()
			}
			if !s.say(conn, ".", "250 taken") {
				return
			}
		case "QUIT":
			return
		}
	}
}

// certificate makes one for 127.0.0.1, and a pool of authorities that knows it.
func certificate(t *testing.T) (*tls.Config, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, pool
}
