package client

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
)

// trusting returns a client that trusts the authorities of a PEM file beside those that it
// trusts already. The given client stays as it is.
func trusting(c *http.Client, file string) (*http.Client, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("client: cannot read the authorities of Options.CAFile: %w", err)
	}
	from := c.Transport
	if from == nil {
		from = http.DefaultTransport
	}
	standard, ok := from.(*http.Transport)
	if !ok {
		return nil, fmt.Errorf("client: Options.CAFile needs an *http.Transport in Options.HTTP, which has a %T: set its RootCAs instead", from)
	}
	own := standard.Clone()
	if own.TLSClientConfig == nil {
		own.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	pool := authorities(own.TLSClientConfig.RootCAs)
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("client: %s has no certificate: expected PEM blocks that begin with -----BEGIN CERTIFICATE-----", file)
	}
	own.TLSClientConfig.RootCAs = pool
	with := *c
	with.Transport = own
	return &with, nil
}

// authorities are those of a pool, or the machine's.
func authorities(pool *x509.CertPool) *x509.CertPool {
	if pool != nil {
		return pool.Clone()
	}
	if machine, err := x509.SystemCertPool(); err == nil {
		return machine
	}
	return x509.NewCertPool() // the machine has none that can be read
}
