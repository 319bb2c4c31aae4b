"use strict";
// Tables sort by the column whose head is pressed, and their cells say their heads where a row is a card. A shape that
// has a title says it at the pointer. A drawing is saved as a file that looks as it does here.

function told(table) {
  const [head, ...body] = table.rows;
  // lines of a head stand behind each other in a card, and parts of a word together
  head.querySelectorAll("br").forEach((line) => line.before(" "));
  const names = [...head.cells].map((cell) => cell.innerText.replace(/-\s+/g, "").replace(/\s+/g, " ").trim());
  for (const row of body) [...row.cells].forEach((cell, column) => { cell.dataset.head = names[column] ?? ""; });
  table.classList.add("told");
}

function sortable(table) {
  const [head, ...body] = table.rows;
  [...head.cells].forEach((cell, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...cell.childNodes);
    cell.append(button);
    button.addEventListener("click", () => {
      const falling = cell.getAttribute("aria-sort") === "ascending";
      for (const other of head.cells) other.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", falling ? "descending" : "ascending");
      head.parentNode.append(...sorted(body, column, falling));
    });
  });
}

function sorted(rows, column, falling) {
  const texts = new Map(rows.map((row) => [row, row.cells[column].innerText.trim()]));
  const known = rows.filter((row) => texts.get(row) !== "–");
  const unknown = rows.filter((row) => texts.get(row) === "–");
  const figures = new Map(known.map((row) => [row, figure(texts.get(row))]));
  const numeric = known.every((row) => !Number.isNaN(figures.get(row)));
  const compare = numeric
    ? (a, b) => figures.get(a) - figures.get(b)
    : (a, b) => texts.get(a).localeCompare(texts.get(b), "en", { numeric: true });
  known.sort((a, b) => (falling ? compare(b, a) : compare(a, b)));
  return [...known, ...unknown];
}

// what a cell begins with, if that is a number: "1,024", "95%", "2.1e-4", "6 + 6"
function figure(text) {
  const found = /^[-+]?[\d,]*\.?\d+(e[-+]?\d+)?/i.exec(text);
  return found ? Number(found[0].replaceAll(",", "")) : NaN;
}

const tip = document.createElement("div");
tip.id = "tip";
tip.setAttribute("role", "status");
tip.hidden = true;

function said(element) {
  if (!element.ownerSVGElement) return "";
  if (element.dataset.tip === undefined) {
    // the browser would show the title as well, a second later
    const title = element.querySelector(":scope > title");
    element.dataset.tip = title ? title.textContent : "";
    if (title) element.setAttribute("aria-label", title.textContent);
    title?.remove();
  }
  return element.dataset.tip || said(element.parentElement);
}

document.addEventListener("pointermove", (event) => {
  tip.textContent = said(event.target);
  tip.hidden = tip.textContent === "";
  const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
  tip.style.left = `${Math.max(0, Math.min(event.clientX + 12, room))}px`;
  const below = event.clientY + 18;
  const fits = below + tip.offsetHeight < window.innerHeight;
  tip.style.top = `${fits ? below : event.clientY - tip.offsetHeight - 8}px`;
});
document.addEventListener("scroll", () => { tip.hidden = true; }, true);

const LOOKS = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "opacity", "font-family",
  "font-size", "font-weight", "text-anchor", "dominant-baseline", "visibility",
];

// an SVG that needs no style sheet: what shapes look like is said by themselves
function alone(svg) {
  const copy = svg.cloneNode(true);
  const pairs = [[svg, copy], ...[...svg.querySelectorAll("*")].map((own, k) => [own, copy.querySelectorAll("*")[k]])];
  for (const [own, other] of pairs) {
    const look = getComputedStyle(own);
    for (const name of LOOKS) other.style.setProperty(name, look.getPropertyValue(name));
    other.removeAttribute("class");
  }
  const box = svg.viewBox.baseVal;
  copy.style.setProperty("background", getComputedStyle(document.body).backgroundColor);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", box.width);
  copy.setAttribute("height", box.height);
  return new XMLSerializer().serializeToString(copy);
}

function savable(figure) {
  const svg = figure.querySelector("svg");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "save";
  button.textContent = "save as SVG";
  const label = svg.getAttribute("aria-label") ?? figure.querySelector("[aria-label]")?.getAttribute("aria-label");
  button.setAttribute("aria-label", `save as SVG: ${label ?? "drawing"}`);
  button.addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([alone(svg)], { type: "image/svg+xml" }));
    link.download = `${document.title} ${label ?? "drawing"}`.toLowerCase().replace(/[^a-z0-9]+/g, "-") + ".svg";
    link.click();
    URL.revokeObjectURL(link.href);
  });
  figure.append(button);
}

document.body.append(tip);
document.querySelectorAll("table").forEach(told);
document.querySelectorAll("figure:has(svg)").forEach(savable);
document.querySelectorAll("table.sorts").forEach(sortable);
