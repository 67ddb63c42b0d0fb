// Package client talks to a Recoup server.
//
// A [Client] has a typed method for every operation of the API. It retries a request
// if the code of the failure is retryable and the retry cannot take effect twice,
// honours Retry-After, and returns every failure as a [*fault.Error].
//
// An [Emitter] sends events to the ledger without ever blocking its caller: directly,
// from an HTTP middleware, or from a slog handler. With a spool, events survive
// restarts of the program and outages of the server.
//
// A [Worker] retries errors: it claims those that are due, runs a handler,
// extends the lease meanwhile and reports the result.
//
// The package knows what goes over the wire and nothing of how the server keeps
// it. It imports the standard library and the public packages of this module.
package client
