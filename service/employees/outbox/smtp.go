package outbox

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/smtp"
	"net/textproto"
)

// SMTP delivers to a server, by a connection of its own for each message. It
// uses TLS if the server offers that (RFC 3207), and then the server's
// certificate must be good.
type SMTP struct {
	// Addr is the server, such as "localhost:25".
	Addr string
	// Hello is the name that this host calls itself by. Default "localhost".
	Hello string
	// TLS configures STARTTLS. Default: the authorities of the system, the
	// server's name from Addr.
	TLS *tls.Config
	// RequireTLS refuses a server that does not offer STARTTLS.
	RequireTLS bool
	// Auth signs in, if it is set.
	Auth smtp.Auth
}

// Deliver implements [Transport]. What the server refuses for good, with a
// reply of 500 or above, is a permanent error.
func (s *SMTP) Deliver(ctx context.Context, m *Mail) error {
	err := s.deliver(ctx, m)
	if ended := ctx.Err(); err != nil && ended != nil {
		return fmt.Errorf("%s: %w", s.Addr, ended) // and not what became of the connection then
	}
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s: %w", s.Addr, err)
	var reply *textproto.Error
	if errors.As(err, &reply) && reply.Code >= 500 {
		return Permanent(err)
	}
	return err
}

func (s *SMTP) deliver(ctx context.Context, m *Mail) error {
	host, _, err := net.SplitHostPort(s.Addr)
	if err != nil {
		return Permanent(err)
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", s.Addr)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // QUIT has said all
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	c, err := smtp.NewClient(conn, host)
	if err != nil {
		return err
	}
	hello := s.Hello
	if hello == "" {
		hello = "localhost"
	}
	if err := c.Hello(hello); err != nil {
		return err
	}
	if err := s.secure(c, host); err != nil {
		return err
	}
	if s.Auth != nil {
		if err := c.Auth(s.Auth); err != nil {
			return err
		}
	}
	if err := c.Mail(m.From); err != nil {
		return err
	}
	if err := c.Rcpt(m.To); err != nil {
		return err
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(m.Data); err != nil {
		return err
	}
	if err := w.Close(); err != nil { // the server's answer: from here on the mail is its own
		return err
	}
	_ = c.Quit() // a connection that breaks now takes nothing back
	return nil
}

func (s *SMTP) secure(c *smtp.Client, host string) error {
	if ok, _ := c.Extension("STARTTLS"); !ok {
		if s.RequireTLS {
			return Permanent(errors.New("the server does not offer STARTTLS"))
		}
		return nil
	}
	config := &tls.Config{}
	if s.TLS != nil {
		config = s.TLS.Clone()
	}
	if config.ServerName == "" {
		config.ServerName = host
	}
	return c.StartTLS(config)
}
