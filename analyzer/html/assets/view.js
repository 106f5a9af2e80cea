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

const rankListeners = [];

// CALLBACK("0-3,7") when ranks were chosen.
export function onRanksChosen(callback) {
  rankListeners.push(callback);
}

export function chooseRanks(ranks) {
  for (const callback of rankListeners) callback(ranks);
}

// Tells those who do not see the page, once for each text.
export function announce(text) {
  const told = document.getElementById('announced');
  if (told.textContent !== text) told.textContent = text;
}

export function say(text) {
  document.getElementById('message').textContent = text;
}
