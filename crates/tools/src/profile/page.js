const least = (is, text) => (is ? "≥ " : "") + text;
for (const f of D.findings) {
  const d = el("div", null, "finding");
  d.append(el("b", f.what), el("div", f.evidence, "dim"), el("div", "→ " + f.remedy));
  $("findings").append(d);
}
if (!D.findings.length) $("findings").append(el("div", "Nothing stands out: no PE makes others wait for long, and the traffic is even.", "finding none"));

// A bar of parts: name, class and size of each; all of them are what `full` is.
function bar(label, parts, full, value) {
  const row = el("div", null, "row"), b = el("div", null, "bar"), words = [];
  for (const [name, cls, size] of parts) {
    const i = el("i", null, cls), share = 100 * size / Math.max(1, full);
    i.style.width = share + "%";
    words.push(name + " (" + share.toFixed(1) + "%)");
    i.title = words.at(-1);
    b.append(i);
  }
  b.role = "img";
  b.ariaLabel = words.join(", ");
  row.append(el("span", label), b, el("span", value));
  return row;
}
const PARTS = [["computing", "c"], ["transfer", "t"], ["core", "k"], ["waiting", "w"]];
const times = (label, p) => {
  const mark = k => D.is_sample && { computing: "≤ ", transfer: "≥ " }[k] || "";
  const part = ([k, c]) => [(k === "core" ? "waiting for a core" : k) + ": " + mark(k) + ns(p[k]), c, p[k]];
  return bar(label, PARTS.map(part), p.total, ns(p.total));
};
function drawPes() {
  const k = $("order").value, list = [...D.pes];
  list.sort((a, b) => k === "pe" ? a.pe - b.pe : b[k] / b.total - a[k] / a.total);
  $("pes").replaceChildren(...list.map(p => times("PE " + p.pe + (p.died ? " (ended early)" : ""), p)));
}
const sum = { total: 0, computing: 0, transfer: 0, core: 0, waiting: 0 };
for (const p of D.pes) for (const k in sum) sum[k] += p[k];
$("total").append(times("all PEs", sum));
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
const canvas = $("matrix"), ctx = canvas.getContext("2d"), TOP = 16;
let shown = new Map(), max = 1, cell = 1, side = 1, left = 30, at = null;
function amount(v) {
  const what = $("what").value, unit = { bytes, waits: ns }[what] || num;
  return least(D.is_partial && what !== "waits", unit(v));
}
// Of a share from 0 to 1: the same steps on light and on dark paper.
const heat = t => `hsl(${210 - 190 * t},70%,${dark.matches ? 24 + 38 * t : 88 - 45 * t}%)`;
function drawMatrix() {
  const u = $("by").value === "node" ? "node" : "PE";
  side = u === "node" ? Math.max(1, ...D.pes.map(p => p.node + 1)) : D.n_pes;
  ctx.font = "11px system-ui";
  left = 8 + ctx.measureText(side).width;
  cell = Math.max(1, Math.min(28, Math.floor((Math.min(640, canvas.parentElement.clientWidth) - left) / side)));
  size(canvas, left + side * cell + 12, TOP + side * cell + 1);
  ctx.font = "11px system-ui"; ctx.textBaseline = "middle";
  shown = cells();
  max = Math.max(1, ...shown.values());
  ctx.clearRect(0, 0, canvas.width, canvas.height);
  ctx.fillStyle = colour("tint"); ctx.fillRect(left, TOP, side * cell, side * cell);
  for (const [k, v] of shown) {
    const [a, b] = k.split(",").map(Number);
    ctx.fillStyle = heat(Math.log1p(v) / Math.log1p(max));
    ctx.fillRect(left + b * cell, TOP + a * cell, cell, cell);
  }
  ctx.fillStyle = colour("muted");
  for (let i = 0, step = round((left + 6) / cell); i < side; i += Math.max(1, step)) {
    const middle = (i + .5) * cell;
    ctx.textAlign = "right"; ctx.fillText(i, left - 4, TOP + middle);
    ctx.textAlign = "center"; ctx.fillText(i, left + middle, TOP / 2);
  }
  ctx.strokeStyle = colour("line"); ctx.strokeRect(left - .5, TOP - .5, side * cell + 1, side * cell + 1);
  if (at) {
    ctx.strokeStyle = colour("ink"); ctx.lineWidth = 2;
    ctx.strokeRect(left + at[1] * cell, TOP + at[0] * cell, cell, cell); ctx.lineWidth = 1;
  }
  const ramp = el("i", null, "ramp");
  ramp.style.background = `linear-gradient(to right,${[0, .25, .5, .75, 1].map(heat)})`;
  $("scale").replaceChildren(...(shown.size ? ["0", ramp, amount(max) + " (colours are logarithmic)"] : ["none"]));
  $("axes").textContent = $("what").value === "waits"
    ? `Rows: the ${u} that waits. Columns: the ${u} that it waits for.`
    : `Rows: the ${u} that calls. Columns: the ${u} whose memory is reached. Collectives are not in this picture.`;
}
function point(a, b) {
  if (!(a >= 0 && b >= 0 && a < side && b < side)) return;
  at = [a, b];
  const u = $("by").value === "node" ? "node" : "PE";
  $("cell").textContent = `${u} ${a} → ${b}: ${amount(shown.get(a + "," + b) || 0)}`;
  drawMatrix();
}
$("what").onchange = $("by").onchange = () => { at = null; $("cell").textContent = ""; drawMatrix(); };
canvas.onmousemove = e => point(Math.floor((e.offsetY - TOP) / cell), Math.floor((e.offsetX - left) / cell));
canvas.onkeydown = e => {
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[e.key];
  if (!step) return;
  e.preventDefault();
  if (at) point(at[0] + step[0], at[1] + step[1]); else point(0, 0);
};
onColours(drawMatrix);
drawMatrix();

function table(id, columns, rows, find) {
  const head = el("tr"), t = $(id);
  let by = columns.findIndex(c => c.first), up = false;
  const draw = () => {
    const wanted = find ? find.value.toLowerCase() : "";
    const list = rows.filter(r => !wanted || JSON.stringify(r).toLowerCase().includes(wanted));
    list.sort((a, b) => { const x = columns[by].key(a), y = columns[by].key(b); return (x < y ? -1 : x > y ? 1 : 0) * (up ? 1 : -1); });
    t.tBodies[0].replaceChildren(...list.slice(0, 500).map(r => {
      const tr = el("tr");
      for (const c of columns) { const td = el("td", c.show ? c.show(r) : c.key(r)); if (c.title) td.title = c.title(r); tr.append(td); }
      return tr;
    }));
    [...head.children].forEach((th, i) => { th.ariaSort = i !== by ? "none" : up ? "ascending" : "descending"; });
  };
  columns.forEach((c, i) => {
    const th = el("th"), b = el("button", c.name);
    th.scope = "col";
    b.onclick = () => { up = by === i ? !up : false; by = i; draw(); };
    th.append(b); head.append(th);
  });
  t.tHead.append(head);
  if (find) find.oninput = draw;
  draw();
}
// Of those calls whose time was taken.
const mean = s => s.ns / Math.max(1, s.calls - s.untimed);
const share = ns => (100 * ns / Math.max(1, sum.total)).toFixed(1) + "%";
table("sites", [
  { name: "routine", key: s => s.name },
  { name: "called at", key: s => s.line, title: s => s.path + (s.function ? " in " + s.function : "") },
  { name: "calls", key: s => s.calls, show: s => least(s.is_partial, num(s.calls)),
    title: s => s.untimed ? num(s.untimed) + " of them without their time" : "" },
  { name: "time", key: s => s.ns, show: s => least(s.untimed, ns(s.ns)), first: true },
  { name: "of the run", key: s => s.ns, show: s => least(s.untimed, share(s.ns)) },
  { name: "waiting", key: s => s.waiting, show: s => ns(s.waiting) },
  { name: "mean", key: mean, show: s => s.calls > s.untimed ? ns(mean(s)) : "not timed" },
  { name: "longest", key: s => s.longest, show: s => least(s.untimed, ns(s.longest)) },
  { name: "bytes", key: s => s.bytes, show: s => least(s.is_partial, bytes(s.bytes)) },
  { name: "PEs", key: s => s.pes },
], D.sites, $("find"));
table("balance", [
  { name: "routine", key: s => s.name },
  { name: "called at", key: s => s.line, title: s => s.path },
  { name: "largest / mean", key: s => s.ratio, show: s => s.ratio.toFixed(2), first: true },
  { name: "by PE", key: s => s.most },
  { name: "waiting", key: s => s.waiting, show: s => ns(s.waiting) },
  { name: "last", key: s => s.last_pe, show: s => "PE " + s.last_pe + " in " + (100 * s.last_share).toFixed(0) + "%" },
], D.balance);

for (const [i, c] of D.sizes.entries()) { const o = el("option", c.name + " (" + least(c.is_partial, num(c.buckets.reduce((a, b) => a + b[0], 0))) + ")"); o.value = i; $("class").append(o); }
function drawSizes() {
  const c = D.sizes[$("class").value], max = Math.max(...c.buckets.map(b => b[0]));
  const row = ([n, of], i) => {
    const label = i ? bytes(2 ** (i - 1)) : "0 B";
    return n ? [bar(label, [[bytes(of), "t", n]], max, least(c.is_partial, num(n)))] : [];
  };
  const rows = c.buckets.flatMap(row);
  $("sizes").replaceChildren(...(rows.length ? rows : ["none"]));
}
const most = D.sizes.map(c => c.buckets.reduce((a, b) => a + b[0], 0));
$("class").value = most.indexOf(Math.max(...most));
$("class").onchange = drawSizes;
drawSizes();

for (const t of D.memory) $("memory").append(el("div", t));
for (const t of D.notes) $("notes").append(el("p", t));
