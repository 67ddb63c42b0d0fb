// Package endtoend holds the proofs that need the whole service: a node or the
// built program, its real stores, and clients that speak HTTP to it. There are
// only tests in it. Those that take long run a share of their cases, and all of
// them where the environment says RECOUP_SOAK=1.
package endtoend
