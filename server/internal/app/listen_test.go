package app

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// writePair writes a certificate with that number for this machine, and its key.
func writePair(t *testing.T, folder string, number int64, modified time.Time) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(number), Subject: pkix.Name{CommonName: "recoup"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &secret.PublicKey, secret)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key")
	for name, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: sealed}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, modified, modified); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pool.AddCert(parsed)
	return cert, key, pool
}

// served runs a node until the test ends.
func served(t *testing.T, o Options) *Node {
	t.Helper()
	o.Database = "sqlite:" + filepath.Join(t.TempDir(), "recoup.db")
	n, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- n.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return n
}

// A node speaks TLS with the certificate that its files hold now; files that cannot
// be read leave the last one in force.
func TestTLSReload(t *testing.T) {
	t.Parallel()
	folder, clock := t.TempDir(), &shifted{}
	cert, key, pool := writePair(t, folder, 1, time.Now().Add(-time.Hour))
	n := served(t, Options{Listen: "127.0.0.1:0", TLSCert: cert, TLSKey: key, Now: clock.now})
	number := func(pool *x509.CertPool) int64 {
		t.Helper()
		c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}}
		response, err := c.Get(n.URL() + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		return response.TLS.PeerCertificates[0].SerialNumber.Int64()
	}
	if got := number(pool); got != 1 || !strings.HasPrefix(n.URL(), "https://") {
		t.Errorf("%s has certificate %d", n.URL(), got)
	}
	if err := os.WriteFile(cert, []byte("half a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	clock.by.Add(int64(2 * certificateLook))
	if got := number(pool); got != 1 {
		t.Errorf("files that cannot be read give certificate %d", got)
	}
	_, _, renewed := writePair(t, folder, 2, time.Now())
	clock.by.Add(int64(2 * certificateLook))
	if got := number(renewed); got != 2 {
		t.Errorf("renewed files give certificate %d", got)
	}
	if _, err := Open(t.Context(), Options{Database: "sqlite:" + filepath.Join(folder, "x.db"), TLSCert: cert}); err == nil || !strings.Contains(err.Error(), "go together") {
		t.Errorf("a certificate without its key: %v", err)
	}
}

// Metrics at an address of their own need no key, and nothing else is there.
func TestMetricsListen(t *testing.T) {
	t.Parallel()
	n := served(t, Options{Listen: "127.0.0.1:0", MetricsListen: "127.0.0.1:0"})
	for path, want := range map[string]int{"/metrics": http.StatusOK, "/v1/policy": http.StatusNotFound} {
		response, err := http.Get("http://" + n.figures.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if response.StatusCode != want || want == http.StatusOK && !bytes.Contains(text, []byte("recoup_errors{")) && !bytes.Contains(text, []byte("recoup_database_up 1")) {
			t.Errorf("%s answers %d %.200s", path, response.StatusCode, text)
		}
	}
}

// A node that others can reach without TLS says so.
func TestWarnsWithoutTLS(t *testing.T) {
	t.Parallel()
	for address, warns := range map[string]bool{"127.0.0.1:0": false, "0.0.0.0:0": true} {
		var log bytes.Buffer
		n, err := Open(t.Context(), Options{Database: "sqlite:" + filepath.Join(t.TempDir(), "recoup.db"), Listen: address, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if strings.Contains(log.String(), "without TLS") != warns {
			t.Errorf("%s: %s", address, log.String())
		}
	}
}
