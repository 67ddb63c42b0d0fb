// Package conformance is the one conformance suite of the stores: what it demands
// is what correct means. Run is called by each store's own tests with a function
// that opens a fresh, migrated database. What each verb promises is said by the
// roles of package store.
package conformance

import "github.com/recoup-dev/recoup/server/internal/store"

// Store is what a store does with errors.
type Store interface {
	store.TableSyncer
	store.ErrorWriter
	store.ErrorReader
	store.DeadlineReader
	store.Promoter
	store.EntityFinder
	store.PromotionReader
	store.PendingReader
	store.ErrorKeeper
	Close() error
}

// Ledger is what a store keeps of failures as facts (spec 003).
type Ledger interface {
	store.CodeRegistry
	store.EventWriter
	store.EventLoader
	store.EventReader
	store.EventFiler
	store.Housekeeper
	Close() error
}

// DeadLetters is staged work and what becomes of it when it fails: the queue,
// checkpoints, dead letters beside their errors, groups, and replays.
type DeadLetters interface {
	store.DeadLetterWriter
	store.Queue
	store.Replayer
	store.DeadLetterReader
	store.StagedGauge
	store.ForecastReader
	store.HeartbeatWriter
	store.QueueReader
	store.ChangeReader

	// Of errors in general.
	store.TableSyncer
	store.ErrorWriter
	store.ErrorReader
	store.DeadlineReader
	store.PendingReader
	store.Housekeeper
	store.Waker
	Close() error
}

// Service is what a store keeps for the service itself.
type Service interface {
	Store
	store.KeyReader
	store.KeyWriter
	store.FirstKeyWriter
	store.SessionKeeper
	store.ViewKeeper
	store.OperationKeeper
	store.ChangeReader
	store.AuditWriter
	store.AuditReader
	store.PolicyWriter
	store.PolicyReader
	store.PlatformKeyReader
	store.PlatformKeyWriter
	store.Leadership
	store.Outbox
	store.ProcessedWriter
	store.FigureReader
	store.ForecastReader
	store.SeriesReader
	store.Housekeeper
	store.Waker
	store.IDFinder
}

// Alerting is what a store keeps for alerts and for the figures that they are
// made of.
type Alerting interface {
	Service
	store.AlertReader
	store.AlertWriter
	store.AlertAdmin
	store.NoticeReader
	store.OutboxGauge
}
