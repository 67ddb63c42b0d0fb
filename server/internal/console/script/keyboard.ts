// The keyboard: / finds, g and a letter goes to a page, j and k move through rows, x selects,
// X selects up to there, enter opens, ? helps, and a letter does what its button does.

let going = false

function rows(): HTMLTableRowElement[] {
  return [...document.querySelectorAll<HTMLTableRowElement>("tr[data-row]")]
}

function move(by: number): void {
  const all = rows()
  const at = all.findIndex((row) => row.contains(document.activeElement))
  const row = all[Math.min(Math.max(at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by, 0), all.length - 1)]
  const link = row?.querySelector<HTMLElement>("a.strong") ?? row?.querySelector<HTMLElement>("a, button:enabled, input") // enter opens it
  link?.focus()
  row?.scrollIntoView({ block: "nearest" })
}

// select ticks the row, or unticks it; with shift, all from the last one to here.
function select(shiftKey: boolean): void {
  const row = rows().find((r) => r.contains(document.activeElement))
  row?.querySelector("input[name=id]")?.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, shiftKey }))
}

function open(): boolean {
  const row = rows().find((r) => r.contains(document.activeElement))
  const link = row?.querySelector<HTMLAnchorElement>("a.strong")
  link?.click()
  return link !== undefined && link !== null
}

// press does what a button does. It has the focus then, so that who leaves what it opens is
// back at it.
function press(selector: string): boolean {
  const found = document.querySelector<HTMLElement>(selector)
  if (!found || found.ariaDisabled === "true" || found.offsetParent === null) return false
  found.focus()
  found.click()
  return true
}

// act does what a key stands for, and says whether it stands for anything.
function act(key: string): boolean {
  switch (key) {
    case "/":
      document.querySelector<HTMLElement>("[data-key='/']")?.focus()
      return true
    case "j":
    case "k":
      move(key === "j" ? 1 : -1)
      return true
    case "x":
    case "X":
      select(key === "X")
      return true
    case "?":
      document.getElementById("keys")?.showPopover()
      return true
    case "g":
      going = true
      window.setTimeout(() => (going = false), 1500)
      return true
  }
  return /^[a-z]$/.test(key) && press(`[data-act='${key}']`)
}

// stay keeps who goes on with Tab in a dialog within it: behind its last stop is its first.
function stay(event: KeyboardEvent, dialog: HTMLElement): void {
  const stops = [...dialog.querySelectorAll<HTMLElement>("a[href], button:enabled, input:enabled:not([type=hidden]), select:enabled, textarea:enabled")]
  const at = stops.indexOf(document.activeElement as HTMLElement)
  const edge = event.shiftKey ? 0 : stops.length - 1
  if (at >= 0 && at !== edge) return
  event.preventDefault()
  stops[event.shiftKey ? stops.length - 1 : 0]?.focus()
}

// leave ends what escape ends: the menu, or typing.
function leave(at: HTMLElement, types: boolean): void {
  const menu = document.querySelector<HTMLDetailsElement>("details:is(.menu, .columns)[open]")
  if (menu) {
    menu.open = false
    menu.querySelector("summary")?.focus()
  } else if (types) at.blur()
}

document.addEventListener("keydown", (event) => {
  const at = event.target as HTMLElement
  const types = at.matches("input:not([type=checkbox]), textarea, select")
  const dialog = document.querySelector<HTMLElement>(".dialog:popover-open")
  if (dialog) {
    if (event.key === "Tab") stay(event, dialog)
    return // letters are for what is behind it
  }
  if (event.key === "Escape") leave(at, types)
  if (types || event.ctrlKey || event.metaKey || event.altKey) return
  if (going && /^[a-z]$/.test(event.key)) {
    going = false
    if (press(`[data-go='${event.key}']`)) event.preventDefault()
    return
  }
  if (event.key === "Enter" && at.matches("input[type=checkbox]") && open()) {
    event.preventDefault()
    return
  }
  if (act(event.key)) event.preventDefault()
})

export {}
