// Where rows stand and how lanes and data are painted. Knows nothing of mice and keys.

const LEFT = 54, RIGHT = 10, AXIS = 40;

// Ways to lay rows out along the page: by each covariate, to scale or evenly spaced, and by number.
function layouts(data) {
  const n = data.rows.length;
  const found = [];
  if (data.groups) {
    // Rows of different groups share nothing, so that groups side by side are easier to read than mixed.
    const { of, names } = data.groups, first = data.covariates[0];
    const order = Int32Array.from(of.keys()).sort((a, b) => of[a] - of[b] || (first ? first.values[a] - first.values[b] : 0) || a - b);
    const starts = Array.from(order, (i, spot) => spot === 0 || of[i] !== of[order[spot - 1]]);
    found.push({
      ...evenly(order, n), label: "group by group", axis: first ? `group, then ${first.name}` : "group", starts,
      name: (v) => nameAt(v, (i) => names[of[order[i]]]), where: (i) => names[of[i]],
    });
  }
  data.covariates.forEach(({ name, values }) => {
    const order = Int32Array.from(values.keys()).sort((a, b) => values[a] - values[b] || a - b);
    const at = Array.from(order, (i) => values[i]);
    if (n > 1 && new Set(at).size === n) {
      const edges = Float64Array.from({ length: n + 1 }, (_, i) =>
        i === 0 ? at[0] - (at[1] - at[0]) / 2 : i === n ? at[n - 1] + (at[n - 1] - at[n - 2]) / 2 : (at[i - 1] + at[i]) / 2);
      found.push({ label: `${name}, to scale`, axis: name, order, edges, name: place, where: (i) => place(values[i]) });
    }
    found.push({ ...evenly(order, n), label: `${name}, evenly spaced`, axis: name, where: (i) => place(values[i]), name: (v) => nameAt(v, (i) => place(at[i])) });
  });
  const order = Int32Array.from({ length: n }, (_, i) => i);
  found.push({ ...evenly(order, n), label: "row number", axis: "row", where: (i) => String(data.rows[i]), name: (v) => nameAt(v, (i) => String(data.rows[i])) });
  for (const layout of found) {
    layout.low = layout.edges[0];
    layout.high = layout.edges[n];
  }
  return found;

  function evenly(order, n) {
    return { order, edges: Float64Array.from({ length: n + 1 }, (_, i) => i - 0.5), whole: true };
  }
  function nameAt(v, name) {
    return Number.isInteger(v) && v >= 0 && v < n ? name(v) : "";
  }
}

// The place in the order whose cell holds a value.
function find(edges, value) {
  let low = 0, high = edges.length - 2;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (edges[middle] <= value) low = middle; else high = middle - 1;
  }
  return low;
}

// A holder with two canvases: what is costly to paint, and the cross-hair above it.
class Surface {
  constructor(holder) {
    this.holder = holder;
    [this.base, this.over] = holder.querySelectorAll("canvas");
  }
  resize(height) {
    const ratio = window.devicePixelRatio || 1;
    this.width = this.holder.clientWidth;
    this.height = height;
    for (const canvas of [this.base, this.over]) {
      canvas.width = Math.round(this.width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.height = `${height}px`;
      canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
    }
  }
  start(canvas) {
    const pen = canvas.getContext("2d");
    pen.clearRect(0, 0, this.width, this.height);
    pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    return pen;
  }
}

function colours() {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(["ink", "muted", "line", "soft", "accent", "bright", "band", "select", "card"]
    .map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

// Cells of rows in view, in pixels; where rows are finer than pixels, runs of rows that share one.
function cells(view, width) {
  const { edges } = view.layout;
  const scale = (width - LEFT - RIGHT) / (view.to - view.from);
  const x = (v) => LEFT + (v - view.from) * scale;
  const first = find(edges, view.from), last = find(edges, view.to);
  const found = [];
  for (let i = first; i <= last;) {
    let j = i + 1;
    while (j <= last && x(edges[j + 1]) - x(edges[i]) < 1) j++;
    found.push({ left: Math.max(x(edges[i]), LEFT), right: Math.min(x(edges[j]), width - RIGHT), first: i, end: j });
    i = j;
  }
  return found;
}

function mean(values, offset, order, cell) {
  if (cell.end === cell.first + 1) return values[offset + order[cell.first]];
  let total = 0, count = 0;
  for (let i = cell.first; i < cell.end; i++) {
    const value = values[offset + order[i]];
    if (value === value) { total += value; count++; }
  }
  return count ? total / count : NaN;
}

function paintAxis(pen, view, width, top, ink) {
  const { layout } = view;
  pen.fillStyle = ink.muted;
  pen.strokeStyle = ink.line;
  pen.lineWidth = 1;
  pen.textAlign = "center";
  pen.textBaseline = "top";
  const scale = (width - LEFT - RIGHT) / (view.to - view.from);
  let end = -Infinity;
  for (const value of ticks(view.from, view.to, Math.min((width - LEFT) / 64, 12))) {
    const text = layout.whole ? layout.name(value) : place(value);
    const x = LEFT + (value - view.from) * scale, half = pen.measureText(text).width / 2;
    if (!text || x - half < end + 8 || x + half > width) continue;
    end = x + half;
    pen.beginPath();
    pen.moveTo(x, top);
    pen.lineTo(x, top + 4);
    pen.stroke();
    pen.fillText(text, x, top + 7);
  }
  if (layout.starts) {
    pen.beginPath();
    layout.starts.forEach((starts, spot) => {
      const x = LEFT + (spot - 0.5 - view.from) * scale;
      if (!starts || x < LEFT || x > width - RIGHT) return;
      pen.moveTo(x, 0);
      pen.lineTo(x, top + 4);
    });
    pen.strokeStyle = ink.muted;
    pen.stroke();
  }
  pen.fillText(layout.axis, LEFT + (width - LEFT - RIGHT) / 2, top + 23);
}

function laneHeight(mode, n) {
  if (mode === "curves") return n <= 12 ? 36 : n <= 24 ? 28 : 22;
  return n <= 12 ? 26 : n <= 24 ? 20 : n <= 60 ? 15 : 11;
}

function paintLanes(surface, view, data, packed) {
  const ink = colours(), tall = laneHeight(view.mode, view.lanes.length), n = data.rows.length;
  surface.resize(Math.max(view.lanes.length, 1) * tall + AXIS + 4);
  const pen = surface.start(surface.base), width = surface.width, spots = cells(view, width);
  const { order } = view.layout;
  view.lanes.forEach((k, lane) => {
    const top = 2 + lane * tall, bottom = top + tall - 3, room = tall - 7;
    const chosen = k === view.feature;
    pen.fillStyle = ink.soft;
    if (lane % 2 === 0) pen.fillRect(LEFT, top - 1, width - LEFT - RIGHT, tall);
    pen.fillStyle = chosen ? ink.select : ink.muted;
    pen.font = pen.font.replace(/^(bold )?/, chosen ? "bold " : "");
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    pen.fillText(String(data.features[k].id), LEFT - 10, top + tall / 2);
    if (view.mode !== "curves") {
      const values = view.mode === "shades" ? packed.probabilities : packed.reference;
      pen.fillStyle = ink.accent;
      for (const cell of spots) {
        pen.globalAlpha = mean(values, k * n, order, cell) / 255;
        if (pen.globalAlpha > 0) pen.fillRect(cell.left, top + 1, cell.right - cell.left + 0.3, tall - 4);
      }
      pen.globalAlpha = 1;
      return;
    }
    const levels = spots.map((cell) => bottom - room * mean(packed.probabilities, k * n, order, cell) / 255);
    pen.fillStyle = ink.accent;
    pen.globalAlpha = 0.28;
    spots.forEach((cell, i) => pen.fillRect(cell.left, levels[i], cell.right - cell.left, bottom - levels[i]));
    pen.globalAlpha = 1;
    if (data.chains > 1) {
      pen.fillStyle = ink.band;
      for (const cell of spots) {
        const low = bottom - room * mean(packed.low, k * n, order, cell) / 255;
        const high = bottom - room * mean(packed.high, k * n, order, cell) / 255;
        if (low - high > 0.5) pen.fillRect(cell.left, high, cell.right - cell.left, low - high);
      }
    }
    pen.strokeStyle = ink.accent;
    pen.lineWidth = 1.5;
    pen.beginPath();
    spots.forEach((cell, i) => { pen.lineTo(cell.left, levels[i]); pen.lineTo(cell.right, levels[i]); });
    pen.stroke();
  });
  if (!view.lanes.length) {
    pen.fillStyle = ink.muted;
    pen.textAlign = "center";
    pen.fillText("No feature passes the filter.", width / 2, 20);
  }
  paintAxis(pen, view, width, surface.height - AXIS, ink);
}

// What of the cross-hair both pictures share: the cell of the row.
function paintCross(surface, view, bottom) {
  const pen = surface.start(surface.over), ink = colours();
  if (view.spot !== null) {
    const { edges } = view.layout, scale = (surface.width - LEFT - RIGHT) / (view.to - view.from);
    const left = Math.max(LEFT + (edges[view.spot] - view.from) * scale, LEFT);
    const right = Math.min(LEFT + (edges[view.spot + 1] - view.from) * scale, surface.width - RIGHT);
    if (right > left) {
      pen.fillStyle = pen.strokeStyle = ink.select;
      pen.globalAlpha = 0.2;
      pen.fillRect(left, 0, Math.max(right - left, 1), bottom);
      pen.globalAlpha = 0.9;
      pen.beginPath();
      pen.moveTo((left + right) / 2, 0);
      pen.lineTo((left + right) / 2, bottom);
      pen.stroke();
      pen.globalAlpha = 1;
    }
  }
  return [pen, ink];
}

function paintLaneCross(surface, view) {
  const [pen, ink] = paintCross(surface, view, surface.height - AXIS);
  const lane = view.lanes.indexOf(view.feature);
  if (lane >= 0) {
    const tall = laneHeight(view.mode, view.lanes.length);
    pen.strokeStyle = ink.select;
    pen.lineWidth = 1.5;
    pen.strokeRect(LEFT, 1 + lane * tall, surface.width - LEFT - RIGHT, tall);
  }
}

function paintData(surface, view, data, packed, imputed) {
  const ink = colours(), n = data.rows.length, offset = view.column * n, { order } = view.layout;
  surface.resize(210);
  const pen = surface.start(surface.base), width = surface.width, floor = surface.height - AXIS, top = 6;
  let low = Infinity, high = -Infinity;
  const stretch = (v) => { if (v < low) low = v; if (v > high) high = v; };
  for (let i = 0; i < n; i++) {
    stretch(packed.observed[offset + i]);
    const twice = 2 * (packed.sd[offset + i] || 0);
    stretch(packed.mean[offset + i] - twice);
    stretch(packed.mean[offset + i] + twice);
  }
  for (const entry of imputed) { stretch(entry.low); stretch(entry.high); }
  if (!(high > low)) { low -= 1; high = low + 2; }
  const y = (v) => floor - 4 - (floor - 4 - top) * (v - low) / (high - low);

  const spots = cells(view, width);
  if (view.feature !== null) {
    pen.fillStyle = ink.accent;
    for (const cell of spots) {
      pen.globalAlpha = 0.16 * mean(packed.reference, view.feature * n, order, cell) / 255;
      if (pen.globalAlpha > 0) pen.fillRect(cell.left, 0, cell.right - cell.left + 0.3, floor);
    }
    pen.globalAlpha = 1;
  }
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  pen.lineWidth = 1;
  for (const value of ticks(low, high, 4)) {
    pen.strokeStyle = ink.line;
    pen.beginPath();
    pen.moveTo(LEFT, y(value));
    pen.lineTo(width - RIGHT, y(value));
    pen.stroke();
    pen.fillStyle = ink.muted;
    pen.fillText(show(value), LEFT - 8, y(value));
  }
  pen.save();
  pen.beginPath();
  pen.rect(LEFT, 0, width - LEFT - RIGHT, floor);
  pen.clip();
  const middles = spots.map((cell) => (cell.left + cell.right) / 2);
  const levels = spots.map((cell) => mean(packed.mean, offset, order, cell));
  const spread = spots.map((cell) => 2 * (mean(packed.sd, offset, order, cell) || 0));
  pen.fillStyle = ink.accent;
  pen.globalAlpha = 0.2;
  pen.beginPath();
  middles.forEach((x, i) => pen.lineTo(x, y(levels[i] + spread[i])));
  for (let i = middles.length - 1; i >= 0; i--) pen.lineTo(middles[i], y(levels[i] - spread[i]));
  pen.fill();
  pen.globalAlpha = 1;
  pen.strokeStyle = ink.accent;
  pen.lineWidth = 1.6;
  pen.beginPath();
  middles.forEach((x, i) => pen.lineTo(x, y(levels[i])));
  pen.stroke();

  const scale = (width - LEFT - RIGHT) / (view.to - view.from), { edges } = view.layout;
  const xOf = (spot) => LEFT + ((edges[spot] + edges[spot + 1]) / 2 - view.from) * scale;
  const first = spots.length ? spots[0].first : 0, end = spots.length ? spots[spots.length - 1].end : 0;
  const dense = end - first > (width - LEFT) / 3;
  pen.fillStyle = ink.ink;
  pen.globalAlpha = dense ? 0.45 : 0.8;
  for (let spot = first; spot < end; spot++) {
    const value = packed.observed[offset + order[spot]];
    if (value !== value) continue;
    pen.beginPath();
    pen.arc(xOf(spot), y(value), dense ? 1.5 : 2.7, 0, 7);
    pen.fill();
  }
  pen.globalAlpha = 1;
  for (const entry of imputed) {
    const spot = view.spotOf[entry.place];
    if (spot < first || spot >= end) continue;
    const x = xOf(spot), size = dense ? 3 : 4.5;
    pen.strokeStyle = ink.ink;
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(x, y(entry.low));
    pen.lineTo(x, y(entry.high));
    pen.stroke();
    pen.fillStyle = ink.bright;
    pen.beginPath();
    pen.moveTo(x, y(entry.mean) - size);
    pen.lineTo(x + size, y(entry.mean));
    pen.lineTo(x, y(entry.mean) + size);
    pen.lineTo(x - size, y(entry.mean));
    pen.closePath();
    pen.fill();
    pen.stroke();
  }
  pen.restore();
  paintAxis(pen, view, width, floor, ink);
}
