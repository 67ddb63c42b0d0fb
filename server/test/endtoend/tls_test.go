package endtoend

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
	"github.com/recoup-dev/recoup/server/test/program"
)

// secureSite is a node with a certificate of an authority that this machine does not trust.
func secureSite(t *testing.T) (s *site, ca string) {
	t.Helper()
	a := newAuthority(t)
	a.issue("node", a)
	s = newSite(t, live.SQLite(t))
	s.flags = []string{"--tls-cert", a.file("node.pem"), "--tls-key", a.file("node-key.pem")}
	s.start()
	return s, a.file("ca.pem")
}

// recoupAt runs a command against a server and returns everything that it prints.
func (s *site) recoupAt(server string, env []string, args ...string) (string, error) {
	s.Helper()
	cmd := exec.CommandContext(s.Context(), program.Path(s.T), args...)
	cmd.Env = append(append(os.Environ(), "RECOUP_SERVER="+server, "RECOUP_KEY="+s.key(), "COLUMNS=200"), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Commands trust the authority that --ca-file or $RECOUP_CA_FILE names. Without it the error
// names both, and no command that would fail in the same way.
func TestPrivateAuthority(t *testing.T) {
	t.Parallel()
	s, ca := secureSite(t)
	secure, plain := "https://"+*s.address.Load(), "http://"+*s.address.Load()
	s.eventually("a status without findings: it exits with 1 until the node is the leader", func() bool {
		_, err := s.recoupAt(secure, nil, "status", "--ca-file", ca)
		return err == nil
	})
	commands := [][]string{
		{"status"}, {"codes", "list"}, {"codes", "show", "TLS_ERROR"}, {"keys", "list"}, {"policy", "show"}, {"errors", "list"}, {"doctor"},
	}
	for _, args := range commands {
		out, err := s.recoupAt(secure, nil, args...)
		if err == nil || !strings.Contains(out, "TLS_ERROR") || !strings.Contains(out, "unknown authority") ||
			!strings.Contains(out, "--ca-file FILE or $RECOUP_CA_FILE") || strings.Contains(out, "recoup codes show") {
			t.Errorf("%v without the authority: %v\n%s", args, err, out)
		}
		if out, err := s.recoupAt(secure, nil, append(args, "--ca-file", ca)...); err != nil && !strings.Contains(out, "finding") {
			t.Errorf("%v with --ca-file: %v\n%s", args, err, out)
		}
		if out, err := s.recoupAt(secure, []string{"RECOUP_CA_FILE=" + ca}, args...); err != nil && !strings.Contains(out, "finding") {
			t.Errorf("%v with $RECOUP_CA_FILE: %v\n%s", args, err, out)
		}
	}
	bench := func(flags ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), program.Bench(t), append([]string{"clean", "--server", secure}, flags...)...)
		cmd.Env = append(os.Environ(), "RECOUP_KEY="+s.key())
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := bench(); err == nil || !strings.HasPrefix(out, "recoup-bench: TLS_ERROR") || !strings.Contains(out, "--ca-file FILE") {
		t.Errorf("recoup-bench clean without the authority: %v\n%s", err, out)
	}
	if out, err := bench("--ca-file", ca); err != nil {
		t.Errorf("recoup-bench clean with --ca-file: %v\n%s", err, out)
	}
	for want, file := range map[string]string{"no such file": filepath.Join(t.TempDir(), "none.pem"), "no certificate": s.keyFile} {
		if out, err := s.recoupAt(secure, nil, "status", "--ca-file", file); err == nil || !strings.Contains(out, want) || !strings.Contains(out, file) {
			t.Errorf("--ca-file with %s: %v\n%s", want, err, out)
		}
	}
	out, err := s.recoupAt(plain, nil, "status")
	if err == nil || !strings.Contains(out, "This server speaks HTTPS") || !strings.Contains(out, "--server "+secure) || strings.Contains(out, "VALIDATION_ERROR") {
		t.Errorf("plain HTTP to an HTTPS port: %v\n%s", err, out)
	}
	if out, err := s.recoupAt(plain, nil, "healthcheck", "--listen", *s.address.Load()); err == nil || !strings.Contains(out, "speaks HTTPS") {
		t.Errorf("healthcheck without the certificate's settings: %v\n%s", err, out)
	}
}

// The Go client trusts the authorities of a file, with a transport of its own or of the caller.
func TestPrivateAuthorityGo(t *testing.T) {
	t.Parallel()
	s, ca := secureSite(t)
	c, err := client.New(client.FromEnv(func(name string) string {
		return map[string]string{"RECOUP_SERVER": "https://" + *s.address.Load(), "RECOUP_KEY": s.key(), "RECOUP_CA_FILE": ca}[name]
	}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.New(c).System.Tables(t.Context()); err != nil {
		t.Errorf("with the authority: %v", err)
	}
	if c, err = client.New(client.Options{Server: "http://" + *s.address.Load(), Key: s.key()}); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.New(c).System.Tables(t.Context()); fault.Classify(err).Code != fault.CodeTLSError {
		t.Errorf("plain HTTP to an HTTPS port: %v", err)
	}
}

const trustScript = `
import { readFileSync } from "node:fs";
import { Client } from "./dist/index.js";
import { fetchTrusting } from "./dist/node.js";
const address = process.env.ADDRESS, key = process.env.RECOUP_KEY;
const fetch = fetchTrusting(readFileSync(process.env.RECOUP_CA_FILE));
for (const options of [{ server: "https://" + address }, { server: "https://" + address, fetch }, { server: "http://" + address }]) {
  const recoup = new Client({ key, ...options });
  try {
    const { error } = await recoup.report({ table: "outreach.dol_errors", entity_id: "CO-1", code: "NETWORK_TIMEOUT" }, { retry: false });
    const stopped = await recoup.claim({ worker: "w", wait_seconds: 30 }, { signal: AbortSignal.timeout(200) }).catch((e) => e.code);
    console.log(error.state, stopped);
  } catch (e) {
    console.log(e.code, e.message);
  }
}`

const statusScript = `
import { fetchTrusting } from "./dist/node.js";
const fetch = fetchTrusting(process.env.RECOUP_CA);
for (const status of [205, 600, 999, 200]) {
  console.log(await fetch(process.env.ADDRESS + "/" + status).then((r) => r.status, (e) => e.name));
}`

// A status that fetch does not allow fails the request and does not end the caller's process.
func TestTrustingFetchOutlivesStatuses(t *testing.T) {
	tier.Only(t, tier.TypeScript)
	t.Parallel()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, err := strconv.Atoi(r.URL.Path[1:])
		if err != nil {
			t.Error(err)
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	cmd := nodeCommand(typeScriptPackage(t), "--input-type=module", "--eval", statusScript)
	cmd.Env = append(os.Environ(), "ADDRESS="+s.URL, "RECOUP_CA="+string(ca))
	out, err := cmd.CombinedOutput()
	if got := strings.Fields(string(out)); err != nil || !slices.Equal(got, []string{"205", "RangeError", "RangeError", "200"}) {
		t.Errorf("it prints %s: %v", out, err)
	}
}

// The TypeScript client trusts an authority in Node with the fetch of recoup/node.
func TestPrivateAuthorityTypeScript(t *testing.T) {
	tier.Only(t, tier.TypeScript)
	t.Parallel()
	s, ca := secureSite(t)
	cmd := nodeCommand(typeScriptPackage(t), "--input-type=module", "--eval", trustScript)
	cmd.Env = append(os.Environ(), "ADDRESS="+*s.address.Load(), "RECOUP_KEY="+s.key(), "RECOUP_CA_FILE="+ca)
	out, err := cmd.CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(lines) != 3 || !strings.HasPrefix(lines[0], "TLS_ERROR ") || lines[1] != "RETRY_PENDING REQUEST_CANCELLED" || !strings.HasPrefix(lines[2], "TLS_ERROR This server speaks HTTPS") {
		t.Errorf("it prints %s: %v", out, err)
	}
}

// httpTrusting is a client that trusts an authority.
func httpTrusting(t *testing.T, ca string) *http.Client {
	t.Helper()
	text, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}}}
}

// reachableFolder is a folder that other users of the machine can enter.
func reachableFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for at := folder; at != os.TempDir() && at != "/"; at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}
