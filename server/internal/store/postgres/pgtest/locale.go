package pgtest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Providers are the libraries from which a database can take the rules of its locale.
var Providers = []string{"icu", "libc"}

// Turkish returns the URL of a fresh, empty database in which lower('I') is 'ı' and upper('i') is
// 'İ'. The test is skipped if the machine has no such locale.
func Turkish(t testing.TB, provider string) string {
	t.Helper()
	s, err := shared()
	options := " template template0 locale_provider icu icu_locale 'tr' locale 'C'"
	if provider == "libc" {
		s, err = turkishServer(t), nil
		options = " template template0 locale 'tr_TR.UTF-8'"
	}
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), s.url(superuser, "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	var hasICU bool
	err = conn.QueryRow(t.Context(), "select current_setting('server_version_num')::int >= 150000 and exists (select from pg_collation where collprovider = 'i')").Scan(&hasICU)
	if err != nil {
		t.Fatal(err)
	}
	if provider == "icu" && !hasICU {
		t.Skip("databases have locales of ICU from PostgreSQL 15 on, and only if it was built with ICU")
	}
	return s.url(owner, s.create(t, options))
}

// turkishServer starts a server for which localedef has made the Turkish locale of the C library.
func turkishServer(t testing.TB) *Server {
	t.Helper()
	program, err := exec.LookPath("localedef")
	if err != nil {
		t.Skip("there is no localedef, which makes locales: apt install libc-bin locales")
	}
	if _, err := os.Stat("/usr/share/i18n/locales/tr_TR"); err != nil {
		t.Skip("the source of the locale tr_TR is missing: apt install locales")
	}
	folder, err := os.MkdirTemp("", "recoup-locale-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil { //nolint:gosec // the server can run as another user
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), program, "--no-archive", "-i", "tr_TR", "-f", "UTF-8", filepath.Join(folder, "tr_TR.UTF-8")).CombinedOutput()
	if err != nil {
		t.Fatalf("localedef: %v\n%s", err, out)
	}
	return Start(t, Options{Environment: []string{"LOCPATH=" + folder}})
}

// environment is that of the server's programs.
func (s *Server) environment() []string {
	return slices.Concat(os.Environ(), []string{"LC_ALL=C", "TZ=UTC"}, s.options.Environment)
}
