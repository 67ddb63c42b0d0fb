package command

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"strings"

	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
)

// tlsCause is what is wrong with the certificate of a server, in the words of the library
// that has checked it.
func (e *serverError) tlsCause() [][]string {
	if refused, ok := errors.AsType[*tls.CertificateVerificationError](e.err); ok {
		return [][]string{{"cause", Printable(refused.Err.Error())}}
	}
	return nil
}

// tlsWays says how to get a secure connection. None of them is another call of the same
// server, which would fail in the same way.
func (e *serverError) tlsWays() []string {
	_, unknown := errors.AsType[x509.UnknownAuthorityError](e.err)
	_, otherName := errors.AsType[x509.HostnameError](e.err)
	kind, _ := e.said.Details["error_type"].(string)
	switch {
	case kind == fault.SpeaksHTTPS:
		return []string{"--server " + strings.Replace(e.server, "http://", "https://", 1)}
	case unknown:
		return []string{
			"--ca-file FILE or $" + client.EnvCAFile + " names the PEM file of the authority that signed the server's certificate.",
			"For a certificate that is signed by itself this is the file of the server's --tls-cert.",
		}
	case otherName:
		return []string{"Name the server in --server as its certificate does, or have the certificate made for this name too."}
	case errors.Is(e.err, http.ErrSchemeMismatch):
		return []string{"This server speaks HTTP, without TLS: --server " + strings.Replace(e.server, "https://", "http://", 1)}
	}
	return []string{"Check the certificate's dates and names, then the clock of this machine."}
}
