package endtoend

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/bus/bustest"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
)

// clock is that of this machine, as the servers and nodes have it.
var clock = time.Now

// authority signs certificates for this machine.
type authority struct {
	*testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// newAuthority makes an authority, whose certificate is ca.pem in a folder of its own.
func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{T: t, dir: t.TempDir()}
	a.cert, a.key = a.issue("ca", nil)
	return a
}

// issue makes NAME.pem and NAME-key.pem; of whoever is nobody's, an authority.
func (a *authority) issue(name string, by *authority) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.Fatal(err)
	}
	now := clock()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true,
	}
	parent, signer := template, key
	if by == nil {
		template.IsCA, template.KeyUsage = true, x509.KeyUsageCertSign
	} else {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.Fatal(err)
	}
	a.write(name+".pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	a.write(name+"-key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.Fatal(err)
	}
	return cert, key
}

func (a *authority) write(name string, data []byte) {
	a.Helper()
	if err := os.WriteFile(a.file(name), data, 0o600); err != nil {
		a.Fatal(err)
	}
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

// documented is the servers' configuration of docs/scale.md.
func documented(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/scale.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, block := range strings.Split(string(page), "```") {
		if i%2 == 1 && strings.Contains(block, "authorization {") {
			return block
		}
	}
	t.Fatal("docs/scale.md shows no permissions")
	return ""
}

const busPassword = "correct-horse-battery"

// quiet wants a secret nowhere that a node says something.
func (s *sender) quiet(secrets ...string) {
	s.Helper()
	said := s.log.String() + s.recoupCommand("bus", "status") + s.recoupCommand("bus", "status", "--json") + s.recoupCommand("doctor") +
		s.recoupCommand("status") + s.ask(http.MethodGet, "/metrics", "").body + s.ask(http.MethodGet, "/v1/bus", "").body + s.ready().body
	for _, secret := range secrets {
		if strings.Contains(said, secret) {
			s.Errorf("%q is said in %s", secret, said)
		}
	}
}

// without wants a node that starts, takes events without its bus and says why not.
func (s *sender) without(flags []string, why ...string) {
	s.Helper()
	s.flags = flags
	s.start()
	s.must("without", 1)
	status := ""
	bustest.Eventually(s, "a cause of: "+strings.Join(why, ", "), func() bool {
		status = s.ask(http.MethodGet, "/v1/bus", "").body
		for _, part := range why {
			if !strings.Contains(status, part) {
				return false
			}
		}
		return strings.Contains(status, `"up":false`)
	})
	if log := s.log.String(); !strings.Contains(log, why[0]) || !strings.Contains(log, "level=ERROR") {
		s.Errorf("the log does not say %q: %s", why[0], log)
	}
	if doctor := s.recoupCommand("doctor"); !strings.Contains(doctor, "go to the database directly") {
		s.Errorf("the doctor says %s", doctor)
	}
	s.quiet(busPassword, "wrong-password")
}

// next ends the node, and forgets what it said.
func (s *sender) next() {
	s.Helper()
	if err := s.signal(syscall.SIGTERM); err != nil {
		s.Errorf("the node ended with %v", err)
	}
	s.log = &text{}
}

func newSender(t *testing.T) (s *sender, owner string) {
	t.Helper()
	owner, nodes := pgtest.Migrated(t)
	return &sender{site: newSite(t, database{Kind: "postgres", Owner: owner, Nodes: nodes}), ids: recoup.NewIDSource(rand.Reader), now: time.Now}, owner
}

// secured is servers as docs/scale.md has them, and who signs their certificates.
type secured struct {
	*bustest.Cluster
	ca       *authority
	settings string
	shown    []string // the certificate of a node
}

func newSecured(t *testing.T, servers int) *secured {
	t.Helper()
	c := &secured{ca: newAuthority(t)}
	c.ca.issue("server", c.ca)
	c.ca.issue("node", c.ca)
	c.settings = strings.ReplaceAll(strings.ReplaceAll(documented(t), "/etc/nats/", c.ca.dir+"/"), "CHANGE-ME", busPassword)
	c.shown = []string{"--bus-cert", c.ca.file("node.pem"), "--bus-key", c.ca.file("node-key.pem")}
	c.Cluster = bustest.StartSecured(t, servers, c.settings)
	bustest.Eventually(t, "the servers", func() bool { return busReady(c.Cluster) })
	return c
}

// flags are those of a node with a password and an authority that it trusts.
func (c *secured) flags(password, ca string, more ...string) []string {
	url := strings.ReplaceAll(c.URL(), "nats://", "tls://recoup:"+password+"@")
	return append([]string{"--bus", url, "--bus-ca", ca, "--bus-limit", "100MB", "--bus-single=" + strconv.FormatBool(len(c.Servers) == 1)}, more...)
}

// With TLS, certificates of either side and the permissions that docs/scale.md lists, all
// of the bus works, and nothing is missing.
func TestBusAccess(t *testing.T) {
	tier.Only(t, tier.Bus)
	t.Parallel()
	c := newSecured(t, 3)
	s, owner := newSender(t)
	s.flags = c.flags(busPassword, c.ca.file("ca.pem"), c.shown...)
	s.start()
	bustest.Eventually(t, "the bus", func() bool { return s.sample("recoup_bus_up") == "1" })
	s.quarantines(owner)
	s.must("secured", 1200)
	s.whole(owner)
	bustest.Eventually(t, "all events by the bus", func() bool { return s.sample(`recoup_bus_events_total{way="published"}`) == "1206" })
	s.quiet(busPassword, "permission")
}

// What servers refuse, a node does without and says why; once it is mended it goes on by
// itself.
func TestBusAccessRefused(t *testing.T) {
	tier.Only(t, tier.Bus)
	t.Parallel()
	c, stranger := newSecured(t, 1), newAuthority(t)
	stranger.issue("node", stranger)
	ca := c.ca.file("ca.pem")
	s, owner := newSender(t)
	const mine = "--bus-cert must be one that its ca_file has signed"
	unsigned := []string{"--bus-cert", stranger.file("node.pem"), "--bus-key", stranger.file("node-key.pem")}
	rows := []struct{ flags, said []string }{
		{c.flags(busPassword, stranger.file("ca.pem"), c.shown...), []string{"--bus-ca must name the authority that signed it", stranger.file("ca.pem")}},
		{c.flags(busPassword, ca), []string{mine, "it is not set"}},
		{c.flags(busPassword, ca, unsigned...), []string{mine, stranger.file("node.pem")}},
		{c.flags(busPassword, stranger.file("ca.pem"), unsigned...), []string{"--bus-ca must name the authority that signed it"}},
	}
	first, end := tier.Quarter(t, len(rows))
	for _, row := range rows[first:end] {
		s.without(row.flags, row.said...)
		s.next()
	}
	s.without(c.flags("wrong-password", ca, c.shown...), "the servers do not accept the user recoup and its password in --bus")
	c.Secure(strings.ReplaceAll(c.settings, busPassword, "wrong-password")) // which is right now
	bustest.Eventually(t, "the bus by itself", func() bool { return s.sample("recoup_bus_up") == "1" })
	s.must("mended", 10)
	s.whole(owner)
	for _, missing := range []string{`"recoup.events", `, `"$JS.API.STREAM.INFO.RECOUP_EVENTS", `} {
		s.next()
		c.Secure(strings.Replace(c.settings, missing, "", 1))
		s.without(c.flags(busPassword, ca, c.shown...), "lacks a permission; docs/scale.md lists", strings.Trim(missing, `", `))
	}
	// What is found missing only when it is used is said, too.
	s.next()
	c.Secure(strings.Replace(c.settings, `"$JS.API.CONSUMER.MSG.NEXT.RECOUP_EVENTS.recoup-ledger", `, "", 1))
	s.flags = c.flags(busPassword, ca, c.shown...)
	s.start()
	s.until("the missing permission is not said", func() reply { return s.ask(http.MethodGet, "/v1/bus", "") }, func(r reply) bool {
		return strings.Contains(r.body, `"up":true`) && strings.Contains(r.body, "CONSUMER.MSG.NEXT")
	})
	if doctor := s.recoupCommand("doctor"); !strings.Contains(doctor, "not all that this node asks") {
		t.Errorf("the doctor says %s", doctor)
	}
}

// quarantines puts two batches in quarantine, and takes both out again.
func (s *sender) quarantines(owner string) {
	s.Helper()
	ownerSQL(s.T, owner, `create function public.refuse_poison() returns trigger language plpgsql as $$ begin raise exception 'poison' using errcode = '23514'; end $$;
		create trigger zz_poison before insert on recoup.error_event for each row when (new.service = 'poison') execute function public.refuse_poison()`)
	for range 2 {
		s.must("poison", 3)
	}
	bustest.Eventually(s, "batches in quarantine", func() bool { return s.sample("recoup_bus_quarantined_batches") == "2" })
	ownerSQL(s.T, owner, "drop trigger zz_poison on recoup.error_event")
	if out := s.recoupCommand("bus", "quarantine", "retry", "1", "--reason", "mended"); !strings.Contains(out, "batch 1 written: 3 events") {
		s.Errorf("retried: %s", out)
	}
	if out := s.recoupCommand("bus", "quarantine", "drop", "2", "--reason", "a test", "--yes"); !strings.Contains(out, "batch 2 dropped: 3 events") {
		s.Errorf("dropped: %s", out)
	}
	s.acked = nil
}

// A file that cannot be used, and flags that make no sense together, keep a node from
// starting: all of it is said at once, and no secret.
func TestBusFlagsRefused(t *testing.T) {
	tier.Only(t, tier.Bus)
	t.Parallel()
	ca := newAuthority(t)
	ca.issue("node", ca)
	ca.issue("other", ca)
	ca.write("garbage", []byte("-----BEGIN NATS USER JWT-----\n"+busPassword+"\n"))
	none := ca.file("none")
	bus := "tls://recoup:" + busPassword + "@127.0.0.1:1"
	s, _ := newSender(t)
	for _, refused := range []struct {
		flags []string
		want  []string
	}{
		{[]string{"--bus", bus, "--bus-ca", none, "--bus-cert", none, "--bus-key", none}, []string{"--bus-ca " + none + ": no such file", "--bus-cert " + none + ": no such file"}},
		{[]string{"--bus", bus, "--bus-ca", ca.file("garbage")}, []string{"--bus-ca " + ca.file("garbage") + ": it holds no certificate"}},
		{[]string{"--bus", bus, "--bus-cert", ca.file("node.pem")}, []string{"--bus-cert and --bus-key go together"}},
		{[]string{"--bus", bus, "--bus-cert", ca.file("node.pem"), "--bus-key", ca.file("other-key.pem")}, []string{"private key does not match public key"}},
		{[]string{"--bus", bus, "--bus-cert", ca.file("garbage"), "--bus-key", ca.file("garbage")}, []string{"expected a certificate and its key in PEM"}},
		{[]string{"--bus", "nats://127.0.0.1:1", "--bus-credentials", none}, []string{"--bus-credentials " + none + ": no such file"}},
		{[]string{"--bus", "nats://127.0.0.1:1", "--bus-credentials", ca.file("garbage")}, []string{"holds no user's credentials", "nsc generate creds"}},
		{[]string{"--bus", bus, "--bus-credentials", none}, []string{"--bus-credentials and a user in --bus: give one"}},
		{[]string{"--bus-ca", none, "--bus-key", none}, []string{"--bus-ca, --bus-key without --bus"}},
		{[]string{"--bus", "nats://recoup:" + busPassword + ",x@127.0.0.1:1"}, []string{"%2C"}},
		{[]string{"--bus", "https://recoup:" + busPassword + "@127.0.0.1:1"}, []string{"nats://HOST:PORT"}},
	} {
		s.flags = refused.flags
		said := s.refuses()
		for _, want := range refused.want {
			if !strings.Contains(said, want) {
				t.Errorf("%v: %q is not in %s", refused.flags, want, said)
			}
		}
		if strings.Contains(said, busPassword) {
			t.Errorf("%v: the password is said: %s", refused.flags, said)
		}
	}
}

// operator is an operator of servers with one account.
type operator struct {
	*testing.T
	keys, account nkeys.KeyPair
	settings      string
}

func newOperator(t *testing.T) *operator {
	t.Helper()
	o := &operator{T: t}
	o.keys = o.pair(nkeys.CreateOperator())
	o.account = o.pair(nkeys.CreateAccount())
	system := o.public(o.pair(nkeys.CreateAccount()))
	claims, account := jwt.NewOperatorClaims(o.public(o.keys)), jwt.NewAccountClaims(o.public(o.account))
	account.Limits.JetStreamLimits = jwt.JetStreamLimits{DiskStorage: -1, MemoryStorage: -1, Streams: -1, Consumer: -1}
	o.settings = "operator: " + o.text(claims.Encode(o.keys)) + "\nsystem_account: " + system + "\nresolver: MEMORY\nresolver_preload: {\n" +
		o.public(o.account) + ": " + o.text(account.Encode(o.keys)) + "\n" + system + ": " + o.text(jwt.NewAccountClaims(system).Encode(o.keys)) + "\n}\n"
	return o
}

func (o *operator) pair(pair nkeys.KeyPair, err error) nkeys.KeyPair {
	o.Helper()
	if err != nil {
		o.Fatal(err)
	}
	return pair
}

func (o *operator) text(s string, err error) string {
	o.Helper()
	if err != nil {
		o.Fatal(err)
	}
	return s
}

func (o *operator) public(pair nkeys.KeyPair) string { return o.text(pair.PublicKey()) }

// credentials writes a file of a user that expires, and returns its secret.
func (o *operator) credentials(file string, expires time.Time) (seed string) {
	o.Helper()
	user := o.pair(nkeys.CreateUser())
	claims := jwt.NewUserClaims(o.public(user))
	claims.Expires = expires.Unix()
	token := o.text(claims.Encode(o.account))
	secret, err := user.Seed()
	if err != nil {
		o.Fatal(err)
	}
	creds, err := jwt.FormatUserConfig(token, secret)
	if err == nil {
		err = os.WriteFile(file, creds, 0o600)
	}
	if err != nil {
		o.Fatal(err)
	}
	return string(secret)
}

// A node with credentials that have expired does without the bus, and uses it once the
// file has others.
func TestBusCredentials(t *testing.T) {
	tier.Only(t, tier.Bus)
	t.Parallel()
	o := newOperator(t)
	cluster := bustest.StartSecured(t, 1, o.settings)
	bustest.Eventually(t, "the server", func() bool { return busReady(cluster) })
	s, owner := newSender(t)
	file := filepath.Join(t.TempDir(), "recoup.creds")
	old := o.credentials(file, clock().Add(-time.Hour))
	s.without([]string{"--bus", cluster.URL(), "--bus-single=true", "--bus-limit", "100MB", "--bus-credentials", file}, "it refuses this node", "--bus-credentials "+file)
	fresh := o.credentials(file, clock().Add(time.Hour))
	bustest.Eventually(t, "the bus by itself", func() bool { return s.sample("recoup_bus_up") == "1" })
	s.must("renewed", 10)
	s.whole(owner)
	s.quiet(old, fresh)
}
