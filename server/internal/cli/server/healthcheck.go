package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

// healthPatience is how long a node may take to say that it is ready.
const healthPatience = 3 * time.Second

func healthcheck(streams command.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "healthcheck",
		Short: "Check that the node on this machine is ready, else exit status 1",
		Long: `Asks /readyz of the node that listens on this machine, for containers and supervisors that have
no other program to ask with. It reads the settings of the node: the same environment, file or
flags.`,
		Example: `  recoup healthcheck
  recoup healthcheck --listen 127.0.0.1:9000`,
		Args: command.NoArgs,
	}
	read := command.SettingFlags(streams, cmd, "listen", "tls-cert", "tls-key")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		_, options, err := read()
		if err != nil {
			return err
		}
		failure, err := askReady(cmd.Context(), readyURL(options))
		switch {
		case err != nil:
			return fmt.Errorf("no node answers at %s: %w", readyURL(options), err)
		case failure != nil && failure.Code == fault.CodeTLSError:
			return fmt.Errorf("the node at %s speaks HTTPS: set --tls-cert and --tls-key, or $RECOUP_TLS_CERT and $RECOUP_TLS_KEY, as for the node", readyURL(options))
		case failure != nil:
			return fmt.Errorf("the node at %s is not ready: status %d", readyURL(options), failure.Status)
		}
		fmt.Fprintln(streams.Out, "ready")
		return nil
	}
	return cmd
}

// readyURL is where the node of the options answers on its own machine.
func readyURL(o app.Options) string {
	host, port, _ := net.SplitHostPort(o.Listen)
	if address, err := netip.ParseAddr(host); host == "" || err == nil && address.IsUnspecified() {
		host = "127.0.0.1"
	}
	scheme := "http"
	if o.TLSCert != "" {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, port) + "/readyz"
}

// askReady returns the failure that a node answers with; nil: it is ready.
func askReady(ctx context.Context, url string) (*fault.Error, error) {
	ctx, cancel := context.WithTimeout(ctx, healthPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	// The certificate names the node as others know it. Nothing secret is sent.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // see above
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return nil, err
	}
	return fault.Decode(answer), answer.Body.Close()
}
