package app

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"
)

// certificate is read from two files, and read again when one of them changes, so
// that whoever renews it need not restart the node.
type certificate struct {
	files  [2]string // the certificate with its chain, and the key
	now    func() time.Time
	logger *slog.Logger

	mu      sync.Mutex
	current *tls.Certificate
	seen    [2]fileStamp
	looked  time.Time
}

type fileStamp struct {
	size     int64
	modified time.Time
}

// certificateLook is how often the files are looked at, at most.
const certificateLook = time.Second

// openCertificate reads the files for the first time; nil: there are none.
func openCertificate(o *Options) (*certificate, error) {
	if o.TLSCert == "" {
		return nil, nil //nolint:nilnil // no certificate is a choice
	}
	c := &certificate{files: [2]string{o.TLSCert, o.TLSKey}, now: o.Now, logger: o.Logger, seen: stamps(o.TLSCert, o.TLSKey), looked: o.Now()}
	pair, err := tls.LoadX509KeyPair(o.TLSCert, o.TLSKey)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert and --tls-key: %w", err)
	}
	c.current = &pair
	return c, nil
}

func stamps(names ...string) (list [2]fileStamp) {
	for i, name := range names {
		if info, err := os.Stat(name); err == nil {
			list[i] = fileStamp{info.Size(), info.ModTime()}
		}
	}
	return list
}

// config is that of a server. HTTP/1.1 is all that is spoken, because the limits
// of connections are tested on it.
func (c *certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.get(), nil },
	}
}

// get returns the certificate that holds. Files that changed and cannot be read, as
// while they are being replaced, leave the last one in force.
func (c *certificate) get() *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if since := now.Sub(c.looked); since >= 0 && since < certificateLook {
		return c.current
	}
	c.looked = now
	seen := stamps(c.files[:]...)
	if seen == c.seen {
		return c.current
	}
	c.seen = seen
	pair, err := tls.LoadX509KeyPair(c.files[0], c.files[1])
	if err != nil {
		c.logger.Error("the changed TLS certificate cannot be read; the last one stays in force", "cause", err)
		return c.current
	}
	c.current = &pair
	c.logger.Info("TLS certificate reloaded")
	return c.current
}

// wrap puts TLS on a listener if there is a certificate.
func (c *certificate) wrap(l net.Listener) net.Listener {
	if c == nil {
		return l
	}
	return tls.NewListener(l, c.config())
}
