// News of the session: where it is, whether a command runs, and that what is shown is old.
import {get, isFile, loadedBytes, tellChanged} from './data.js';

const OF_MOMENT = ['board', 'threads', 'summary', 'stacks', 'verdict'];
const BYTES_A_SECOND = 50000, LATER_MS = 3000;

// What the session said last; null: this page is a file, or nothing was said yet.
export let session = null;

const listeners = [];
let shown = null, shownParts = 0, isLoading = false, laterAt = 0;

// CALLBACK(session) at all news.
export function onSession(callback) {
  listeners.push(callback);
}

function wait(ms) {
  return new Promise((done) => setTimeout(done, ms));
}

// Loads again what has changed; the more it is, the less often.
async function refresh() {
  if (isLoading) return;
  isLoading = true;
  while (session !== null && (shown !== session.version || shownParts !== session.parts)) {
    const before = loadedBytes(), begun = performance.now(), isLater = begun >= laterAt;
    const hasMoved = shown !== session.version, hasMore = shownParts !== session.parts;
    shown = session.version;
    shownParts = session.parts;
    const parts = (hasMoved ? OF_MOMENT.concat(session.mode === 'live' ? [] : ['diagram']) : []).concat(hasMore || (session.mode === 'live' && isLater) ? ['strip'] : []);
    if (isLater) laterAt = begun + LATER_MS;
    await tellChanged({moment: session.moment, parts});
    const spent = performance.now() - begun, wanted = (loadedBytes() - before) / BYTES_A_SECOND * 1000;
    await wait(Math.max(50, wanted - spent));
  }
  isLoading = false;
}

function take(news) {
  session = {...session, ...news};
  for (const callback of listeners) callback(session);
}

export async function watch() {
  if (isFile) return;
  take({...await get('session'), isThere: true});
  shown = session.version;
  shownParts = session.parts;
  const source = new EventSource('events');
  source.addEventListener('changed', (event) => {
    take({...JSON.parse(event.data), isThere: true});
    refresh();
  });
  source.addEventListener('error', () => take({isThere: false}));
}
