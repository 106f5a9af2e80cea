// Barriers, collectives and holds: who has arrived, who is missing, who is held by whom.
import {element, renew} from './element.js';
import {count, moment} from './format.js';
import {withSource} from './source.js';

function row(cells, isOpen) {
  return element('tr', {class: isOpen ? null : 'due'}, cells.map((cell) => element('td', {}, cell)));
}

function table(title, heads, rows, left) {
  if (rows.length === 0) return [];
  return [element('h3', {}, title),
          element('div', {class: 'wide'}, element('table', {class: 'board'}, element('thead', {}, element('tr', {}, heads.map((head) => element('th', {}, head)))),
                                                  element('tbody', {}, rows))),
          left > 0 ? element('p', {class: 'hint'}, `${left} more are not shown.`) : null];
}

function who(is) {
  const ranks = is.ranks ? `rank${/[-,]/.test(is.ranks) ? 's' : ''} ${is.ranks}` : `process ${is.pid}`;
  return is.teams > 1 ? `${ranks} (${count(is.teams, 'team')})` : ranks;
}

function team(is) {
  const missing = is.missing === 0 ? 'none' : `${is.missing} of ${is.size || '?'}`;
  return row([withSource(`${is.kind} ${is.where}`), who(is), `${is.waiting}${is.passed > 0 ? `, ${is.passed} passed` : ''}`, missing, moment(is.since)], is.missing === 0);
}

function collective(is) {
  return row([withSource(`${is.name} ${is.where}`), is.arrived || 'none', is.n_missing > 0 ? `rank${is.n_missing === 1 ? '' : 's'} ${is.missing}` : 'none', moment(is.since)], is.n_missing === 0);
}

function some(is) {
  return is.count === 0 ? 'none' : is.who;
}

function point(is) {
  const why = is.stuck_for ? `stuck: ${is.stuck_for} cannot arrive, held by barrier ${is.holder}` : is.satisfied > 0 ? `satisfied ${count(is.satisfied, 'time')}` : is.enabled ? 'waiting' : 'disabled';
  return row([`${is.id}: ${is.location}`, some(is.arrived), some(is.held), some(is.missing), why], is.missing.count === 0);
}

// Whom a command keeps from running.
function holds(is) {
  return is.threads === 0 ? [] : [row([count(is.threads, 'thread'), is.who, 'dhold, until dunhold'], false)];
}

export function showBoard(body, is) {
  const parts = [
    table('Collectives of MPI', ['Collective', 'Arrived (ranks)', 'Missing', 'First arrival'], is.collectives.map(collective), is.collectives_left_out),
    table('Barriers of OpenMP teams', ['Barrier', 'Who', 'Waiting', 'Missing', 'First arrival'], is.teams.map(team), is.teams_left_out),
    table('Barriers of the debugger', ['Barrier', 'Arrived', 'Held', 'Missing', 'State'], is.points.map(point), is.points_left_out),
    table('Held by a command', ['How many', 'Who', 'By'], holds(is.holds), 0),
  ].flat();
  renew(body, parts);
  return parts.length > 0;
}
