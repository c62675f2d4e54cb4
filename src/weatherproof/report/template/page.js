"use strict";
// What the page gains from a script: tooltips, arrow keys, sorting, and one curve at a time. All of it can be read without.
document.documentElement.classList.remove("plain");
const tip = document.getElementById("tip");
let shown = null;  // what the tooltip is about

for (const element of document.querySelectorAll("main [title]")) {
  element.dataset.tip = element.title;
  if (!element.textContent.trim()) element.setAttribute("aria-label", element.title);
  element.removeAttribute("title");
}

// Tooltips, for pointers, fingers and the keyboard alike.

function show(element) {
  if (shown) shown.removeAttribute("aria-describedby");
  shown = element;
  tip.hidden = !element;
  if (!element) return;
  const [heading, ...lines] = element.dataset.tip.split("\n").map((text) => {
    const line = document.createElement("div");
    line.textContent = text;
    return line;
  });
  heading.className = "heading";
  tip.replaceChildren(...pictures(element), heading, ...lines);
  if (!element.hasAttribute("aria-label")) element.setAttribute("aria-describedby", "tip");
  place(element);
}

function pictures(element) {
  const key = element.dataset.picture;
  if (!key) return [];
  const found = [key.split("/")[0], key].map((id) => document.querySelector(`[id="${CSS.escape(id)}"] img`));
  const box = document.createElement("div");
  box.className = "pair";
  box.append(...found.filter(Boolean).map((image) => {
    const copy = image.cloneNode();
    copy.alt = "";
    return copy;
  }));
  return [box];
}

function place(element) {
  const about = element.getBoundingClientRect(), box = tip.getBoundingClientRect(), room = 8;
  const across = about.left + about.width / 2 - box.width / 2;
  const above = about.top - box.height - room;
  tip.style.left = `${Math.max(room, Math.min(across, document.documentElement.clientWidth - box.width - room))}px`;
  tip.style.top = `${above > room ? above : about.bottom + room}px`;
}

const tipped = (event) => event.target.closest?.("[data-tip]");
document.addEventListener("pointerover", (event) => {
  if (!tip.contains(event.target)) show(tipped(event) ?? (document.activeElement?.matches(":focus-visible[data-tip]") ? document.activeElement : null));
});
document.addEventListener("focusin", (event) => show(tipped(event) ?? null));
document.addEventListener("focusout", () => show(null));
document.addEventListener("scroll", () => { if (shown) place(shown); }, { capture: true, passive: true });
document.addEventListener("keydown", (event) => { if (event.key === "Escape") show(null); });

// A table of figures is one stop of the tab key; arrows go from figure to figure.

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

for (const area of document.querySelectorAll("[data-rove]")) {
  const items = [...area.querySelectorAll("[data-tip]")];
  items.forEach((item, i) => { item.tabIndex = i ? -1 : 0; });
  if (area.tagName === "TABLE") area.setAttribute("role", "grid");
  area.addEventListener("keydown", (event) => {
    const step = STEPS[event.key], from = tipped(event);
    if (!step || !from || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const next = nearest(items, from, step);
    if (next) stop(items, next).focus();
  });
  area.addEventListener("pointerdown", (event) => { if (tipped(event)) stop(items, tipped(event)); });
}

function stop(items, chosen) {
  for (const item of items) item.tabIndex = item === chosen ? 0 : -1;
  return chosen;
}

function nearest(items, from, [x, y]) {
  const centre = (item) => {
    const box = item.getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
  };
  const [left, top] = centre(from);
  let best = null, least = Infinity;
  for (const item of items) {
    if (!item.getClientRects().length) continue;
    const [dx, dy] = [centre(item)[0] - left, centre(item)[1] - top];
    const along = dx * x + dy * y, aside = Math.abs(dx * y) + Math.abs(dy * x);
    if (along > 2 && along + 5 * aside < least) [best, least] = [item, along + 5 * aside];
  }
  return best;
}

// Tables are sorted by a click on a heading: one way, the other way, and back to how they were.

for (const table of document.querySelectorAll("table.sortable")) {
  const rows = [...table.tBodies[0].rows];
  const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
  heads.forEach((head, column) => {
    if (head.dataset.sort === "no") return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const ways = table.dataset.first === "descending" ? ["descending", "ascending"] : ["ascending", "descending"];
      const way = head.dataset.sort === "original" ? undefined : ways[ways.indexOf(head.getAttribute("aria-sort")) + 1];
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      if (way) head.setAttribute("aria-sort", way);
      table.classList.toggle("sorted", Boolean(way));
      table.tBodies[0].append(...(way ? sorted(rows, column, way) : rows));
    });
  });
}

function sorted(rows, column, way) {
  const sign = way === "ascending" ? 1 : -1;
  const known = rows.filter((row) => row.className !== "kind").map((row) => [value(row.cells[column]), row]);
  known.sort(([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null);  // what was not measured comes last, either way
    return sign * (typeof a === "number" ? a - b : a.localeCompare(b));
  });
  return [...rows.filter((row) => row.className === "kind"), ...known.map(([, row]) => row)];
}

function value(cell) {
  if (cell.tagName === "TH") {  // the name alone, without notes
    return [...cell.childNodes].map((node) => (node.nodeType === Node.TEXT_NODE ? node.data : "")).join("").trim();
  }
  return cell.dataset.v === undefined ? null : Number(cell.dataset.v);
}

// One classifier's curves at a time.

const choices = [...document.querySelectorAll("[data-only]")];
for (const choice of choices) {
  choice.addEventListener("click", () => {
    const only = choice.getAttribute("aria-pressed") === "true" ? null : choice.dataset.only;
    for (const other of choices) other.setAttribute("aria-pressed", String(other.dataset.only === only));
    for (const line of document.querySelectorAll("[data-line]")) {
      line.classList.toggle("faint", only !== null && line.dataset.line !== only);
    }
  });
}
