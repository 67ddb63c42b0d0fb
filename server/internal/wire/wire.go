// Package wire declares the JSON types of calls that only administrators make: those of the CLI,
// the console and the HTTP API. Types of calls that producers and workers make are in package
// recoup, because other programs compile against them. The package imports neither the calls nor the
// store.
package wire
