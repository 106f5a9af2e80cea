// The page: its parts, and what has them show something else.
import {showBoard} from './board.js';
import {makeConsole} from './console.js';
import {loadThreads, makeControl, runLine} from './control.js';
import {get, isFile, onChanged} from './data.js';
import {diagramQuery, onDiagramChosen, showDiagram} from './diagram.js';
import {element, renew} from './element.js';
import {awaited, current, isLive, isOnTheWay, watch} from './events.js';
import {showFilter} from './filter.js';
import {count, duration, moment} from './format.js';
import {showHeap} from './heap.js';
import {showStacks} from './stacks.js';
import {Strip} from './strip.js';
import {showReading, showVerdict} from './verdict.js';
import {lookAt, lookedMoment, onChosen, say} from './view.js';

if (location.search.includes('token=')) history.replaceState(null, '', location.pathname);

const STILL_NS = 1e9; // of a job that has said nothing for so long it is shown when it last did

function body(name) {
  return document.querySelector(`#${name} .body`);
}

function part(name, isThere) {
  document.getElementById(name).hidden = !isThere;
}

function showSummary(is) {
  document.title = is.name ? `${is.name} - tollgate` : 'tollgate';
  document.getElementById('job-name').textContent = is.name || 'tollgate';
  document.getElementById('job-facts').textContent =
    `${is.ranks > 0 ? `${count(is.ranks, 'rank')}, ` : ''}${count(is.processes, 'process', 'processes')}, ${count(is.threads, 'thread')}`;
  summary = is;
  summaryAt = performance.now();
  if (!isFile && !is.live && lookedMoment() === null) strip.markMoment(is.moment); // its own document may take longer
  showMoment();
}

// Of a running job time goes on from one summary to the next.
function showMoment() {
  const is = summary, isEnd = isFile || is.over, line = document.getElementById('moment');
  const now = is.moment + (is.running > 0 ? (performance.now() - summaryAt) * 1e6 : 0);
  const isEarlier = !is.live && !isEnd && !isOnTheWay() && is.moment < is.end;
  if (lookedMoment() !== null) line.textContent = `You look at an earlier moment: ${moment(is.moment)}; the session does not.`;
  else if (is.live) line.textContent = now - is.last < STILL_NS ? `now, ${moment(now, 1e8)}` : `now, ${moment(now, 1e9)}; the last event came at ${moment(is.last, 1e6)}`;
  else if (isEarlier) line.textContent = `You look at an earlier moment: ${moment(is.moment)} of ${duration(is.end)}`;
  else line.textContent = isEnd ? `at its end, ${moment(is.moment)}` : isOnTheWay() ? `being read, ${moment(is.moment)}` : `at ${moment(is.moment)} of ${duration(is.end)}`;
  showWayBack(isEarlier);
}

// The buttons that lead away from an earlier moment; the session itself is at one where IS_EARLIER.
function showWayBack(isEarlier) {
  const isLooking = lookedMoment() !== null;
  document.querySelector('header.top').classList.toggle('earlier', isLooking || isEarlier);
  for (const button of [document.getElementById('follow'), strip.back]) {
    button.hidden = !isLooking && (!isEarlier || current().view_only);
    button.textContent = isLooking ? 'Follow the session' : 'Back to the end';
    button.onclick = () => (lookedMoment() !== null ? lookFor(null) : runLine('goto end'));
  }
}

function showParts() {
  const shown = Array.from(document.querySelectorAll('main section')).filter((section) => !section.hidden);
  renew(document.getElementById('parts'), shown.map((section) => element('a', {href: `#${section.id}`}, section.querySelector('h2').textContent)));
}

let summary = null, summaryAt = 0;

// A diagram in a file of its own.
const isAlone = isFile && document.getElementById('data-summary') === null;

function mark(name, isAwaited) {
  const section = document.getElementById(name);
  if (section !== null) section.classList.toggle('awaited', isAwaited);
}

// Document NAME; undefined: it is on its way, and what is shown stays.
async function ask(name, query) {
  const is = await get(name, query);
  if (is === null || !is.pending) {
    awaited.delete(name);
    mark(name, false);
    return is;
  }
  awaited.add(name);
  mark(name, true);
  return undefined;
}

const contents = new Map();

// Shows document NAME by SHOW, which says whether there is anything; one that says what is shown already changes nothing.
async function fill(name, show, query) {
  const is = await ask(name, query), text = JSON.stringify({...is, moment: 0});
  if (is === undefined || (is !== null && contents.get(name) === text)) return;
  contents.set(name, text);
  part(name, is !== null && show(body(name), is));
}

const strip = new Strip(body('strip'));
document.body.classList.toggle('alone', isAlone);

// Each part with what it shows; a document that is not there hides it.
const parts = {
  summary: async () => {
    const is = await ask('summary');
    if (is) showSummary(is);
  },
  verdict: async () => {
    if (isOnTheWay() && lookedMoment() === null) {
      contents.delete('verdict');
      showReading(body('verdict'), summary);
      return;
    }
    await fill('verdict', (inside, is) => {
      showVerdict(inside, is);
      return true;
    });
  },
  strip: async () => {
    await strip.load();
    part('strip', strip.is !== null || !isFile);
  },
  stacks: () => fill('stacks', showStacks),
  diagram: () => (isOnTheWay() && lookedMoment() === null ? awaited.add('diagram') : fill('diagram', (inside, is) => showDiagram(inside, is, isAlone), diagramQuery())),
  filter: () => fill('filter', showFilter),
  heap: () => fill('heap', showHeap),
  board: () => (isFile ? null : fill('board', showBoard)),
  threads: () => loadThreads(),
};

async function show(names) {
  for (const name of names) {
    if (!parts[name]) continue;
    try {
      await parts[name]();
    } catch (error) {
      say(`${name}: ${error.message}`);
    }
  }
  showParts();
  document.body.dataset.ready = 'yes';
}

onChanged((what) => show(what.parts || Object.keys(parts)));
onDiagramChosen(() => show(['diagram']));

// This page looks at another moment than the session, or follows it again (NS is null): nobody else is moved.
async function lookFor(ns) {
  lookAt(ns);
  strip.markMoment(ns === null && summary ? summary.moment : ns);
  await show(['summary', 'verdict', 'strip', 'stacks', 'board', 'diagram']);
}

// What needs a session: news, control, the console; a chosen moment is the console's.
async function begin() {
  if (!isFile) {
    await watch();
    if (isLive()) setInterval(() => { if (summary !== null) showMoment(); }, 1000);
    part('control', makeControl(body('control')));
    part('console', makeConsole(body('console')));
    onChosen((ns) => {
      if (current().mode === 'live' || current().view_only) lookFor(ns);
      else runLine(`goto ${(ns / 1e9).toFixed(9)}`);
    });
  }
  await show(Object.keys(parts));
}

begin().catch((error) => say(error.message));
