package endtoend

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// browser is a tab of a real browser, of which nothing is left after the test. What goes
// wrong in a page, such as something that its policy forbids, fails the test.
type browser struct {
	*testing.T
	ctx  context.Context
	base string // of the console

	mu   sync.Mutex
	said []string // by pages, that something is wrong
}

func openBrowser(t *testing.T, base string) *browser {
	t.Helper()
	options := []chromedp.ExecAllocatorOption{chromedp.Headless, chromedp.NoFirstRun, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1280, 1000), chromedp.UserDataDir(t.TempDir()), chromedp.Flag("disable-dev-shm-usage", true)}
	within, cancel := context.WithTimeout(context.Background(), 9*time.Minute)
	t.Cleanup(cancel)
	alone, stop := chromedp.NewExecAllocator(within, options...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(alone)
	t.Cleanup(end)
	b := &browser{T: t, ctx: ctx, base: base}
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatalf("the browser does not start: %v", err)
	}
	go b.listen(chromedp.Console(ctx))
	return b
}

// listen notes what pages complain of.
func (b *browser) listen(messages func(func(chromedp.ConsoleMessage, error) bool)) {
	for m, err := range messages {
		if err != nil {
			return
		}
		// A server that is gone is what some tests are about.
		if (m.Type == chromedp.ConsoleError || m.Type == chromedp.ConsoleException) && !strings.Contains(m.Text, "Failed to load resource") && !strings.Contains(m.Text, "net::ERR") {
			b.mu.Lock()
			b.said = append(b.said, m.Text)
			b.mu.Unlock()
		}
	}
}

// quiet fails the test if a page has complained.
func (b *browser) quiet() {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.said {
		b.Errorf("a page complains: %s", s)
	}
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	patience, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	if err := chromedp.Do(patience, steps...); err != nil {
		b.Fatalf("%v\n%s", err, b.text())
	}
}

// open goes to a page.
func (b *browser) open(path string) {
	b.Helper()
	b.do(chromedp.Navigate(b.base + path))
}

// press types keys, one after the other, to whatever has the focus. A key whose event a page
// has taken types nothing, as on a keyboard: it is one event with its text, not two.
func (b *browser) press(keys string, with ...chromedp.Modifier) {
	b.Helper()
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		for _, key := range keys {
			list := kb.Encode(key)
			for i, k := range list {
				chromedp.KeyModifiers(with...)(k)
				if k.Type == kb.KeyChar {
					continue
				}
				if i+1 < len(list) && list[i+1].Type == kb.KeyChar {
					k.Text = list[i+1].Text
				}
				if _, err := cdp.Call(ctx, t, input.DispatchKeyEvent, *k); err != nil {
					return err
				}
			}
		}
		return nil
	}))
}

// click clicks on what a selector finds, once it is to be seen.
func (b *browser) click(selector string) {
	b.Helper()
	b.do(chromedp.Click(selector))
}

// fill types into a field.
func (b *browser) fill(selector, text string) {
	b.Helper()
	b.do(chromedp.SendKeys(selector, text))
}

// text is what the page shows.
func (b *browser) text() string {
	shown, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("location.href + '\\n' + document.body.innerText"))
	if err != nil {
		return fmt.Sprintf("(the page cannot be read: %v)", err)
	}
	return shown
}

// eval is what an expression is worth in the page, or what it promises.
func eval[T any](b *browser, expression string) T {
	b.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.Fatalf("%s: %v\n%s", expression, err, b.text())
	}
	return value
}

// choose chooses an option of a field.
func (b *browser) choose(field, value string) {
	b.Helper()
	b.do(chromedp.SetValue(field, value))
}

// shows waits until the page says something.
func (b *browser) shows(words string) {
	b.Helper()
	b.until(fmt.Sprintf("document.body !== null && document.body.innerText.includes(%q)", words))
}

// until waits for a condition of the page.
func (b *browser) until(condition string) {
	b.Helper()
	patience, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	for {
		if holds, err := chromedp.Run(patience, chromedp.Evaluate[bool](condition)); err == nil && holds {
			return
		}
		select {
		case <-patience.Done():
			b.Fatalf("the page never has %s:\n%s", condition, b.text())
		case <-time.After(50 * time.Millisecond):
		}
	}
}
