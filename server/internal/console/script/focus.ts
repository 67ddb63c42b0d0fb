// A part of a page that is replaced because something has changed leaves the focus where it
// was: on what leads to the same place, or does the same.

let held = ""

// sign is what finds an element again in another version of its page.
function sign(e: Element): string {
  for (const name of ["id", "href", "popovertarget", "value"]) {
    const is = e.getAttribute(name)
    if (is) return `${e.localName}[${name}="${CSS.escape(is)}"]`
  }
  const action = e.closest("form")?.getAttribute("action")
  return action ? `form[action="${CSS.escape(action)}"] ${e.localName}` : ""
}

document.addEventListener("htmx:beforeSwap", (event) => {
  const at = document.activeElement
  held = at && at !== document.body && (event.target as Element).contains(at) ? sign(at) : ""
})

document.addEventListener("htmx:afterSwap", () => {
  if (held) document.querySelector<HTMLElement>(held)?.focus({ preventScroll: true })
  held = ""
})

export {}
