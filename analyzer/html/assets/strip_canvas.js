// The drawing of the time strip on its canvas.
import {moment} from './format.js';
import {ticks} from './strip_axis.js';

export const ROW = 22;
export const TOP = 26;
const COMPUTING = 1;

export function colours(canvas) {
  const style = getComputedStyle(canvas), of = (name) => style.getPropertyValue(`--${name}`).trim();
  return {of, ink: of('ink'), faint: of('faint'), line: of('line'), raised: of('raised'), error: of('error'), focus: of('focus')};
}

function drawAxis(pen, scale, width, height, colour) {
  const {at, step} = ticks(scale, width);
  pen.font = '12px system-ui, sans-serif';
  pen.textBaseline = 'middle';
  pen.fillStyle = colour.raised;
  pen.fillRect(0, 0, width, TOP);
  for (const ns of at) {
    const x = Math.round(scale.x(ns, width)) + 0.5;
    pen.strokeStyle = colour.line;
    pen.beginPath();
    pen.moveTo(x, TOP - 6);
    pen.lineTo(x, height);
    pen.stroke();
    pen.fillStyle = colour.faint;
    const text = moment(ns, step), half = pen.measureText(text).width / 2;
    if (x - half >= 2 && x + half <= width - 2) pen.fillText(text, x - half, TOP / 2 - 2);
  }
}

// One row's columns: each activity as high as its share, the lowest one first.
function drawRow(pen, is, row, y, scale, width, fills) {
  const inner = ROW - 4;
  for (const run of row.runs) {
    let x = scale.x(is.from + run[0] * is.width, width), x2 = scale.x(is.from + (run[0] + run[1]) * is.width, width);
    if (x2 < 0 || x > width) continue;
    x = Math.max(-1, x);
    x2 = Math.min(width + 1, x2);
    let bottom = y + 2 + inner;
    for (let i = 2; i < run.length; i += 2) {
      if (!row.shown && run[i] === COMPUTING) { // it was there, and nothing more is known
        pen.fillStyle = fills[0];
        pen.fillRect(x, y + ROW / 2 - 1, x2 - x, 2);
        continue;
      }
      const high = inner * run[i + 1] / is.levels;
      pen.fillStyle = fills[run[i]];
      pen.fillRect(x, Math.max(y + 2, bottom - high), Math.max(0.6, x2 - x + 0.25), Math.min(high, bottom - y - 2));
      bottom -= high;
    }
  }
}

function drawMessages(pen, is, places, scale, width, colour) {
  pen.strokeStyle = colour.ink;
  pen.fillStyle = colour.ink;
  pen.lineWidth = 1;
  const columnOf = (ns) => Math.floor(scale.x(ns, width) / 8), columns = new Map(); // how many arrows end there: the more, the fainter
  for (const message of is.messages) columns.set(columnOf(message[3]), (columns.get(columnOf(message[3])) || 0) + 1);
  for (const [from, to, sent, received] of is.messages) {
    if (places[from] === undefined || places[to] === undefined) continue;
    const x1 = scale.x(sent, width), x2 = scale.x(received, width);
    if (x2 < 0 || x1 > width) continue;
    const y1 = places[from] + ROW / 2, y2 = places[to] + ROW / 2, angle = Math.atan2(y2 - y1, x2 - x1);
    pen.globalAlpha = Math.max(0.08, Math.min(0.75, 3 / columns.get(columnOf(received))));
    pen.beginPath();
    pen.moveTo(x1, y1);
    pen.lineTo(x2, y2);
    pen.stroke();
    pen.beginPath();
    pen.moveTo(x2, y2);
    pen.lineTo(x2 - 6 * Math.cos(angle - 0.4), y2 - 6 * Math.sin(angle - 0.4));
    pen.lineTo(x2 - 6 * Math.cos(angle + 0.4), y2 - 6 * Math.sin(angle + 0.4));
    pen.fill();
    pen.globalAlpha = 1;
  }
}

// Each collective a line over the rows of its members, at the moment when the last one came; faint where they are close together.
function drawCollectives(pen, is, places, scale, width, colour) {
  let last = -Infinity, before = -Infinity;
  pen.font = '11px system-ui, sans-serif';
  for (const [top, bottom, first, came, name, members] of is.collectives || []) {
    const x = scale.x(came, width);
    if (places[top] === undefined || places[bottom] === undefined || x < 0 || x > width) continue;
    const y1 = places[top] + 2, y2 = places[bottom] + ROW - 2, x1 = Math.max(0, scale.x(first, width));
    pen.strokeStyle = pen.fillStyle = colour.ink;
    pen.lineWidth = 1.5;
    pen.globalAlpha = x - before < 4 ? 0.15 : 0.8;
    before = x;
    pen.beginPath();
    pen.moveTo(x, y1);
    pen.lineTo(x, y2);
    if (x - x1 > 3) {
      pen.moveTo(x1, y1);
      pen.lineTo(x, y1);
    }
    pen.stroke();
    pen.globalAlpha = 0.8;
    pen.lineWidth = 1;
    const text = `${name} (${members})`;
    if (x - last > pen.measureText(text).width + 12) {
      pen.strokeStyle = colour.of('ground');
      pen.lineWidth = 3;
      pen.strokeText(text, x + 4, y1 + 7);
      pen.fillText(text, x + 4, y1 + 7);
      pen.lineWidth = 1;
      last = x;
    }
    pen.globalAlpha = 1;
  }
}

function drawMoment(pen, ns, scale, width, height, colour, dashed) {
  const x = Math.round(scale.x(ns, width)) + 0.5;
  if (x < 0 || x > width) return;
  pen.strokeStyle = dashed ? colour.faint : colour.error;
  pen.setLineDash(dashed ? [3, 3] : []);
  pen.lineWidth = dashed ? 1 : 2;
  pen.beginPath();
  pen.moveTo(x, dashed ? TOP : 0);
  pen.lineTo(x, height);
  pen.stroke();
  pen.setLineDash([]);
  pen.lineWidth = 1;
}

// Draws the document IS with its ROWS that are seen. MARKS: {moment, pointer, range}, each may be null.
export function draw(canvas, is, rows, scale, marks) {
  const sharp = window.devicePixelRatio || 1, width = canvas.clientWidth, height = TOP + rows.length * ROW;
  if (canvas.width !== Math.round(width * sharp) || canvas.height !== Math.round(height * sharp)) {
    canvas.width = Math.round(width * sharp);
    canvas.height = Math.round(height * sharp);
    canvas.style.height = `${height}px`;
  }
  const pen = canvas.getContext('2d'), colour = colours(canvas), places = [];
  const fills = is.activities.map((name, i) => colour.of(i === 0 ? 'faint' : name));
  pen.setTransform(sharp, 0, 0, sharp, 0, 0);
  pen.clearRect(0, 0, width, height);
  drawAxis(pen, scale, width, height, colour);
  rows.forEach((row, i) => {
    const y = TOP + i * ROW;
    places[row.index] = y;
    drawRow(pen, is, row, y, scale, width, fills);
  });
  drawMessages(pen, is, places, scale, width, colour);
  drawCollectives(pen, is, places, scale, width, colour);
  if (marks.range) {
    const x = scale.x(marks.range[0], width), x2 = scale.x(marks.range[1], width);
    pen.globalAlpha = 0.2;
    pen.fillStyle = colour.focus;
    pen.fillRect(Math.min(x, x2), TOP, Math.abs(x2 - x), height - TOP);
    pen.globalAlpha = 1;
  }
  if (marks.pointer !== null) drawMoment(pen, marks.pointer, scale, width, height, colour, true);
  if (marks.moment !== null) drawMoment(pen, marks.moment, scale, width, height, colour, false);
}
