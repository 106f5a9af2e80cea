// The sequence diagram: moved, scaled, searched and folded. It stands in a shadow tree, for its style is its own.
import {isFile} from './data.js';
import {drawn, element} from './element.js';
import {onRanksChosen} from './view.js';

const TITLE = 22, PAD = 8;
const STYLE = `
:host{display:block;border:1px solid var(--line);border-radius:5px;background:#fff;color:#1b1f24;font:13px system-ui,sans-serif}
header{display:flex;flex-wrap:wrap;gap:8px;align-items:center;padding:6px 12px;border-bottom:1px solid #9995}
header h3{font-size:13px;margin:0 auto 0 0}
button,input{font:inherit}
#pane{overflow:auto;cursor:grab;max-height:min(70vh,60rem);min-height:8rem;outline-offset:-2px}
:host(.alone) #pane{max-height:calc(100vh - 6rem)}
#pane.drag{cursor:grabbing}
#pane svg{display:block}
#words{position:fixed;display:none;max-width:60ch;padding:6px 9px;white-space:pre-line;pointer-events:none;border:1px solid #999;border-radius:4px;background:#fff;font:12px system-ui,sans-serif;z-index:9}
#count{min-width:7ch}
.hit text{text-decoration:underline}
.now text{fill:#fff;stroke:#0072b2;stroke-width:6px}
.folds{cursor:pointer}
@media screen and (prefers-color-scheme: dark){:host,#words{background:#14171c;color:#e4e7eb}.now text{fill:#14171c;stroke:#e69f00}}
@media print{#pane{max-height:none;overflow:visible}#pane svg{max-width:100%;height:auto!important}button,input{display:none}}
`;

class Diagram {
  constructor(root, is) {
    this.root = root;
    const picture = new DOMParser().parseFromString(is.svg, 'image/svg+xml').documentElement;
    const button = (id, text, act, label) => element('button', {id, type: 'button', 'aria-label': label, onclick: act}, text);
    this.query = element('input', {id: 'query', type: 'search', placeholder: 'Search ( / )', 'aria-label': 'Search the diagram'});
    this.count = element('output', {id: 'count'});
    this.svg = document.importNode(picture, true);
    this.pane = element('div', {id: 'pane', tabindex: 0, role: 'region', 'aria-label': `Sequence diagram: ${is.title}`}, this.svg);
    this.tip = element('div', {id: 'words', role: 'tooltip'});
    root.replaceChildren(
      element('header', {}, element('h3', {}, is.title), this.query, this.count,
              button('fold', 'Fold all', () => this.foldAll(true)), button('unfold', 'Unfold all', () => this.foldAll(false)),
              button('out', '−', () => this.middle(0.8), 'Smaller'), button('in', '+', () => this.middle(1.25), 'Larger'),
              button('fit', 'Fit', () => this.scale((this.pane.clientWidth - 4) / this.view[2]))),
      this.pane, this.tip);
    this.zoom = 1;
    this.hits = [];
    this.at = -1;
    this.last = null;
    this.collect();
    this.layout();
    this.listen();
  }

  collect() {
    const at = (id) => this.svg.querySelector(`#${id}`);
    this.view = this.svg.getAttribute('viewBox').split(' ').map(Number);
    this.heads = at('top');
    this.feet = at('bottom');
    this.legend = at('legend');
    this.ground = this.svg.querySelector('.ground');
    this.height = this.view[3];
    this.lives = Array.from(this.svg.querySelectorAll('.life')).map((path) => {
      const parts = /^M(-?[0-9]+) ([0-9]+)V([0-9]+)$/.exec(path.getAttribute('d'));
      return {path, start: `M${parts[1]} ${parts[2]}V`, end: Number(parts[3])};
    });
    const byIndex = {};
    this.rows = Array.from(this.svg.querySelectorAll('g.r')).map((group) => {
      const title = group.querySelector('title'), text = title ? title.textContent : '';
      if (title) title.remove(); // the page shows it itself
      const end = group.hasAttribute('data-end') ? Number(group.getAttribute('data-end')) : -1;
      if (end >= 0) group.classList.add('folds');
      const row = {group, index: Number(group.getAttribute('data-i')), end, text, height: Number(group.getAttribute('data-h')),
                   box: group.querySelector('.box'), y: Number(/ (-?[0-9]+)/.exec(group.getAttribute('transform'))[1]),
                   folded: false, hidden: false};
      byIndex[row.index] = row;
      return row;
    });
    this.slopes = Array.from(this.svg.querySelectorAll('.slope')).map((path) => {
      const ends = path.getAttribute('d').match(/-?[0-9]+/g).map(Number);
      const from = byIndex[path.dataset.from], to = byIndex[path.dataset.to];
      return {path, from, to, x1: ends[0], y1: ends[1] - from.y, x2: ends[2], y2: ends[3] - to.y};
    });
    this.first = this.rows.length ? this.rows[0].y : 0;
    this.heads.insertBefore(drawn('rect', {class: 'ground', x: this.view[0], y: 26, width: this.view[2], height: 30}), this.heads.firstChild);
    this.svg.appendChild(this.heads); // above the rows that scroll beneath it
  }

  layout() {
    const open = [];
    let y = this.first, hidden = -1;
    const close = () => {
      const row = open.pop();
      y += PAD;
      row.box.setAttribute('height', y - row.y - 6);
    };
    for (const row of this.rows) {
      while (open.length && open[open.length - 1].end < row.index) close();
      row.hidden = row.index < hidden;
      row.group.style.display = row.hidden ? 'none' : '';
      if (row.hidden) continue;
      row.y = y;
      row.group.setAttribute('transform', `translate(0 ${y})`);
      y += row.height;
      if (row.end < 0) continue;
      open.push(row);
      if (row.folded) hidden = row.end;
    }
    while (open.length) close();
    if (this.last === null) this.last = y;
    for (const slope of this.slopes) {
      slope.path.style.display = slope.from.hidden || slope.to.hidden ? 'none' : '';
      slope.path.setAttribute('d', `M${slope.x1} ${slope.from.y + slope.y1}L${slope.x2} ${slope.to.y + slope.y2}`);
    }
    const moved = y - this.last;
    this.height = this.view[3] + moved;
    for (const life of this.lives) life.path.setAttribute('d', life.start + (life.end + moved));
    this.feet.setAttribute('transform', `translate(0 ${moved})`);
    if (this.legend) this.legend.setAttribute('transform', `translate(0 ${moved})`);
    this.ground.setAttribute('height', this.height);
    this.svg.setAttribute('viewBox', [this.view[0], 0, this.view[2], this.height].join(' '));
    this.scale(this.zoom);
  }

  scale(wanted) {
    this.zoom = Math.min(8, Math.max(0.05, wanted));
    this.svg.style.width = `${this.view[2] * this.zoom}px`;
    this.svg.style.height = `${this.height * this.zoom}px`;
    this.stick();
  }

  zoomAt(factor, x, y) {
    const left = (this.pane.scrollLeft + x) / this.zoom, top = (this.pane.scrollTop + y) / this.zoom;
    this.scale(this.zoom * factor);
    this.pane.scrollLeft = left * this.zoom - x;
    this.pane.scrollTop = top * this.zoom - y;
  }

  middle(factor) {
    this.zoomAt(factor, this.pane.clientWidth / 2, this.pane.clientHeight / 2);
  }

  stick() {
    this.heads.setAttribute('transform', `translate(0 ${Math.max(0, this.pane.scrollTop / this.zoom - 26)})`);
  }

  rowOf(target) {
    const group = target && target.closest ? target.closest('g.r') : null;
    return group ? this.rows.find((row) => row.group === group) : undefined;
  }

  fold(row, folded) {
    row.folded = folded;
    row.group.classList.toggle('folded', folded);
    if (row.box) row.box.setAttribute('stroke-width', folded ? 3 : '');
  }

  foldAll(folded) {
    for (const row of this.rows) if (row.end >= 0) this.fold(row, folded);
    this.layout();
  }

  show(row) {
    for (const outer of this.rows) {
      if (outer.folded && outer.index < row.index && row.index < outer.end) this.fold(outer, false);
      outer.group.classList.toggle('now', outer === row);
    }
    this.layout();
    const label = row.group.querySelector('text'), x = label ? Number(label.getAttribute('x')) : this.view[0];
    this.pane.scrollTop = row.y * this.zoom - this.pane.clientHeight / 2;
    this.pane.scrollLeft = (x - this.view[0]) * this.zoom - this.pane.clientWidth / 2;
  }

  // The end of the job is what one looks for.
  showEnd() {
    this.pane.scrollTop = this.pane.scrollHeight;
  }

  // Where a reader of this diagram is, for the next one; null: at its end, as nobody has moved.
  place() {
    const {scrollTop, scrollLeft, scrollHeight, clientHeight} = this.pane;
    if (this.zoom === 1 && this.query.value === '' && scrollTop >= scrollHeight - clientHeight - 2) return null;
    return {zoom: this.zoom, query: this.query.value, scrollTop, scrollLeft};
  }

  goTo({zoom, query, scrollTop, scrollLeft}) {
    this.scale(zoom);
    this.query.value = query;
    this.search();
    this.pane.scrollTop = scrollTop;
    this.pane.scrollLeft = scrollLeft;
  }

  search() {
    const words = this.query.value.toLowerCase();
    this.hits = this.rows.filter((row) => {
      const hit = words !== '' && row.text.toLowerCase().includes(words);
      row.group.classList.toggle('hit', hit);
      row.group.classList.remove('now');
      return hit;
    });
    this.at = -1;
    this.count.textContent = words === '' ? '' : `${this.hits.length} found`;
  }

  explain(event) {
    const row = this.rowOf(event.target);
    if (row === undefined || row.text === '') {
      this.tip.style.display = 'none';
      return;
    }
    this.tip.textContent = row.text;
    this.tip.style.display = 'block';
    this.tip.style.left = `${Math.min(event.clientX + 14, innerWidth - this.tip.offsetWidth - 8)}px`;
    this.tip.style.top = `${Math.min(event.clientY + 14, innerHeight - this.tip.offsetHeight - 8)}px`;
  }

  listen() {
    const pane = this.pane;
    let drag = null, dragged = false;
    this.query.addEventListener('input', () => this.search());
    this.query.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || this.hits.length === 0) return;
      this.at = (this.at + (event.shiftKey ? this.hits.length - 1 : 1)) % this.hits.length;
      this.show(this.hits[this.at]);
      this.count.textContent = `${this.at + 1} of ${this.hits.length}`;
    });
    pane.addEventListener('pointerdown', (event) => {
      dragged = false;
      if (event.button === 0) drag = {x: event.clientX, y: event.clientY, left: pane.scrollLeft, top: pane.scrollTop};
    });
    pane.addEventListener('pointermove', (event) => {
      if (drag === null) {
        this.explain(event);
        return;
      }
      const x = event.clientX - drag.x, y = event.clientY - drag.y;
      if (!dragged && Math.abs(x) + Math.abs(y) > 4) {
        dragged = true;
        pane.setPointerCapture(event.pointerId);
      }
      if (!dragged) return;
      pane.classList.add('drag');
      pane.scrollLeft = drag.left - x;
      pane.scrollTop = drag.top - y;
    });
    const release = () => {
      drag = null;
      pane.classList.remove('drag');
    };
    pane.addEventListener('pointerup', release);
    pane.addEventListener('pointercancel', release);
    pane.addEventListener('pointerleave', () => { this.tip.style.display = 'none'; });
    pane.addEventListener('click', (event) => {
      const row = this.rowOf(event.target);
      if (dragged || row === undefined || row.end < 0) return;
      const y = (event.clientY - this.svg.getBoundingClientRect().top) / this.zoom;
      if (y - row.y > TITLE + 2) return; // its title, not what is in it
      this.fold(row, !row.folded);
      this.layout();
    });
    pane.addEventListener('wheel', (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      const edge = pane.getBoundingClientRect();
      this.zoomAt(Math.exp(-event.deltaY / 300), event.clientX - edge.left, event.clientY - edge.top);
    }, {passive: false});
    pane.addEventListener('scroll', () => this.stick());
    pane.addEventListener('keydown', (event) => {
      if (event.key === '/') {
        event.preventDefault();
        this.query.focus();
      }
      if (event.key === '+') this.middle(1.25);
      if (event.key === '-') this.middle(0.8);
    });
  }
}

function sheet(text) {
  const made = new CSSStyleSheet();
  made.replaceSync(text);
  return made;
}

const listeners = [];
let chosen = {ranks: '', by: ''}, titled = '', diagram = null, tools = null;

// CALLBACK() when somebody wants the diagram of others.
export function onDiagramChosen(callback) {
  listeners.push(callback);
}

export function diagramQuery() {
  return chosen;
}

function choose(ranks, by) {
  chosen = {ranks, by};
  for (const callback of listeners) callback();
}

// Of whom it is: "0-3,7", by workers or by ranks.
function makeTools() {
  const ranks = element('input', {type: 'text', size: 12, placeholder: 'as fits best', 'aria-label': 'Ranks of the diagram, as 0-3,7'});
  const by = element('select', {'aria-label': 'Lines of the diagram'}, [['', 'as fits best'], ['rank', 'a line for each rank'], ['worker', 'a line for each worker']].map(([value, text]) => element('option', {value}, text)));
  const apply = () => choose(ranks.value.replace(/[^0-9,-]/g, ''), by.value);
  ranks.addEventListener('change', apply);
  by.addEventListener('change', apply);
  onRanksChosen((text) => {
    ranks.value = text;
    apply();
  });
  return element('div', {class: 'buttons'}, element('label', {}, 'Ranks ', ranks), element('label', {}, 'Lines ', by));
}

// IS_ALONE: the page has nothing else. False where there is no diagram.
export function showDiagram(body, is, isAlone) {
  if (tools === null && !isFile) tools = makeTools();
  if (!is.there) {
    body.replaceChildren(...[tools, element('p', {class: 'faint'}, is.why || 'There is nothing to draw.')].filter((one) => one !== null));
    diagram = null;
    return !isFile && Boolean(is.why);
  }
  const place = diagram !== null && titled === is.title ? diagram.place() : null;
  let host = body.querySelector('#diagram-view');
  if (host === null) {
    host = element('div', {id: 'diagram-view'});
    host.attachShadow({mode: 'open'});
    body.replaceChildren(...[tools, host, element('p', {class: 'hint'})].filter((one) => one !== null));
  }
  host.classList.toggle('alone', isAlone);
  host.shadowRoot.adoptedStyleSheets = [sheet(is.style), sheet(STYLE)];
  diagram = new Diagram(host.shadowRoot, is);
  titled = is.title;
  if (place !== null) diagram.goTo(place);
  else if (!isAlone) diagram.showEnd();
  body.lastChild.textContent = is.note || '';
  return true;
}
