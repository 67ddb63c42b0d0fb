package client

// ErrorService reads errors and acts on them: c.Errors.
type ErrorService struct{ c *Client }

// RetryService claims errors that are due and takes the results of retries: c.Retries. A [Worker]
// does both by itself.
type RetryService struct{ c *Client }

// WorkService submits and claims staged work: c.Work. A [StageWorker] claims by itself.
type WorkService struct{ c *Client }

// DeadLetterService reads dead letters and takes them through their workflow: c.DeadLetters.
type DeadLetterService struct{ c *Client }

// DeadLetterGroupService does the same for all dead letters of a group: c.DeadLetterGroups.
type DeadLetterGroupService struct{ c *Client }

// ReplayService sends many dead letters back to work: c.Replays.
type ReplayService struct{ c *Client }

// OperationService acts on many errors, in the background and with a record: c.Operations.
type OperationService struct{ c *Client }

// ErrorGroupService reads groups of errors with the same cause: c.ErrorGroups.
type ErrorGroupService struct{ c *Client }

// EventService reads the ledger and its counts: c.Events. [Client.SendEvents] and an [Emitter]
// write it.
type EventService struct{ c *Client }

// CodeService reads the registry of codes and adds to it: c.Codes.
type CodeService struct{ c *Client }

// ProviderService says which provider of a group is in use: c.Providers.
type ProviderService struct {
	c     *Client
	cache *providerCache
}

// serve makes the services of a client.
func (c *Client) serve() {
	c.Errors = ErrorService{c}
	c.Retries = RetryService{c}
	c.Work = WorkService{c}
	c.DeadLetters = DeadLetterService{c}
	c.DeadLetterGroups = DeadLetterGroupService{c}
	c.Replays = ReplayService{c}
	c.Operations = OperationService{c}
	c.ErrorGroups = ErrorGroupService{c}
	c.Events = EventService{c}
	c.Codes = CodeService{c}
	c.Providers = ProviderService{c, new(providerCache)}
}
