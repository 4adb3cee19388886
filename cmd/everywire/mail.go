package main

import (
	"context"
	"log/slog"
	"net"
	"os"
	"slices"

	"github.com/everywire/everywire/service/employees/outbox"
)

// openOutbox makes the outbox that the flags ask for, if any.
func (c *serveCmd) openOutbox(logger *slog.Logger) error {
	var transport outbox.Transport
	switch {
	case c.SMTP == "" && c.Outbox == "" && c.MailFrom == "":
		return nil
	case !slices.Contains(c.Services, "employees"):
		return usagef("--smtp, --outbox and --mail-from are for the service employees")
	case c.SMTP != "" && c.Outbox != "":
		return usagef("--smtp and --outbox: e-mails go one way or the other")
	case c.SMTP != "":
		if _, port, err := net.SplitHostPort(c.SMTP); err != nil || port == "" {
			return usagef("--smtp %s: want HOST:PORT, such as localhost:25", c.SMTP)
		}
		transport = &outbox.SMTP{Addr: c.SMTP}
	case c.Outbox != "":
		if err := os.MkdirAll(c.Outbox, 0o777); err != nil {
			return err
		}
		transport = outbox.Dir(c.Outbox)
	default:
		return usagef("--mail-from without --smtp or --outbox: no e-mail is sent")
	}
	var err error
	if c.mail, err = outbox.New(transport, outbox.Options{From: outbox.Address{Address: c.MailFrom}, Logger: logger}); err != nil {
		return usagef("--mail-from: %w", err)
	}
	return nil
}

// closeOutbox gives e-mails that wait as long as calls in flight.
func (c *serveCmd) closeOutbox() error {
	if c.mail == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.Drain)
	defer cancel()
	return c.mail.Close(ctx)
}
