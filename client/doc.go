// Package client talks to a Recoup server.
//
// A [Client] has the calls that most programs need, such as [Client.Report], and services for
// the others, such as c.Errors and c.DeadLetters. [Client.Do] makes any other call of the HTTP
// API. A call is repeated if the code of its failure is retryable and the repetition cannot take
// effect twice. The client honours Retry-After, and returns every failure as a [*fault.Error].
//
// An [Emitter] sends events to the ledger without ever blocking its caller: directly,
// from an HTTP middleware, or from a slog handler. With a spool, events survive
// restarts of the program and outages of the server.
//
// A [Worker] retries errors: it claims those that are due, runs a handler,
// extends the lease meanwhile and reports the result.
//
// The types of requests and answers are in package recoup. The package knows nothing of how the
// server keeps them. It imports the standard library and packages of this module.
package client
