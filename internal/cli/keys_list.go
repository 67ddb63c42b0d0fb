package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"recoup/client"
)

func keysList(streams Streams) *cobra.Command {
	var valid bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the keys, newest first; never the keys themselves",
		Example: `  recoup keys list
  recoup keys list --valid --json`,
		Args: noArgs,
	}
	cmd.Flags().BoolVar(&valid, "valid", false, "only keys that are neither revoked nor expired")
	return onKeys(keyFlags{streams: streams}, cmd, func(ctx context.Context, k keyring, asJSON bool) error {
		keys, err := k.List(ctx)
		if err != nil {
			return err
		}
		shown := []client.Key{}
		for _, key := range keys {
			if !valid || keyStatus(streams, &key) == "valid" {
				shown = append(shown, key)
			}
		}
		switch {
		case asJSON:
			return printJSON(streams.Out, map[string][]client.Key{"keys": shown})
		case len(shown) == 0:
			fmt.Fprintln(streams.Err, "There is no key. 'recoup keys create --role ROLE --name NAME' makes one.")
			return nil
		}
		t := newTable(streams, "ID", "NAME", "ROLE", "HUBS", "BEGINS", "STATUS", "EXPIRES", "USED", "MADE BY")
		for i := range shown {
			key := &shown[i]
			hubs := "all"
			if len(key.Hubs) > 0 {
				hubs = strings.Join(key.Hubs, ",")
			}
			used := "never"
			if !key.LastUsedAt.IsZero() {
				used = streams.relative(key.LastUsedAt)
			}
			t.add(key.ID.String(), key.Name, key.Role, hubs, key.Hint+"…", keyStatus(streams, key),
				streams.relative(key.ExpiresAt), used, key.CreatedBy)
		}
		fmt.Fprint(streams.Out, t)
		return nil
	})
}

// keyStatus says whether a key opens anything.
func keyStatus(s Streams, k *client.Key) string {
	switch {
	case !k.RevokedAt.IsZero():
		return "revoked"
	case !k.ExpiresAt.IsZero() && !s.now().Before(k.ExpiresAt):
		return "expired"
	}
	return "valid"
}
