// In a narrow window the navigation and the drawing of states are wider than it: what is lit
// is brought to the middle of them.

function center(): void {
  for (const lit of document.querySelectorAll("nav.side [aria-current], .machine .lit")) {
    const frame = lit.closest("nav, .machine")
    if (!frame) continue
    const [inner, outer] = [lit.getBoundingClientRect(), frame.getBoundingClientRect()]
    frame.scrollLeft += inner.x + inner.width / 2 - outer.x - outer.width / 2
  }
}

document.addEventListener("htmx:afterSwap", center)
center()

export {}
