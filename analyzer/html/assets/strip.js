// The time strip: who did what when. Zoom and pan by wheel, drag and keys; a click chooses a moment.
import {get, isFile} from './data.js';
import {whoButton} from './control.js';
import {element, renew} from './element.js';
import {count, duration, moment} from './format.js';
import {Scale} from './strip_axis.js';
import {ROW, TOP, draw} from './strip_canvas.js';
import {choose, lookedMoment, onChosen} from './view.js';

const WORDS = {computing: 'computing', mpi: 'in MPI', barrier: 'waiting at an OpenMP barrier', lock: 'waiting for a lock',
               critical: 'in a critical section or lock', loading: 'loading libraries', stopped: 'stopped', held: 'held'};

export class Strip {
  constructor(body) {
    this.is = null;
    this.open = new Set();
    this.rows = [];
    this.marks = {moment: null, pointer: null, range: null};
    this.waiting = 0;
    this.wanted = false;
    this.window = element('span', {class: 'window'});
    this.legend = element('ul', {class: 'legend', 'aria-label': 'Colours'});
    this.heads = element('div', {class: 'strip-heads', role: 'list', 'aria-label': 'Rows of the time strip'});
    this.canvas = element('canvas', {tabindex: 0, role: 'application', 'aria-describedby': 'strip-hint',
                                     'aria-label': 'Time strip. Arrow keys pan, plus and minus zoom, 0 shows all, Enter chooses the moment in the middle.'});
    this.tip = element('div', {class: 'tip', hidden: true});
    this.back = element('button', {type: 'button', class: 'back', hidden: true});
    const tool = (text, label, act) => element('button', {type: 'button', 'aria-label': label, title: label, onclick: act}, text);
    body.replaceChildren(
      element('div', {class: 'strip-tools'},
              tool('−', 'Zoom out', () => this.zoom(0.5, this.middle())), tool('+', 'Zoom in', () => this.zoom(2, this.middle())),
              tool('◂', 'Earlier', () => this.pan(-0.4)), tool('▸', 'Later', () => this.pan(0.4)),
              tool('All', 'Show all of the time', () => this.show(0, this.scale.end)), this.window, this.back, this.legend),
      element('div', {class: 'strip'}, this.heads, element('div', {class: 'strip-body'}, this.canvas)),
      element('p', {class: 'hint', id: 'strip-hint'}, isFile
        ? 'Drag to move, Ctrl + wheel or + and − to zoom, Shift + drag to zoom into a part. The heights in a row say how many of its threads did what. This page is a file: finer detail and other moments need "tollgate web".'
        : 'Click a moment to look at it. Drag to move, Ctrl + wheel or + and − to zoom, Shift + drag to zoom into a part. The heights in a row say how many of its threads did what.'),
      this.tip);
    this.listen();
    onChosen((ns) => this.markMoment(ns));
    new ResizeObserver(() => this.draw()).observe(this.canvas.parentElement);
    for (const media of ['(prefers-color-scheme: dark)', 'print']) matchMedia(media).addEventListener('change', () => this.draw());
  }

  // Asks again for what is seen.
  async load() {
    if (this.waiting > 0) {
      this.wanted = true;
      return;
    }
    this.waiting++;
    const query = this.scale && !this.scale.isWhole ? {from: Math.floor(this.scale.from), to: Math.ceil(this.scale.to)} : {};
    try {
      const is = await get('strip', {...query, columns: Math.max(200, Math.min(2048, Math.round(this.canvas.clientWidth))),
                                     open: Array.from(this.open).join(',')});
      if (is !== null) this.take(is);
    } finally {
      this.waiting--;
    }
    if (this.wanted) {
      this.wanted = false;
      await this.load();
    }
  }

  take(is) {
    if (!is.there) {
      this.canvas.hidden = true;
      this.window.textContent = 'No time line yet.';
      return;
    }
    this.canvas.hidden = false;
    this.is = is;
    is.rows.forEach((row, i) => { row.index = i; });
    if (!this.scale) this.scale = new Scale(is.end);
    else this.scale.extend(is.end);
    this.marks.moment = lookedMoment() !== null ? lookedMoment() : is.moment < is.end || !isFile ? is.moment : null;
    this.showRows();
  }

  // In a file all rows are there, and are seen where those that they belong to are open.
  showRows() {
    const seen = new Set(), few = this.is.rows.length <= 26;
    this.rows = this.is.rows.filter((row) => {
      const isSeen = row.parent === undefined || (seen.has(row.parent) && this.isOpen(row.parent, few));
      if (isSeen) seen.add(row.id);
      return isSeen;
    });
    renew(this.heads, this.rows.map((row) => this.head(row, few)));
    const used = new Set(this.is.rows.flatMap((row) => row.runs.flatMap((run) => run.slice(2).filter((activity, i) => i % 2 === 0 && (row.shown || activity > 1)))));
    this.legend.replaceChildren(...this.is.activities.map((name, i) => {
      if (!used.has(i)) return '';
      const swatch = element('i', {'aria-hidden': 'true'});
      swatch.style.background = `var(--${name})`;
      return element('li', {}, swatch, WORDS[name] || name);
    }).filter((item) => item !== ''));
    this.draw();
  }

  isOpen(id, few) {
    return isFile ? this.open.has(id) !== few : this.open.has(id);
  }

  head(row, few) {
    const isOpen = row.opens && this.isOpen(row.id, few), size = row.threads > 1 ? ` (${count(row.threads, 'thread')})` : '';
    const toggle = row.opens
      ? element('button', {type: 'button', 'data-key': row.id, 'aria-expanded': isOpen ? 'true' : 'false', 'aria-label': `${isOpen ? 'Close' : 'Open'} ${row.label}`,
                           onclick: () => this.toggle(row.id)}, isOpen ? '▾' : '▸')
      : element('span', {class: 'blank'});
    const made = element('div', {class: row.culprit ? 'strip-head culprit' : 'strip-head', role: 'listitem', 'data-id': row.id,
                                 title: `${row.label}${size}: ${row.detail}${row.culprit ? ' (the verdict names it)' : ''}`},
                         toggle, element('span', {class: 'who'}, whoButton(row.tid === undefined ? row.label : `rank ${row.rank}, ${row.label}`, row.label)), element('span', {class: 'what'}, row.detail));
    made.style.paddingLeft = `${0.3 + row.depth * 1.1}rem`;
    return made;
  }

  toggle(id) {
    if (this.open.has(id)) this.open.delete(id);
    else this.open.add(id);
    if (isFile) this.showRows();
    else this.load();
    const again = this.heads.querySelector(`[data-id="${CSS.escape(id)}"] button`);
    if (again) again.focus();
  }

  draw() {
    if (!this.is || !this.scale || this.canvas.clientWidth === 0) return;
    draw(this.canvas, this.is, this.rows, this.scale, this.marks);
    const messages = this.is.messages_in_sight > 0 && this.is.messages.length === 0
      ? `; ${count(this.is.messages_in_sight, 'message')}, shown as arrows when fewer are in sight` : '';
    const part = this.is.progress !== undefined && this.is.progress < 1 ? `; ${Math.round(this.is.progress * 100)} % of the trace read` : '';
    const begins = this.is.begins ? `; it begins at ${moment(this.is.begins)}, when the page was started: the trace has what was before` : '';
    this.window.textContent = `${moment(this.scale.from, this.scale.length / 100)} to ${moment(this.scale.to, this.scale.length / 100)} (${duration(this.scale.length)})${messages}${part}${begins}`;
  }

  moved() {
    this.draw();
    if (!isFile) this.load();
  }

  show(from, to) {
    if (!this.scale) return;
    this.scale.show(from, to);
    this.moved();
  }

  // What stays where it is when nobody points at anything: the chosen moment where it is in sight, else the middle.
  middle() {
    const ns = this.marks.moment, isInSight = this.scale && ns !== null && ns < this.scale.end && ns >= this.scale.from && ns <= this.scale.to;
    return isInSight ? (ns - this.scale.from) / this.scale.length : 0.5;
  }

  zoom(factor, part) {
    if (!this.scale) return;
    this.scale.zoom(factor, part);
    this.moved();
  }

  pan(part) {
    if (!this.scale) return;
    this.scale.pan(part);
    this.moved();
  }

  markMoment(ns) {
    this.marks.moment = ns;
    this.draw();
  }

  // What is at the point of EVENT: {ns, row}.
  at(event) {
    const edge = this.canvas.getBoundingClientRect();
    return {ns: this.scale.ns(event.clientX - edge.left, edge.width), part: (event.clientX - edge.left) / edge.width,
            row: this.rows[Math.floor((event.clientY - edge.top - TOP) / ROW)]};
  }

  explain(event) {
    const {ns, row} = this.at(event), column = Math.floor((ns - this.is.from) / this.is.width);
    this.marks.pointer = ns;
    this.draw();
    this.heads.querySelectorAll('.at').forEach((one) => one.classList.remove('at'));
    if (!row) {
      this.tip.hidden = true;
      return;
    }
    const head = this.heads.children[this.rows.indexOf(row)];
    if (head) head.classList.add('at');
    const run = row.runs.find((one) => one[0] <= column && column < one[0] + one[1]), lines = [];
    for (let i = 2; run && i < run.length; i += 2)
      lines.push(`${Math.round(run[i + 1] / this.is.levels * 100)} % ${WORDS[this.is.activities[run[i]]]}`);
    const doing = !row.shown && (!run || run[2] === 1) ? 'no MPI and no OpenMP seen' : lines.join('\n') || 'not there, or outside of all parallel regions';
    this.tip.textContent = `${row.label}\n${moment(ns, this.scale.length / 500)}\n${doing}`;
    this.tip.hidden = false;
    this.tip.style.left = `${Math.min(event.clientX + 14, innerWidth - this.tip.offsetWidth - 8)}px`;
    this.tip.style.top = `${Math.min(event.clientY + 16, innerHeight - this.tip.offsetHeight - 8)}px`;
  }

  listen() {
    let drag = null;
    const canvas = this.canvas;
    canvas.addEventListener('wheel', (event) => {
      if (!this.scale) return;
      const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
      if (!event.ctrlKey && !event.metaKey && !sideways && document.activeElement !== canvas) return;
      event.preventDefault();
      if (sideways) this.pan(event.deltaX / 1000);
      else this.zoom(Math.exp(-event.deltaY / 300), this.at(event).part);
    }, {passive: false});
    canvas.addEventListener('pointerdown', (event) => {
      if (event.button !== 0 || !this.scale) return;
      canvas.setPointerCapture(event.pointerId);
      drag = {x: event.clientX, from: this.scale.from, to: this.scale.to, at: this.at(event).ns, range: event.shiftKey, moved: false};
    });
    canvas.addEventListener('pointermove', (event) => {
      if (!this.is || !this.scale) return;
      if (drag === null) {
        this.explain(event);
        return;
      }
      const x = event.clientX - drag.x;
      drag.moved = drag.moved || Math.abs(x) > 4;
      if (!drag.moved) return;
      this.tip.hidden = true;
      if (drag.range) {
        this.marks.range = [drag.at, this.at(event).ns];
        this.draw();
        return;
      }
      canvas.classList.add('dragging');
      const by = -x / canvas.clientWidth * (drag.to - drag.from);
      this.show(drag.from + by, drag.to + by);
    });
    canvas.addEventListener('pointerup', (event) => {
      if (drag === null) return;
      const {moved, range, at} = drag, here = this.at(event).ns;
      drag = null;
      canvas.classList.remove('dragging');
      this.marks.range = null;
      if (moved && range) this.show(Math.min(at, here), Math.max(at, here));
      else if (!moved && !isFile) choose(Math.round(Math.min(Math.max(0, here), this.scale.end)));
      this.draw();
    });
    canvas.addEventListener('pointerleave', () => {
      this.tip.hidden = true;
      this.marks.pointer = null;
      this.draw();
    });
    canvas.addEventListener('keydown', (event) => {
      if (!this.scale || event.ctrlKey || event.altKey || event.metaKey) return;
      const acts = {ArrowLeft: () => this.pan(-0.15), ArrowRight: () => this.pan(0.15), '+': () => this.zoom(1.5, this.middle()),
                    '=': () => this.zoom(1.5, this.middle()), '-': () => this.zoom(1 / 1.5, this.middle()), 0: () => this.show(0, this.scale.end),
                    Home: () => this.show(0, this.scale.length), End: () => this.show(this.scale.end - this.scale.length, this.scale.end),
                    Enter: () => { if (!isFile) choose(Math.round(this.scale.from + this.scale.length / 2)); }};
      if (!acts[event.key]) return;
      event.preventDefault();
      acts[event.key]();
    });
  }
}
