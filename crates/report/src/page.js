// Tables sort by their heads; what is folded prints unfolded. Without script the page says the same.
"use strict";
// Chromium repeats a table's head on each printed page, but no button in it: on paper heads are plain text.
const dressed = [];
const dress = ([head, button]) => { button.append(...head.childNodes); head.append(button); };
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    dressed.push([head, button]);
    dress([head, button]);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = (row) => {
        const cell = row.cells[column];
        return cell.dataset.sort === undefined ? cell.textContent.trim() : Number(cell.dataset.sort);
      };
      const order = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
      const body = table.tBodies[0];
      const rows = [...body.rows].sort((a, b) => (down ? -1 : 1) * order(value(a), value(b)));
      body.append(...rows);
    });
  });
}
addEventListener("beforeprint", () => {
  document.querySelectorAll("details").forEach((one) => { one.open = true; });
  dressed.forEach(([head, button]) => { if (button.parentNode === head) { head.replaceChildren(...button.childNodes); } });
});
addEventListener("afterprint", () => dressed.filter(([, button]) => !button.isConnected).forEach(dress));

// Matrices: one pixel-exact cell a pair of groups, drawn once, between the groups' names; the cell under the pointer or the
// keys is said below. Names that have no room are left out, evenly.
for (const figure of document.querySelectorAll("figure.matrix")) {
  const { names, shares } = JSON.parse(figure.querySelector("script").textContent);
  const canvas = figure.querySelector("canvas");
  const said = figure.querySelector("p");
  const size = Math.max(1, Math.min(32, Math.floor(640 / names.length)));
  canvas.width = canvas.height = size * names.length;
  const paint = canvas.getContext("2d");
  // Light to dark by heat, in steps that colour-blind people can tell; what cannot be reached is black.
  const colour = (share) => {
    if (share === null) { return "#000"; }
    const heat = 1 - Math.max(0, Math.min(1, share));
    return `hsl(${45 - 40 * heat} ${60 + 30 * heat}% ${94 - 62 * heat}%)`;
  };
  const made = (kind, name, text = "") => {
    const one = document.createElement(kind);
    one.className = name;
    one.textContent = text;
    return one;
  };
  const legend = figure.querySelector(".legend");
  legend.append("Share: ");
  const steps = [1, 0.75, 0.5, 0.25, 0, null];
  const words = (share) => share === null ? "unreachable" : `${100 * share} %`;
  steps.filter((share) => share !== null || shares.flat().includes(null)).forEach((share) => {
    const swatch = made("span", "swatch");
    swatch.style.background = colour(share);
    legend.append(swatch, `${words(share)} `);
  });
  const every = Math.ceil(14 / size);
  const named = (side) => {
    const list = made("div", side);
    list.setAttribute("aria-hidden", "true");
    list.append(...names.filter((_, index) => index % every === 0).map((name) => made("span", "", name)));
    list.style.setProperty("--step", `${size * every}px`);
    return list;
  };
  const plot = made("div", "plot scroll");
  plot.append(made("div", "corner", "from \u2193 to \u2192"), named("columns"), named("rows"));
  canvas.replaceWith(plot);
  plot.append(canvas);
  shares.forEach((row, from) => row.forEach((share, to) => {
    paint.fillStyle = colour(share);
    paint.fillRect(to * size, from * size, size, size);
  }));
  let at = [0, 0];
  const say = () => {
    const share = shares[at[0]][at[1]];
    const worth = share === null ? "unreachable" : `${(100 * share).toFixed(1)} %`;
    said.textContent = `from ${names[at[0]]} to ${names[at[1]]}: ${worth}`;
  };
  const within = (index) => Math.max(0, Math.min(names.length - 1, index));
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const place = (offset, length) => within(Math.floor(names.length * offset / length));
    at = [place(event.clientY - box.top, box.height), place(event.clientX - box.left, box.width)];
    say();
  });
  canvas.addEventListener("keydown", (event) => {
    const keys = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const step = keys[event.key];
    if (step === undefined) { return; }
    event.preventDefault();
    at = [within(at[0] + step[0]), within(at[1] + step[1])];
    say();
  });
}
