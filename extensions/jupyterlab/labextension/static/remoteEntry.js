// What JupyterLab loads: a module federation container, as a bundler would make one, for modules that need no bundler.
(() => {
  const USED = [
    '@jupyterlab/apputils',
    '@jupyterlab/coreutils',
    '@jupyterlab/filebrowser',
    '@jupyterlab/notebook',
    '@jupyterlab/services',
    '@jupyterlab/ui-components',
    '@lumino/polling',
    '@lumino/widgets',
  ];
  let scope;

  /** A module of JupyterLab's own: the copy that it uses itself, where extensions brought others. */
  async function shared(name) {
    const copies = Object.values(scope[name] ?? {});
    if (!copies.length) {
      throw new Error(`@modelyard/jupyterlab: this JupyterLab does not share ${name}`);
    }
    const factory = await (copies.find((one) => one.loaded) ?? copies[0]).get();
    return factory();
  }

  const modules = {
    './extension': async () => {
      const { plugin } = await import('./plugin.js');
      const found = await Promise.all(USED.map(async (name) => [name, await shared(name)]));
      return { __esModule: true, default: plugin(Object.fromEntries(found)) };
    },
    './style': async () => {
      const link = Object.assign(document.createElement('link'), {
        rel: 'stylesheet',
        href: new URL('./style.css', here).href,
      });
      document.head.append(link);
      return {};
    },
  };
  const here = document.currentScript.src;

  const containers = (window._JUPYTERLAB ??= {});
  containers['@modelyard/jupyterlab'] = {
    init: (given) => {
      scope = given;
    },
    get: async (name) => {
      const module = await modules[name]();
      return () => module;
    },
  };
})();
