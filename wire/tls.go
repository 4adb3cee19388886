package wire

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
)

// serverTLS makes the TLS configuration of a server; nil for cleartext. It needs a
// certificate; with the option ca it demands one of clients. Files are read again
// when they have changed.
func (t *Target) serverTLS(base *tls.Config, logger *slog.Logger) (*tls.Config, error) {
	if !t.TLS {
		return nil, nil //nolint:nilnil // nil is cleartext, as in crypto/tls's own APIs
	}
	pair, authorities, err := t.tlsFiles(logger)
	if err != nil {
		return nil, err
	}
	cfg := baseTLS(base)
	if pair != nil {
		cfg.Certificates, cfg.GetCertificate = nil, func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.get(), nil }
	}
	if len(cfg.Certificates) == 0 && cfg.GetCertificate == nil && cfg.GetConfigForClient == nil {
		return nil, errors.New("a TLS server needs a certificate: give the options cert and key")
	}
	if authorities == nil {
		return cfg, nil
	}
	cfg.ClientCAs, cfg.ClientAuth = authorities.get(), tls.RequireAndVerifyClientCert
	// ClientCAs are fixed for a configuration, so clients get another one.
	own, choose := cfg.Clone(), cfg.GetConfigForClient
	cfg.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		chosen := own
		if choose != nil {
			switch other, err := choose(hello); {
			case err != nil:
				return nil, err
			case other != nil:
				chosen = other
			}
		}
		chosen = chosen.Clone()
		chosen.ClientCAs, chosen.ClientAuth = authorities.get(), tls.RequireAndVerifyClientCert
		return chosen, nil
	}
	return cfg, nil
}

// clientTLS makes the TLS configuration of a client; nil for cleartext. It has a
// server name only if one was asked for: else it is that of each address. With the
// option ca, roots returns the authorities that servers' certificates must come from.
func (t *Target) clientTLS(base *tls.Config, logger *slog.Logger) (cfg *tls.Config, roots func() *x509.CertPool, err error) {
	if !t.TLS {
		return nil, nil, nil
	}
	pair, authorities, err := t.tlsFiles(logger)
	if err != nil {
		return nil, nil, err
	}
	cfg = baseTLS(base)
	if pair != nil {
		cfg.Certificates, cfg.GetClientCertificate = nil, func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair.get(), nil }
	}
	if name := t.Options["servername"]; name != "" {
		cfg.ServerName = name
	}
	if authorities != nil {
		roots = authorities.get
	}
	return cfg, roots, nil
}

func baseTLS(base *tls.Config) *tls.Config {
	if base == nil {
		return &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return base.Clone()
}

// tlsFiles reads the files of the options cert and key, and ca; what is not given is
// nil.
func (t *Target) tlsFiles(logger *slog.Logger) (pair *watched[tls.Certificate], authorities *watched[x509.CertPool], err error) {
	certFile, keyFile := t.Options["cert"], t.Options["key"]
	if (certFile == "") != (keyFile == "") {
		return nil, nil, errors.New("the options cert and key go together")
	}
	if certFile != "" {
		pair, err = watch(logger, []string{certFile, keyFile}, func() (*tls.Certificate, error) {
			cert, err := tls.LoadX509KeyPair(certFile, keyFile)
			return &cert, err
		})
		if err != nil {
			return nil, nil, fmt.Errorf("options cert and key: %w", err)
		}
	}
	if file := t.Options["ca"]; file != "" {
		authorities, err = watch(logger, []string{file}, func() (*x509.CertPool, error) { return readPool(file) })
		if err != nil {
			return nil, nil, fmt.Errorf("option ca: %w", err)
		}
	}
	return pair, authorities, nil
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
