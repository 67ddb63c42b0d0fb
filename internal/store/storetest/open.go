package storetest

import (
	"fmt"

	"recoup"
)

func openings() []clause {
	return []clause{
		{"a database can be opened by many nodes at once, and keeps what it has", openedTogether},
	}
}

func syncs() []clause {
	return []clause{
		{"the tables of a policy can be synced again and by many nodes at once", syncedTogether},
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
