// What the parts of the page have in common: the moment that is looked at, and the message line.
const listeners = [];

let lookedAt = null;

// The moment that this page looks at by itself, ns since the start; null: it follows the session.
export function lookedMoment() {
  return lookedAt;
}

export function onChosen(callback) {
  listeners.push(callback);
}

// A moment was chosen, ns since the start.
export function choose(ns) {
  for (const callback of listeners) callback(ns);
}

export function lookAt(ns) {
  lookedAt = ns;
}

export function say(text) {
  document.getElementById('message').textContent = text;
}
