// The heap over time, and from where most of it came.
import {drawn, element} from './element.js';
import {bytes, count, moment} from './format.js';

const WIDE = 900, HIGH = 110;

function curve(growth, end) {
  const last = Math.max(end || 0, growth[growth.length - 1].t_ns, 1), most = Math.max(1, ...growth.map((point) => point.highest));
  const x = (point) => point.t_ns / last * WIDE, y = (value) => HIGH - value / most * (HIGH - 4);
  const line = (of) => growth.map((point, i) => `${i === 0 ? 'M' : 'L'}${x(point).toFixed(1)} ${y(of(point)).toFixed(1)}`).join('');
  const first = x(growth[0]).toFixed(1), at = x(growth[growth.length - 1]).toFixed(1);
  return element('figure', {class: 'plot'},
    drawn('svg', {viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': `Live bytes over time; at most ${bytes(most)}`},
          drawn('path', {class: 'area', d: `${line((point) => point.live)}L${at} ${HIGH}L${first} ${HIGH}Z`}),
          drawn('path', {class: 'curve', d: line((point) => point.highest)})),
    element('figcaption', {class: 'hint'}, `Live bytes of all processes, from 0 s to ${moment(last)}; highest: ${bytes(most)}`));
}

function place(call) {
  if (!call) return '';
  const where = call.file ? `${call.file.split('/').pop()}:${call.line}` : call.module ? call.module.split('/').pop() : '';
  return `${call.function || call.address}${where ? ` (${where})` : ''}`;
}

function rows(heap) {
  return element('table', {},
    element('thead', {}, element('tr', {}, element('th', {class: 'number'}, 'At the peak'), element('th', {class: 'number'}, 'Live'), element('th', {class: 'number'}, 'Blocks'), element('th', {}, 'Allocated in'))),
    element('tbody', {}, heap.rows.slice(0, 20).map((row) => element('tr', {},
      element('td', {class: 'number'}, bytes(row.peak.bytes)), element('td', {class: 'number'}, bytes(row.live.bytes)), element('td', {class: 'number'}, row.allocated.blocks.toLocaleString('en')),
      element('td', {class: 'code', title: row.calls.map(place).join('\n')}, place(row.calls[0]), row.calls.length > 1 ? element('div', {class: 'faint'}, `called from ${place(row.calls[1])}`) : null)))));
}

export function showHeap(body, is) {
  if (!is.there) return false;
  const heap = is.heap, facts = [`peak ${bytes(heap.peak.bytes)} at ${moment(heap.peak_ns)}`, `live ${bytes(heap.live.bytes)}`,
                                 `${count(heap.allocated.blocks, 'block')} allocated`];
  if (heap.errors.length > 0) facts.push(count(heap.errors.length, 'error'));
  if (heap.leaks.length > 0) facts.push(count(heap.leaks.length, 'leak'));
  body.replaceChildren(element('p', {}, facts.join(' · ')), heap.growth.length > 1 ? curve(heap.growth, heap.at_ns) : '', element('div', {class: 'wide'}, rows(heap)));
  return true;
}
