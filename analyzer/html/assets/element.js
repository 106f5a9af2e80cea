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
