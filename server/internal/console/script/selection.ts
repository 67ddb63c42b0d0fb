// Selecting rows: all of a page, a range with shift, and how many they are.

let last = "" // the id where a range begins: a list that is replaced has other boxes

function boxes(form: Element): HTMLInputElement[] {
  return [...form.querySelectorAll<HTMLInputElement>("input[name=id]")]
}

function say(form: Element): void {
  const n = boxes(form).filter((b) => b.checked).length
  const shown = form.querySelector("[data-selected]")
  if (shown) shown.textContent = String(n)
  if (n === 0) {
    for (const box of form.querySelectorAll<HTMLInputElement>("[data-all], [name=everything]")) box.checked = false
    document.body.dispatchEvent(new CustomEvent("recoup:changed")) // what came meanwhile is shown now
  }
}

document.addEventListener("click", (event) => {
  const box = event.target as HTMLInputElement
  const form = box.closest("form.select")
  if (!form || !box.matches("input[type=checkbox]")) return
  const all = boxes(form)
  if (box.matches("[data-all]")) {
    for (const b of boxes(box.closest("table") ?? form)) b.checked = box.checked
  } else if (box.name === "id") {
    const begin = all.findIndex((b) => b.value === last)
    if (event.shiftKey && begin >= 0) {
      const [from, to] = [begin, all.indexOf(box)].sort((a, b) => a - b)
      for (const b of all.slice(from, to! + 1)) b.checked = box.checked
    }
    last = box.value
  }
  say(form)
})

// A page that comes back from the browser's memory still has its ticks.
window.addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form.select")) {
    if (boxes(form).some((b) => b.checked)) say(form)
  }
})

export {}
