package app

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// A changed policy file is put in force by whoever sees it first, once; a bad one
// is refused and reported once, and the old one stays until the file is good again.
func TestPolicyFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file, clock := filepath.Join(folder, "policy.yaml"), &shifted{}
	writes := 0
	write := func(text string) {
		t.Helper()
		writes++
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(time.Duration(writes) * time.Minute) // two writes at one tick of the file's clock differ all the same
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	version := func(v string) string {
		return strings.Replace(string(policy.DefaultFile()), "version: 1.0.0", "version: "+v, 1)
	}
	write(version("1.0.0"))
	database := "sqlite:" + filepath.Join(folder, "recoup.db")
	withFile := func(o *Options) { o.Policy = file }
	nodes := []*Node{openNode(t, database, clock, withFile), openNode(t, database, clock, withFile), openNode(t, database, clock)}
	follow := func(want string, refused bool) {
		t.Helper()
		for range 2 {
			for i, n := range nodes {
				if err := n.followPolicy(t.Context()); err != nil {
					t.Fatal(err)
				}
				bad := n.policyWatcher.refused.Load() != nil
				if got := n.engine.Policies.Current().Version; got != want || bad != (refused && i < 2) {
					t.Fatalf("node %d goes by %s, refuses: %v; want %s, %v", i, got, bad, want, refused)
				}
			}
		}
	}
	notified := func() (n int) {
		t.Helper()
		list, err := nodes[0].store.(interface {
			PendingNotices(ctx context.Context, limit int) ([]wire.Notice, error)
		}).PendingNotices(t.Context(), 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range list {
			if p.Kind == wire.NoticePolicyRefused {
				n++
			}
		}
		return n
	}
	follow("1.0.0", false)
	write(version("1.0.1"))
	follow("1.0.1", false)
	write(strings.Replace(version("1.0.2"), "ttl:", "ttll:", 1))
	follow("1.0.1", true)
	if n := notified(); n != 1 {
		t.Errorf("people were notified %d times", n)
	}
	write(strings.Replace(version("1.0.1"), "authority:", "authority: somebody else #", 1)) // another text of a version that is known
	follow("1.0.1", true)
	write(version("1.0.3"))
	follow("1.0.3", false)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	follow("1.0.3", true)
	if n := notified(); n != 3 {
		t.Errorf("people were notified %d times", n)
	}
	list, _, err := nodes[0].store.PolicyVersions(t.Context(), 0, 100)
	if err != nil || len(list) != 3 {
		t.Errorf("%d versions, %v", len(list), err)
	}
	acts, _, err := nodes[0].store.Audit(t.Context(), wire.AuditFilter{Act: store.ActPolicyAdd}, store.AuditCursor{}, 100)
	if err != nil || len(acts) != 3 {
		t.Errorf("the audit tells of %v, %v", acts, err)
	}
}
