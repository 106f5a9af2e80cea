// Where everybody is: threads at the same place together, and their stacks as one tree.
import {whoButton} from './control.js';
import {element, renew} from './element.js';
import {count, moment} from './format.js';
import {makeSource, markSource, suggestSource, withSource} from './source.js';

function who(is) {
  const ranks = is.who || (is.tid ? `thread ${is.tid}` : '');
  return `${ranks}${is.threads > 1 || !ranks ? ` (${count(is.threads, 'thread')})` : ''}`;
}

function table(places) {
  return element('table', {class: 'places'},
                 element('thead', {}, element('tr', {}, element('th', {class: 'number'}, 'Threads'), element('th', {}, 'Who'), element('th', {}, 'What'), element('th', {}, 'Where'))),
                 element('tbody', {}, places.map((place) => element('tr', {},
                   element('td', {class: 'number'}, place.threads.toLocaleString('en')), element('td', {class: 'who'}, whoButton(place.who || (place.tid ? `thread ${place.tid}` : ''))),
                   element('td', {}, place.what), element('td', {class: 'code'}, withSource(place.where))))));
}

// The lines of the tree from FROM on that are below DEPTH; a chain of calls by the same threads is one block.
function branch(lines, from, depth) {
  const made = [];
  let at = from;
  while (at < lines.length && lines[at].depth >= depth) {
    const first = lines[at], chain = [first];
    let next = at + 1;
    while (next < lines.length && lines[next].depth === chain[chain.length - 1].depth + 1 && lines[next].threads === first.threads &&
           lines[next].who === first.who) chain.push(lines[next++]);
    const inner = branch(lines, next, chain[chain.length - 1].depth + 1);
    const text = element('span', {class: 'chain code'}, chain.map((call, i) => element('span', {class: call.runtime ? 'call runtime' : 'call', title: call.file ? `${call.file}:${call.line}` : null},
                                                                                  i > 0 ? '› ' : '', call.runtime ? call.text : withSource(call.text))));
    const label = element('span', {class: 'who'}, who(first));
    made.push(inner.made.length > 0
      ? element('details', {open: true}, element('summary', {}, label, text), inner.made)
      : element('div', {class: 'leaf'}, label, text));
    at = inner.next;
  }
  return {made, next: at};
}

let list = null;

export function showStacks(body, is) {
  if (list === null) {
    list = element('div', {class: 'stacks-list'});
    body.replaceChildren(element('div', {class: 'stacks'}, list, makeSource()));
  }
  const parts = [];
  if (is.places.length > 0) {
    parts.push(element('div', {class: 'wide'}, table(is.places)));
    if (is.places_left_out > 0) parts.push(element('p', {class: 'hint'}, `${is.places_left_out} more threads are at other places.`));
  }
  if (is.tree.length > 0) {
    parts.push(element('h3', {}, `Stacks${is.stacks_at === undefined ? '' : ` at ${moment(is.stacks_at)}`}, callers first`),
               element('div', {class: 'stack-tree wide'}, branch(is.tree, 0, 0).made));
    if (is.tree_is_cut) parts.push(element('p', {class: 'hint'}, 'The tree is larger than is shown.'));
  }
  renew(list, parts);
  const places = is.places.map((place) => ({where: place.where, who: who(place)}));
  markSource(places);
  suggestSource(places.map((place) => place.where), true);
  return parts.length > 0;
}
