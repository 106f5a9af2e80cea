// What the parts of the page have in common: the moment that is looked at, and the message line.
const listeners = [];
let chosen = null;

export function onChosen(callback) {
  listeners.push(callback);
}

// A moment was chosen, ns since the start.
export function choose(ns) {
  chosen = ns;
  for (const callback of listeners) callback(ns);
}

export function chosenMoment() {
  return chosen;
}

export function say(text) {
  document.getElementById('message').textContent = text;
}
