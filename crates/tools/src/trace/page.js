const WORDS = 6;
const words = id => {
  const text = $(id).textContent.trim();
  $(id).remove();
  return Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : Uint8Array.from(atob(text), c => c.charCodeAt(0));
};
const U = new Uint32Array(words("calls").buffer);
const F = new Float32Array(U.buffer, 0, U.length);
const LENGTH = D.to - D.from, KINDS = D.kinds.length, withShares = D.rows.filter(r => r.shares !== null).length;
// Level 0 has all parts of the time, each further one two parts in one: calls, and a byte for the share of each kind.
const LEVELS = (() => {
  const b = words("shares"), all = withShares * D.parts;
  if (!all) return [];
  const levels = [{ parts: D.parts, calls: new Uint32Array(b.buffer, 0, all), shares: b.subarray(all * 4) }];
  while (levels.at(-1).parts > 64) {
    const last = levels.at(-1), n = withShares * last.parts >> 1, calls = new Uint32Array(n), shares = new Uint8Array(n * KINDS);
    for (let i = 0; i < n; i++) {
      calls[i] = last.calls[2 * i] + last.calls[2 * i + 1];
      for (let k = 0, a = 2 * i * KINDS; k < KINDS; k++, a++) shares[i * KINDS + k] = (last.shares[a] + last.shares[a + KINDS] + 1) >> 1;
    }
    levels.push({ parts: last.parts >> 1, calls, shares });
  }
  return levels;
})();
const begin = i => U[i * WORDS] + (U[i * WORDS + 1] & 0x1fffff) * 4294967296;
const length = i => F[i * WORDS + 2];
const site = i => U[i * WORDS + 3] & 0xffff;
const subject = i => (U[i * WORDS + 3] >>> 16) - 1;
// A time of the axis, with as many digits as tell it from the next one.
const tick = (t, step) => ns(t, Math.max(0, Math.ceil(Math.log10(unitOf(t)[1] / step) - 1e-9)));
const COLOURS = { put: "#2f7fd1", get: "#3aa6b9", atomic: "#7a5bd0", wait: "#e0843a", collective: "#c7504f", memory: "#8a8a8a", region: "#b9d8b9", other: "#a39a5c" };
for (const k in COLOURS) {
  const e = el("span"), i = el("i");
  i.style.background = COLOURS[k];
  e.append(i, k);
  $("key").append(e, " ");
}

// Colours as a picture has them: alpha, blue, green, red.
const pixel = text => {
  const c = parseInt(text.slice(1), 16);
  return (0xff000000 | (c & 0xff) << 16 | c & 0xff00 | c >> 16) >>> 0;
};
const PIXELS = D.kinds.map(k => pixel(COLOURS[k]));
// The colour of words on this one: both have a contrast of 4.5 at least.
const inkOn = text => {
  const part = i => (parseInt(text.slice(i, i + 2), 16) / 255) ** 2.2;
  return .2126 * part(1) + .7152 * part(3) + .0722 * part(5) < .179 ? "#ffffff" : "#000000";
};
const WORDS_ON = Object.fromEntries(Object.entries(COLOURS).map(([k, c]) => [k, inkOn(c)]));
// Arrows that can be told apart.
const MOST_ARROWS = 300;

const canvas = $("c"), ctx = canvas.getContext("2d"), LEFT = 74, TOP = 22;
let from = D.from, to = D.to, top_ = 0, selected = -1, hit = -1, matches = null, hits = [];
const rowHeight = () => Math.max(5, Math.min(34, Math.floor((canvas.clientHeight - TOP) / D.rows.length)));
const rowOf = new Map(D.rows.map((r, i) => [r.pe + "." + r.thread, i]));
const FLOWS = D.flows.map(([a, thread, ta, b, other, tb]) =>
  [rowOf.get(a + "." + thread), ta, rowOf.get(b + "." + other), tb]);
// Pixels of the time axis, as drawn last: asking the canvas for each call takes longer than all else.
let wide = 1;
const x = t => LEFT + (t - from) / (to - from) * wide;
const at = px => from + (px - LEFT) / wide * (to - from);
// First call of a row that begins at t or later.
function lower(r, t) { let a = r.first, b = r.first + r.count; while (a < b) { const m = (a + b) >> 1; if (begin(m) < t) a = m + 1; else b = m; } return a; }

function veil(of, alpha, x0, x1, y, height) {
  ctx.globalAlpha = alpha; ctx.fillStyle = of; ctx.fillRect(x0, y, x1 - x0, height); ctx.globalAlpha = 1;
}
function draw() {
  const w = $("view").clientWidth, h = $("view").clientHeight, ratio = size(canvas, w, h);
  const [paper, ink, muted, tint] = ["paper", "ink", "muted", "tint"].map(colour);
  wide = Math.max(1, w - LEFT);
  ctx.clearRect(0, 0, w, h);
  drawShares(ratio, pixel(tint));
  if (matches) veil(paper, .7, LEFT, w, TOP, h);
  const rh = rowHeight(), shown = Math.floor((h - TOP) / rh);
  top_ = Math.max(0, Math.min(top_, D.rows.length - shown));
  ctx.font = "11px system-ui"; ctx.fillStyle = muted; ctx.textBaseline = "middle";
  // As many ticks as their times have room.
  const wider = (t, step) => ctx.measureText(tick(t, step)).width + 12;
  let ticks = 8, step = round((to - from) / ticks);
  while (ticks > 1 && step / (to - from) * wide < wider(to, step)) step = round((to - from) / --ticks);
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
    ctx.fillRect(x(t), 0, 1, TOP);
    if (x(t) + wider(t, step) - 10 <= w) ctx.fillText(tick(t, step), x(t) + 2, TOP / 2);
  }
  const scale = (w - LEFT) / (to - from);
  for (let n = 0; n < shown && top_ + n < D.rows.length; n++) {
    const r = D.rows[top_ + n], y = TOP + n * rh, bh = Math.max(3, rh - 3);
    if (rh >= 10 || n % Math.ceil(12 / rh) === 0) { ctx.fillStyle = ink; ctx.fillText(r.name, 4, y + rh / 2); }
    if (r.shares === null) { ctx.fillStyle = tint; ctx.fillRect(LEFT, y, w - LEFT, bh); }
    if (r.lost_until > from) veil(ink, .15, LEFT, x(Math.min(to, r.lost_until)), y, bh);
    // Where the shares tell more, calls that are not wide enough to see are left to them.
    const least = r.shares === null || LENGTH / D.parts * scale > 4 ? 0 : 3;
    let start = lower(r, from);
    for (let back = 0; start > r.first && back < 64; back++) start--;
    let covered = -1, found = -1;
    for (let i = start; i < r.first + r.count; i++) {
      const b = begin(i); if (b > to) break;
      const x0 = Math.max(LEFT, x(b)), x1 = x(b + length(i));
      const is = matches && matches.has(site(i));
      if (x1 < LEFT || (x1 - x0 < least && !is)) continue;
      // What another call has just covered is not drawn; a match covers other calls.
      if (x1 <= (is ? found : covered)) continue;
      const s = D.sites[site(i)], region = s.kind === "region";
      ctx.fillStyle = COLOURS[s.kind];
      if (matches && !is) ctx.globalAlpha = 0.15;
      const width = Math.max(1, x1 - x0);
      if (region) ctx.fillRect(x0, y + bh - 2, width, 2); else { ctx.fillRect(x0, y, width, bh); covered = Math.max(covered, x0 + width); if (is) found = x0 + width; }
      ctx.globalAlpha = 1;
      if (width > 60 && rh >= 12) {
        ctx.save(); ctx.beginPath(); ctx.rect(x0, y, width - 3, bh); ctx.clip();
        ctx.fillStyle = region ? ink : WORDS_ON[s.kind]; ctx.fillText(s.name, x0 + 3, y + bh / 2); ctx.restore();
      }
      if (i === selected || i === hit) {
        ctx.strokeStyle = ink; ctx.lineWidth = 2; ctx.strokeRect(x0, y, Math.max(3, width), bh);
      }
    }
  }
  const isShown = row => row >= top_ && row < top_ + shown;
  const inView = FLOWS.filter(([a, ta, b, tb]) => tb >= from && ta <= to && isShown(a) && isShown(b));
  const areFew = inView.length <= MOST_ARROWS;
  $("flows").textContent = areFew ? "" : `(${num(inView.length)} in view: zoom in to see them)`;
  if (!$("arrows").checked || !areFew) return;
  ctx.strokeStyle = ctx.fillStyle = ink; ctx.globalAlpha = .7; ctx.lineWidth = 1;
  ctx.save(); ctx.beginPath(); ctx.rect(LEFT, TOP, w, h); ctx.clip();
  const y = row => TOP + (row - top_ + .5) * rh;
  for (const [a, ta, b, tb] of inView) {
    const xa = x(ta), ya = y(a), xb = x(tb), yb = y(b);
    ctx.beginPath(); ctx.moveTo(xa, ya); ctx.lineTo(xb, yb); ctx.stroke(); ctx.fillRect(xb - 2, yb - 2, 4, 4);
  }
  ctx.restore(); ctx.globalAlpha = 1;
}
// Rows that have more calls than the page: in each column of pixels, the share of each kind from below.
function drawShares(ratio, none) {
  if (!withShares || canvas.width <= LEFT * ratio || !canvas.height) return;
  const left = Math.round(LEFT * ratio), w = canvas.width - left, h = canvas.height, picture = ctx.createImageData(w, h);
  const pixels = new Uint32Array(picture.data.buffer), ns = (to - from) / w, rh = rowHeight() * ratio;
  const level = LEVELS.find(l => LENGTH / l.parts >= ns) ?? LEVELS.at(-1), part = LENGTH / level.parts;
  for (let n = top_; n < D.rows.length; n++) {
    const r = D.rows[n], y0 = Math.round(TOP * ratio + (n - top_) * rh), y1 = Math.min(h, Math.round(y0 + Math.max(3 * ratio, rh - 3 * ratio)));
    if (y0 >= h) break;
    if (r.shares === null) continue;
    for (let px = 0; px < w; px++) {
      const i = Math.min(level.parts - 1, Math.floor((from + (px + .5) * ns - D.from) / part)), a = (r.shares * level.parts + i) * KINDS;
      let y = y1;
      for (let k = 0; k < KINDS; k++) {
        const share = level.shares[a + k];
        if (!share) continue;
        const end = Math.max(y0, y - Math.max(1, Math.round(share / 255 * (y1 - y0))));
        while (y > end) pixels[--y * w + px] = PIXELS[k];
      }
      while (y > y0) pixels[--y * w + px] = none;
    }
  }
  ctx.putImageData(picture, left, 0);
}
// Calls of a row from one time to another, in whole parts of the time; and of how long the parts are.
function counted(r, a, b) {
  const ns = (b - a) / 64, level = LEVELS.findLast(l => LENGTH / l.parts <= ns) ?? LEVELS[0], part = LENGTH / level.parts;
  const first = Math.max(0, Math.floor((a - D.from) / part)), end = Math.min(level.parts, Math.max(first + 1, Math.ceil((b - D.from) / part)));
  let calls = 0;
  const shares = new Float64Array(KINDS);
  for (let i = first; i < end; i++) {
    const at = r.shares * level.parts + i;
    calls += level.calls[at];
    for (let k = 0; k < KINDS; k++) shares[k] += level.shares[at * KINDS + k] / 255 / (end - first);
  }
  return { calls, shares, begin: D.from + first * part, end: D.from + end * part };
}
// How much of the calls in view the page has, and the command that shows all of them.
function say() {
  $("part").hidden = !D.is_partial;
  if (!D.is_partial) return;
  const rh = rowHeight(), rows = D.rows.slice(top_, top_ + Math.floor(($("view").clientHeight - TOP) / rh));
  let all = 0, single = 0;
  for (const r of rows) {
    const here = lower(r, to) - lower(r, from);
    single += here;
    const of = r.shares === null ? null : counted(r, from, to);
    all += of ? Math.max(here, Math.round(of.calls * Math.min(1, (to - from) / (of.end - of.begin)))) : here;
  }
  const pes = rows.length < D.rows.length ? ` --trace-pes ${rows[0].pe}-${rows.at(-1).pe}` : "", s = t => +(t / 1e9).toFixed(9);
  const code = el("code", `oshrun --profile-from DIR --trace part.html --trace-window ${s(from)}:${s(to)}${pes}`);
  const words = `In view are about ${num(all)} calls, ${num(single)} of them one by one. All, where few enough: `;
  $("part").replaceChildren(words, code, " with DIR of a run with --profile-dir DIR");
}
let due = false, later = 0;
const redraw = () => { if (!due) { due = true; requestAnimationFrame(() => { due = false; draw(); }); } clearTimeout(later); later = setTimeout(say, 150); };
function zoom(f, center) { const c = center ?? (from + to) / 2, w = Math.min(LENGTH, Math.max(50, (to - from) * f)); from = c - (c - from) * w / (to - from); from = Math.max(D.from, Math.min(from, D.to - w)); to = from + w; redraw(); }
function scroll_(rows) { top_ += rows; redraw(); }
function move(d) { const w = to - from; from = Math.max(D.from, Math.min(from + d, D.to - w)); to = from + w; redraw(); }
$("in").onclick = () => zoom(.5); $("out").onclick = () => zoom(2); $("all").onclick = () => { from = D.from; to = D.to; redraw(); };
$("arrows").onchange = redraw; onColours(redraw);
const KEYS = {
  "+": () => zoom(.5), "-": () => zoom(2), 0: () => $("all").onclick(),
  ArrowLeft: () => move((from - to) / 4), ArrowRight: () => move((to - from) / 4),
  ArrowUp: () => scroll_(-1), ArrowDown: () => scroll_(1),
};
addEventListener("keydown", e => { if (e.target.tagName !== "INPUT") KEYS[e.key]?.(); });
canvas.addEventListener("wheel", e => {
  e.preventDefault();
  if (e.shiftKey) scroll_(Math.sign(e.deltaY || e.deltaX) * 3); else zoom(e.deltaY > 0 ? 1.25 : .8, at(e.offsetX));
}, { passive: false });
let drag = null;
canvas.onmousedown = e => { drag = { x: e.offsetX, y: e.offsetY, moved: false }; };
onmousemove = e => { if (drag && e.buttons) { const d = e.movementX; if (Math.abs(d) > 1) drag.moved = true; if (drag.moved) move(-d * (to - from) / (canvas.clientWidth - LEFT)); } };
onmouseup = () => { if (drag && !drag.moved) pick(drag.x, drag.y); drag = null; };
function show(i, r) {
  const s = D.sites[site(i)], pe = subject(i), bytes = F[i * WORDS + 4], globals = U[i * WORDS + 5] >>> 31;
  const place = (U[i * WORDS + 1] >>> 21) * 2147483648 + (U[i * WORDS + 5] & 0x7fffffff);
  let t = `${s.name}   on ${r.name}\ncalled at ${s.path}${s.function ? " in " + s.function : ""}\n`;
  t += `begins at ${ns(begin(i), 3)}, takes ${ns(length(i), 3)}`;
  if (pe >= 0) t += `, PE ${pe}`;
  if (bytes) t += `, ${bytes.toLocaleString("en-US")} bytes`;
  if (place || globals) t += `, ${globals ? "globals" : "heap"}+0x${place.toString(16)}`;
  $("detail").textContent = t;
}
function pick(px, py) {
  const r = D.rows[top_ + Math.floor((py - TOP) / rowHeight())];
  selected = -1;
  if (r) {
    const t = at(px), slack = 3 * (to - from) / canvas.clientWidth;
    for (let i = Math.min(lower(r, t + slack), r.first + r.count) - 1, n = 0; i >= r.first && n < 200; i--, n++)
      if (begin(i) + length(i) + slack >= t && (selected < 0 || length(i) < length(selected))) { selected = i; if (length(i) < slack) break; }
    if (selected >= 0) show(selected, r);
    else if (r.lost_until > t) {
      const before = `Calls of ${r.name} before ${ns(r.lost_until, 3)} are lost`;
      $("detail").textContent = `${before}: a larger SHMEM_TRACE_SIZE keeps more.`;
    } else if (r.shares === null) $("detail").textContent = "No call: the PE computes.";
    else {
      const of = counted(r, t - slack / 6, t + slack / 6), share = n => n < .001 ? "less than 0.1%" : (n * 100).toFixed(1) + "%";
      const kinds = D.kinds.map((k, i) => [k, of.shares[i]]).filter(([, n]) => n > 0).map(([k, n]) => `${k} ${share(n)}`).join(", ");
      const calls = `${num(of.calls)} calls begin here, none of the longest\n${kinds || "The PE computes."}`;
      $("detail").textContent = `${r.name} from ${ns(of.begin, 3)} to ${ns(of.end, 3)}\n${calls}`;
    }
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
  const all = q ? [...matches].reduce((sum, i) => sum + D.sites[i].calls, 0) : 0;
  $("hits").textContent = !q ? "" : num(hits.length) + (all > hits.length ? ` of ${num(all)}` : "") + " calls";
  redraw();
}
let cursor = -1;
function go(d) {
  if (!hits.length) return;
  cursor = (Math.max(-1, Math.min(cursor, hits.length - 1)) + d + hits.length) % hits.length;
  const [i, n] = hits[cursor], w = Math.min(to - from, Math.max(2000, length(i) * 20));
  hit = i; top_ = n - 2; from = Math.max(D.from, begin(i) - w / 2); to = Math.min(D.to, from + w); show(i, D.rows[n]); redraw();
}
$("find").oninput = () => { cursor = -1; search(); };
$("find").onkeydown = e => { if (e.key === "Enter") go(1); };
$("next").onclick = () => go(1); $("prev").onclick = () => go(-1);
draw();
say();
