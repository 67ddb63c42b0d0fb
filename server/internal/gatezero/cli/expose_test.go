package cli

// What the tests look into.
type (
	Verified    = verified
	VerifyFlags = verifyFlags
)

var VerifyAll = verifyAll

// Once are the flags of a worker that works once.
func Once(worker string, parallel int) VerifyFlags {
	return VerifyFlags{worker: worker, parallel: parallel, once: true, every: 1}
}
