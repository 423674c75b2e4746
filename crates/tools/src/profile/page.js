"use strict";
const D = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
const el = (tag, text, cls) => { const e = document.createElement(tag); if (text != null) e.textContent = text; if (cls) e.className = cls; return e; };
const ns = n => n < 1e3 ? n.toFixed(0) + " ns" : n < 1e6 ? (n / 1e3).toFixed(1) + " µs" : n < 1e9 ? (n / 1e6).toFixed(1) + " ms" : (n / 1e9).toFixed(2) + " s";
const bytes = n => { const u = ["B", "KiB", "MiB", "GiB", "TiB"]; let i = 0; while (n >= 1024 && i < 4) { n /= 1024; i++; } return (i ? n.toFixed(1) : n) + " " + u[i]; };
const num = n => n.toLocaleString("en-US");
const least = (is, text) => (is ? "≥ " : "") + text;
$("title").textContent = D.title;
$("about").textContent = D.about;
for (const f of D.findings) {
  const d = el("div", null, "finding");
  d.append(el("b", f.what), el("div", f.evidence, "dim"), el("div", "→ " + f.remedy));
  $("findings").append(d);
}
if (!D.findings.length) $("findings").append(el("div", "Nothing stands out: no PE makes others wait for long, and the traffic is even.", "finding none"));

function bar(p, label) {
  const row = el("div", null, "pe"), b = el("div", null, "bar");
  for (const [k, c] of [["computing", "c"], ["transfer", "t"], ["core", "k"], ["waiting", "w"]]) {
    const i = el("i", null, c);
    i.style.width = (100 * p[k] / Math.max(1, p.total)) + "%";
    i.title = (k === "core" ? "waiting for a core" : k) + ": " + ns(p[k]) + " (" + (100 * p[k] / Math.max(1, p.total)).toFixed(1) + "%)";
    b.append(i);
  }
  row.append(el("span", label), b, el("span", ns(p.total)));
  return row;
}
function drawPes() {
  const k = $("order").value, list = [...D.pes];
  list.sort((a, b) => k === "pe" ? a.pe - b.pe : b[k] / b.total - a[k] / a.total);
  $("pes").replaceChildren(...list.map(p => bar(p, "PE " + p.pe + (p.died ? " (ended early)" : ""))));
}
const sum = { total: 0, computing: 0, transfer: 0, core: 0, waiting: 0 };
for (const p of D.pes) for (const k in sum) sum[k] += p[k];
$("total").append(bar(sum, "all PEs"));
$("order").onchange = drawPes;
drawPes();

const nodeOf = new Map(D.pes.map(p => [p.pe, p.node]));
function cells() {
  const what = $("what").value, byNode = $("by").value === "node", m = new Map();
  const at = pe => byNode ? (nodeOf.get(pe) ?? 0) : pe;
  const add = (a, b, v) => { if (v) { const k = at(a) + "," + at(b); m.set(k, (m.get(k) || 0) + v); } };
  if (what === "waits") for (const [a, b, v] of D.waits) add(a, b, v);
  else for (const [a, b, puts, pb, gets, gb, at_, up, sends, sb] of D.traffic)
    add(a, b, { bytes: pb + gb + sb + 8 * at_, ops: puts + gets + at_ + sends, puts, gets, atomics: at_ }[what]);
  return m;
}
const canvas = $("matrix"), ctx = canvas.getContext("2d");
let shown = new Map(), cell = 1, side = 1;
function amount(v) {
  const what = $("what").value, unit = { bytes, waits: ns }[what] || num;
  return least(D.is_partial && what !== "waits", unit(v));
}
function drawMatrix() {
  const byNode = $("by").value === "node";
  side = byNode ? Math.max(1, ...D.pes.map(p => p.node + 1)) : D.n_pes;
  cell = Math.max(1, Math.min(28, Math.floor(640 / side)));
  canvas.width = canvas.height = side * cell;
  shown = cells();
  let max = 1; for (const v of shown.values()) max = Math.max(max, v);
  ctx.fillStyle = "#f4f4f4"; ctx.fillRect(0, 0, canvas.width, canvas.height);
  for (const [k, v] of shown) {
    const [a, b] = k.split(",").map(Number), t = Math.log1p(v) / Math.log1p(max);
    ctx.fillStyle = `hsl(${210 - 190 * t},75%,${88 - 45 * t}%)`;
    ctx.fillRect(b * cell, a * cell, cell, cell);
  }
  $("scale").textContent = shown.size ? " largest: " + amount(max) : " none";
  const u = byNode ? "node" : "PE";
  $("axes").textContent = $("what").value === "waits" ? `Rows: the ${u} that waits. Columns: the ${u} that it waits for.` : `Rows: the ${u} that calls. Columns: the ${u} whose memory is reached. Collectives are not in this picture. Colours are logarithmic.`;
}
$("what").onchange = $("by").onchange = drawMatrix;
canvas.onmousemove = e => {
  const b = Math.floor(e.offsetX / cell), a = Math.floor(e.offsetY / cell), v = shown.get(a + "," + b) || 0, t = $("tip");
  t.style.display = "block"; t.style.left = e.clientX + 14 + "px"; t.style.top = e.clientY + 10 + "px";
  t.textContent = `${a} → ${b}: ${amount(v)}`;
};
canvas.onmouseleave = () => $("tip").style.display = "none";
drawMatrix();

function table(id, columns, rows, filter) {
  const head = el("tr"), t = $(id);
  let by = columns.findIndex(c => c.first), up = false;
  const draw = () => {
    const wanted = filter ? filter().toLowerCase() : "";
    const list = rows.filter(r => !wanted || JSON.stringify(r).toLowerCase().includes(wanted));
    list.sort((a, b) => { const x = columns[by].key(a), y = columns[by].key(b); return (x < y ? -1 : x > y ? 1 : 0) * (up ? 1 : -1); });
    t.tBodies[0].replaceChildren(...list.slice(0, 500).map(r => {
      const tr = el("tr");
      for (const c of columns) { const td = el("td", c.show ? c.show(r) : c.key(r)); if (c.title) td.title = c.title(r); tr.append(td); }
      return tr;
    }));
  };
  columns.forEach((c, i) => { const th = el("th", c.name); th.onclick = () => { up = by === i ? !up : false; by = i; draw(); }; head.append(th); });
  t.tHead.append(head);
  draw();
  return draw;
}
const redraw = table("sites", [
  { name: "routine", key: s => s.name },
  { name: "called at", key: s => s.line, title: s => s.path + (s.function ? " in " + s.function : "") },
  { name: "calls", key: s => s.calls, show: s => least(s.is_partial, num(s.calls)) },
  { name: "time", key: s => s.ns, show: s => ns(s.ns), first: true },
  { name: "of the run", key: s => s.ns, show: s => (100 * s.ns / Math.max(1, sum.total)).toFixed(1) + "%" },
  { name: "waiting", key: s => s.waiting, show: s => ns(s.waiting) },
  { name: "mean", key: s => s.ns / Math.max(1, s.calls), show: s => ns(s.ns / Math.max(1, s.calls)) },
  { name: "longest", key: s => s.longest, show: s => ns(s.longest) },
  { name: "bytes", key: s => s.bytes, show: s => least(s.is_partial, bytes(s.bytes)) },
  { name: "PEs", key: s => s.pes },
], D.sites, () => $("find").value);
$("find").oninput = redraw;
table("balance", [
  { name: "routine", key: s => s.name },
  { name: "called at", key: s => s.line, title: s => s.path },
  { name: "largest / mean", key: s => s.ratio, show: s => s.ratio.toFixed(2), first: true },
  { name: "by PE", key: s => s.most },
  { name: "waiting", key: s => s.waiting, show: s => ns(s.waiting) },
  { name: "last", key: s => s.last_pe, show: s => "PE " + s.last_pe + " in " + (100 * s.last_share).toFixed(0) + "%" },
], D.balance);

for (const [i, c] of D.sizes.entries()) { const o = el("option", c.name + " (" + least(c.is_partial, num(c.buckets.reduce((a, b) => a + b[0], 0))) + ")"); o.value = i; $("class").append(o); }
function drawHist() {
  const b = D.sizes[$("class").value].buckets, last = b.findLastIndex(x => x[0]), first = b.findIndex(x => x[0]);
  const max = Math.max(1, ...b.map(x => x[0]));
  $("hist").replaceChildren();
  for (let i = Math.max(0, first); i <= last; i++) {
    const d = el("div"), v = el("i");
    v.style.height = Math.max(b[i][0] ? 2 : 0, 130 * b[i][0] / max) + "px";
    d.title = least(D.sizes[$("class").value].is_partial, num(b[i][0]) + " operations, " + bytes(b[i][1]));
    d.append(v, el("span", i ? bytes(2 ** (i - 1)) : "0"));
    $("hist").append(d);
  }
  if (last < 0) $("hist").append(el("span", "none"));
}
const most = D.sizes.map(c => c.buckets.reduce((a, b) => a + b[0], 0));
$("class").value = most.indexOf(Math.max(...most));
$("class").onchange = drawHist;
drawHist();

for (const t of D.memory) $("memory").append(el("div", t));
for (const t of D.notes) $("notes").append(el("p", t));
