// Numbers as a reader wants them, arrays out of text, elements out of nothing.

const MINUS = "\u2212";

function show(x, digits = 4) {
  if (x === null || x === undefined || !Number.isFinite(x)) return "\u2013";
  const size = Math.abs(x);
  const text = size && (size < 1e-4 || size >= 1e9) ? x.toExponential(digits - 1)
    : size >= 10 ** (digits - 1) ? Math.round(x).toLocaleString("en") : String(+x.toPrecision(digits));
  return text.replace(/-/g, MINUS);
}

function fixed(x, decimals) {
  if (x === null || !Number.isFinite(x)) return "\u2013";
  if (Math.abs(x) >= 1e9) return show(x);
  return x.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals }).replace("-", MINUS);
}

// Covariates such as years are names rather than amounts: no separators, all digits that they have.
const place = (x) => String(+x.toPrecision(6)).replace("-", MINUS);

const percent = (p) => `${Math.round(100 * p)} %`;

function unpack(text, Kind) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return new Kind(bytes.buffer);
}

function read(id) {
  const holder = document.getElementById(id);
  return holder ? JSON.parse(holder.textContent) : null;
}

// Text goes in as text, never as markup: names come from users' files.
function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

function ticks(low, high, most) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const raw = span / Math.max(most, 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * span; k++) found.push(+(k * step).toPrecision(12));
  return found;
}
