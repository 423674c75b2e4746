// What goes wrong in a page, and the words that it draws at the heads of its canvases.
globalThis.wrong = [];
globalThis.heads = new Map();
addEventListener("error", e => wrong.push(e.message));
const { fillText, clearRect } = CanvasRenderingContext2D.prototype;
Object.assign(CanvasRenderingContext2D.prototype, {
  clearRect(...at) { heads.set(this.canvas, []); clearRect.apply(this, at); },
  fillText(text, x, y) {
    const { width } = this.measureText(text), left = this.textAlign === "center" ? x - width / 2 : x;
    if (y < 12) heads.get(this.canvas)?.push({ text, left, right: left + width });
    fillText.call(this, text, x, y);
  },
});
