package store

import "sync/atomic"

// LastError holds why a database refuses writes although it answers: a full
// disk. It is noted by the verb that met it, and stands until a write
// succeeds. The zero value is none.
type LastError struct{ cause atomic.Pointer[error] }

// Note remembers why a write failed.
func (t *LastError) Note(err error) { t.cause.Store(&err) }

// Cause returns why writes fail, or nil.
func (t *LastError) Cause() error {
	if err := t.cause.Load(); err != nil {
		return *err
	}
	return nil
}

// Retry asks try whether writes succeed again, if they did not, and returns why
// they do not.
func (t *LastError) Retry(try func() error) error {
	noted := t.cause.Load()
	if noted == nil {
		return nil
	}
	if err := try(); err != nil {
		return err
	}
	t.cause.CompareAndSwap(noted, nil) // unless another verb has failed meanwhile
	return nil
}
