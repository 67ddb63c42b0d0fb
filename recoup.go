// Package recoup holds the types of the failure lifecycle: codes and how they are
// classified, events, governed errors and the states they pass through.
//
// It is the bottom of the module. It knows no policy, no storage and no
// transport, reads no clock, and imports only the standard library, so that
// every other package, and programs elsewhere, can share its vocabulary.
package recoup
