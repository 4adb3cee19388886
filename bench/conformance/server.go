package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"strconv"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/bench/conformance/suite"
	"github.com/everywire/everywire/wire"
)

// serve is the server under test: it starts as the runner asks for, says where,
// and ends when ctx does.
func serve(ctx context.Context, in io.Reader, out io.Writer) error {
	req := new(suite.ServerCompatRequest)
	if err := readFrame(in, req); err != nil {
		return err
	}
	reg := everywire.NewRegistry(everywire.MaxCallTime(0)) // the suite expects no deadline where it sets none
	suite.RegisterConformanceServiceServer(reg, service{})
	target := wire.Target{Wire: "connect", Transport: "http", TLS: req.GetUseTls(), Addrs: []string{"127.0.0.1:0"}}
	if req.GetProtocol() == suite.Protocol_PROTOCOL_GRPC {
		target.Wire, target.Transport = "grpc", "tcp"
	}
	opts := []wire.ServeOption{
		wire.WithLimits(everywire.Limits{MaxMessage: int(req.GetMessageReceiveLimit())}),
		wire.WithLogger(slog.New(slog.DiscardHandler)), // of clients that misbehave on purpose
	}
	if req.GetUseTls() {
		cfg, err := serverTLS(req)
		if err != nil {
			return err
		}
		opts = append(opts, wire.WithTLSConfig(cfg))
	}
	server, err := wire.Serve(ctx, reg, []string{target.String()}, opts...)
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(server.Targets()[0].Addrs[0])
	if err != nil {
		return err
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return err
	}
	err = writeFrame(out, &suite.ServerCompatResponse{Host: host, Port: uint32(n), PemCert: req.GetServerCreds().GetCert()})
	if err != nil {
		return err
	}
	<-ctx.Done()
	_ = server.Shutdown(ctx) // nobody waits for what is still running
	return nil
}

func serverTLS(req *suite.ServerCompatRequest) (*tls.Config, error) {
	cert, err := tls.X509KeyPair(req.GetServerCreds().GetCert(), req.GetServerCreds().GetKey())
	if err != nil {
		return nil, err
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}}
	if pem := req.GetClientTlsCert(); len(pem) > 0 {
		if cfg.ClientCAs, err = pool(pem); err != nil {
			return nil, err
		}
		cfg.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return cfg, nil
}

func pool(pem []byte) (*x509.CertPool, error) {
	p := x509.NewCertPool()
	if !p.AppendCertsFromPEM(pem) {
		return nil, errors.New("no certificate in the request")
	}
	return p, nil
}
