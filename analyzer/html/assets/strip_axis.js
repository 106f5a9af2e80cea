// The scale of the time strip: which part of the time is seen, and round moments on it.
export const LEAST = 20; // ns in sight

// The window [from, to) within [0, end).
export class Scale {
  constructor(end) {
    this.end = Math.max(1, end);
    this.from = 0;
    this.to = this.end;
  }

  get length() {
    return this.to - this.from;
  }

  show(from, to) {
    const length = Math.min(Math.max(LEAST, to - from), this.end);
    this.from = Math.min(Math.max(0, from), this.end - length);
    this.to = this.from + length;
  }

  // By FACTOR, so that what is at PART (0 to 1) stays there.
  zoom(factor, part) {
    const length = Math.min(Math.max(LEAST, this.length / factor), this.end);
    const at = this.from + this.length * part;
    this.show(at - length * part, at - length * part + length);
  }

  pan(part) {
    this.show(this.from + this.length * part, this.to + this.length * part);
  }

  get isWhole() {
    return this.from === 0 && this.to >= this.end;
  }

  extend(end) {
    const wasWhole = this.isWhole;
    this.end = Math.max(1, end);
    if (wasWhole) this.to = this.end;
  }

  x(ns, width) {
    return (ns - this.from) / this.length * width;
  }

  ns(x, width) {
    return this.from + x / width * this.length;
  }
}

// Round moments in the window, about one every 110 pixels, and the distance between them.
export function ticks(scale, width) {
  const about = scale.length / Math.max(1, width / 110);
  const power = 10 ** Math.floor(Math.log10(Math.max(1, about)));
  const step = power * ([1, 2, 5, 10].find((one) => one * power >= about) || 10), at = [];
  for (let i = Math.ceil(scale.from / step); i * step <= scale.to; i++) at.push(i * step);
  return {at, step};
}
