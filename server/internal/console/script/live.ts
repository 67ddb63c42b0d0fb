// <live-state data-src="stream"> listens to what changes, tells the page, and says whether
// it is heard. A page that is not seen does not listen.

class LiveState extends HTMLElement {
  private source: EventSource | undefined
  private waiting: number | undefined
  private wasGone = false

  connectedCallback(): void {
    document.addEventListener("visibilitychange", () => (document.hidden ? this.stop() : this.listen()))
    this.listen()
  }

  private listen(): void {
    if (this.source || document.hidden || !this.dataset.src) return
    this.source = new EventSource(new URL(this.dataset.src, document.baseURI))
    this.source.addEventListener("open", () => {
      this.show("live")
      if (this.wasGone) this.changed()
      this.wasGone = false
    })
    this.source.addEventListener("error", () => {
      this.wasGone = true
      this.show("gone")
      if (this.source?.readyState === EventSource.CLOSED) this.again()
    })
    this.source.addEventListener("signed-out", () => location.reload()) // which asks to sign in
    for (const kind of ["changed", "counts", "lost"]) this.source.addEventListener(kind, () => this.changed())
  }

  // again tries after a while what the browser does not try by itself: a server that has
  // answered with an error, as one does that is starting.
  private again(): void {
    this.stop()
    window.setTimeout(() => this.listen(), 3000)
  }

  private stop(): void {
    this.source?.close()
    this.source = undefined
  }

  // changed tells the page, once for all that comes within a moment.
  private changed(): void {
    this.waiting ??= window.setTimeout(() => {
      this.waiting = undefined
      document.body.dispatchEvent(new CustomEvent("recoup:changed"))
    }, 700)
  }

  show(state: "live" | "gone" | "still"): void {
    this.dataset.state = state
    this.textContent = this.title = { live: "live", gone: "server unreachable", still: "still, while you select" }[state]
  }
}

customElements.define("live-state", LiveState)

// What somebody is working on does not move: no part of a page is replaced while rows of it
// are selected, or a field of it has the focus. What they have begun since it was asked for
// counts as well.
function still(event: Event): boolean {
  const part = event.target as HTMLElement
  if (!part.hasAttribute("data-live")) return false
  const busy = part.querySelector("input[name=id]:checked, :is(input:not([type=checkbox]), select, textarea):focus, details.columns[open]") !== null || document.querySelector(":popover-open") !== null
  document.querySelector<LiveState>("live-state")?.show(busy ? "still" : "live")
  return busy
}

document.addEventListener("htmx:beforeRequest", (event) => {
  if (still(event)) event.preventDefault()
})

document.addEventListener("htmx:beforeSwap", (event) => {
  if (still(event)) (event as CustomEvent<{ shouldSwap: boolean }>).detail.shouldSwap = false
})

export {}
