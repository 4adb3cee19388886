package wire

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// tlsConfig makes the TLS configuration of a target for one end; nil for
// cleartext. A client's has a server name only if one was asked for: else it is
// that of each address. A server needs a certificate; with ca it demands one of clients.
func (t *Target) tlsConfig(base *tls.Config, at side) (*tls.Config, error) {
	if !t.TLS {
		return nil, nil //nolint:nilnil // nil is cleartext, as in crypto/tls's own APIs
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if base != nil {
		cfg = base.Clone()
	}
	certFile, keyFile := t.Options["cert"], t.Options["key"]
	if (certFile == "") != (keyFile == "") {
		return nil, fmt.Errorf("the options cert and key go together")
	}
	if certFile != "" {
		cert, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			return nil, fmt.Errorf("options cert and key: %w", err)
		}
		cfg.Certificates = []tls.Certificate{cert}
	}
	if file := t.Options["ca"]; file != "" {
		pool, err := readPool(file)
		if err != nil {
			return nil, fmt.Errorf("option ca: %w", err)
		}
		if at == serveSide {
			cfg.ClientCAs, cfg.ClientAuth = pool, tls.RequireAndVerifyClientCert
		} else {
			cfg.RootCAs = pool
		}
	}
	if at == serveSide {
		if len(cfg.Certificates) == 0 && cfg.GetCertificate == nil && cfg.GetConfigForClient == nil {
			return nil, fmt.Errorf("a TLS server needs a certificate: give the options cert and key")
		}
		return cfg, nil
	}
	if name := t.Options["servername"]; name != "" {
		cfg.ServerName = name
	}
	return cfg, nil
}

func readPool(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no PEM certificate", file)
	}
	return pool, nil
}
