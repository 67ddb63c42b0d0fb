package keys

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func tenant(streams command.Streams) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "tenant",
		Short: "List, rotate and delete the keys that hash tenants",
		Long: `The ledger stores no tenant's name, only its hash under a key. A rotation creates the key that
hashes from then on; earlier events are still found under the older keys. Deleting an older key
crypto-shreds what it hashed: it can no longer be found by its tenant.`,
		Example: `  recoup keys tenant list
  recoup keys tenant rotate --reason "every January"
  recoup events --tenant acme --from 48h`,
	}, tenantList(streams), tenantRotate(streams), tenantDelete(streams))
}

var tenantColumns = []command.Column{{Name: "KEY"}, {Name: "CREATED"}, {Name: "USE"}}

// tenantUse says what a key does.
func tenantUse(_ *command.Session, k *wire.TenantKey) command.Cells {
	use := "finds older events"
	if k.Current {
		use = "hashes new events"
	}
	return command.Cells{k.ID, command.At(k.CreatedAt), use}
}

func tenantList(streams command.Streams) *cobra.Command {
	return command.List[wire.TenantKey]{
		Noun: "tenant key", Key: "keys", Whole: true, Columns: tenantColumns, Row: tenantUse,
		Fetch: func(ctx context.Context, s *command.Session, _ client.Page) ([]wire.TenantKey, string, error) {
			list, err := admin.New(s.Client).TenantKeys.List(ctx)
			return list.Keys, "", err
		},
	}.Command(streams, &cobra.Command{
		Use:     "list",
		Short:   "List the tenant keys, newest first",
		Example: `  recoup keys tenant list`,
	})
}

func tenantRotate(streams command.Streams) *cobra.Command {
	var reason string
	return command.Act[wire.TenantKey]{
		Reason: &reason,
		Call: func(ctx context.Context, s *command.Session, _ []string) (wire.TenantKey, error) {
			return admin.New(s.Client).TenantKeys.Rotate(ctx, reason)
		},
		Say: func(s *command.Session, k wire.TenantKey) { s.Sayf("Tenants are hashed with %s from now on.", k.ID) },
	}.Command(streams, &cobra.Command{
		Use:   "rotate",
		Short: "Hash tenants with a new key from now on",
		Long: `Creates a key that hashes tenants from now on; other servers follow within ten seconds. The
older keys stay, so that what they hashed is still found.`,
		Example: `  recoup keys tenant rotate --reason "every January"`,
	})
}

func tenantDelete(streams command.Streams) *cobra.Command {
	var reason string
	return command.Act[wire.TenantKeyList]{
		Reason: &reason,
		Ask: func(args []string) (question, answer string) {
			return "Delete the tenant key " + command.Printable(args[0]) + "? What it hashed can never be found by its tenant again.", args[0]
		},
		Call: func(ctx context.Context, s *command.Session, args []string) (wire.TenantKeyList, error) {
			return admin.New(s.Client).TenantKeys.Delete(ctx, args[0], reason)
		},
		Say: func(s *command.Session, left wire.TenantKeyList) {
			t := command.NewTable(s.Streams, tenantColumns...)
			for i := range left.Keys {
				t.Add(tenantUse(s, &left.Keys[i])...)
			}
			s.Sayf("Deleted. The keys that are left:\n%s", t)
		},
	}.Command(streams, &cobra.Command{
		Use:   "delete KEY",
		Short: "Delete a tenant key, permanently",
		Long: `Deletes a tenant key that is not in use. Events that it hashed stay, but can no longer be
attributed to a tenant. This cannot be undone.`,
		Example: `  recoup keys tenant delete t20260202090000 --yes --reason "older than 2 years"`,
		Args:    command.ExactArgs("KEY"),
	})
}

func payload(streams command.Streams) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "payload",
		Short: "List, rotate and wrap the keys that encrypt payloads",
		Long: `Payloads of staged work, and the outputs of its stages, are stored encrypted. A rotation creates
the key that encrypts from then on; older keys still decrypt what they encrypted. The keys are
stored in plaintext in the same database, unless servers have a master key (--master-key-file):
then new keys are encrypted with it, and wrap encrypts the others.`,
		Example: `  recoup keys payload list
  recoup keys payload rotate --reason "every January"
  recoup keys payload wrap --reason "master key configured"`,
	}, payloadList(streams), payloadRotate(streams), payloadWrap(streams))
}

func payloadList(streams command.Streams) *cobra.Command {
	return command.List[wire.PayloadKey]{
		Noun: "payload key", Key: "keys", Whole: true, Columns: []command.Column{{Name: "KEY"}, {Name: "CREATED"}, {Name: "USE"}, {Name: "ENCRYPTED WITH", Wrap: true}},
		Fetch: func(ctx context.Context, s *command.Session, _ client.Page) ([]wire.PayloadKey, string, error) {
			list, err := admin.New(s.Client).PayloadKeys.List(ctx)
			return list.Keys, "", err
		},
		Row: func(s *command.Session, k *wire.PayloadKey) command.Cells {
			use := "decrypts older payloads"
			if k.Current {
				use = "encrypts new payloads"
			}
			return command.Cells{k.ID, command.At(k.CreatedAt), use, cmp.Or(k.WrappedBy, "nothing: plaintext")}
		},
	}.Command(streams, &cobra.Command{
		Use:     "list",
		Short:   "List the payload keys, newest first",
		Example: `  recoup keys payload list`,
	})
}

func payloadRotate(streams command.Streams) *cobra.Command {
	var reason string
	return command.Act[wire.PayloadKey]{
		Reason: &reason,
		Call: func(ctx context.Context, s *command.Session, _ []string) (wire.PayloadKey, error) {
			return admin.New(s.Client).PayloadKeys.Rotate(ctx, reason)
		},
		Say: func(s *command.Session, k wire.PayloadKey) {
			s.Sayf("Payloads are encrypted with %s from now on.", k.ID)
		},
	}.Command(streams, &cobra.Command{
		Use:   "rotate",
		Short: "Encrypt payloads with a new key from now on",
		Long: `Creates a key that encrypts payloads from now on; other servers follow within ten seconds. The
older keys stay, so that what they encrypted can still be decrypted.`,
		Example: `  recoup keys payload rotate --reason "every January"`,
	})
}

func payloadWrap(streams command.Streams) *cobra.Command {
	var reason string
	return command.Act[wire.KeysWrapped]{
		Reason: &reason,
		Call: func(ctx context.Context, s *command.Session, _ []string) (wire.KeysWrapped, error) {
			return admin.New(s.Client).PayloadKeys.Wrap(ctx, reason)
		},
		Say: func(s *command.Session, done wire.KeysWrapped) {
			s.Sayf("%s encrypted with the master key %s.", command.Count(done.Wrapped, "key"), done.WrappedBy)
		},
	}.Command(streams, &cobra.Command{
		Use:   "wrap",
		Short: "Encrypt plaintext keys with the master key",
		Long: `Encrypts the payload and tenant keys that are stored in plaintext with the master key of the
server. Every server on the database needs that master key before.`,
		Example: `  recoup keys payload wrap --reason "master key configured"`,
	})
}
