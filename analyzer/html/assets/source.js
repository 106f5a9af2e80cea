// Source lines: places such as "main (hang.c:183)" lead to their line.
import {get, isFile} from './data.js';
import {element} from './element.js';

const PLACE = /\(([A-Za-z0-9_.-]+\.[A-Za-z0-9_]+):([0-9]+)\)/;

let pane = null, shown = null, suggested = null, wanted = '', isChosen = false, marks = new Map();

// The file and line that TEXT names first; null: none.
function placeIn(text) {
  const found = PLACE.exec(text || '');
  return found ? {name: found[1], line: Number(found[2])} : null;
}

// A line of source, and below it who is there: beside it they would cover it.
function linesOf(text) {
  const number = text.number, isHere = number === shown.line, who = marks.get(`${shown.name}:${number}`);
  const line = element('tr', {class: isHere ? 'here' : null, 'aria-current': isHere ? 'true' : null},
                       element('td', {class: 'number faint'}, String(number)), element('td', {class: 'text'}, text.text || ' '));
  return who ? [line, element('tr', {class: isHere ? 'who here' : 'who'}, element('td', {}), element('td', {}, element('div', {class: 'who'}, `↑ ${who}`)))] : [line];
}

function draw() {
  pane.hidden = shown === null;
  pane.parentElement.classList.toggle('has-source', shown !== null);
  if (shown === null) return;
  const title = element('h3', {}, shown.there ? `${shown.name}, line ${shown.line}` : shown.name);
  if (!shown.there) {
    pane.replaceChildren(title, element('p', {class: 'hint'}, shown.why));
    return;
  }
  pane.replaceChildren(title, element('p', {class: 'hint'}, shown.text.file, shown.text.is_newer ? ', which is newer than the program: its lines may differ' : ''),
                       element('div', {class: 'wide', tabindex: 0, role: 'region', 'aria-label': `Source of ${shown.name}`},
                               element('table', {class: 'code'}, element('tbody', {}, shown.text.lines.flatMap(linesOf)))));
}

// The line that is marked, as commands want it: "solver.c#120"; "" none.
export function markedLine() {
  return shown !== null && shown.there ? `${shown.name}#${shown.line}` : '';
}

async function show(place) {
  wanted = `${place.name}:${place.line}`;
  const asked = wanted;
  let is;
  try {
    is = await get('source', place);
  } catch (error) {
    is = {there: false, why: error.message};
  }
  if (asked !== wanted) return;
  if (!is.there && !isChosen) { // nobody has asked for it
    wanted = '';
    return;
  }
  shown = {...is, ...place};
  draw();
}

async function choose(place) {
  isChosen = true;
  await show(place);
  pane.scrollIntoView({block: 'nearest'});
}

// TEXT with each place of source in it as a button that shows its line.
export function withSource(text) {
  if (isFile) return [text];
  const parts = [];
  for (let rest = text || ''; rest !== '';) {
    const found = PLACE.exec(rest), place = placeIn(rest);
    if (place === null) {
      parts.push(rest);
      break;
    }
    parts.push(rest.slice(0, found.index + 1), element('button', {type: 'button', class: 'link', title: 'Show the source', onclick: (event) => {
      event.preventDefault();
      choose(place);
    }}, `${place.name}:${place.line}`));
    rest = rest.slice(found.index + found[0].length - 1);
  }
  return parts;
}

// What is shown as long as nobody chooses: the first of TEXTS that names a line. IS_WEAK: where nothing is shown yet.
export function suggestSource(texts, isWeak) {
  const place = texts.map(placeIn).find((one) => one !== null);
  if (isFile || isChosen || !place || (isWeak && suggested !== null)) return;
  if (!isWeak) suggested = place;
  if (pane !== null && wanted !== `${place.name}:${place.line}`) show(place);
}

// Who is at which line: PLACES, each {where, who}.
export function markSource(places) {
  marks = new Map();
  for (const {where, who} of places) {
    const place = placeIn(where);
    if (place === null) continue;
    const key = `${place.name}:${place.line}`, before = marks.get(key);
    marks.set(key, before ? `${before}; ${who}` : who);
  }
  if (shown !== null) draw();
}

export function makeSource() {
  pane = element('div', {class: 'source', hidden: true, role: 'region', 'aria-label': 'Source'});
  if (suggested !== null) Promise.resolve().then(() => show(suggested)); // when it is in the page
  return pane;
}
