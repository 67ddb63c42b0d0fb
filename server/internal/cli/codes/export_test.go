package codes_test

import (
	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/test/tool"
	"strings"
	"testing"
)

// plainScript takes the types out of what is exported, as a compiler does.
func plainScript(t *testing.T, ts string) string {
	t.Helper()
	cut := func(from, to string) {
		begin := strings.Index(ts, from)
		if begin < 0 {
			t.Fatalf("there is no %q", from)
		}
		ts = ts[:begin] + ts[begin+strings.Index(ts[begin:], to)+len(to):]
	}
	cut("export interface Definition", "}\n")
	cut("export type Code", ";\n")
	return strings.NewReplacer(": Readonly<Record<Code, Definition>>", "", "code: string", "code", "): boolean {", ") {", " as Code", "", "export ", "").Replace(ts)
}

// TestTypeScriptRetryable runs the exported function in Node: it answers for every code
// as the specifications do.
func TestTypeScriptRetryable(t *testing.T) {
	ts, _, _ := clitest.Run(t, "codes", "export", "--format", "ts")
	script := plainScript(t, ts) + `
const asked = [
  ["NETWORK_TIMEOUT"], ["CONNECTION_RESET"], ["EXTERNAL_SERVICE_TIMEOUT"], ["UPSTREAM_ERROR"], ["RATE_LIMIT_EXCEEDED"],
  ["NETWORK_TIMEOUT", { idempotent: false }], ["UPSTREAM_ERROR", { idempotent: false }], ["RATE_LIMIT_EXCEEDED", { idempotent: false }],
  ["IDEMPOTENCY_CONFLICT"], ["IDEMPOTENCY_CONFLICT", { proven: true }], ["SLOT_CONFLICT"], ["SLOT_CONFLICT", { proven: true }],
  ["VALIDATION_ERROR", { proven: true }], ["NO_SUCH_CODE", { proven: true }], ["toString"],
];
console.log(asked.map((a) => retryable(...a) ? "1" : "0").join(""));
`
	out, err := tool.Command(t.Context(), "node", "--eval", script).CombinedOutput()
	if got, want := strings.TrimSpace(string(out)), "111110010101000"; err != nil || got != want {
		t.Errorf("got %s, want %s: %v", got, want, err)
	}
}
