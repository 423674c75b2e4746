// What a reader of the page cannot read or reach: findings of axe, words that are cut off or overlap, a page that is
// wider than the window.
(async () => {
  const found = [...wrong];
  for (const d of document.querySelectorAll("details")) d.open = true;
  const { violations } = await axe.run(document, { resultTypes: ["violations"] });
  for (const v of violations) for (const n of v.nodes) found.push(`${v.id} (${v.impact}): ${n.html.slice(0, 120)}`);
  if (document.documentElement.scrollWidth > innerWidth) found.push("wider than the window");
  // Times of a trace have more digits at each step.
  for (let step = 0; step < (globalThis.zoom ? 7 : 1); step++) {
    // axe has canvases of its own.
    for (const [canvas, all] of [...heads].filter(([c]) => c.isConnected)) {
      const right = canvas.clientWidth + 1, words = all.toSorted((a, b) => a.left - b.left);
      words.forEach((w, i) => {
        if (w.left < 0 || w.right > right) found.push(`"${w.text}" is cut off`);
        if (w.right > words[i + 1]?.left) found.push(`"${w.text}" and "${words[i + 1].text}" overlap`);
      });
    }
    globalThis.zoom?.(.1);
    for (let frames = 0; frames < 2; frames++) await new Promise(requestAnimationFrame);
  }
  for (const text of document.querySelectorAll("main svg text")) {
    const box = text.getBBox(), svg = text.ownerSVGElement.viewBox.baseVal;
    if (box.x < 0 || box.x + box.width > svg.width) found.push(`"${text.textContent.trim()}" is cut off`);
  }
  return found;
})()
