"use strict";
const D = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
const WORDS = 6;
const U = (() => {
  const text = $("calls").textContent.trim();
  const b = Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : Uint8Array.from(atob(text), c => c.charCodeAt(0));
  return new Uint32Array(b.buffer, 0, b.byteLength >> 2);
})();
const F = new Float32Array(U.buffer, 0, U.length);
$("calls").remove();
const begin = i => U[i * WORDS] + (U[i * WORDS + 1] & 0xffff) * 4294967296;
const length = i => F[i * WORDS + 2];
const site = i => U[i * WORDS + 3] & 0xffff;
const subject = i => (U[i * WORDS + 3] >>> 16) - 1;
const ns = n => n < 1e3 ? n.toFixed(0) + " ns" : n < 1e6 ? (n / 1e3).toFixed(2) + " µs" : n < 1e9 ? (n / 1e6).toFixed(3) + " ms" : (n / 1e9).toFixed(4) + " s";
const COLOURS = { put: "#2f7fd1", get: "#3aa6b9", atomic: "#7a5bd0", wait: "#e0843a", collective: "#c7504f", memory: "#8a8a8a", region: "#b9d8b9", other: "#a39a5c" };
for (const k in COLOURS) { const i = document.createElement("i"); i.style.background = COLOURS[k]; $("key").append(i, k); }
$("title").textContent = D.title;
$("about").textContent = D.about;

const canvas = $("c"), ctx = canvas.getContext("2d"), LEFT = 74, TOP = 22;
let from = 0, to = D.length, top_ = 0, selected = -1, hit = -1, matches = null, hits = [];
const rowHeight = () => Math.max(5, Math.min(34, Math.floor((canvas.clientHeight - TOP) / D.rows.length)));
const rowOf = new Map(D.rows.map((r, i) => [r.pe + "." + r.thread, i]));
const x = t => LEFT + (t - from) / (to - from) * (canvas.clientWidth - LEFT);
const at = px => from + (px - LEFT) / (canvas.clientWidth - LEFT) * (to - from);
// First call of a row that begins at t or later.
function lower(r, t) { let a = r.first, b = r.first + r.count; while (a < b) { const m = (a + b) >> 1; if (begin(m) < t) a = m + 1; else b = m; } return a; }

function draw() {
  const ratio = devicePixelRatio || 1, w = $("view").clientWidth, h = $("view").clientHeight;
  if (canvas.width !== w * ratio || canvas.height !== h * ratio) { canvas.width = w * ratio; canvas.height = h * ratio; canvas.style.width = w + "px"; canvas.style.height = h + "px"; }
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.clearRect(0, 0, w, h);
  const rh = rowHeight(), shown = Math.floor((h - TOP) / rh);
  top_ = Math.max(0, Math.min(top_, D.rows.length - shown));
  ctx.font = "11px system-ui"; ctx.fillStyle = "#555"; ctx.textBaseline = "middle";
  const power = 10 ** Math.floor(Math.log10((to - from) / 8)), step = power * [1, 2, 5, 10].find(f => f * power >= (to - from) / 8);
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) { ctx.fillText(ns(t), x(t) + 2, TOP / 2); ctx.fillRect(x(t), 0, 1, TOP); }
  const scale = (w - LEFT) / (to - from);
  for (let n = 0; n < shown && top_ + n < D.rows.length; n++) {
    const r = D.rows[top_ + n], y = TOP + n * rh, bh = Math.max(3, rh - 3);
    if (rh >= 10 || n % Math.ceil(12 / rh) === 0) { ctx.fillStyle = "#333"; ctx.fillText(r.name, 4, y + rh / 2); }
    ctx.fillStyle = "#f3f3f3"; ctx.fillRect(LEFT, y, w - LEFT, bh);
    // Calls that are not on the page one by one: the share of each part of the time that they take.
    if (r.density) {
      const part = D.length / r.density.length;
      for (let i = Math.max(0, Math.floor(from / part)); i < r.density.length && i * part < to; i++)
        if (r.density[i]) { ctx.fillStyle = `rgba(90,90,90,${0.08 + 0.5 * r.density[i] / 255})`; ctx.fillRect(x(i * part), y, Math.max(1, part * scale), bh); }
    }
    let start = lower(r, from);
    for (let back = 0; start > r.first && back < 64; back++) start--;
    let covered = -1;
    for (let i = start; i < r.first + r.count; i++) {
      const b = begin(i); if (b > to) break;
      const x0 = Math.max(LEFT, x(b)), x1 = x(b + length(i));
      if (x1 < LEFT || (x1 <= covered && !matches)) continue;
      const s = D.sites[site(i)], is = matches && matches.has(site(i)), region = s.kind === "region";
      ctx.fillStyle = COLOURS[s.kind];
      if (matches && !is) ctx.globalAlpha = 0.15;
      const width = Math.max(1, x1 - x0);
      if (region) ctx.fillRect(x0, y + bh - 2, width, 2); else { ctx.fillRect(x0, y, width, bh); covered = x0 + width; }
      ctx.globalAlpha = 1;
      if (width > 60 && rh >= 12) { ctx.fillStyle = "#fff"; ctx.save(); ctx.beginPath(); ctx.rect(x0, y, width - 3, bh); ctx.clip(); ctx.fillText(s.name, x0 + 3, y + bh / 2); ctx.restore(); }
      if (i === selected || i === hit) { ctx.strokeStyle = "#000"; ctx.lineWidth = 2; ctx.strokeRect(x0, y, Math.max(3, width), bh); }
    }
  }
  if ($("arrows").checked) {
    ctx.strokeStyle = "rgba(30,30,30,.55)"; ctx.fillStyle = "rgba(30,30,30,.8)"; ctx.lineWidth = 1;
    let drawn = 0;
    for (const [a, at_, ta, b, bt, tb] of D.flows) {
      if (tb < from || ta > to || drawn > 1500) continue;
      const ra = rowOf.get(a + "." + at_) - top_, rb = rowOf.get(b + "." + bt) - top_;
      if (!(ra >= 0 && rb >= 0 && ra < shown && rb < shown)) continue;
      const xa = x(ta), ya = TOP + (ra + .5) * rh, xb = x(tb), yb = TOP + (rb + .5) * rh;
      ctx.beginPath(); ctx.moveTo(xa, ya); ctx.lineTo(xb, yb); ctx.stroke(); ctx.fillRect(xb - 2, yb - 2, 4, 4); drawn++;
    }
  }
}
let due = false;
const redraw = () => { if (!due) { due = true; requestAnimationFrame(() => { due = false; draw(); }); } };
function zoom(f, center) { const c = center ?? (from + to) / 2, w = Math.min(D.length, Math.max(50, (to - from) * f)); from = c - (c - from) * w / (to - from); from = Math.max(0, Math.min(from, D.length - w)); to = from + w; redraw(); }
function move(d) { const w = to - from; from = Math.max(0, Math.min(from + d, D.length - w)); to = from + w; redraw(); }
$("in").onclick = () => zoom(.5); $("out").onclick = () => zoom(2); $("all").onclick = () => { from = 0; to = D.length; redraw(); };
$("arrows").onchange = redraw; addEventListener("resize", redraw);
addEventListener("keydown", e => { if (e.target.tagName === "INPUT") return; if (e.key === "+") zoom(.5); if (e.key === "-") zoom(2); if (e.key === "0") $("all").onclick(); if (e.key === "ArrowLeft") move((from - to) / 4); if (e.key === "ArrowRight") move((to - from) / 4); });
canvas.addEventListener("wheel", e => { e.preventDefault(); if (e.shiftKey) { top_ += Math.sign(e.deltaY || e.deltaX) * 3; redraw(); } else zoom(e.deltaY > 0 ? 1.25 : .8, at(e.offsetX)); }, { passive: false });
let drag = null;
canvas.onmousedown = e => { drag = { x: e.offsetX, y: e.offsetY, moved: false }; };
onmousemove = e => { if (drag && e.buttons) { const d = e.movementX; if (Math.abs(d) > 1) drag.moved = true; if (drag.moved) move(-d * (to - from) / (canvas.clientWidth - LEFT)); } };
onmouseup = () => { if (drag && !drag.moved) pick(drag.x, drag.y); drag = null; };
function show(i, r) {
  const s = D.sites[site(i)], pe = subject(i), bytes = F[i * WORDS + 4], place = U[i * WORDS + 5];
  let t = `${s.name}   on ${r.name}\ncalled at ${s.path}${s.function ? " in " + s.function : ""}\nbegins at ${ns(begin(i))}, takes ${ns(length(i))}`;
  if (pe >= 0) t += `, PE ${pe}`;
  if (bytes) t += `, ${bytes.toLocaleString("en-US")} bytes`;
  if (place) t += `, ${place & 0x80000000 ? "globals" : "heap"}+0x${(place & 0x7fffffff).toString(16)}`;
  $("detail").textContent = t;
}
function pick(px, py) {
  const r = D.rows[top_ + Math.floor((py - TOP) / rowHeight())];
  selected = -1;
  if (r) {
    const t = at(px), slack = 3 * (to - from) / canvas.clientWidth;
    for (let i = Math.min(lower(r, t + slack), r.first + r.count) - 1, n = 0; i >= r.first && n < 200; i--, n++)
      if (begin(i) + length(i) + slack >= t && (selected < 0 || length(i) < length(selected))) { selected = i; if (length(i) < slack) break; }
    if (selected >= 0) show(selected, r); else $("detail").textContent = "No single call is on the page here: the PE computes, or its calls are too short (grey).";
  }
  redraw();
}
function search() {
  const q = $("find").value.trim().toLowerCase();
  matches = null; hits = []; hit = -1;
  if (q) {
    matches = new Set(D.sites.map((s, i) => [s, i]).filter(([s]) => (s.name + " " + s.path).toLowerCase().includes(q)).map(([, i]) => i));
    for (const [n, r] of D.rows.entries()) for (let i = r.first; i < r.first + r.count; i++) if (matches.has(site(i))) hits.push([i, n]);
    hits.sort((a, b) => begin(a[0]) - begin(b[0]));
  }
  $("hits").textContent = q ? hits.length.toLocaleString("en-US") + " calls" : "";
  redraw();
}
let cursor = -1;
function go(d) {
  if (!hits.length) return;
  cursor = (Math.max(-1, Math.min(cursor, hits.length - 1)) + d + hits.length) % hits.length;
  const [i, n] = hits[cursor], w = Math.min(to - from, Math.max(2000, length(i) * 20));
  hit = i; top_ = n - 2; from = Math.max(0, begin(i) - w / 2); to = Math.min(D.length, from + w); show(i, D.rows[n]); redraw();
}
$("find").oninput = () => { cursor = -1; search(); };
$("find").onkeydown = e => { if (e.key === "Enter") go(1); };
$("next").onclick = () => go(1); $("prev").onclick = () => go(-1);
draw();
document.title = D.title;
