"use strict";
(() => {
  const root = document.documentElement;
  const asked = new URLSearchParams(location.search).get("theme");
  if (asked === "light" || asked === "dark") root.dataset.theme = asked;
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  // A diagram is scrolled to its violation when it comes in sight.
  const center = (incident) => {
    const hot = incident.querySelector(".node.first") || incident.querySelector(".node.hot");
    const box = incident.querySelector(".space .scroll");
    if (hot && box) {
      const place = hot.getBoundingClientRect().left - box.getBoundingClientRect().left;
      // By whole columns, so that no label is cut at the left edge.
      const step = Number(box.querySelector("svg").dataset.step);
      box.scrollLeft = Math.round((box.scrollLeft + place - box.clientWidth / 2) / step) * step;
    }
    if (box) {
      const more = () => box.parentElement.classList.toggle("more", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
      box.addEventListener("scroll", more);
      more();
    }
  };
  const incidents = document.querySelectorAll("details.incident");
  incidents.forEach((each) => {
    if (each.open) center(each);
    each.addEventListener("toggle", () => each.open && center(each));
  });
  const jump = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (target && target.tagName === "DETAILS") target.open = true;
  };
  addEventListener("hashchange", jump);
  jump();

  const search = document.getElementById("search");
  if (!search) return;
  const rows = [...document.querySelectorAll("#all tr")].map((row) => [row, row.textContent.toLowerCase()]);
  const chips = [...document.querySelectorAll(".chip")];
  const shown = document.getElementById("shown");
  let rule = "";
  const filter = () => {
    const text = search.value.toLowerCase();
    let count = 0;
    for (const [row, words] of rows) {
      row.hidden = !((!rule || row.dataset.rule === rule) && words.includes(text));
      count += !row.hidden;
    }
    shown.textContent = count === rows.length ? "" : `${count.toLocaleString("en")} of ${rows.length.toLocaleString("en")} shown.`;
  };
  search.addEventListener("input", filter);
  chips.forEach((chip) => chip.addEventListener("click", () => {
    rule = chip.dataset.rule;
    chips.forEach((each) => each.classList.toggle("on", each === chip));
    filter();
  }));
})();
