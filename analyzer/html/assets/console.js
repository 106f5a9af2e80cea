// The console in the page: the same commands, with completion and a history.
import {complete, isFile} from './data.js';
import {element} from './element.js';
import {onAnswer, runLine} from './control.js';
import {current, onSession} from './events.js';

const MOST = 300;

function print(log, line, result) {
  const text = [result.text || '', result.ok ? '' : result.error.message].filter((part) => part).join('\n');
  log.append(element('div', {class: 'line'}, `> ${line}`), text ? element('div', {class: result.ok ? 'answer' : 'answer failed'}, text) : '');
  while (log.childNodes.length > MOST) log.firstChild.remove();
  log.scrollTop = log.scrollHeight;
}

// The word at the cursor's left goes on as far as all completions do; several are listed.
async function completeWord(input, log) {
  const head = input.value.slice(0, input.selectionStart), tail = input.value.slice(input.selectionStart);
  const {start, words} = (await complete(head)).data;
  const bytes = new TextEncoder().encode(head), before = new TextDecoder().decode(bytes.slice(0, start));
  if (words.length === 0 || input.value !== head + tail) return;
  let common = words[0];
  for (const word of words) while (!word.startsWith(common)) common = common.slice(0, -1);
  const typed = head.slice(before.length);
  if (words.length > 1 && common.length <= typed.length) {
    log.append(element('div', {class: 'answer faint'}, words.slice(0, 100).join('  ')));
    log.scrollTop = log.scrollHeight;
  }
  const whole = before + (common.length > typed.length ? common : typed) + (words.length === 1 ? ' ' : '');
  input.value = whole + tail;
  input.setSelectionRange(whole.length, whole.length);
}

export function makeConsole(body) {
  if (isFile || current().view_only) return false;
  const lines = [];
  let at = 0;
  const log = element('div', {class: 'log code', role: 'log', 'aria-label': 'Answers', tabindex: 0});
  const input = element('input', {type: 'text', class: 'code', 'aria-label': 'Command', spellcheck: 'false', autocomplete: 'off', autocapitalize: 'off', placeholder: 'a command; Tab completes, help lists them'});
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && input.value.trim() !== '') {
      lines.push(input.value);
      at = lines.length;
      runLine(input.value);
      input.value = '';
    } else if (event.key === 'Tab' && !event.shiftKey && input.value !== '') {
      event.preventDefault();
      completeWord(input, log).catch(() => {});
    } else if (event.key === 'ArrowUp' && at > 0) {
      input.value = lines[--at];
    } else if (event.key === 'ArrowDown' && at < lines.length) {
      input.value = lines[++at] || '';
    }
  });
  onAnswer((line, result) => print(log, line, result));
  onSession((is) => { input.disabled = is.view_only || !is.isThere; });
  body.replaceChildren(log, input);
  return true;
}
