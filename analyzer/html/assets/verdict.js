// The verdict: each sentence with its evidence behind a click.
import {whoButton} from './control.js';
import {element, renew} from './element.js';
import {isLive} from './events.js';
import {count, moment} from './format.js';
import {graph} from './graph.js';
import {suggestSource, withSource} from './source.js';
import {announce} from './view.js';

const BADGES = {error: 'Problem', consequence: 'Follows', warning: 'Warning', note: 'Note'};

function calls(culprit) {
  if (!culprit.stack || culprit.stack.length === 0) return null;
  return [element('dd', {class: 'faint'}, `Stack ${culprit.stack_at === undefined ? 'now' : `at ${moment(culprit.stack_at)}`}, innermost call first:`),
          element('dd', {}, element('ol', {class: 'calls code'}, culprit.stack.map((call) =>
            element('li', {class: call.runtime ? 'runtime' : null, title: call.file ? `${call.file}:${call.line}` : null},
                    call.runtime ? call.text : withSource(call.text)))))];
}

// Whether PLACE tells more than the stack of CULPRIT, which is shown too.
function hasPlace(culprit) {
  return culprit.place && !culprit.place.startsWith('0x') && !(culprit.stack || []).some((call) => call.text === culprit.place);
}

function evidence(culprit) {
  const worker = culprit.worker >= 0 ? `, worker ${culprit.worker}` : '';
  return element('dl', {class: 'proof'},
                 element('dt', {}, whoButton(`${culprit.who}${worker}`)),
                 culprit.state ? element('dd', {}, withSource(culprit.state)) : null,
                 hasPlace(culprit) ? element('dd', {class: 'code'}, withSource(culprit.place)) : null,
                 calls(culprit));
}

// ORDINAL is what "(see 1)" means; "": there is one only.
function finding(is, first, ordinal) {
  const proofs = is.evidence.map(evidence);
  if (is.evidence_left_out > 0) proofs.push(element('p', {class: 'faint'}, `and ${is.evidence_left_out} more`));
  return element('li', {class: `finding ${is.severity}`},
                 element('details', {open: first && proofs.length <= 2},
                         element('summary', {}, element('span', {class: 'badge'}, `${ordinal}${BADGES[is.severity] || is.severity}`), withSource(is.text)),
                         element('div', {class: 'evidence'}, proofs.length > 0 ? proofs : element('p', {class: 'faint'}, 'No single rank or thread is to blame.'))));
}

// On paper nothing can be clicked: evidence is open there, but for what follows from other findings.
const closed = new Set();
addEventListener('beforeprint', () => {
  for (const one of document.querySelectorAll('.finding:not(.consequence) details:not([open])')) {
    one.open = true;
    closed.add(one);
  }
});
addEventListener('afterprint', () => {
  for (const one of closed) one.open = false;
  closed.clear();
});

// Where nothing was found: that is fine only where nobody ended badly.
function nothing(is) {
  const isFine = is.abnormal === 0, badge = !isFine ? 'Unknown' : isLive() ? 'So far' : 'Fine';
  return element('li', {class: `finding plain ${isFine && !isLive() ? 'good' : 'note'}`}, element('span', {class: 'badge'}, badge), is.nothing);
}

// While the session reads on through its trace, what a moment on the way looks like is no verdict.
export function showReading(body, summary) {
  const part = summary && summary.end > summary.moment ? ` It is at ${moment(summary.moment)} of at least ${moment(summary.end)}.` : '';
  body.replaceChildren(element('ol', {class: 'findings'}, element('li', {class: 'finding plain note'}, element('span', {class: 'badge'}, 'Reading'),
                                                                    `The trace is being read; the verdict comes when it is through.${part}`)));
}

export function showVerdict(body, is) {
  const shown = is.findings.find((one) => one.severity === 'error') || is.findings[0];
  const list = element('ol', {class: 'findings'},
                       is.findings.length > 0 ? is.findings.map((one, i) => finding(one, one === shown, is.findings.length > 1 ? `${i + 1}. ` : '')) : nothing(is));
  if (is.findings_left_out > 0) list.append(element('li', {class: 'faint'}, `and ${count(is.findings_left_out, 'finding')} more: tollgate report --all`));
  if (is.limits) list.append(element('li', {class: 'hint'}, is.limits));
  if (is.busy) list.append(element('li', {class: 'hint'}, is.busy.trim()));
  const has_graph = is.graph.edges.length > 0 && is.findings.length > 0;
  renew(body, element('div', {class: has_graph ? 'verdict has-graph' : 'verdict'}, list,
                      has_graph ? graph(is.graph) : null));
  const texts = is.findings.filter((one) => one.severity === 'error').map((one) => `${BADGES.error}: ${one.text}`);
  announce(texts.length > 0 ? texts.join(' ') : is.findings.length > 0 ? is.findings[0].text : is.nothing);
  suggestSource(shown === undefined ? [] : [...shown.evidence.flatMap((one) => [one.place, one.state]), shown.text]);
}
