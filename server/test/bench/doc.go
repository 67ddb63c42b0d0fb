// Package bench holds the benchmarks: each runs a rival or the raw limit beside
// Recoup in the same run and prints both.
package bench
