// Elements. Every text becomes a text node: nothing that comes from a trace is ever markup.
const SVG = 'http://www.w3.org/2000/svg';

function fill(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, String(value));
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ''));
  return made;
}

export function element(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function drawn(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

// Names of what can be opened or focused in BODY, each once: the same things have the same names when BODY is made anew.
function named(body, selector, nameOf) {
  const names = new Map(), seen = new Map();
  for (const one of body.querySelectorAll(selector)) {
    const name = nameOf(one), before = seen.get(name) || 0;
    seen.set(name, before + 1);
    names.set(`${name}#${before}`, one);
  }
  return names;
}

const SCROLLED = '.wide, .graph, .who-list';

function nameOfControl(one) {
  return `${one.tagName} ${one.getAttribute('data-key') || one.getAttribute('data-set') || one.getAttribute('aria-label') || one.textContent}`;
}

function controls(body) {
  return named(body, 'a, button, summary, input, select, [tabindex]', nameOfControl);
}

function openable(body) {
  return named(body, 'details', (one) => one.querySelector('summary').textContent);
}

// BODY shows CHILDREN in place of what it showed. What a reader has opened, closed, scrolled or focused stays so, where it is there again.
export function renew(body, ...children) {
  const opened = new Map(Array.from(openable(body), ([name, one]) => [name, one.open]));
  const places = () => [body, ...body.querySelectorAll(SCROLLED)], scrolled = places().map((one) => [one.scrollLeft, one.scrollTop]);
  const focused = body.contains(document.activeElement) ? Array.from(controls(body)).find(([, one]) => one === document.activeElement) : undefined;
  body.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined && child !== ''));
  for (const [name, one] of openable(body)) if (opened.has(name)) one.open = opened.get(name);
  places().forEach((one, i) => { if (scrolled[i]) [one.scrollLeft, one.scrollTop] = scrolled[i]; });
  const again = focused && controls(body).get(focused[0]);
  if (again) again.focus({preventScroll: true});
}
