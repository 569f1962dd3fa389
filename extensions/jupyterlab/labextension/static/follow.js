// What becomes of a submitted job, told in a notification until its result is there.

const INTERVAL = 5000;
const LONGEST = 60000;

/** Tells a job's name and where its result will be, and looks after it until it has ended. */
export function follow(lab, { app, asked, browser, job, notice, drive }) {
  const { Notification } = lab['@jupyterlab/apputils'];
  const { Poll } = lab['@lumino/polling'];
  const where = job.path ?? job.result;
  const path = job.path === null ? null : drive ? `${drive}:${job.path}` : job.path;
  const queue = job.team ? `in the queue of team ${job.team}` : 'for a node';
  const gpus = `${job.gpus} GPU${job.gpus > 1 ? 's' : ''}`;

  const show = (message, type, actions = []) => {
    const options = { message, type, actions, autoClose: false };
    if (Notification.manager.has(notice)) {
      Notification.update({ id: notice, ...options });
    } else if (type !== 'in-progress') {
      // It was dismissed meanwhile; the end is told all the same.
      notice = Notification.emit(message, type, options);
    }
  };
  const open = path && {
    label: 'Open Result',
    displayType: 'accent',
    callback: () => void app.commands.execute('docmanager:open', { path }),
  };
  const ended = (message, type) => {
    void browser?.model.refresh();
    show(message, type, open ? [open] : []);
  };

  const tell = {
    waiting: () => show(`Job ${job.job} is submitted and waits ${queue} (${gpus}). Its result will be ${where}`, 'in-progress'),
    running: () => show(`Job ${job.job} runs (${gpus}). Its result will be ${where}`, 'in-progress'),
    stopped: () => ended(`Job ${job.job} was stopped; what it had is in ${where}. A queued job starts anew.`, 'warning'),
    failed: () => ended(`Job ${job.job} failed: the cell's output and error are in ${where}`, 'error'),
    complete: () => ended(`Job ${job.job} is complete: ${where}`, 'success'),
  };
  tell.waiting();
  if (path === null) {
    // Its result stands where this server shows no files.
    return;
  }
  let before = 'waiting';
  const poll = new Poll({
    name: `@modelyard/jupyterlab:${job.job}`,
    frequency: { interval: INTERVAL, max: LONGEST, backoff: true },
    standby: 'when-hidden',
    factory: async () => {
      const state = await asked.state(job.path);
      if (state !== before) {
        before = state;
        tell[state]();
      }
      if (state === 'failed' || state === 'complete') {
        poll.dispose();
      }
    },
  });
}
