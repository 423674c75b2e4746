"use strict";
const D = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
const el = (tag, text, cls) => {
  const e = document.createElement(tag);
  if (text != null) e.textContent = text;
  if (cls) e.className = cls;
  return e;
};
const UNITS = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];
const unitOf = n => UNITS.find(([, size]) => n >= size) ?? UNITS.at(-1);
const ns = (n, digits) => {
  const [unit, size] = unitOf(n);
  return (n / size).toFixed(digits ?? { s: 2, ns: 0 }[unit] ?? 1) + " " + unit;
};
const bytes = n => {
  const u = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  for (; n >= 1024 && i < 4; i++) n /= 1024;
  return (i ? n.toFixed(1) : n) + " " + u[i];
};
const num = n => n.toLocaleString("en-US");
// A colour of the style sheet; `onColours` has pictures drawn again where those change.
const colour = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
const dark = matchMedia("(prefers-color-scheme: dark)");
const onColours = draw => { dark.addEventListener("change", draw); addEventListener("resize", draw); };
// Has as many pixels as the screen where the picture is; and the pixels of a unit.
function size(canvas, width, height) {
  const ratio = devicePixelRatio || 1, w = Math.round(width * ratio), h = Math.round(height * ratio);
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w; canvas.height = h;
    canvas.style.width = width + "px"; canvas.style.height = height + "px";
  }
  canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
  return ratio;
}
// The least of 1, 2, 5, 10, 20 … that is not below n.
const round = n => {
  const power = 10 ** Math.floor(Math.log10(n));
  return power * [1, 2, 5, 10].find(f => f * power >= n * .999);
};
$("title").textContent = D.title;
$("about").textContent = D.about;
