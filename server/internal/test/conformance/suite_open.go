package conformance

import (
	"fmt"
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

func openings() []clause {
	return []clause{
		{"a database can be opened by many nodes at once, and keeps what it has", openedTogether},
	}
}

func syncs() []clause {
	return []clause{
		{"the tables of a policy can be synced again and by many nodes at once", syncedTogether},
		{"an error keeps a disposition that its table has ceased to allow, until it leaves it", keepsDisposition},
	}
}

func syncedTogether(d *Driver) {
	e := d.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	d.together(4, func(int) error { return d.Store.SyncTables(d.Context(), d.Policy) })
	d.together(4, func(int) error { return d.Store.EnsurePartitions(d.Context(), d.Now().Add(40*day)) })
	d.ClaimDue(e)
	d.Check()
}

func openedTogether(d *Driver) {
	e := d.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	shared, ok := d.Store.(Reopener)
	if !ok {
		d.Fatalf("the store is for one node")
	}
	d.together(4, func(i int) error {
		other, err := shared.Reopen(d.Context())
		if err != nil {
			return err
		}
		if err := other.SyncTables(d.Context(), d.Policy); err != nil {
			return err
		}
		got, err := other.Error(d.Context(), e.ID)
		if err != nil {
			return err
		}
		if diff := difference(got, e); diff != "" {
			return fmt.Errorf("node %d sees another error:%s", i, diff)
		}
		return other.Close()
	})
	d.Check()
}

// keepsDisposition changes the policy under errors that wait for a retry.
func keepsDisposition(d *Driver) {
	claimed := d.Report(people, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	waiting := d.Report(people, "e2", "NETWORK_TIMEOUT", recoup.Medium)
	file := strings.Replace(string(policy.DefaultFile()),
		"default: RETRY\n    allowed: [RETRY, PARK, ARCHIVE]\n    blocks: true\n    because: No slot",
		"default: PARK\n    park_reason: DATA_QUALITY\n    allowed: [PARK, ARCHIVE]\n    blocks: true\n    because: No slot", 1)
	next, err := policy.Load("next.yaml", []byte(file), fault.Default())
	if err == nil {
		d.Policy, err = next, d.Store.SyncTables(d.Context(), next)
	}
	if table, _ := d.Policy.Table(people); err != nil || table.Allows(recoup.ActionRetry) {
		d.Fatalf("the new policy: %v", err)
	}
	d.ClaimDue(claimed)
	d.Park(waiting.ID, "look")
	if out := d.Try(waiting.ID, lifecycle.Unpark{By: "ada"}); out.Err == nil {
		d.Errorf("what has left it came back to it")
	}
	d.Check()
}
