// The documents: asked of the server, or, where the page is one file, found in it.
import {lookedMoment} from './view.js';

export const isFile = document.querySelector('script[type="application/json"]') !== null;

// Documents that are as of a moment; those of the session itself are not.
const OF_MOMENT = new Set(['summary', 'verdict', 'stacks', 'board', 'diagram', 'strip']);

// Names may have characters that are not seen and turn the direction of text: they are shown as their numbers.
function visible(key, value) {
  return typeof value !== 'string' ? value : value.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

let loaded = 0;

// How much documents were so far.
export function loadedBytes() {
  return loaded;
}

export async function get(name, query) {
  if (isFile) {
    const inlined = document.getElementById(`data-${name}`);
    return inlined === null ? null : JSON.parse(inlined.textContent, visible);
  }
  const at = OF_MOMENT.has(name) ? lookedMoment() : null;
  const words = Object.entries({...query, at}).filter(([, value]) => value !== null && value !== undefined && value !== '');
  const answer = await fetch(`data/${name}?${words.map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join('&')}`);
  const text = await answer.text(), told = JSON.parse(text, visible);
  loaded += text.length;
  if (!answer.ok) throw new Error(told.error ? told.error.message : `the server answered ${answer.status}`);
  return told;
}

async function post(what, line) {
  if (isFile) throw new Error('this page is a file: there is no console behind it');
  const answer = await fetch(what, {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({line})});
  const told = JSON.parse(await answer.text(), visible);
  if (!answer.ok) throw new Error(told.error ? told.error.message : `the server answered ${answer.status}`);
  return told;
}

// Runs a line in the console; its answer.
export function command(line) {
  return post('command', line);
}

// How the word at the end of LINE can go on.
export function complete(line) {
  return post('complete', line);
}

// Interrupts the command that the console runs, as its interrupt key does.
export function interrupt() {
  return post('interrupt', '');
}

const listeners = [];

// CALLBACK({moment, parts}) when something has changed.
export function onChanged(callback) {
  listeners.push(callback);
}

export function tellChanged(what) {
  return Promise.all(listeners.map((callback) => callback(what)));
}
