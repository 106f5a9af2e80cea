// News of the session: where it is, whether a command runs, and that what is shown is old.
import {get, isFile, loadedBytes, tellChanged} from './data.js';
import {lookedMoment} from './view.js';

const OF_MOMENT = ['board', 'threads', 'summary', 'stacks', 'verdict'];
const SLOW = ['diagram', 'filter', 'heap'];
const BYTES_A_SECOND = 50000, LATER_MS = 3000, QUIET_MS = 1500, SLOW_MS = 4000, STILL_MS = 1000, STILLEST_MS = 15000;

// What the session said last; null: this page is a file, or nothing was said yet.
let session = null;

// A function, for in the page all modules are one script, and what they import is as it was at first.
export function current() {
  return session;
}

const listeners = [];
let shown = null, shownParts = 0, shownLate = 0, isLoading = false, laterAt = 0, slowAt = 0, quiet = null, boardAt = 0, still = null;

// Parts whose documents are on their way.
export const awaited = new Set();

// A command moves the session through its trace: what is shown of the moment is of a moment on the way.
export function isOnTheWay() {
  return session !== null && session.mode !== 'live' && Boolean(session.busy);
}

export function isLive() {
  return session !== null && session.mode === 'live';
}

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
    const isLive = session.mode === 'live', parts = hasMoved ? (lookedMoment() === null ? OF_MOMENT.slice() : ['threads']) : [];
    if (hasMoved && !isLive && lookedMoment() === null) parts.push('strip');
    else if (hasMore || (isLive && isLater)) parts.push('strip');
    if (hasMoved && !isLive && lookedMoment() === null && !isOnTheWay()) parts.push('diagram');
    if (isLater) laterAt = begun + LATER_MS;
    await tellChanged({moment: session.moment, parts});
    const spent = performance.now() - begun, wanted = (loadedBytes() - before) / BYTES_A_SECOND * 1000;
    await wait(Math.max(50, wanted - spent));
  }
  isLoading = false;
}

// What has come to a barrier is shown at once, as far as half of the bytes allow: the rest of the page may be on its way.
async function refreshBoard() {
  const begun = performance.now(), before = loadedBytes();
  if (lookedMoment() !== null || begun < boardAt) return;
  boardAt = Infinity;
  await tellChanged({parts: ['board']});
  boardAt = begun + Math.max(50, (loadedBytes() - before) / (BYTES_A_SECOND / 2) * 1000);
}

// A wait is a fault when it lasts: of a job that says nothing more, what depends on the time is asked for again, less and less often.
function refreshStill(later) {
  clearTimeout(still);
  still = setTimeout(() => {
    if (session.isThere) tellChanged({parts: lookedMoment() === null ? ['summary', 'verdict', 'strip'] : ['strip']});
    refreshStill(Math.min(STILLEST_MS, later * 1.5));
  }, later);
}

// The strip, and what takes long to be made, of a live job: when it is quiet for a while, and now and then.
function refreshSlowly() {
  clearTimeout(quiet);
  const wait = Math.max(QUIET_MS, slowAt - performance.now());
  quiet = setTimeout(() => {
    slowAt = performance.now() + SLOW_MS;
    tellChanged({parts: ['strip', ...(lookedMoment() === null ? SLOW : SLOW.slice(1))]});
  }, wait);
}

// Documents that were on their way: they are there, or it is time to ask.
function refreshAwaited() {
  if (awaited.size > 0 && !isOnTheWay()) tellChanged({parts: Array.from(awaited)});
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
  shownLate = session.late;
  setInterval(refreshAwaited, 2000);
  if (isLive()) refreshStill(STILL_MS);
  const source = new EventSource('events');
  source.addEventListener('changed', (event) => {
    const before = session, wasOnTheWay = isOnTheWay();
    take({...JSON.parse(event.data), isThere: true});
    if (shownLate !== session.late || (wasOnTheWay && !isOnTheWay())) refreshAwaited();
    shownLate = session.late;
    if (isLive() && before.version !== session.version) {
      refreshBoard();
      refreshSlowly();
      refreshStill(STILL_MS);
    }
    if (wasOnTheWay && !isOnTheWay()) shown = null;
    refresh();
  });
  source.addEventListener('error', () => take({isThere: false}));
}
