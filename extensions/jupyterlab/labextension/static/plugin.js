// The command, and what a submission goes through: save, choose, send, follow.

import { submissionForm } from './form.js';
import { follower } from './follow.js';
import { runsPanel } from './runs.js';
import { said, server } from './server.js';

const COMMAND = 'modelyard:submit';

const ICON = `<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 24 24">
  <path class="jp-icon3" fill="#616161" d="M5 20h14v-2H5v2zM19 9h-4V3H9v6H5l7 7 7-7z" transform="matrix(1 0 0 -1 0 23)"/>
</svg>`;

/** The plugin, made of JupyterLab's own modules by their names. */
export function plugin(lab) {
  const { ICommandPalette } = lab['@jupyterlab/apputils'];
  const { IDefaultFileBrowser } = lab['@jupyterlab/filebrowser'];
  const { INotebookTracker } = lab['@jupyterlab/notebook'];
  const { IStateDB } = lab['@jupyterlab/statedb'];
  const { LabIcon } = lab['@jupyterlab/ui-components'];
  return {
    id: '@modelyard/jupyterlab:submit',
    description: 'Submits notebooks as jobs on GPUs, and lists the jobs.',
    autoStart: true,
    requires: [INotebookTracker],
    optional: [ICommandPalette, IDefaultFileBrowser, IStateDB],
    activate: (app, tracker, palette, browser, kept) => {
      const { commands, shell } = app;
      const asked = server(lab, app.serviceManager.serverSettings);
      const following = app.restored.then(() => follower(lab, { app, asked, browser, kept }));
      const runs = runsPanel(lab, app, asked);
      shell.add(runs, 'left', { rank: 300, type: 'Jobs' });
      const isEnabled = () => tracker.currentWidget !== null && tracker.currentWidget === shell.currentWidget;
      commands.addCommand(COMMAND, {
        label: 'Submit Notebook as Job…',
        caption: 'Run this notebook as a job on a GPU',
        icon: new LabIcon({ name: 'modelyard:submit', svgstr: ICON }),
        isEnabled,
        execute: () => (tracker.currentWidget ? submit(lab, app, asked, following, runs, tracker.currentWidget) : undefined),
      });
      tracker.currentChanged.connect(() => commands.notifyCommandChanged(COMMAND));
      shell.currentChanged?.connect(() => commands.notifyCommandChanged(COMMAND));
      palette?.addItem({ command: COMMAND, category: 'Notebook Operations' });
    },
  };
}

/** Saves a notebook, asks what it is to run on, and sends it, again and again until it is taken or given up. */
async function submit(lab, app, asked, following, runs, panel) {
  const { Dialog, Notification, showDialog, showErrorMessage } = lab['@jupyterlab/apputils'];
  const { contents } = app.serviceManager;
  let choices;
  try {
    await panel.context.save();
    choices = await asked.choices();
  } catch (error) {
    await showErrorMessage('The notebook cannot be submitted', said(error));
    return;
  }
  let given = {};
  let problem = null;
  for (;;) {
    const body = submissionForm(lab, { choices, given, problem, takesParameters: takesParameters(panel) });
    const answer = await showDialog({
      title: `Submit ${panel.title.label} as Job`,
      body,
      buttons: [Dialog.cancelButton(), Dialog.okButton({ label: 'Submit' })],
      focusNodeSelector: 'select, textarea',
    });
    if (!answer.button.accept) {
      return;
    }
    given = answer.value;
    const { device, ...options } = given;
    const notice = Notification.emit(`Submitting ${panel.title.label}…`, 'in-progress', { autoClose: false });
    let job;
    try {
      job = await asked.submit({ ...options, path: contents.localPath(panel.context.path) });
    } catch (error) {
      Notification.dismiss(notice);
      problem = error;
      continue;
    }
    runs.refresh();
    const drive = contents.driveName(panel.context.path);
    (await following)({ ...job, opens: drive ? `${drive}:${job.path}` : job.path }, notice);
    return;
  }
}

/** Whether the notebook has a cell whose values a submission can replace. */
function takesParameters(panel) {
  const cells = [...(panel.content.model?.cells ?? [])];
  return cells.some((cell) => [].concat(cell.getMetadata('tags') ?? []).includes('parameters'));
}
