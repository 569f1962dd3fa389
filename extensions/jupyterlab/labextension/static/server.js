// The requests to this extension's half in the server.

/** What the command said instead of a result: lines, each with a remedy or none. */
export class Refused extends Error {
  constructor({ summary, remedy, findings }) {
    super(summary);
    const heads = [];
    for (const line of summary.split('\n')) {
      // Of several things each has its remedy on the line below it.
      if (line.startsWith('  → ') && heads.length > 0) {
        heads[heads.length - 1].push(line.slice(4));
      } else {
        heads.push([line.replace(/^- /, '')]);
      }
    }
    if (remedy) {
      heads[heads.length - 1].push(remedy);
    }
    const errors = findings.filter((one) => one.severity === 'error');
    this.lines = [...heads, ...errors.map((one) => [`${one.code} ${one.summary}`, one.remedy].filter(Boolean))];
  }
}

/** An error for JupyterLab's own dialog. */
export function said(error) {
  return error instanceof Refused ? { message: error.lines.map((one) => one.join('\n→ ')).join('\n\n') } : error;
}

/** The requests, with the login and the XSRF token of JupyterLab's own. */
export function server(lab, settings) {
  const { ServerConnection } = lab['@jupyterlab/services'];
  const { URLExt } = lab['@jupyterlab/coreutils'];

  async function request(path, init = {}) {
    const url = URLExt.join(settings.baseUrl, 'modelyard', path);
    const response = await ServerConnection.makeRequest(url, init, settings);
    if (response.status === 422) {
      throw new Refused(await response.json());
    }
    if (!response.ok) {
      throw await ServerConnection.ResponseError.create(response);
    }
    return response.json();
  }

  return {
    choices: () => request('choices'),
    submit: (body) => request('jobs', { method: 'POST', body: JSON.stringify(body) }),
    runs: async () => (await request('runs')).runs,
    log: async (name) => (await request(`runs/${encodeURIComponent(name)}/log`)).text,
    cancel: (name) => request(`runs/${encodeURIComponent(name)}`, { method: 'DELETE' }),
    state: async (result) => (await request(`jobs?${new URLSearchParams({ result })}`)).state,
  };
}
