// What becomes of submitted jobs, told in a notification each until its result is there.

const KEPT = '@modelyard/jupyterlab:jobs';
const INTERVAL = 5000;
const LONGEST = 60000;

/** Looks after submitted jobs until they have ended, or are dismissed; those of before a reload too. */
export async function follower(lab, { app, asked, browser, kept }) {
  const { Notification } = lab['@jupyterlab/apputils'];
  const { Poll } = lab['@lumino/polling'];
  const jobs = new Map();
  const keep = () => kept?.save(KEPT, [...jobs.values()]);

  /** One job, as the server answered its submission, with its path as JupyterLab names it. */
  function follow(job, notice = Notification.emit(said(job, 'waiting').message, 'in-progress', { autoClose: false })) {
    const actions = [
      {
        label: 'Open Result',
        displayType: 'accent',
        callback: () => void app.commands.execute('docmanager:open', { path: job.opens }),
      },
    ];
    const tell = (state) => {
      const { message, type } = said(job, state);
      if (type !== 'in-progress') {
        void browser?.model.refresh();
      }
      Notification.update({ id: notice, message, type, autoClose: false, actions: type === 'in-progress' ? [] : actions });
    };
    tell('waiting');
    if (job.path === null) {
      // Its result stands where this server shows no files.
      return;
    }
    jobs.set(job.job, job);
    void keep();
    let before = 'waiting';
    const poll = new Poll({
      name: `@modelyard/jupyterlab:${job.job}`,
      frequency: { interval: INTERVAL, max: LONGEST, backoff: true },
      standby: 'when-hidden',
      factory: async () => {
        const state = await asked.state(job.path);
        const wanted = Notification.manager.has(notice);
        if (wanted && state !== before) {
          before = state;
          tell(state);
        }
        if (!wanted || state === 'failed' || state === 'complete') {
          poll.dispose();
          jobs.delete(job.job);
          void keep();
        }
      },
    });
  }

  const before = await Promise.resolve(kept?.fetch(KEPT)).catch(() => undefined);
  for (const job of before ?? []) {
    follow(job);
  }
  return follow;
}

/** How far a job is, in words. */
function said(job, state) {
  const { job: name, gpus, team } = job;
  const what = job.allocation === 'partial' ? 'a part of a GPU' : `${gpus} GPU${gpus > 1 ? 's' : ''}`;
  const where = job.path ?? job.result;
  const words = {
    waiting: [
      'in-progress',
      `waits ${team ? `in the queue of team ${team}` : 'for a node'} (${what}). The result will be in ${where}.`,
    ],
    running: ['in-progress', `is running (${what}). The result will be in ${where}.`],
    stopped: ['warning', `was stopped. The cells that it finished are in ${where}. If it is queued again, it starts from the first cell.`],
    failed: ['error', `failed. The error and the output of the cell are in ${where}.`],
    complete: ['success', `is complete. The result is in ${where}.`],
  };
  const [type, message] = words[state];
  return { type, message: `Job ${name} ${message}` };
}
