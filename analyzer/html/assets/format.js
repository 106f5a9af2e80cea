// Numbers as people read them.
const UNITS = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];

// A length of time: "1.25 s", "340 µs".
export function duration(ns) {
  if (ns <= 0) return '0 s';
  if (ns >= 3600e9) return `${Math.floor(ns / 3600e9)} h ${Math.round(ns % 3600e9 / 60e9)} min`;
  if (ns >= 600e9) return `${Math.floor(ns / 60e9)} min ${Math.round(ns % 60e9 / 1e9)} s`;
  const [size, name] = UNITS.find(([unit]) => ns >= unit) || UNITS[3];
  return `${Number((ns / size).toPrecision(4))} ${name}`;
}

// A moment since the start, exact enough to tell apart what is STEP away: "12.345678 s".
export function moment(ns, step) {
  const digits = Math.min(9, Math.max(3, Math.ceil(9 - Math.log10(Math.max(1, step || 1000)))));
  const sign = ns < 0 ? '−' : '', all = Math.abs(ns);
  return `${sign}${(all / 1e9).toFixed(digits)} s`;
}

export function count(number, one, many) {
  return `${number.toLocaleString('en')} ${number === 1 ? one : many || one + 's'}`;
}

export function bytes(number) {
  let i = 0;
  for (; number >= 1024 && i < 5; i++) number /= 1024;
  return `${i === 0 ? number : number.toPrecision(3)} ${['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'][i]}`;
}
