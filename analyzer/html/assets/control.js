// Control of the job: the focus, and what is done to it. Every button is a command of the console, which it names.
import {command, get, interrupt, isFile} from './data.js';
import {element, renew} from './element.js';
import {current, onSession} from './events.js';
import {markedLine} from './source.js';
import {chooseRanks, say} from './view.js';

const LIVE = [
  ['Go', 'dgo', 'resume the threads in focus'], ['Halt', null, 'stop the threads in focus, also while a command waits'],
  ['Step', 'dstep', 'one source line'], ['Next', 'dnext', 'one source line, over calls'], ['Out', 'dout', 'to the caller'],
  ['Hold', 'dhold -thread', 'keep from running'], ['Unhold', 'dunhold -thread', 'let run again'], ['Barrier here', 'dbarrier', 'a barrier at the line in the field, or where that is empty at the line that is marked in the source'],
  ['opm start', 'opm start', 'to the next parallel region'], ['opm next', 'opm next', 'to the next construct of the kind beside it'], ['opm step', 'opm step', 'into the construct'],
  ['opm all_out', 'opm all_out', 'all workers out of the construct'], ['opm barrier pass', 'opm barrier pass', 'all workers past the barrier'],
];
const ZONES = ['parallel', 'single', 'critical', 'task', 'sections', 'barrier', 'master', 'loop'];
const REPLAY = [
  ['Start', 'goto start', 'the first moment'], ['Back', 'back', 'one event back'], ['Next', 'next', 'one event on'], ['End', 'goto end', 'the last moment'],
  ['opm start', 'opm start', 'to the next parallel region'], ['opm next', 'opm next', 'to the next construct of the kind beside it'],
];

const answers = [];
let field = null, zone = null, state = null, answer = null, chooser = null, opened = 0, buttons = [];

// CALLBACK(line, result) when a command of the page has run.
export function onAnswer(callback) {
  answers.push(callback);
}

export async function runLine(line) {
  try {
    const result = await command(line);
    say(result.ok ? '' : result.error.message);
    for (const callback of answers) callback(line, result);
    return result;
  } catch (error) {
    say(error.message);
    return null;
  }
}

// A command of a button: its answer is told beside the buttons.
async function runButton(line) {
  const result = await runLine(line);
  if (result !== null) tell(line, result.ok ? result.text || 'done' : result.error.message, !result.ok);
}

function tell(line, text, hasFailed) {
  answer.replaceChildren(element('b', {}, line ? `${line}: ` : ''), element('span', {class: hasFailed ? 'failed' : ''}, text.trim()));
}

// A barrier at the place in the field, else at the line that is marked in the source.
function plantBarrier() {
  const place = field.value.trim() || markedLine();
  if (place === '') tell('', 'Type a place for the barrier, as solver.c#120 or a function, or choose a line of the source.', true);
  else runButton(`dbarrier ${place}`);
}

// A command that waits is interrupted, which stops the focus; else the focus is stopped.
async function halt() {
  try {
    const told = await interrupt();
    if (!told.interrupted) await runButton('dhalt');
  } catch (error) {
    say(error.message);
  }
}

function setFocus() {
  const set = field.value.trim();
  if (set === '') tell('', 'Type a set of threads, as r1 (rank 1), r1.3 (its thread 3) or all.', true);
  else runButton(`dfocus {${set}}`);
}

function press(line) {
  if (line === null) halt();
  else if (line === 'dbarrier') plantBarrier();
  else if (line === 'opm next') runButton(`opm next ${zone.value}`.trim());
  else runButton(line);
}

function focusButton(set, text, title, isFocused) {
  return element('button', {type: 'button', 'data-set': set, 'aria-pressed': isFocused ? 'true' : 'false', title: `dfocus ${set}${title ? `: ${title}` : ''}`, disabled: current().view_only, onclick: () => runLine(`dfocus ${set}`)}, text);
}

// The command that sets the focus to WHO: "rank 3", "ranks 0-2,5", "rank 1, worker 3", "process 77 (name), worker 2"; null: none does.
function lineOf(who) {
  const worker = /^rank ([0-9]+)(?:, worker ([0-9]+)| \(worker ([0-9]+)\))$/.exec(who), ranks = /^ranks? ([0-9,-]+)$/.exec(who);
  const process = /^process ([0-9]+)(?: \(.*?\))?(?:, worker ([0-9]+))?$/.exec(who);
  if (worker) return `focus rank ${worker[1]} worker ${worker[2] || worker[3]}`;
  if (process) return `focus pid ${process[1]}${process[2] ? ` worker ${process[2]}` : ''}`;
  return ranks ? `dfocus {${ranks[1].split(',').map((part) => `pr${part}`).join(' ')}}` : null;
}

// Sets the focus of the console to WHO, where a command does, and has the diagram show their ranks.
export function focusOn(who) {
  const line = lineOf(who), ranks = /^ranks? ([0-9,-]*[0-9])/.exec(who);
  if (isFile || line === null) return;
  if (!current().view_only) runLine(line);
  if (ranks) chooseRanks(ranks[1]);
}

// WHO, or TEXT for them, as a button that chooses them, where that can be.
export function whoButton(who, text) {
  const line = isFile || current() === null ? null : lineOf(who);
  if (line === null) return text || who;
  return element('button', {type: 'button', class: 'link', 'data-key': who, title: current().view_only ? 'Show in the sequence diagram' : `Set the focus: ${line}`, onclick: () => focusOn(who)}, text || who);
}

// What THREAD is: "worker 3 (OpenMP thread 2)", "main thread".
function nameOfThread(thread) {
  if (thread.worker !== undefined) return `worker ${thread.worker}${thread.thread_num === undefined ? '' : ` (OpenMP thread ${thread.thread_num})`}`;
  return thread.helper ? 'MPI helper' : thread.dtid === 1 ? 'main thread' : 'no OpenMP worker';
}

function threadButton(thread) {
  const is = `${thread.state}${thread.held ? ', held' : ''}`;
  return focusButton(`t${opened}.${thread.dtid}`, [`${thread.dtid}: ${nameOfThread(thread)} `, element('span', {class: 'faint'}, is)], '', thread.focused);
}

function showThreads(is) {
  const lines = is.processes.map((one) => {
    const name = one.rank >= 0 ? `rank ${one.rank}` : `process ${one.dpid}`;
    const what = [one.running > 0 ? `${one.running} running` : '', one.stopped > 0 ? `${one.stopped} stopped` : '', one.held > 0 ? `${one.held} held` : ''].filter((text) => text).join(', ');
    const threads = one.dpid === opened ? element('span', {class: 'threads'}, is.threads.map(threadButton)) : null;
    return element('div', {class: 'who-line'}, element('button', {type: 'button', class: 'fold', 'aria-expanded': one.dpid === opened ? 'true' : 'false', 'aria-label': `threads of ${name}`, onclick: () => open(one.dpid)}, one.dpid === opened ? '▾' : '▸'),
                   focusButton(`p${one.dpid}`, name, '', one.focused), element('span', {class: 'faint'}, what), threads);
  });
  if (is.left_out > 0) lines.push(element('p', {class: 'hint'}, `${is.left_out} more processes: type a set, as r1200.3`));
  renew(chooser, lines);
}

function open(dpid) {
  opened = opened === dpid ? 0 : dpid;
  loadThreads();
}

// Whom the focus can be set to.
export async function loadThreads() {
  if (chooser !== null) showThreads(await get('threads', {process: opened}));
}

let focus = null;

function showState(is) {
  if (focus !== null && focus !== is.focus) loadThreads();
  focus = is.focus;
  const busy = is.busy === null || is.busy === undefined ? '' : `running: ${is.busy} `;
  const end = is.view_only ? '' : element('button', {type: 'button', title: 'interrupts the command, as the console does by its interrupt key; later ones wait for it', onclick: () => halt()}, 'Interrupt');
  state.replaceChildren('Focus ', element('b', {id: 'focus'}, is.focus || ''), busy ? element('span', {class: 'busy'}, ` ${busy}`, end) : '', is.isThere ? '' : element('b', {class: 'gone'}, ' The session does not answer.'),
                        is.view_only ? element('span', {class: 'faint'}, ' For viewing only.') : '');
  for (const button of [...buttons, zone]) button.disabled = is.view_only || !is.isThere;
}

export function makeControl(body) {
  if (isFile) return false;
  const isLive = current().mode === 'live';
  state = element('p', {class: 'state', 'aria-live': 'polite'});
  field = element('input', {type: 'text', size: 28, 'aria-label': isLive ? 'A set of threads, or a place for a barrier' : 'A set of workers', placeholder: isLive ? 'r1.3, or solver.c#120' : 'r1.3'});
  const set = element('button', {type: 'button', title: 'dfocus SET', onclick: () => setFocus()}, 'Set focus');
  buttons = (isLive ? LIVE : REPLAY).map(([text, line, title]) => element('button', {type: 'button', title: `${line || 'dhalt'}: ${title}`, onclick: () => press(line)}, text));
  buttons.push(set);
  zone = element('select', {'aria-label': 'Kind of construct for opm next'}, isLive ? '' : element('option', {value: ''}, 'any construct'), ZONES.map((name) => element('option', {value: name}, name)));
  const besides = (button) => (button.textContent === 'opm next' ? [button, zone] : [button]);
  chooser = element('div', {class: 'who-list'});
  answer = element('p', {class: 'said', role: 'status', 'aria-live': 'polite'});
  body.replaceChildren(state, element('div', {class: 'buttons'}, buttons.slice(0, -1).flatMap(besides)), element('div', {class: 'buttons'}, field, set), answer, chooser);
  onSession(showState);
  showState(current());
  return true;
}
