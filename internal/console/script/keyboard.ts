// The keyboard: / finds, g and a letter goes to a page, j and k move through rows, x selects,
// enter opens, ? helps, and a letter does what its button does.

let going = false

function rows(): HTMLTableRowElement[] {
  return [...document.querySelectorAll<HTMLTableRowElement>("tr[data-row]")]
}

function move(by: number): void {
  const all = rows()
  const at = all.findIndex((row) => row.contains(document.activeElement))
  const row = all[Math.min(Math.max(at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by, 0), all.length - 1)]
  const link = row?.querySelector<HTMLElement>("a.strong") ?? row?.querySelector<HTMLElement>("a, input") // enter opens it
  link?.focus()
  row?.scrollIntoView({ block: "nearest" })
}

function select(): void {
  const row = rows().find((r) => r.contains(document.activeElement))
  row?.querySelector<HTMLInputElement>("input[name=id]")?.click()
}

function open(): boolean {
  const row = rows().find((r) => r.contains(document.activeElement))
  const link = row?.querySelector<HTMLAnchorElement>("a.strong")
  link?.click()
  return link !== undefined && link !== null
}

function press(selector: string): boolean {
  const found = document.querySelector<HTMLElement>(selector)
  if (!found || found.hasAttribute("disabled") || found.offsetParent === null) return false
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
      select()
      return true
    case "?":
      document.getElementById("keys")?.togglePopover()
      return true
    case "g":
      going = true
      window.setTimeout(() => (going = false), 1500)
      return true
  }
  return /^[a-z]$/.test(key) && press(`[data-act='${key}']`)
}

document.addEventListener("keydown", (event) => {
  const at = event.target as HTMLElement
  const types = at.matches("input:not([type=checkbox]), textarea, select")
  if (event.key === "Escape" && types) at.blur()
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
