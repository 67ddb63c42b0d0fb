// Package client talks to a Recoup server.
//
// A [Client] has a typed method for every operation of the API. It repeats a
// request where the code of its failure says that this helps and where repeating
// cannot do the work twice, waits as long as it was asked to, and returns every
// failure as a [*fault.Error].
//
// An [Emitter] sends events to the ledger without ever making its caller wait:
// directly, from an HTTP middleware, or from a slog handler. With a spool it
// survives restarts of the program and absences of the server.
//
// A [Worker] retries errors: it claims those that are due, runs a handler,
// keeps the lease alive meanwhile and tells how it went.
//
// The package knows what goes over the wire and nothing of how the server keeps
// it. It imports the standard library and the public packages of this module.
package client
