// The interactive view: what is chosen, and the mice, fingers and keys that choose.

(() => {
  const data = read("view-data"), table = read("imputation-data");
  if (!data) return;
  const get = (id) => document.getElementById(id);
  const n = data.rows.length;
  const packed = Object.fromEntries([["probabilities", Uint8Array], ["low", Uint8Array], ["high", Uint8Array],
    ["reference", Uint8Array], ["observed", Float32Array], ["mean", Float32Array], ["sd", Float32Array]]
    .map(([name, Kind]) => [name, unpack(data[name], Kind)]));
  const ways = layouts(data);
  const lanes = new Surface(get("lanes")), picture = new Surface(get("data"));
  const view = { mode: "curves", sort: "onset", column: 0, feature: null, spot: null, lanes: [], pinned: false };
  const placeOfRow = new Map(data.rows.map((row, i) => [row, i]));
  const imputedOf = data.columns.map(() => []);
  if (table) {
    table.row.forEach((row, j) => {
      const column = table.used[table.column[j]];
      if (column < imputedOf.length && placeOfRow.has(row)) {
        imputedOf[column].push({ place: placeOfRow.get(row), mean: table.mean[j], sd: table.sd[j], low: table.low[j], high: table.high[j] });
      }
    });
  }

  const rowName = (i) => data.names ? data.names[i] : `Row ${data.rows[i]}`;
  const rowOf = (spot) => view.layout.order[spot];

  function setLayout(k) {
    const row = view.spot === null ? null : rowOf(view.spot);
    view.layout = ways[k];
    view.from = view.layout.low;
    view.to = view.layout.high;
    view.spotOf = new Int32Array(n);
    view.layout.order.forEach((i, spot) => { view.spotOf[i] = spot; });
    if (row !== null) view.spot = view.spotOf[row];
  }

  function filter() {
    const least = get("presence").value / 100, rows = +get("size").value;
    const { order } = view.layout;
    // Where it is more likely than not: single rows of the best draw may be chance.
    const onset = data.features.map((_, k) => {
      const first = (values) => order.findIndex((i) => values[k * n + i] > 127);
      const likely = first(packed.probabilities);
      return likely >= 0 ? likely : n + first(packed.reference);
    });
    view.lanes = data.features.map((_, k) => k)
      .filter((k) => data.features[k].presence >= least - 1e-9 && data.features[k].size >= rows);
    const key = { onset: (k) => onset[k], size: (k) => -data.features[k].size, presence: (k) => -data.features[k].presence }[view.sort];
    view.lanes.sort((a, b) => key(a) - key(b) || a - b);
    if (!view.lanes.includes(view.feature)) view.feature = null;
    get("presence-value").textContent = `${get("presence").value} %`;
    get("size-value").textContent = rows;
    get("shown").textContent = `${view.lanes.length} of ${data.features.length} features`;
  }

  function paint() {
    get("shade").hidden = view.feature === null;
    if (view.feature !== null) get("shade").lastElementChild.textContent = `rows with feature ${data.features[view.feature].id}`;
    paintLanes(lanes, view, data, packed);
    paintData(picture, view, data, packed, imputedOf[view.column]);
    const whole = view.from <= view.layout.low && view.to >= view.layout.high;
    const first = view.layout.order[find(view.layout.edges, view.from)];
    const last = view.layout.order[find(view.layout.edges, view.to - 1e-9 * (view.to - view.from))];
    get("window").textContent = `${view.layout.axis} ${view.layout.where(first)} to ${view.layout.where(last)}${whole ? "" : " (zoomed in)"}`;
    get("zoom-out").disabled = get("reset").disabled = whole;
    get("pan-left").disabled = view.from <= view.layout.low;
    get("pan-right").disabled = view.to >= view.layout.high;
    point();
  }

  function point() {
    paintLaneCross(lanes, view);
    paintCross(picture, view, picture.height - AXIS);
    tellRow();
    tellFeature();
  }

  function meter(share, signed) {
    const outer = make("span", signed ? `meter signed${share < 0 ? " minus" : ""}` : "meter"), inner = make("i");
    const size = Math.min(Math.abs(share), 1) * (signed ? 50 : 100);
    inner.style.width = `${size}%`;
    inner.style.left = `${signed ? (share < 0 ? 50 - size : 50) : 0}%`;
    outer.append(inner);
    return outer;
  }

  function line(name, share, value, signed) {
    const item = make("li");
    const label = make("span", "", name);
    label.title = name;
    item.append(label, meter(share, signed), make("span", "", value));
    return item;
  }

  function heading(text) {
    const h = make("h3", "", text);
    if (view.pinned) {
      const pin = make("button", "pin", "kept \u00d7");
      pin.type = "button";
      pin.title = "Let go (Esc)";
      pin.addEventListener("click", release);
      h.append(pin);
    }
    return h;
  }

  function tellRow() {
    const box = get("row-readout");
    if (view.spot === null) {
      box.replaceChildren(make("h3", "", "A row"), make("p", "muted", "Point at the chart to see which features a row has."));
      return;
    }
    const i = rowOf(view.spot), parts = [heading(rowName(i))];
    const said = data.covariates.map((c) => `${c.name} ${place(c.values[i])}`);
    if (data.groups) said.unshift(`group ${data.groups.names[data.groups.of[i]]}`);
    if (data.names) said.push(`row ${data.rows[i]}`);
    if (said.length) parts.push(make("p", "muted", said.join(", ")));
    const has = data.features.map((f, k) => [k, packed.probabilities[k * n + i] / 255])
      .filter(([, p]) => p >= 0.05).sort((a, b) => b[1] - a[1]);
    const list = make("ul");
    for (const [k, p] of has.slice(0, 8)) list.append(line(`Feature ${data.features[k].id}`, p, percent(p)));
    parts.push(has.length ? list : make("p", "muted", "No feature in more than 5 % of draws."));
    if (has.length > 8) parts.push(make("p", "muted", `and ${has.length - 8} more`));
    const at = view.column * n + i, observed = packed.observed[at];
    const name = data.columns[view.column], guess = imputedOf[view.column].find((entry) => entry.place === i);
    const value = observed === observed ? `observed ${show(observed)}`
      : guess ? `imputed ${show(guess.mean)} (${show(guess.low)} to ${show(guess.high)})` : "missing";
    const p = make("p");
    p.style.marginTop = "8px";
    p.append(make("b", "", name), ` ${value}; reconstructed ${show(packed.mean[at])} \u00b1 ${show(2 * packed.sd[at], 2)}`);
    parts.push(p);
    box.replaceChildren(...parts);
  }

  function tellFeature() {
    const box = get("feature-readout");
    if (view.feature === null) {
      box.replaceChildren(make("h3", "", "A feature"), make("p", "muted", "Point at a lane to see what a feature does."));
      return;
    }
    const f = data.features[view.feature], parts = [heading(`Feature ${f.id}`)];
    const overlap = f.overlap === null ? "" : `, there with a mean overlap of ${percent(f.overlap)}`;
    parts.push(make("p", "", `In ${percent(f.presence)} of draws${overlap}.`));
    parts.push(make("p", "muted", `${f.size} ${f.size === 1 ? "row" : "rows"} in the best draw, ${show(f.expected, 3)} expected.`));
    const largest = Math.max(...f.weights.map(([, w]) => Math.abs(w)), 1e-300);
    const list = make("ul");
    for (const [name, w, sd] of f.weights) {
      const item = line(name, w / largest, show(w, 3), true);
      if (sd !== null) item.title = `${name}: ${show(w, 3)} \u00b1 ${show(sd, 2)}`;
      list.append(item);
    }
    parts.push(list);
    box.replaceChildren(...parts);
  }

  function speak() {
    const words = [];
    if (view.spot !== null) {
      const i = rowOf(view.spot);
      words.push(rowName(i), ...data.covariates.map((c) => `${c.name} ${place(c.values[i])}`));
      if (view.feature !== null) words.push(`feature ${data.features[view.feature].id}: ${percent(packed.probabilities[view.feature * n + i] / 255)}`);
    } else if (view.feature !== null) words.push(`feature ${data.features[view.feature].id}`);
    get("spoken").textContent = words.join(", ");
  }

  function look(from, to) {
    const { low, high } = view.layout, span = Math.max(Math.min(to - from, high - low), (high - low) * Math.min(3 / n, 1));
    view.from = Math.min(Math.max((from + to) / 2 - span / 2, low), high - span);
    view.to = view.from + span;
    paint();
  }

  function zoom(factor, around) {
    const at = around ?? (view.spot !== null && view.pinned ? (view.layout.edges[view.spot] + view.layout.edges[view.spot + 1]) / 2 : (view.from + view.to) / 2);
    const inside = Math.min(Math.max(at, view.from), view.to);
    const span = (view.to - view.from) * factor, share = (inside - view.from) / (view.to - view.from);
    look(inside - share * span, inside + (1 - share) * span);
  }

  const pan = (share) => look(view.from + share * (view.to - view.from), view.to + share * (view.to - view.from));

  function valueAt(surface, event) {
    const x = event.clientX - surface.holder.getBoundingClientRect().left;
    const value = view.from + (x - LEFT) / (surface.width - LEFT - RIGHT) * (view.to - view.from);
    return Math.min(Math.max(value, view.from), view.to - 1e-9 * (view.to - view.from));
  }

  function hover(surface, event) {
    view.spot = find(view.layout.edges, valueAt(surface, event));
    if (surface !== lanes) return;
    const y = event.clientY - surface.holder.getBoundingClientRect().top;
    const lane = Math.floor((y - 2) / laneHeight(view.mode, view.lanes.length));
    if (lane >= 0 && lane < view.lanes.length) view.feature = view.lanes[lane];
  }

  function listen(surface) {
    const { holder } = surface;
    let held = null;
    holder.addEventListener("pointerdown", (event) => {
      if (event.button === 0) held = { x: event.clientX, from: view.from, to: view.to, moved: false };
    });
    holder.addEventListener("pointermove", (event) => {
      if (held && Math.abs(event.clientX - held.x) > 4) {
        held.moved = true;
        holder.setPointerCapture(event.pointerId);
        holder.classList.add("moving");
        const shift = (event.clientX - held.x) / (surface.width - LEFT - RIGHT) * (held.to - held.from);
        look(held.from - shift, held.to - shift);
      } else if (!held && !view.pinned) {
        const before = view.feature;
        hover(surface, event);
        if (before === view.feature) point(); else paint();
      }
    });
    const release = (event) => {
      if (held && !held.moved && event.type === "pointerup") {
        hover(surface, event);
        view.pinned = true;
        paint();
      }
      held = null;
      holder.classList.remove("moving");
    };
    holder.addEventListener("pointerup", release);
    holder.addEventListener("pointercancel", release);
    holder.addEventListener("dblclick", (event) => zoom(0.5, valueAt(surface, event)));
    holder.addEventListener("wheel", (event) => {
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        zoom(Math.exp(Math.min(Math.max(event.deltaY, -100), 100) / 300), valueAt(surface, event));
      } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY) && view.to - view.from < view.layout.high - view.layout.low) {
        event.preventDefault();
        pan(event.deltaX / surface.width);
      }
    }, { passive: false });
  }

  function step(rows, features) {
    view.pinned = true;
    if (rows) {
      const start = view.spot ?? (rows > 0 ? find(view.layout.edges, view.from) - 1 : find(view.layout.edges, view.to) + 1);
      view.spot = Math.min(Math.max(start + rows, 0), n - 1);
      const at = (view.layout.edges[view.spot] + view.layout.edges[view.spot + 1]) / 2, span = view.to - view.from;
      if (at < view.from || at > view.to) look(at - span / 2, at + span / 2);
    }
    if (features && view.lanes.length) {
      const lane = view.lanes.indexOf(view.feature);
      view.feature = view.lanes[lane < 0 ? (features > 0 ? 0 : view.lanes.length - 1) : Math.min(Math.max(lane + features, 0), view.lanes.length - 1)];
    }
    paint();
    speak();
  }

  lanes.holder.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const acts = {
      ArrowLeft: () => event.shiftKey ? pan(-0.25) : step(-1, 0),
      ArrowRight: () => event.shiftKey ? pan(0.25) : step(1, 0),
      ArrowUp: () => step(0, -1),
      ArrowDown: () => step(0, 1),
      "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), "0": () => look(view.layout.low, view.layout.high),
      Escape: release,
    };
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  });

  function release() {
    view.pinned = false;
    view.spot = view.feature = null;
    paint();
    speak();
  }

  ways.forEach((way, k) => get("along").append(new Option(way.label, k)));
  data.columns.forEach((name, m) => get("column").append(new Option(name, m)));
  get("size").max = Math.max(...data.features.map((f) => f.size), 1);
  get("along").addEventListener("change", (event) => { setLayout(+event.target.value); filter(); paint(); });
  get("mode").addEventListener("change", (event) => { view.mode = event.target.value; get("lane-legend").hidden = view.mode !== "curves"; paint(); });
  get("sort").addEventListener("change", (event) => { view.sort = event.target.value; filter(); paint(); });
  get("column").addEventListener("change", (event) => { view.column = +event.target.value; paint(); });
  for (const id of ["presence", "size"]) get(id).addEventListener("input", () => { filter(); paint(); });
  get("zoom-in").addEventListener("click", () => zoom(0.5));
  get("zoom-out").addEventListener("click", () => zoom(2));
  get("pan-left").addEventListener("click", () => pan(-0.25));
  get("pan-right").addEventListener("click", () => pan(0.25));
  get("reset").addEventListener("click", () => look(view.layout.low, view.layout.high));
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && view.pinned) release(); });
  listen(lanes);
  listen(picture);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  let width = 0;
  new ResizeObserver(() => {
    if (get("lanes").clientWidth !== width) { width = get("lanes").clientWidth; paint(); }
  }).observe(get("lanes"));
  setLayout(0);
  filter();
  paint();
})();
