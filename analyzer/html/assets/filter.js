// Library loads over time, what each dlopen filter would have done with them, and the suggestion.
import {drawn, element} from './element.js';
import {count, duration, moment} from './format.js';

const WIDE = 900, HIGH = 70;

function histogram(is) {
  const most = Math.max(1, ...is.loads), across = WIDE / Math.max(1, is.loads.length);
  const all = is.loads.reduce((sum, one) => sum + one, 0);
  return element('figure', {class: 'plot'},
    drawn('svg', {viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: 'none', role: 'img',
                  'aria-label': `${count(all, 'library', 'libraries')} loaded after start-up, at most ${most} in ${duration(is.step)}`},
          is.loads.map((n, i) => n === 0 ? null : drawn('rect', {x: i * across, y: HIGH - n / most * HIGH, width: Math.max(1.5, across - 0.5), height: n / most * HIGH},
                                                            drawn('title', {}, `${count(n, 'library', 'libraries')} from ${moment(i * is.step)} on`)))),
    element('figcaption', {class: 'hint'}, `${count(all, 'library', 'libraries')} loaded after start-up, from 0 s to ${moment(is.end)}; highest: ${most} in ${duration(is.step)}`));
}

function modes(evaluation) {
  return element('table', {},
    element('thead', {}, element('tr', {}, ['Filter', 'Reported', 'Deferred', 'Round trips', 'Breakpoints in time', 'late or never', 'Cost'].map((name, i) => element('th', {class: i > 0 ? 'number' : null}, name)))),
    element('tbody', {}, evaluation.modes.map((mode) => element('tr', {},
      element('td', {}, mode.label, mode.as_recorded ? ' (as recorded)' : '', mode.match ? element('div', {class: 'code faint'}, mode.match) : null),
      [mode.reported, mode.deferred, mode.round_trips, mode.in_time, mode.late + mode.never, duration(mode.cost_ms * 1e6)].map((cell) => element('td', {class: 'number'}, cell.toLocaleString('en')))))));
}

function suggestion(is) {
  if (!is) return null;
  return element('div', {class: 'suggestion'}, element('h3', {}, `Suggestion: ${is.mode}`),
                 element('pre', {}, is.settings.trim()), element('p', {class: 'hint'}, 'or on the command line: ', element('code', {}, is.command_line)));
}

function libraries(is) {
  const rows = is.libraries.filter((one) => !one.startup);
  if (rows.length === 0) return null;
  return element('details', {}, element('summary', {}, `${count(rows.length, 'library', 'libraries')} that the program loaded itself`),
    element('table', {},
      element('thead', {}, element('tr', {}, element('th', {class: 'number'}, 'First'), element('th', {class: 'number'}, 'Processes'), element('th', {class: 'number'}, 'Cost'), element('th', {}, 'Library'))),
      element('tbody', {}, rows.map((one) => element('tr', {}, element('td', {class: 'number'}, moment(one.first)), element('td', {class: 'number'}, one.processes.toLocaleString('en')),
                                                        element('td', {class: 'number'}, one.cost > 0 ? duration(one.cost) : ''), element('td', {class: 'code'}, one.path))))));
}

export function showFilter(body, is) {
  if (!is.there || (is.libraries.every((one) => one.startup) && !(is.evaluation && is.evaluation.dlopen_events > 0))) return false;
  body.replaceChildren(histogram(is), ...[is.evaluation ? element('div', {class: 'wide'}, modes(is.evaluation)) : null,
                                       is.evaluation ? suggestion(is.evaluation.suggestion) : null, libraries(is)].filter((one) => one !== null));
  if (is.why) body.append(element('p', {class: 'hint'}, is.why));
  return true;
}
