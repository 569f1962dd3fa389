// The body of the dialog: what a notebook is to run on.

import { Refused } from './server.js';

const GPUS = { single: 'one GPU', multi_gpu: 'all GPUs of a worker' };

/**
 * A widget for JupyterLab's dialog.
 *
 * choices: what `modelyard job choices --json` says. given: values of an earlier try. problem: why that was refused.
 */
export function submissionForm(lab, { choices, given, problem, takesParameters }) {
  const { Widget } = lab['@lumino/widgets'];
  const fields = {};
  const { teams, priorities } = choices;

  if (teams.length) {
    fields.team = select('Team', teams.map(({ name }) => [name, name]));
  }
  const flavored = choices.flavors.some(({ name }) => name);
  if (flavored) {
    fields.flavor = select('Flavor', []);
  }
  fields.device = select('Device', []);
  if (priorities.length) {
    fields.priority = select('Priority', [['', 'none'], ...priorities.map((one) => [one, one])]);
  }
  if (takesParameters) {
    fields.parameters = text('Parameters', 'name=value, one per line', (given.parameters ?? []).join('\n'));
  }

  const value = (name) => fields[name]?.control.value || null;
  /** Flavors follow the team, devices the flavor and the team. */
  const refill = () => {
    const team = teams.find(({ name }) => name === value('team'));
    const flavors = choices.flavors.filter(({ name }) => !team || !name || team.flavors.includes(name));
    if (flavored) {
      const label = ({ name, card, free }) => `${card ? `${name} (${card})` : name}${nowFree(free)}`;
      fill(fields.flavor.control, flavors.map((one) => [one.name, label(one)]));
    }
    const flavor = choices.flavors.find(({ name }) => name === value('flavor'));
    const card = flavor?.card ?? 'GPU';
    const held = (resource) =>
      team?.holds.find((one) => one.flavor === (flavor?.name ?? null) && one.resource === resource);
    const now = (free, resource) => nowFree(free, held(resource)?.left);
    const fits = ({ resource, gpus = 1 }) =>
      !team || (held(resource)?.most ?? 0) >= gpus;
    const parts = (flavor?.parts ?? []).filter(fits);
    fill(fields.device.control, [
      ...choices.allocations.filter(fits).map(({ name, gpus, resource }) => [
        name,
        `${gpus} × ${card}: ${GPUS[name]} (${name})${now(flavor?.free, resource)}`,
      ]),
      ...parts.map((part) => [deviceOf(part), `${partOf(part, card)} (partial)${now(part.free, part.resource)}`]),
      ...(parts.length ? [] : [['partial', `a part of one ${card} (partial): not available`, true]]),
    ]);
  };
  refill();
  for (const [name, chosen] of Object.entries(given)) {
    if (fields[name]?.control.tagName === 'SELECT' && chosen) {
      fields[name].control.value = chosen;
      refill();
    }
  }

  const node = element('div', { className: 'modelyard-Form' });
  if (problem) {
    node.append(complaint(problem));
  }
  for (const { label } of Object.values(fields)) {
    node.append(label);
  }
  node.append(
    element('p', {
      className: 'modelyard-Form-note',
      textContent: 'The job runs all cells of the saved notebook. The result is a new notebook in the same folder.',
    }),
  );
  if (choices.unknownFree) {
    node.append(
      element('p', {
        className: 'modelyard-Form-note',
        textContent: `What is free now is unknown: ${choices.unknownFree}`,
      }),
    );
  }
  node.addEventListener('change', refill);

  const widget = new Widget({ node });
  widget.getValue = () => ({
    team: value('team'),
    flavor: value('flavor'),
    ...asDevice(value('device')),
    priority: value('priority'),
    parameters: (value('parameters') ?? '').split('\n').filter((line) => line.trim()),
  });
  return widget;
}

/** What is free now, as far as it is known, after a name. */
function nowFree(free, left) {
  const known = (number) => number !== null && number !== undefined;
  return `${known(free) ? `, ${free} free` : ''}${known(left) ? `, quota for ${left}` : ''}`;
}

/** A device as one word of the form, and back. */
const deviceOf = ({ partition, slice }) => ['partial', partition, slice].filter(Boolean).join(' ');

function asDevice(device) {
  const [allocation, partition = null, slice = null] = (device ?? '').split(' ');
  return { device, allocation: allocation || null, partition, slice };
}

function partOf({ partition, slice, memoryGb }, card) {
  const memory = memoryGb === null ? '' : `, ${memoryGb} GB`;
  return slice ? `${slice} of one ${card}${memory}: ${partition}` : `a share of one ${card}${memory}: ${partition}`;
}

export function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function labelled(name, control, shown = control) {
  return { control, label: element('label', {}, element('span', { textContent: name }), shown) };
}

function select(name, options) {
  const control = element('select', { className: 'jp-mod-styled' });
  fill(control, options);
  return labelled(name, control, element('div', { className: 'jp-select-wrapper' }, control));
}

function text(name, placeholder, value) {
  return labelled(name, element('textarea', { className: 'jp-mod-styled', rows: 3, placeholder, value }));
}

/** Other options, the chosen one kept where it still is one. */
function fill(control, options) {
  const before = control.value;
  control.replaceChildren(
    ...options.map(([value, textContent, disabled = false]) => element('option', { value, textContent, disabled })),
  );
  if (options.some(([value, , disabled]) => value === before && !disabled)) {
    control.value = before;
  }
}

/** Why something was refused, as the command said it. */
export function complaint(problem) {
  const lines = problem instanceof Refused ? problem.lines : [[problem.message]];
  const list = lines.map(([summary, remedy]) =>
    element(
      'li',
      {},
      element('span', { textContent: summary }),
      ...(remedy ? [element('span', { className: 'modelyard-Form-remedy', textContent: remedy })] : []),
    ),
  );
  const box = element('ul', { className: 'modelyard-Form-problem' }, ...list);
  box.setAttribute('role', 'alert');
  return box;
}
