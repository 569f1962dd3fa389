// The panel of the user's jobs.

import { complaint, element } from './form.js';
import { said } from './server.js';

const INTERVAL = 5000;
const LONGEST = 20000;
const OVER = ['succeeded', 'failed'];

const ICON = `<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 24 24">
  <path class="jp-icon3" fill="#616161" d="M15 9H9v6h6V9zm-2 4h-2v-2h2v2zm8-2V9h-2V7c0-1.1-.9-2-2-2h-2V3h-2v2h-2V3H9v2H7c-1.1 0-2 .9-2 2v2H3v2h2v2H3v2h2v2c0 1.1.9 2 2 2h2v2h2v-2h2v2h2v-2h2c1.1 0 2-.9 2-2v-2h2v-2h-2v-2h2zm-4 6H7V7h10v10z"/>
</svg>`;

/** A widget for JupyterLab's side area. Its list is asked for again while it is visible. */
export function runsPanel(lab, app, asked) {
  const { Dialog, MainAreaWidget, showDialog, showErrorMessage } = lab['@jupyterlab/apputils'];
  const { LabIcon } = lab['@jupyterlab/ui-components'];
  const { Poll } = lab['@lumino/polling'];
  const { Widget } = lab['@lumino/widgets'];
  const list = element('ul', { className: 'modelyard-Runs-list' });
  const problems = element('div', {});
  const node = element(
    'div',
    { className: 'modelyard-Runs' },
    element('h2', { textContent: 'GPU Jobs' }),
    problems,
    list,
  );
  list.setAttribute('aria-label', 'GPU jobs');

  const panel = new Widget({ node });
  panel.id = 'modelyard-runs';
  panel.title.caption = 'GPU Jobs';
  panel.title.icon = new LabIcon({ name: 'modelyard:runs', svgstr: ICON });

  const logs = new Map();
  let before;
  const poll = new Poll({
    name: '@modelyard/jupyterlab:runs',
    frequency: { interval: INTERVAL, max: LONGEST, backoff: true },
    standby: () => !panel.isVisible || document.hidden,
    factory: async () => {
      try {
        const runs = await asked.runs();
        problems.replaceChildren();
        // An equal list stays as it is, so that a button keeps its focus.
        const now = JSON.stringify(runs.map((run) => [run.name, run.state, run.position, run.reason, run.path]));
        if (now !== before) {
          before = now;
          list.replaceChildren(...(runs.length ? runs.map(row) : [element('li', { textContent: 'You have no jobs.' })]));
        }
      } catch (error) {
        problems.replaceChildren(complaint(error));
        throw error;
      }
    },
  });
  panel.refresh = () => void poll.refresh().catch(() => undefined);
  panel.onAfterShow = () => panel.refresh();
  panel.disposed.connect(() => poll.dispose());

  function row(run) {
    const button = (label, click) => {
      const made = element('button', { className: 'jp-mod-styled', textContent: label, onclick: () => void click() });
      made.setAttribute('aria-label', `${label}: ${run.name}`);
      return made;
    };
    const state = element('span', { className: 'modelyard-Runs-state', textContent: words(run) });
    state.dataset.state = run.state;
    const shown = element(
      'li',
      {},
      element('span', { className: 'modelyard-Runs-name', textContent: run.name, title: run.name }),
      element(
        'div',
        { className: 'modelyard-Runs-about' },
        state,
        element('span', { className: 'modelyard-Runs-gpus', textContent: gpus(run) }),
      ),
      element(
        'div',
        { className: 'modelyard-Runs-buttons' },
        button('Logs', () => openLog(run)),
        ...(OVER.includes(run.state) || run.state === 'cancelled' ? [] : [button('Cancel', () => cancel(run))]),
        ...(run.path ? [button('Open Result', () => app.commands.execute('docmanager:open', { path: run.path }))] : []),
      ),
    );
    shown.setAttribute('aria-label', run.name);
    return shown;
  }

  /** The log as it is now, in a tab of its own. */
  async function openLog(run) {
    let text;
    try {
      text = await asked.log(run.name);
    } catch (error) {
      await showErrorMessage(`The log of ${run.name} cannot be shown`, said(error));
      return;
    }
    let tab = logs.get(run.name);
    if (!tab || tab.isDisposed) {
      const content = new Widget({ node: element('pre', { className: 'modelyard-Log', tabIndex: 0 }) });
      tab = new MainAreaWidget({ content });
      tab.id = `modelyard-log-${run.name}`;
      tab.title.label = `Log of ${run.name}`;
      tab.title.closable = true;
      logs.set(run.name, tab);
      app.shell.add(tab, 'main');
    }
    tab.content.node.textContent = text;
    app.shell.activateById(tab.id);
  }

  async function cancel(run) {
    const answer = await showDialog({
      title: `Cancel ${run.name}?`,
      body: 'Its GPUs become free. Its log, and results not saved elsewhere, are lost.',
      buttons: [Dialog.cancelButton({ label: 'Keep' }), Dialog.warnButton({ label: 'Cancel Job' })],
    });
    if (!answer.button.accept) {
      return;
    }
    try {
      await asked.cancel(run.name);
    } catch (error) {
      await showErrorMessage(`${run.name} cannot be cancelled`, said(error));
    }
    panel.refresh();
  }

  return panel;
}

/** The state, with what one wants to know next. */
function words({ state, position, reason }) {
  const more = position === null ? reason : `position ${position}`;
  return more ? `${state}, ${more}` : state;
}

function gpus({ gpus: number, flavor }) {
  const counted = number === 1 ? '1 GPU' : `${number} GPUs`;
  return flavor ? `${counted} (${flavor})` : counted;
}
