// The table of imputed entries: sorted by any column, filtered by words; and the button that copies.

(() => {
  const table = document.getElementById("imputation-table");
  const data = read("imputation-data");
  if (!table || !data) return;
  const body = table.tBodies[0];
  const more = document.getElementById("imputation-more");
  const count = document.getElementById("imputation-count");
  const STEP = 100;
  const nameOfRow = (i) => data.row_names[i] ?? String(i);
  const lines = data.row.map((i, j) => ({
    row: i, at: data.at ? data.at[j] : null, column: data.column_names[data.column[j]], order: data.used[data.column[j]],
    mean: data.mean[j], sd: data.sd[j], low: data.low[j], high: data.high[j],
  }));
  for (const line of lines) line.words = `${nameOfRow(line.row)} ${line.at === null ? "" : place(line.at)} ${line.column}`.toLowerCase();
  let shown = STEP, chosen = lines, by = "row", sign = 1;

  function choose() {
    const words = document.getElementById("imputation-filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    chosen = lines.filter((line) => words.every((word) => line.words.includes(word)));
    const key = by === "column" ? "order" : by;
    chosen.sort((a, b) => sign * (a[key] - b[key]) || a.row - b.row || a.order - b.order);
    shown = STEP;
    fill();
  }

  function fill() {
    body.replaceChildren(...chosen.slice(0, shown).map((line) => {
      const tr = make("tr");
      const head = make("th", "", nameOfRow(line.row));
      head.scope = "row";
      tr.append(head);
      if (data.at) tr.append(make("td", "", place(line.at)));
      tr.append(make("td", "words", line.column));
      const decimals = line.sd > 0 ? Math.min(Math.max(1 - Math.floor(Math.log10(line.sd)), 0), 8) : 4;
      for (const key of ["mean", "sd", "low", "high"]) tr.append(make("td", "", fixed(line[key], decimals)));
      return tr;
    }));
    const visible = Math.min(shown, chosen.length);
    count.textContent = `${visible.toLocaleString("en")} of ${chosen.length.toLocaleString("en")} shown` +
      (chosen.length < lines.length ? `, ${lines.length.toLocaleString("en")} in all` : "");
    more.hidden = chosen.length <= shown;
    for (const th of table.tHead.rows[0].cells) {
      if (th.dataset.key === by) th.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      else th.removeAttribute("aria-sort");
    }
  }

  for (const th of table.tHead.rows[0].cells) {
    th.querySelector("button").addEventListener("click", () => {
      sign = th.dataset.key === by ? -sign : 1;
      by = th.dataset.key;
      choose();
    });
  }
  document.getElementById("imputation-filter").addEventListener("input", choose);
  more.addEventListener("click", () => { shown += STEP; fill(); });
  choose();
})();

(() => {
  const button = document.getElementById("copy");
  const code = document.getElementById("snippet");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch {
      getSelection().selectAllChildren(code); // pages from disk may not write to the clipboard in every browser
      document.execCommand("copy");
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1600);
  });
})();

document.documentElement.dataset.ready = "yes";
