// The wait-for graph: an arrow from who waits to who is waited for; cycles in red.
import {focusOn} from './control.js';
import {drawn, element} from './element.js';
import {moment} from './format.js';

const HIGH = 34, GAP = 28, DOWN = 74, LONGEST = 34;

function shortened(text) {
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST - 1)}…`;
}

function width(node) {
  return 24 + 7.6 * shortened(node.label).length;
}

// Lines: cycles and those that wait for nobody at the bottom, whoever waits for them above.
function levels(nodes, edges) {
  const level = nodes.map(() => 0), down = edges.filter((edge) => !edge.ring && !nodes[edge.from].ring && edge.from !== edge.to);
  for (let turn = 0, changed = true; changed && turn < nodes.length; turn++) {
    changed = false;
    for (const edge of down) {
      if (level[edge.from] > level[edge.to]) continue;
      level[edge.from] = level[edge.to] + 1;
      changed = true;
    }
  }
  const used = Array.from(new Set(level)).sort((a, b) => a - b);
  return level.map((one) => used.indexOf(one));
}

// Around a circle, in the order of the waits.
function ringOrder(nodes, edges) {
  const left = nodes.map((node, i) => i).filter((i) => nodes[i].ring), order = [];
  while (left.length > 0) {
    let at = left.shift();
    for (;;) {
      order.push(at);
      const next = edges.find((edge) => edge.ring && edge.from === at && left.includes(edge.to));
      if (!next) break;
      at = next.to;
      left.splice(left.indexOf(at), 1);
    }
  }
  return order;
}

function layout(nodes, edges) {
  const level = levels(nodes, edges), deepest = Math.max(0, ...level), ring = ringOrder(nodes, edges);
  const places = [], lines = [];
  for (let i = 0; i <= deepest; i++) lines.push(nodes.map((node, k) => k).filter((k) => level[k] === i && !nodes[k].ring));
  const across = (some) => some.reduce((sum, k) => sum + width(nodes[k]) + GAP, 0) - GAP;
  const widest = Math.max(0, ...ring.map((k) => width(nodes[k])));
  const tall = ring.length < 3 ? 0 : 40 + ring.length * 16, half = ring.length === 0 ? 0 : widest / 2 + (ring.length === 1 ? 0 : 40 + ring.length * 12);
  const ringWidth = ring.length === 0 ? 0 : 2 * half + widest + (ring.length === 1 ? 60 : 0);
  const wide = Math.max(240, ...lines.map((some, i) => across(some) + (i === 0 && ring.length > 0 ? ringWidth + GAP : 0)), ringWidth) + 40;
  let y = ring.length === 2 && lines.every((some, i) => i === 0 || some.length === 0) ? 34 : 14; // the name of the upper arrow is above its boxes
  for (let i = deepest; i >= 0; i--) {
    const isLast = i === 0 && ring.length > 0;
    let x = (wide - across(lines[i]) - (isLast ? ringWidth + (lines[i].length > 0 ? GAP : 0) : 0)) / 2;
    for (const k of lines[i]) {
      places[k] = {x: x + width(nodes[k]) / 2, y: y + HIGH / 2 + (isLast ? tall : 0)};
      x += width(nodes[k]) + GAP;
    }
    if (isLast)
      ring.forEach((k, at) => {
        const angle = 2 * Math.PI * at / ring.length + Math.PI;
        places[k] = {x: x + ringWidth / 2 + (ring.length === 1 ? 0 : Math.cos(angle) * half), y: y + HIGH / 2 + tall + Math.sin(angle) * tall};
      });
    y += (lines[i].length > 0 || isLast ? HIGH + DOWN : 0) + (isLast ? 2 * tall : 0);
  }
  return {places, width: wide, height: Math.max(80, y - DOWN + 24)};
}

// The point where the line to (X, Y) leaves the box of NODE at PLACE.
function edgeOf(node, place, x, y) {
  const dx = x - place.x, dy = y - place.y, w = width(node) / 2 + 3, h = HIGH / 2 + 3;
  const scale = Math.min(dx === 0 ? Infinity : w / Math.abs(dx), dy === 0 ? Infinity : h / Math.abs(dy));
  return {x: place.x + dx * scale, y: place.y + dy * scale};
}

// How far the line of EDGE has to bend for the boxes that a straight one would cross.
function wayRound(edge, nodes, places) {
  const a = places[edge.from], b = places[edge.to];
  const isCrossed = (node, k) => k !== edge.from && k !== edge.to &&
    Array.from({length: 19}, (none, i) => (i + 1) / 20).some((t) =>
      Math.abs(a.x + (b.x - a.x) * t - places[k].x) < width(node) / 2 + 4 && Math.abs(a.y + (b.y - a.y) * t - places[k].y) < HIGH / 2 + 4);
  const crossed = nodes.filter(isCrossed);
  return crossed.length === 0 ? 0 : Math.max(...crossed.map(width)) + 28;
}

function arrow(edge, nodes, places, both, place, isNamed) {
  const a = places[edge.from], b = places[edge.to];
  const long = Math.hypot(b.x - a.x, b.y - a.y) || 1, bend = both ? 30 : edge.ring ? 0 : wayRound(edge, nodes, places);
  let middle, path;
  if (edge.from === edge.to) {
    const w = width(nodes[edge.from]) / 2;
    path = `M${a.x + w} ${a.y - 6}c50 -40 50 52 3 12`;
    middle = {x: a.x + w + 46, y: a.y + 4};
  } else {
    middle = {x: (a.x + b.x) / 2 - (b.y - a.y) / long * bend, y: (a.y + b.y) / 2 + (b.x - a.x) / long * bend};
    const from = edgeOf(nodes[edge.from], a, middle.x, middle.y), to = edgeOf(nodes[edge.to], b, middle.x, middle.y);
    path = `M${from.x} ${from.y}Q${middle.x} ${middle.y} ${to.x} ${to.y}`;
    /* beside each other's labels, not on them */
    const t = edge.ring ? 0.5 : place === 0 ? 0.3 : 0.6, u = 1 - t;
    middle = {x: u * u * from.x + 2 * u * t * middle.x + t * t * to.x, y: u * u * from.y + 2 * u * t * middle.y + t * t * to.y + (edge.ring ? 0 : 7)};
  }
  const isBelow = edge.ring && middle.y > (a.y + b.y) / 2 + 1; // of an arrow that sags the name is below it
  const since = edge.since === undefined ? '' : `, since ${moment(edge.since)}`;
  return {line: drawn('g', {class: edge.ring ? 'edge ring' : 'edge'},
                      drawn('title', {}, `${nodes[edge.from].label} waits for ${nodes[edge.to].label}: ${edge.why}${since}`),
                      drawn('path', {d: path, 'marker-end': edge.ring ? 'url(#wait-ring)' : 'url(#wait)',
                                     'stroke-dasharray': edge.choice ? '5 4' : null})),
          name: isNamed ? drawn('g', {class: edge.ring ? 'name ring' : 'name'}, drawn('text', {x: middle.x, y: middle.y + (isBelow ? 15 : -4), 'text-anchor': 'middle'}, shortened(edge.why))) : null};
}

function box(node, place) {
  const w = width(node);
  return drawn('g', {class: `node${node.ring ? ' ring' : ''}${node.culprit ? ' culprit' : ''}`, onclick: () => focusOn(node.label)},
               drawn('title', {}, `${node.label}: ${node.state || ''}`),
               drawn('rect', {x: place.x - w / 2, y: place.y - HIGH / 2, width: w, height: HIGH, rx: 6}),
               drawn('text', {x: place.x, y: place.y + 5, 'text-anchor': 'middle'}, shortened(node.label)));
}

function tip(id, kind) {
  return drawn('marker', {id, class: kind, viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 8, markerHeight: 8,
                          markerUnits: 'userSpaceOnUse', orient: 'auto'}, drawn('path', {d: 'M8 4L0 0v8z'}));
}

// In words, for those who do not see it.
function sentences(nodes, edges) {
  return edges.map((edge) => `${nodes[edge.from].label} waits for ${nodes[edge.to].label} (${edge.why})`).join('; ');
}

export function graph(is) {
  const {nodes, edges} = is, {places, width: wide, height} = layout(nodes, edges);
  // Names of edges from neighbours are at different heights; one that leaves a node twice for one reason is named once.
  const rank = nodes.map((node, i) => nodes.filter((other, k) => places[k].y === places[i].y && places[k].x < places[i].x).length % 2);
  const isNamed = (edge, i) => !edges.some((other, k) => k < i && other.from === edge.from && other.why === edge.why && !edge.ring);
  const isBoth = (edge) => edges.some((other) => other.from === edge.to && other.to === edge.from);
  const arrows = edges.map((edge, i) => arrow(edge, nodes, places, isBoth(edge), rank[edge.from], isNamed(edge, i)));
  const picture = drawn('svg', {viewBox: `0 0 ${wide} ${height}`, width: wide, height, role: 'img',
                                'aria-label': `Who waits for whom: ${sentences(nodes, edges)}`},
                        drawn('defs', {}, tip('wait', ''), tip('wait-ring', 'ring')),
                        nodes.map((node, i) => box(node, places[i])),
                        arrows.map((one) => one.line), arrows.map((one) => one.name)); // no line is drawn over a name
  picture.style.maxWidth = wide < 800 ? '100%' : 'none';
  picture.style.height = 'auto';
  const isRing = edges.some((edge) => edge.ring);
  return element('div', {},
                 element('h3', {}, 'Who waits for whom'),
                 element('div', {class: 'graph', tabindex: 0, role: 'region', 'aria-label': 'Who waits for whom'}, picture),
                 element('p', {class: 'hint'}, `An arrow leads from who waits to who is waited for.${isRing ? ' The cycle is red: none of it can go on.' : ''}` +
                         (is.left_out > 0 ? ` ${is.left_out} waits are left out.` : '')));
}
