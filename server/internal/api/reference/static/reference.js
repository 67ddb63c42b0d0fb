// Makes reading faster and nothing possible that is not possible without it: the search
// filters as one types, "/" leads to it, and commands can be copied.
"use strict";

const input = document.querySelector(".search input");
const calls = [...document.querySelectorAll("[data-words]")];
const said = document.getElementById("found");
const intro = document.querySelectorAll(".intro, .note");

function filter() {
  const wanted = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  let matches = 0;
  for (const call of calls) {
    call.hidden = !wanted.every((word) => call.dataset.words.includes(word));
    matches += call.hidden ? 0 : 1;
  }
  for (const group of document.querySelectorAll(".group")) {
    group.hidden = !group.querySelector("[data-words]:not([hidden])");
  }
  for (const part of intro) part.hidden = wanted.length > 0;
  said.hidden = wanted.length === 0;
  said.textContent = matches === 1 ? "1 call matches." : matches === 0 ? "No call matches." : matches + " calls match.";
  history.replaceState(null, "", wanted.length ? "?q=" + encodeURIComponent(input.value) : location.pathname);
}

// A page that was answered for a query has only what that found.
if (calls.length > 0 && !new URLSearchParams(location.search).get("q")) input.addEventListener("input", filter);

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    input.focus();
    input.select();
  } else if (event.key === "Escape" && typing === input) {
    input.blur();
  }
});

if (navigator.clipboard) {
  for (const command of document.querySelectorAll("pre.curl")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(command.textContent);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    command.previousElementSibling.append(button);
  }
}
