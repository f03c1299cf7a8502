(() => {
  const areas = [...document.querySelectorAll(".area")];
  if (areas.length === 0) return;
  const first = document.querySelector("[data-t]").dataset.t.split(" ").map(Number);
  const whole = first[1] - first[0];
  const time = (u) => first[0] + u * whole;
  const size = 100000;
  let view = [0, 1];

  const superscript = (n) => String(n).replace(/[-0-9]/g, (c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c]));
  const short = (x) => {
    if (x === 0) return "0";
    const power = Math.floor(Math.log10(Math.abs(x)));
    const text = power < -3 || power > 5
      ? (x / 10 ** power).toFixed(3) + " × 10" + superscript(power)
      : x.toFixed(Math.max(0, 4 - power));
    return text.replace(/-/g, "−");
  };

  const marks = areas.map((area) => {
    const svg = area.querySelector("svg");
    const box = svg.getAttribute("viewBox").split(" ").map(Number);
    const cursor = area.appendChild(document.createElement("i"));
    cursor.className = "cursor";
    const chosen = area.appendChild(document.createElement("i"));
    chosen.className = "chosen";
    return { area, svg, box, cursor, chosen };
  });
  const scales = [...document.querySelectorAll(".scale")].map((scale) => ({ scale, whole: scale.innerHTML }));

  const ticks = (from, to, wanted, exponent) => {
    const raw = (to - from) / wanted;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].find((m) => m * power >= raw * (1 - 1e-9)) * power;
    const decimals = Math.min(20, Math.max(0, exponent - Math.floor(Math.log10(step) + 1e-9)));
    const list = [];
    for (let k = Math.ceil(from / step); k * step <= to; k += 1) {
      const text = (k * step / 10 ** exponent).toFixed(decimals).replace("-", "−");
      list.push([(k * step - from) / (to - from), text]);
    }
    return list;
  };
  const label = (parent, text, name, side, share) => {
    const span = parent.appendChild(document.createElement(text === null ? "i" : "span"));
    span.className = name;
    span.style[side] = 100 * share + "%";
    if (text !== null) span.textContent = text;
  };
  const digits = "⁰¹²³⁴⁵⁶⁷⁸⁹";
  const power = (text) => {
    const found = text.match(/10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)/);
    return found ? Number([...found[1]].map((c) => (c === "⁻" ? "-" : digits.indexOf(c))).join("")) : 0;
  };

  const draw = () => {
    const [a, b] = view;
    const all = a === 0 && b === 1;
    for (const { area, svg, box } of marks) {
      const plot = area.closest(".plot");
      const [low, high] = (plot && !all && span(plot, a * box[2], b * box[2])) || [0, box[3]];
      svg.setAttribute("viewBox", [a * box[2], low, (b - a) * box[2], high - low].join(" "));
      if (!plot) continue;
      area.querySelectorAll(".new").forEach((old) => old.remove());
      plot.classList.toggle("zoomed", !all);
      if (all) continue;
      const [bottom, top] = plot.dataset.y.split(" ").map(Number);
      const value = (y) => top - (top - bottom) * y / box[3];
      for (const [share, text] of ticks(value(high), value(low), 5, Number(plot.dataset.power))) {
        label(area, null, "new rule", "top", 1 - share);
        label(area, text, "new y", "top", 1 - share);
      }
    }
    for (const { scale, whole: original } of scales) {
      if (all) { scale.innerHTML = original; continue; }
      scale.replaceChildren();
      const wanted = Math.max(2, Math.min(8, scale.clientWidth / 90));
      for (const [share, text] of ticks(time(a), time(b), wanted, power(scale.nextElementSibling.textContent))) {
        label(scale, text, "", "left", share);
      }
    }
    reset.hidden = all;
  };

  const curves = new Map();
  const points = (plot) => {
    if (!curves.has(plot)) {
      const list = [];
      for (const line of plot.querySelectorAll("polyline")) {
        const k = Number(line.getAttribute("class").slice(1)) - 1;
        const numbers = line.getAttribute("points").split(/[ ,]/).map(Number);
        (list[k] ??= { lines: [] }).lines.push(numbers);
      }
      for (const stem of plot.querySelectorAll(".stem")) {
        const k = Number(stem.getAttribute("class").match(/c(\d)/)[1]) - 1;
        (list[k] ??= { lines: [] }).stems = [...stem.getAttribute("d").matchAll(/M(\S+) \S+?V(-?\d+)/g)].map((m) => [Number(m[1]), Number(m[2])]);
      }
      curves.set(plot, list);
    }
    return curves.get(plot);
  };
  const height = (curve, x, reach) => {
    if (curve.stems) {
      let best = null;
      for (const s of curve.stems) {
        if (Math.abs(s[0] - x) <= reach && (best === null || Math.abs(s[0] - x) < Math.abs(best[0] - x))) best = s;
      }
      if (best) return best[1];
    }
    for (const p of curve.lines) {
      if (x < p[0] || x > p[p.length - 2]) continue;
      let [low, high] = [0, p.length / 2 - 1];
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (p[2 * middle] <= x) low = middle; else high = middle;
      }
      const [x0, y0, x1, y1] = [p[2 * low], p[2 * low + 1], p[2 * high], p[2 * high + 1]];
      return x1 > x0 ? y0 + (y1 - y0) * (x - x0) / (x1 - x0) : y1;
    }
    return null;
  };

  const span = (plot, from, to) => {
    let [low, high] = [Infinity, -Infinity];
    const take = (y) => { low = Math.min(low, y); high = Math.max(high, y); };
    const [bottom, top] = plot.dataset.y.split(" ").map(Number);
    for (const curve of points(plot)) {
      if (!curve) continue;
      if (curve.stems) {
        take(size * top / (top - bottom));
        for (const [x, y] of curve.stems) if (x >= from && x <= to) take(y);
      }
      for (const p of curve.lines) {
        for (let i = 0; i < p.length; i += 2) if (p[i] >= from && p[i] <= to) take(p[i + 1]);
      }
      for (const x of [from, to]) {
        const y = height(curve, x, 0);
        if (y !== null) take(y);
      }
    }
    const room = Math.max(0.06 * (high - low), 10);
    return low <= high ? [low - room, high + room] : null;
  };

  const show = (f) => {
    const u = f === null ? null : view[0] + f * (view[1] - view[0]);
    for (const { cursor } of marks) {
      cursor.style.display = f === null ? "none" : "block";
      if (f !== null) cursor.style.left = 100 * f + "%";
    }
    for (const figure of document.querySelectorAll("figure")) {
      const plot = figure.querySelector(".plot");
      if (!plot) continue;
      const [bottom, top] = plot.dataset.y.split(" ").map(Number);
      const list = points(plot);
      figure.querySelectorAll("output").forEach((out, k) => {
        const y = u === null || !list[k] ? null : height(list[k], u * size, 600 * (view[1] - view[0]));
        out.textContent = y === null ? "" : " " + short(top - (top - bottom) * y / size);
      });
    }
    clock.textContent = u === null ? "Drag to zoom, double-click to see all." : "t = " + short(time(u)) + " s";
  };

  const bar = document.createElement("p");
  bar.className = "hint";
  const clock = bar.appendChild(document.createElement("span"));
  const reset = bar.appendChild(document.createElement("button"));
  reset.textContent = "Whole run";
  document.querySelector("header").append(bar);
  const zoom = (a, b) => { view = [a, b]; draw(); show(null); };
  reset.addEventListener("click", () => zoom(0, 1));
  document.addEventListener("keydown", (e) => { if (e.key === "Escape") zoom(0, 1); });

  let start = null;
  for (const { area, chosen } of marks) {
    const at = (e) => {
      const r = area.getBoundingClientRect();
      return Math.min(1, Math.max(0, (e.clientX - r.left) / r.width));
    };
    area.addEventListener("pointerdown", (e) => {
      if (e.button !== 0) return;
      start = at(e);
      area.setPointerCapture(e.pointerId);
    });
    area.addEventListener("pointermove", (e) => {
      const f = at(e);
      show(f);
      if (start === null) return;
      chosen.style.display = "block";
      chosen.style.left = 100 * Math.min(start, f) + "%";
      chosen.style.width = 100 * Math.abs(f - start) + "%";
    });
    const drop = () => { start = null; chosen.style.display = "none"; };
    area.addEventListener("pointerup", (e) => {
      const [f, from] = [at(e), start];
      drop();
      if (from === null || Math.abs(f - from) < 0.01) return;
      const [a, width] = [view[0], view[1] - view[0]];
      const [low, high] = [a + Math.min(f, from) * width, a + Math.max(f, from) * width];
      if (high - low > 1e-3) zoom(low, high);
    });
    area.addEventListener("pointercancel", drop);
    area.addEventListener("pointerleave", () => { if (start === null) show(null); });
    area.addEventListener("dblclick", () => zoom(0, 1));
  }
  draw();
  show(null);
})();
