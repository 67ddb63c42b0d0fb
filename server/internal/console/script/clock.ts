// The exact time that a page shows on hover is UTC, or, for those who have chosen so, that of
// their own clock.

const exact = new Intl.DateTimeFormat(undefined, { weekday: "short", day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short" })

function localize(): void {
  if (document.documentElement.dataset.times !== "local") return
  for (const time of document.querySelectorAll<HTMLTimeElement>("time[datetime]")) time.title = exact.format(new Date(time.dateTime))
}

document.addEventListener("htmx:afterSwap", localize)
localize()

export {}
