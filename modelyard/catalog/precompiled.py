"""The built-in patches, by the SHA-256 of their files. Written by ``make golden``; do not edit."""

# ruff: noqa
# fmt: off

from collections.abc import Callable, Mapping
from json import JSONEncoder
from typing import Any, Final

tojson = JSONEncoder(ensure_ascii=False).encode


def items(value: Any) -> Any:
    if type(value) is dict:
        return value.items()
    raise TypeError


def autoscaling_celery_v1_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# target: ')
    w.append(str(p['deployment']))
    w.append('\n# phase: ')
    w.append(str(('up' if p['maxReplicas'] else 'down')))
    w.append('\n\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: ')
    w.append(str(p['deployment']))
    w.append('\n  annotations:\n    autoscaling/enabled: "true"\n    autoscaling/max_replicas: "')
    w.append(str(p['maxReplicas']))
    w.append('"\n    autoscaling/queries: ')
    w.append(str(tojson(p['queries'])))
    if p['leaveReplicas']:
        w.append('\nspec:\n  replicas:')
    w.append('\n')
    return "".join(w)


def autoscaling_celery_v2_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# target: ')
    w.append(str(p['deployment']))
    w.append('\n# phase: ')
    w.append(str(('up' if p['maxReplicas'] else 'down')))
    w.append('\n\napiVersion: apps/v1\nkind: ')
    w.append(str(p['kind']))
    w.append('\nmetadata:\n  name: ')
    w.append(str(p['deployment']))
    w.append('\n  annotations:\n    autoscaling/enabled: "true"\n    autoscaling/max_replicas: "')
    w.append(str(p['maxReplicas']))
    w.append('"\n    autoscaling/queries: ')
    w.append(str(tojson(p['queries'])))
    if p['leaveReplicas']:
        w.append('\nspec:\n  replicas:')
    w.append('\n')
    return "".join(w)


def autoscaling_ray_v1_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# target: ')
    w.append(str(p['deployment']))
    w.append('\n# phase: ')
    w.append(str(('up' if p['maxReplicas'] else 'down')))
    w.append('\n\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: ')
    w.append(str(p['deployment']))
    w.append('\n  annotations:\n    autoscaling/enabled: "true"\n    autoscaling/max_replicas: "')
    w.append(str(p['maxReplicas']))
    w.append('"\n    autoscaling/queries: ')
    w.append(str(tojson(p['queries'])))
    if p['leaveReplicas']:
        w.append('\nspec:\n  replicas:')
    w.append('\n')
    return "".join(w)


def autoscaling_ray_v2_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# target: ')
    w.append(str(p['deployment']))
    w.append('\n# phase: ')
    w.append(str(('up' if p['maxReplicas'] else 'down')))
    w.append('\n\napiVersion: apps/v1\nkind: ')
    w.append(str(p['kind']))
    w.append('\nmetadata:\n  name: ')
    w.append(str(p['deployment']))
    w.append('\n  annotations:\n    autoscaling/enabled: "true"\n    autoscaling/max_replicas: "')
    w.append(str(p['maxReplicas']))
    w.append('"\n    autoscaling/queries: ')
    w.append(str(tojson(p['queries'])))
    if p['leaveReplicas']:
        w.append('\nspec:\n  replicas:')
    w.append('\n')
    return "".join(w)


def celery_training_v1_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# target: ')
    w.append(str(p['deployment']))
    w.append('\n\napiVersion: apps/v1\nkind: Deployment\nspec:\n  # A surge would ask for a spare GPU that is rarely there.\n  strategy:\n    rollingUpdate:\n      maxSurge: 0\n      maxUnavailable: 1\n  template:\n    metadata:\n      annotations:\n        cluster-autoscaler.kubernetes.io/safe-to-evict: "false"\n        karpenter.sh/do-not-disrupt: "true"\n    spec:\n      terminationGracePeriodSeconds: ')
    w.append(str(p['gracePeriod']))
    if p['products']:
        w.append('\n      affinity:\n        nodeAffinity:\n          requiredDuringSchedulingIgnoredDuringExecution:\n            nodeSelectorTerms:\n              - matchExpressions:\n                  - key: nvidia.com/gpu.product\n                    operator: In\n                    values: ')
        w.append(str(tojson(p['products'])))
    w.append('\n      containers:\n        - name: ')
    w.append(str(p['container']))
    w.append('\n          resources:\n            limits:\n              nvidia.com/gpu: ')
    w.append(str(p['gpus']))
    w.append('\n              cpu: ')
    w.append(str(p['cpu']))
    w.append('\n              memory: ')
    w.append(str(p['memory']))
    w.append('\n            requests:\n              nvidia.com/gpu: ')
    w.append(str(p['gpus']))
    w.append('\n              cpu: ')
    w.append(str(p['cpu']))
    w.append('\n              memory: ')
    w.append(str(p['memory']))
    w.append('\n')
    return "".join(w)


def celery_training_v1_base(p: Any) -> str:
    w: list[str] = []
    w.append('apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: ')
    w.append(str(p['deployment']))
    w.append('\n  namespace: ')
    w.append(str(p['namespace']))
    w.append('\n  labels:\n    app.kubernetes.io/name: ')
    w.append(str(p['container']))
    w.append('\n    app.kubernetes.io/part-of: ml-platform\nspec:\n  progressDeadlineSeconds: 600\n  revisionHistoryLimit: 3\n  selector:\n    matchLabels:\n      app.kubernetes.io/name: ')
    w.append(str(p['container']))
    w.append('\n  strategy:\n    type: RollingUpdate\n    rollingUpdate:\n      maxSurge: 0\n      maxUnavailable: 1\n  template:\n    metadata:\n      labels:\n        app.kubernetes.io/name: ')
    w.append(str(p['container']))
    w.append('\n        app.kubernetes.io/part-of: ml-platform\n    spec:\n      containers:\n        - name: ')
    w.append(str(p['container']))
    w.append('\n          image: ')
    w.append(str(p['image']))
    w.append("\n          imagePullPolicy: IfNotPresent\n          terminationMessagePath: /dev/termination-log\n          terminationMessagePolicy: File\n          # Data loaders hand batches over in shared memory; the runtime's own 64 MiB are too few.\n          volumeMounts:\n            - name: shared-memory\n              mountPath: /dev/shm\n      dnsPolicy: ClusterFirst\n      restartPolicy: Always\n      schedulerName: default-scheduler\n      securityContext: {}\n      terminationGracePeriodSeconds: ")
    w.append(str(p['gracePeriod']))
    w.append('\n      tolerations:\n        - key: nvidia.com/gpu\n          operator: Exists\n          effect: NoSchedule\n      volumes:\n        - name: shared-memory\n          emptyDir:\n            medium: Memory\n---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata:\n  name: ')
    w.append(str(str(p['deployment']).replace('deployment-', 'budget-')))
    w.append('\n  namespace: ')
    w.append(str(p['namespace']))
    w.append('\nspec:\n  maxUnavailable: 0\n  selector:\n    matchLabels:\n      app.kubernetes.io/name: ')
    w.append(str(p['container']))
    w.append('\n')
    return "".join(w)


def celery_training_v2_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# target: ')
    w.append(str(p['deployment']))
    w.append('\n\napiVersion: apps/v1\nkind: Deployment\nspec:\n  # A surge would ask for a spare GPU that is rarely there.\n  strategy:\n    rollingUpdate:\n      maxSurge: 0\n      maxUnavailable: 1\n  template:\n    metadata:\n      annotations:\n        cluster-autoscaler.kubernetes.io/safe-to-evict: "false"\n        karpenter.sh/do-not-disrupt: "true"\n    spec:\n      terminationGracePeriodSeconds: ')
    w.append(str(p['gracePeriod']))
    if p['products']:
        w.append('\n      affinity:\n        nodeAffinity:\n          requiredDuringSchedulingIgnoredDuringExecution:\n            nodeSelectorTerms:\n              - matchExpressions:\n                  - key: nvidia.com/gpu.product\n                    operator: In\n                    values: ')
        w.append(str(tojson(p['products'])))
    w.append('\n      containers:\n        - name: ')
    w.append(str(p['container']))
    if p['arguments']:
        w.append('\n          args: ')
        w.append(str(tojson(p['arguments'])))
    if ((p['queueVariable'] or p['concurrencyVariable']) or p['jobLimitVariable']):
        w.append('\n          env:')
    if p['queueVariable']:
        w.append('\n            - name: ')
        w.append(str(p['queueVariable']))
        w.append('\n              value: ')
        w.append(str(tojson(p['queue'])))
    if p['concurrencyVariable']:
        w.append('\n            - name: ')
        w.append(str(p['concurrencyVariable']))
        w.append('\n              value: "')
        w.append(str(p['concurrency']))
        w.append('"')
    if p['jobLimitVariable']:
        w.append('\n            - name: ')
        w.append(str(p['jobLimitVariable']))
        w.append('\n              value: "')
        w.append(str(p['jobLimit']))
        w.append('"')
    w.append('\n          resources:\n            limits:\n              nvidia.com/gpu: ')
    w.append(str(p['gpus']))
    w.append('\n              cpu: ')
    w.append(str(p['cpu']))
    w.append('\n              memory: ')
    w.append(str(p['memory']))
    w.append('\n            requests:\n              nvidia.com/gpu: ')
    w.append(str(p['gpus']))
    w.append('\n              cpu: ')
    w.append(str(p['cpu']))
    w.append('\n              memory: ')
    w.append(str(p['memory']))
    w.append('\n')
    return "".join(w)


def celery_training_v2_base(p: Any) -> str:
    w: list[str] = []
    w.append('apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: ')
    w.append(str(p['deployment']))
    w.append('\n  namespace: ')
    w.append(str(p['namespace']))
    w.append('\n  labels:\n    app.kubernetes.io/name: ')
    w.append(str(p['container']))
    w.append('\n    app.kubernetes.io/part-of: ml-platform\nspec:\n  progressDeadlineSeconds: 600\n  revisionHistoryLimit: 3\n  selector:\n    matchLabels:\n      app.kubernetes.io/name: ')
    w.append(str(p['container']))
    w.append('\n  strategy:\n    type: RollingUpdate\n    rollingUpdate:\n      maxSurge: 0\n      maxUnavailable: 1\n  template:\n    metadata:\n      labels:\n        app.kubernetes.io/name: ')
    w.append(str(p['container']))
    w.append('\n        app.kubernetes.io/part-of: ml-platform\n    spec:\n      containers:\n        - name: ')
    w.append(str(p['container']))
    w.append('\n          image: ')
    w.append(str(p['image']))
    w.append("\n          imagePullPolicy: IfNotPresent\n          terminationMessagePath: /dev/termination-log\n          terminationMessagePolicy: File\n          # Data loaders hand batches over in shared memory; the runtime's own 64 MiB are too few.\n          volumeMounts:\n            - name: shared-memory\n              mountPath: /dev/shm\n      dnsPolicy: ClusterFirst\n      restartPolicy: Always\n      schedulerName: default-scheduler\n      securityContext: {}\n      terminationGracePeriodSeconds: ")
    w.append(str(p['gracePeriod']))
    w.append('\n      tolerations:\n        - key: nvidia.com/gpu\n          operator: Exists\n          effect: NoSchedule\n      volumes:\n        - name: shared-memory\n          emptyDir:\n            medium: Memory\n---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata:\n  name: ')
    w.append(str(str(p['deployment']).replace('deployment-', 'budget-')))
    w.append('\n  namespace: ')
    w.append(str(p['namespace']))
    w.append('\nspec:\n  maxUnavailable: 0\n  selector:\n    matchLabels:\n      app.kubernetes.io/name: ')
    w.append(str(p['container']))
    w.append('\n')
    return "".join(w)


def celery_training_v3_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# target: ')
    w.append(str(p['deployment']))
    w.append('\n\napiVersion: apps/v1\nkind: ')
    w.append(str(p['kind']))
    w.append('\nspec:')
    if (p['kind'] == 'Deployment'):
        w.append('\n  # A surge would ask for a spare GPU that is rarely there.\n  strategy:\n    rollingUpdate:\n      maxSurge: 0\n      maxUnavailable: 1')
    w.append('\n  template:\n    metadata:\n      annotations:\n        cluster-autoscaler.kubernetes.io/safe-to-evict: "false"\n        karpenter.sh/do-not-disrupt: "true"\n    spec:\n      terminationGracePeriodSeconds: ')
    w.append(str(p['gracePeriod']))
    if p['products']:
        w.append('\n      affinity:\n        nodeAffinity:\n          requiredDuringSchedulingIgnoredDuringExecution:\n            nodeSelectorTerms:\n              - matchExpressions:\n                  - key: nvidia.com/gpu.product\n                    operator: In\n                    values: ')
        w.append(str(tojson(p['products'])))
    w.append('\n      containers:\n        - name: ')
    w.append(str(p['container']))
    if p['arguments']:
        w.append('\n          args: ')
        w.append(str(tojson(p['arguments'])))
    if ((p['queueVariable'] or p['concurrencyVariable']) or p['jobLimitVariable']):
        w.append('\n          env:')
    if p['queueVariable']:
        w.append('\n            - name: ')
        w.append(str(p['queueVariable']))
        w.append('\n              value: ')
        w.append(str(tojson(p['queue'])))
    if p['concurrencyVariable']:
        w.append('\n            - name: ')
        w.append(str(p['concurrencyVariable']))
        w.append('\n              value: "')
        w.append(str(p['concurrency']))
        w.append('"')
    if p['jobLimitVariable']:
        w.append('\n            - name: ')
        w.append(str(p['jobLimitVariable']))
        w.append('\n              value: "')
        w.append(str(p['jobLimit']))
        w.append('"')
    w.append('\n          resources:\n            limits:\n              nvidia.com/gpu: ')
    w.append(str(p['gpus']))
    w.append('\n              cpu: ')
    w.append(str(p['cpu']))
    w.append('\n              memory: ')
    w.append(str(p['memory']))
    w.append('\n            requests:\n              nvidia.com/gpu: ')
    w.append(str(p['gpus']))
    w.append('\n              cpu: ')
    w.append(str(p['cpu']))
    w.append('\n              memory: ')
    w.append(str(p['memory']))
    w.append('\n')
    return "".join(w)


def environment_build_v1_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# Nothing is patched: the objects of base.yaml.j2 are whole.\n')
    return "".join(w)


def environment_build_v1_base(p: Any) -> str:
    w: list[str] = []
    w.append('apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: ')
    w.append(str(p['build']['name']))
    w.append('\n  namespace: ')
    w.append(str(p['build']['namespace']))
    w.append('\n  labels:\n    app.kubernetes.io/part-of: ml-platform\n    modelyard.dev/environment: ')
    w.append(str(p['build']['environment']))
    w.append('\n    modelyard.dev/stack: ')
    w.append(str(p['build']['stack']))
    w.append('\n  annotations:\n    modelyard.dev/digest: ')
    w.append(str(p['build']['digest']))
    w.append('\nspec:\n  # It stays when it is done: that it is complete says that the environment is there.\n  activeDeadlineSeconds: ')
    w.append(str(p['build']['timeLimit']))
    w.append('\n  # A list that fails would fail again; a pod that was taken away is no failure.\n  backoffLimit: 0\n  podFailurePolicy:\n    rules:\n      - action: Ignore\n        onPodConditions:\n          - type: DisruptionTarget\n  template:\n    metadata:\n      labels:\n        app.kubernetes.io/part-of: ml-platform\n        modelyard.dev/environment: ')
    w.append(str(p['build']['environment']))
    w.append('\n    spec:\n      restartPolicy: Never\n      automountServiceAccountToken: false\n      containers:\n        - name: build\n          image: ')
    w.append(str(p['build']['image']))
    w.append('\n          env:\n            - name: PYTHONUNBUFFERED\n              value: "1"\n            ')
    if p['build']['index']:
        w.append('\n            - name: PIP_CONFIG_FILE\n              value: /etc/modelyard/pip/pip.conf\n            ')
    w.append('\n          command:\n            - python3\n            - -c\n            - |\n              ')
    w.append('\n              # Builds an environment once: one that is there stays as it is, and what fails leaves nothing.\n              import contextlib, json, os, platform, secrets, shutil, signal, subprocess, sys, time\n\n              folder, digest, version, limit, lock, conda, solver = sys.argv[1:]\n              final, marker = os.path.join(folder, digest), "modelyard.lock"\n\n\n              def stop(number, _frame):\n                  sys.exit(128 + number)\n\n\n              def run(command, stdin=None, stdout=None):\n                  """What the command prints. What ends the builder also ends what the command has started meanwhile."""\n                  options = dict(stdin=subprocess.PIPE, stdout=stdout, start_new_session=True)\n                  with subprocess.Popen(command, **options) as process:\n                      try:\n                          said, _ = process.communicate(stdin)\n                      except BaseException:\n                          with contextlib.suppress(ProcessLookupError):\n                              os.killpg(process.pid, signal.SIGKILL)\n                          raise\n                  if process.returncode:\n                      raise subprocess.CalledProcessError(process.returncode, command)\n                  return said\n\n\n              def ready():\n                  return os.path.isfile(os.path.join(final, marker))\n\n\n              def clear():\n                  """Removes what builders left that were killed: nobody works in it longer than a build may take."""\n                  for name in os.listdir(folder):\n                      path = os.path.join(folder, name)\n                      if name.startswith(digest + ".") and os.path.realpath(final) != os.path.realpath(path):\n                          try:\n                              if time.time() - os.stat(path).st_mtime > int(limit):\n                                  shutil.rmtree(path)\n                          except OSError:\n                              pass\n\n\n              def prepare(place):\n                  try:\n                      clear()\n                      if os.path.lexists(final):\n                          # What it leads to is gone or damaged.\n                          os.unlink(final)\n                      os.mkdir(place)\n                      os.chmod(place, 0o755)\n                  except OSError as error:\n                      sys.exit("the volume at %s cannot be written: %s" % (folder, error.strerror))\n\n\n              # Takes exactly the files of the lock: what a channel says of them is not read. No script of a package runs.\n              FROM_CHANNELS = """\n              import asyncio, hashlib, os, sys\n              import rattler\n              from rattler.package_streaming import download_to_path\n\n\n              async def fetch(client, slots, folder, line):\n                  url, _, wanted = line.partition("#sha256:")\n                  path = os.path.join(folder, url.rpartition("/")[2])\n                  async with slots:\n                      await download_to_path(client, url, path)\n                  found = hashlib.sha256()\n                  with open(path, "rb") as stream:\n                      for part in iter(lambda: stream.read(1 << 20), b""):\n                          found.update(part)\n                  if found.hexdigest() != wanted:\n                      raise ValueError(os.path.basename(path) + " has another SHA-256 than the lock says")\n                  return await rattler.RepoDataRecord.from_package_archive(path)\n\n\n              async def main(place, work):\n                  lines = sys.stdin.read().splitlines()\n                  client, slots = rattler.Client.default_client(), asyncio.Semaphore(8)\n                  records = await asyncio.gather(*(fetch(client, slots, work, line) for line in lines))\n                  options = dict(cache_dir=os.path.join(work, "cache"), show_progress=False, execute_link_scripts=False)\n                  await rattler.install(list(records), place, platform=rattler.Subdir("linux-64"), **options)\n                  for one in sorted(records, key=lambda one: one.name.normalized):\n                      print("%s=%s=%s" % (one.name.normalized, one.version, one.build))\n\n\n              try:\n                  asyncio.run(main(*sys.argv[1:]))\n                  code = 0\n              except Exception as error:\n                  code = 1\n                  print("conda: " + str(error), file=sys.stderr)\n              # Threads of py-rattler may still hold on to the interpreter, and ending it in order then aborts it.\n              sys.stdout.flush()\n              sys.stderr.flush()\n              os._exit(code)\n              """\n\n\n              def installed(pip):\n                  """Version of each package that pip sees, by its name."""\n                  said = run([*pip, "list", "--format", "json"], stdout=subprocess.PIPE)\n                  return {one["name"]: one["version"] for one in json.loads(said)}\n\n\n              def build(place):\n                  python, work = os.path.join(place, "bin", "python"), os.path.join(place, ".work")\n                  common, there, before = ["--disable-pip-version-check", "--no-input"], b"", {}\n                  options = ["--no-cache-dir", "--require-hashes", "--only-binary", ":all:"]\n                  os.mkdir(work)\n                  wanted = os.path.join(work, "requirements.txt")\n                  if conda:\n                      # Tools of their own: the environment\'s Python comes from a channel, and need not have pip.\n                      tools = os.path.join(work, "tools")\n                      run([sys.executable, "-m", "venv", tools])\n                      tool = os.path.join(tools, "bin", "python")\n                      with open(wanted, "w") as stream:\n                          stream.write(solver)\n                      pip = [tool, "-m", "pip", *common]\n                      run([*pip, "install", *options, "--quiet", "--requirement", wanted])\n                      command = [tool, "-c", FROM_CHANNELS, place, work]\n                      there = run(command, conda.encode(), stdout=subprocess.PIPE)\n                      pip += ["--python", python]\n                      before = installed(pip) if lock else {}\n                  else:\n                      run([sys.executable, "-m", "venv", place])\n                      pip = [python, "-m", "pip", *common]\n                  if lock:\n                      with open(wanted, "w") as stream:\n                          stream.write(lock)\n                      run([*pip, "install", *options, "--requirement", wanted])\n                      now = installed(pip) if before else {}\n                      for name in sorted(before):\n                          if now.get(name) != before[name]:\n                              what = (digest, name, before[name], now.get(name))\n                              sys.exit("environment %s is not built: pip replaces %s %s of conda by %s; list it once" % what)\n                      there += run([*pip, "freeze"], stdout=subprocess.PIPE)\n                  shutil.rmtree(work)\n                  with open(os.path.join(place, marker), "wb") as stream:\n                      stream.write(there)\n                      stream.flush()\n                      os.fsync(stream.fileno())\n\n\n              signal.signal(signal.SIGTERM, stop)\n              signal.signal(signal.SIGINT, stop)\n              if ready():\n                  print("environment " + digest + " is there already")\n                  sys.exit(0)\n              have = "%d.%d" % sys.version_info[:2]\n              if (have, sys.platform, platform.machine()) != (have if conda else version, "linux", "x86_64"):\n                  sys.exit("the image has Python %s on %s, the lock is for %s on x86_64" % (have, platform.machine(), version))\n              # The folder keeps its name, which scripts in it begin with; the environment\'s becomes a link to it.\n              place = os.path.join(folder, digest + "." + secrets.token_hex(4))\n              try:\n                  prepare(place)\n                  build(place)\n                  os.symlink(os.path.basename(place), final)\n                  place = None\n                  print("environment " + digest + " is built")\n              except FileExistsError:\n                  print("environment " + digest + " was built by another at the same time")\n              except subprocess.CalledProcessError as error:\n                  name = "conda" if error.cmd[1] == "-c" else error.cmd[2]\n                  sys.exit("environment %s is not built: %s ended with %d" % (digest, name, error.returncode))\n              except OSError as error:\n                  sys.exit("environment %s is not built: %s" % (digest, error))\n              finally:\n                  if place is not None:\n                      shutil.rmtree(place, ignore_errors=True)\n              ')
    w.append('\n          args:\n            - ')
    w.append(str(tojson(p['build']['folder'])))
    w.append('\n            - ')
    w.append(str(p['build']['digest']))
    w.append('\n            - ')
    w.append(str(tojson(p['build']['python'])))
    w.append('\n            - ')
    w.append(str(tojson(str(p['build']['timeLimit']))))
    w.append('\n            - ')
    w.append(str(tojson(p['build']['lock'])))
    w.append('\n            - ')
    w.append(str(tojson(p['build']['conda'])))
    w.append('\n            - ')
    w.append(str(tojson(p['build']['solver'])))
    w.append('\n          resources:\n            limits:\n              cpu: ')
    w.append(str(tojson(p['build']['cpu'])))
    w.append('\n              memory: ')
    w.append(str(p['build']['memory']))
    w.append('\n            requests:\n              cpu: ')
    w.append(str(tojson(p['build']['cpu'])))
    w.append('\n              memory: ')
    w.append(str(p['build']['memory']))
    w.append('\n          securityContext:\n            allowPrivilegeEscalation: false\n            capabilities:\n              drop: [ALL]\n            seccompProfile:\n              type: RuntimeDefault\n          volumeMounts:\n            - name: environments\n              mountPath: ')
    w.append(str(tojson(p['build']['folder'])))
    w.append('\n            ')
    if p['build']['index']:
        w.append('\n            - name: index\n              mountPath: /etc/modelyard/pip\n              readOnly: true\n            ')
    w.append('\n      volumes:\n        - name: environments\n          persistentVolumeClaim:\n            claimName: ')
    w.append(str(p['build']['claim']))
    w.append('\n        ')
    if p['build']['index']:
        w.append('\n        - name: index\n          secret:\n            secretName: ')
        w.append(str(p['build']['index']))
        w.append('\n        ')
    w.append('\n')
    return "".join(w)


def gpu_partitions_v1_patch(p: Any) -> str:
    w: list[str] = []
    w.append("# Nothing is patched: the objects of base.yaml.j2 are the stack's own.\n")
    return "".join(w)


def job_notebook_v1_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# Nothing is patched: the Job of base.yaml.j2 is made anew for each submission.\n')
    return "".join(w)


def job_ray_v1_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# Nothing is patched: the objects of base.yaml.j2 are whole.\n')
    return "".join(w)


def job_ray_v1_base(p: Any) -> str:
    w: list[str] = []
    w.append('apiVersion: ray.io/v1\nkind: RayJob\nmetadata:\n  name: ')
    w.append(str(p['run']['name']))
    w.append('\n  namespace: ')
    w.append(str(p['run']['namespace']))
    w.append('\n  labels:\n    app.kubernetes.io/part-of: ml-platform\n    modelyard.dev/stack: ')
    w.append(str(p['run']['stack']))
    w.append('\n    modelyard.dev/job: ')
    w.append(str(p['run']['job']))
    w.append('\n    modelyard.dev/run: ')
    w.append(str(p['run']['name']))
    w.append('\n    ')
    if p['run']['queue']:
        w.append('\n    kueue.x-k8s.io/queue-name: ')
        w.append(str(p['run']['queue']))
        w.append('\n    ')
    w.append('\n    ')
    if (p['run']['queue'] and p['run']['priority']):
        w.append('\n    kueue.x-k8s.io/priority-class: ')
        w.append(str(p['run']['priority']))
        w.append('\n    ')
    w.append('\nspec:\n  ')
    if p['run']['dispatched']:
        w.append('\n  # It runs in another cluster: Kueue makes it there, and nobody here starts its pods.\n  managedBy: kueue.x-k8s.io/multikueue\n  ')
    w.append('\n  # Kueue starts it; without Kueue nothing would jump the queue.\n  suspend: ')
    w.append(str(tojson((not (p['run']['queue'] is None)))))
    w.append('\n  entrypoint: ')
    w.append(str(tojson(p['run']['entrypoint'])))
    w.append('\n  backoffLimit: ')
    w.append(str(p['run']['retries']))
    w.append('\n  activeDeadlineSeconds: ')
    w.append(str(p['run']['timeLimit']))
    w.append('\n  # The cluster, and with it every GPU, goes as soon as the job has ended.\n  shutdownAfterJobFinishes: true\n  ttlSecondsAfterFinished: 0\n  rayClusterSpec:\n    headGroupSpec:\n      rayStartParams:\n        # No task runs on the head, which has no GPU.\n        num-cpus: "0"\n        dashboard-host: 0.0.0.0\n      template:\n        metadata:\n          labels:\n            modelyard.dev/stack: ')
    w.append(str(p['run']['stack']))
    w.append('\n            modelyard.dev/job: ')
    w.append(str(p['run']['job']))
    w.append('\n            modelyard.dev/run: ')
    w.append(str(p['run']['name']))
    w.append('\n          annotations:\n            cluster-autoscaler.kubernetes.io/safe-to-evict: "false"\n            karpenter.sh/do-not-disrupt: "true"\n        spec:\n          containers:\n            - name: ray-head\n              image: ')
    w.append(str(p['run']['image']))
    w.append('\n              resources:\n                limits: ')
    w.append(str(tojson(p['run']['head'])))
    w.append('\n                requests: ')
    w.append(str(tojson(p['run']['head'])))
    w.append('\n    workerGroupSpecs:\n      - groupName: workers\n        replicas: ')
    w.append(str(p['run']['workers']))
    w.append('\n        minReplicas: ')
    w.append(str(p['run']['workers']))
    w.append('\n        maxReplicas: ')
    w.append(str(p['run']['workers']))
    w.append('\n        rayStartParams: {}\n        template:\n          metadata:\n            labels:\n              modelyard.dev/stack: ')
    w.append(str(p['run']['stack']))
    w.append('\n              modelyard.dev/job: ')
    w.append(str(p['run']['job']))
    w.append('\n              modelyard.dev/run: ')
    w.append(str(p['run']['name']))
    w.append('\n            annotations:\n              cluster-autoscaler.kubernetes.io/safe-to-evict: "false"\n              karpenter.sh/do-not-disrupt: "true"\n              ')
    if p['run']['together']:
        w.append('\n              kueue.x-k8s.io/podset-required-topology: ')
        w.append(str(p['run']['together']))
        w.append('\n              ')
    elif p['run']['anyPlace']:
        w.append('\n              kueue.x-k8s.io/podset-unconstrained-topology: "true"\n              ')
    w.append('\n          spec:\n            ')
    if p['run']['nodes']:
        w.append('\n            nodeSelector: ')
        w.append(str(tojson(p['run']['nodes'])))
        w.append('\n            ')
    w.append('\n            ')
    if p['run']['products']:
        w.append('\n            affinity:\n              nodeAffinity:\n                requiredDuringSchedulingIgnoredDuringExecution:\n                  nodeSelectorTerms:\n                    - matchExpressions:\n                        - key: nvidia.com/gpu.product\n                          operator: In\n                          values: ')
        w.append(str(tojson(p['run']['products'])))
        w.append('\n            ')
    w.append('\n            ')
    if p['run']['gpus']:
        w.append('\n            tolerations:\n              - key: nvidia.com/gpu\n                operator: Exists\n                effect: NoSchedule\n            ')
    w.append('\n            containers:\n              - name: ray-worker\n                image: ')
    w.append(str(p['run']['image']))
    w.append('\n                env:\n                  - name: JOB_RUN\n                    value: ')
    w.append(str(p['run']['name']))
    w.append('\n                  - name: NUM_GPUS_REQUESTED\n                    value: "')
    w.append(str(p['run']['gpus']))
    w.append('"\n                  ')
    for name_0, value_0 in items(p['run']['env']):
        w.append('\n                  - name: ')
        w.append(str(name_0))
        w.append('\n                    value: ')
        w.append(str(tojson(value_0)))
        w.append('\n                  ')
    w.append('\n                resources:\n                  limits:\n                    cpu: ')
    w.append(str(tojson(p['run']['cpu'])))
    w.append('\n                    memory: ')
    w.append(str(tojson(p['run']['memory'])))
    w.append('\n                    ')
    if p['run']['gpus']:
        w.append('\n                    ')
        w.append(str(p['run']['gpuResource']))
        w.append(': ')
        w.append(str(p['run']['gpus']))
        w.append('\n                    ')
    w.append('\n                  requests:\n                    cpu: ')
    w.append(str(tojson(p['run']['cpu'])))
    w.append('\n                    memory: ')
    w.append(str(tojson(p['run']['memory'])))
    w.append('\n                    ')
    if p['run']['gpus']:
        w.append('\n                    ')
        w.append(str(p['run']['gpuResource']))
        w.append(': ')
        w.append(str(p['run']['gpus']))
        w.append('\n                    ')
    w.append('\n                volumeMounts:\n                  - name: shared-memory\n                    mountPath: /dev/shm\n            volumes:\n              - name: shared-memory\n                emptyDir:\n                  medium: Memory\n')
    return "".join(w)


def job_ray_v2_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# Nothing is patched: the objects of base.yaml.j2 are whole.\n')
    return "".join(w)


def job_ray_v3_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# Nothing is patched: the objects of base.yaml.j2 are whole.\n')
    return "".join(w)


def job_resources_v1_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# Nothing is patched: the objects of base.yaml.j2 are whole.\n')
    return "".join(w)


def job_resources_v1_base(p: Any) -> str:
    w: list[str] = []
    for one_0 in p['pods']:
        w.append('\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: ')
        w.append(str(one_0['kind']))
        w.append('-')
        w.append(str(one_0['name']))
        w.append('\n  namespace: ')
        w.append(str(one_0['namespace']))
        w.append('\n  labels:\n    app.kubernetes.io/component: ')
        w.append(str(one_0['kind']))
        w.append('\n    app.kubernetes.io/part-of: ml-platform\n    modelyard.dev/resource: ')
        w.append(str(one_0['name']))
        w.append('\n    modelyard.dev/type: ')
        w.append(str(one_0['type']))
        w.append('\n    ')
        if one_0['queue']:
            w.append('\n    kueue.x-k8s.io/queue-name: ')
            w.append(str(one_0['queue']))
            w.append('\n    ')
        w.append('\nspec:\n  progressDeadlineSeconds: 600\n  ')
        if (not one_0['scale']):
            w.append('\n  replicas: ')
            w.append(str(one_0['workers']))
            w.append('\n  ')
        w.append('\n  revisionHistoryLimit: 3\n  selector:\n    matchLabels:\n      app.kubernetes.io/component: ')
        w.append(str(one_0['kind']))
        w.append('\n      modelyard.dev/resource: ')
        w.append(str(one_0['name']))
        w.append('\n  strategy:\n    type: RollingUpdate\n    rollingUpdate:\n      # A surge would ask for a spare GPU that is rarely there.\n      maxSurge: ')
        w.append(str((0 if one_0['gpus'] else 1)))
        w.append('\n      maxUnavailable: ')
        w.append(str((1 if one_0['gpus'] else 0)))
        w.append('\n  template:\n    metadata:\n      labels:\n        app.kubernetes.io/component: ')
        w.append(str(one_0['kind']))
        w.append('\n        app.kubernetes.io/part-of: ml-platform\n        modelyard.dev/resource: ')
        w.append(str(one_0['name']))
        w.append('\n        modelyard.dev/type: ')
        w.append(str(one_0['type']))
        w.append('\n      ')
        if one_0['anyPlace']:
            w.append('\n      annotations:\n        kueue.x-k8s.io/podset-unconstrained-topology: "true"\n      ')
        w.append('\n    spec:\n      ')
        if one_0['nodes']:
            w.append('\n      nodeSelector: ')
            w.append(str(tojson(one_0['nodes'])))
            w.append('\n      ')
        w.append('\n      ')
        if one_0['products']:
            w.append('\n      affinity:\n        nodeAffinity:\n          requiredDuringSchedulingIgnoredDuringExecution:\n            nodeSelectorTerms:\n              - matchExpressions:\n                  - key: nvidia.com/gpu.product\n                    operator: In\n                    values: ')
            w.append(str(tojson(one_0['products'])))
            w.append('\n      ')
        w.append('\n      containers:\n        - name: jobs\n          image: ')
        w.append(str(one_0['image']))
        w.append('\n          imagePullPolicy: IfNotPresent\n          terminationMessagePath: /dev/termination-log\n          terminationMessagePolicy: File\n          env:\n            - name: JOB_TYPE\n              value: ')
        w.append(str(one_0['type']))
        w.append('\n            - name: JOBS\n              value: ')
        w.append(str(tojson(','.join(map(str, one_0['jobs'])))))
        w.append('\n            ')
        if (one_0['type'] in ('serving', 'llm-serving', )):
            w.append("\n            # Where the model is, once a pipeline has rolled one out; empty before.\n            - name: MODEL_URI\n              valueFrom:\n                fieldRef:\n                  apiVersion: v1\n                  fieldPath: metadata.annotations['modelyard.dev/model']\n            ")
        w.append('\n            - name: NUM_GPUS_REQUESTED\n              value: "')
        w.append(str(one_0['gpus']))
        w.append('"\n          ')
        if one_0['port']:
            w.append('\n          ports:\n            - containerPort: ')
            w.append(str(one_0['port']))
            w.append('\n              name: serving\n              protocol: TCP\n          # A pod gets requests once it listens, and a roll-out goes on then.\n          readinessProbe:\n            failureThreshold: 3\n            periodSeconds: 10\n            successThreshold: 1\n            tcpSocket:\n              port: serving\n            timeoutSeconds: 1\n          ')
        w.append('\n          resources:\n            limits:\n              cpu: ')
        w.append(str(tojson(one_0['cpu'])))
        w.append('\n              memory: ')
        w.append(str(tojson(one_0['memory'])))
        w.append('\n              ')
        if one_0['gpus']:
            w.append('\n              ')
            w.append(str(one_0['gpuResource']))
            w.append(': ')
            w.append(str(one_0['gpus']))
            w.append('\n              ')
        w.append('\n            requests:\n              cpu: ')
        w.append(str(tojson(one_0['cpu'])))
        w.append('\n              memory: ')
        w.append(str(tojson(one_0['memory'])))
        w.append('\n              ')
        if one_0['gpus']:
            w.append('\n              ')
            w.append(str(one_0['gpuResource']))
            w.append(': ')
            w.append(str(one_0['gpus']))
            w.append('\n              ')
        w.append("\n          # Data loaders hand batches over in shared memory; the runtime's own 64 MiB are too few.\n          volumeMounts:\n            - name: shared-memory\n              mountPath: /dev/shm\n      dnsPolicy: ClusterFirst\n      restartPolicy: Always\n      schedulerName: default-scheduler\n      securityContext: {}\n      terminationGracePeriodSeconds: 30\n      ")
        if one_0['gpus']:
            w.append('\n      tolerations:\n        - key: nvidia.com/gpu\n          operator: Exists\n          effect: NoSchedule\n      ')
        w.append('\n      volumes:\n        - name: shared-memory\n          emptyDir:\n            medium: Memory\n')
        if one_0['port']:
            w.append('\n---\napiVersion: v1\nkind: Service\nmetadata:\n  name: ')
            w.append(str(one_0['kind']))
            w.append('-')
            w.append(str(one_0['name']))
            w.append('\n  namespace: ')
            w.append(str(one_0['namespace']))
            w.append('\n  labels:\n    app.kubernetes.io/component: ')
            w.append(str(one_0['kind']))
            w.append('\n    app.kubernetes.io/part-of: ml-platform\n    modelyard.dev/resource: ')
            w.append(str(one_0['name']))
            w.append('\nspec:\n  type: ClusterIP\n  internalTrafficPolicy: Cluster\n  sessionAffinity: None\n  selector:\n    app.kubernetes.io/component: ')
            w.append(str(one_0['kind']))
            w.append('\n    modelyard.dev/resource: ')
            w.append(str(one_0['name']))
            w.append('\n  ports:\n    - name: serving\n      port: ')
            w.append(str(one_0['port']))
            w.append('\n      protocol: TCP\n      targetPort: serving\n')
        w.append('\n')
        if one_0['scale']:
            w.append('\n---\napiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata:\n  name: ')
            w.append(str(one_0['kind']))
            w.append('-')
            w.append(str(one_0['name']))
            w.append('\n  namespace: ')
            w.append(str(one_0['namespace']))
            w.append('\n  labels:\n    app.kubernetes.io/part-of: ml-platform\n    modelyard.dev/resource: ')
            w.append(str(one_0['name']))
            w.append('\nspec:\n  scaleTargetRef:\n    apiVersion: apps/v1\n    kind: Deployment\n    name: ')
            w.append(str(one_0['kind']))
            w.append('-')
            w.append(str(one_0['name']))
            w.append('\n  minReplicaCount: ')
            w.append(str(one_0['workers']))
            w.append('\n  maxReplicaCount: ')
            w.append(str(one_0['scale']['most']))
            w.append('\n  pollingInterval: ')
            w.append(str(one_0['scale']['polling']))
            w.append('\n  ')
            if one_0['scale']['query']:
                w.append('\n  # Without an answer of Prometheus the pods that there are go on.\n  fallback:\n    failureThreshold: 3\n    replicas: ')
                w.append(str(one_0['workers']))
                w.append('\n    behavior: currentReplicasIfHigher\n  ')
            w.append('\n  advanced:\n    # KEDA itself writes this into every object.\n    scalingModifiers: {}\n  triggers:\n    ')
            if one_0['scale']['cpu']:
                w.append('\n    - type: cpu\n      metricType: Utilization\n      metadata:\n        value: "')
                w.append(str(one_0['scale']['cpu']))
                w.append('"\n    ')
            w.append('\n    ')
            if one_0['scale']['query']:
                w.append('\n    - type: prometheus\n      metadata:\n        serverAddress: ')
                w.append(str(tojson(one_0['scale']['server'])))
                w.append('\n        query: ')
                w.append(str(tojson(one_0['scale']['query'])))
                w.append('\n        threshold: ')
                w.append(str(tojson(one_0['scale']['each'])))
                w.append('\n        # No answer is an error, not a 0.\n        ignoreNullValues: "false"\n    ')
            w.append('\n')
        w.append('\n')
    w.append('\n')
    return "".join(w)


def job_run_v1_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# Nothing is patched: the objects of base.yaml.j2 are whole.\n')
    return "".join(w)


def job_spark_v1_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# Nothing is patched: the objects of base.yaml.j2 are whole.\n')
    return "".join(w)


def job_spark_v1_base(p: Any) -> str:
    w: list[str] = []
    w.append('apiVersion: sparkoperator.k8s.io/v1beta2\nkind: SparkApplication\nmetadata:\n  name: ')
    w.append(str(p['run']['name']))
    w.append('\n  namespace: ')
    w.append(str(p['run']['namespace']))
    w.append('\n  labels:\n    app.kubernetes.io/part-of: ml-platform\n    modelyard.dev/stack: ')
    w.append(str(p['run']['stack']))
    w.append('\n    modelyard.dev/job: ')
    w.append(str(p['run']['job']))
    w.append('\n    modelyard.dev/run: ')
    w.append(str(p['run']['name']))
    w.append('\n    ')
    if p['run']['queue']:
        w.append('\n    kueue.x-k8s.io/queue-name: ')
        w.append(str(p['run']['queue']))
        w.append('\n    ')
    w.append('\n    ')
    if (p['run']['queue'] and p['run']['priority']):
        w.append('\n    kueue.x-k8s.io/priority-class: ')
        w.append(str(p['run']['priority']))
        w.append('\n    ')
    w.append('\nspec:\n  # Kueue starts it; without Kueue nothing would jump the queue.\n  suspend: ')
    w.append(str(tojson((not (p['run']['queue'] is None)))))
    w.append('\n  type: ')
    w.append(str(p['spark']['kind']))
    w.append('\n  mode: cluster\n  sparkVersion: ')
    w.append(str(tojson(p['spark']['version'])))
    w.append('\n  image: ')
    w.append(str(p['run']['image']))
    w.append('\n  imagePullPolicy: IfNotPresent\n  mainApplicationFile: ')
    w.append(str(tojson(p['spark']['application'])))
    w.append('\n  ')
    if p['spark']['mainClass']:
        w.append('\n  mainClass: ')
        w.append(str(tojson(p['spark']['mainClass'])))
        w.append('\n  ')
    w.append('\n  ')
    if p['spark']['arguments']:
        w.append('\n  arguments: ')
        w.append(str(tojson(p['spark']['arguments'])))
        w.append('\n  ')
    w.append('\n  restartPolicy:\n    type: ')
    w.append(str(('OnFailure' if p['run']['retries'] else 'Never')))
    w.append('\n    ')
    if p['run']['retries']:
        w.append('\n    onFailureRetries: ')
        w.append(str(p['run']['retries']))
        w.append('\n    onFailureRetryInterval: 10\n    ')
    w.append('\n  timeToLiveSeconds: ')
    w.append(str(p['run']['keep']))
    w.append('\n  ')
    if p['spark']['conf']:
        w.append('\n  sparkConf:\n    ')
        for name_0, value_0 in items(p['spark']['conf']):
            w.append('\n    ')
            w.append(str(name_0))
            w.append(': ')
            w.append(str(tojson(value_0)))
            w.append('\n    ')
        w.append('\n  ')
    w.append('\n  ')
    if (not (p['spark']['mostExecutors'] is None)):
        w.append('\n  dynamicAllocation:\n    enabled: true\n    initialExecutors: ')
        w.append(str(p['spark']['leastExecutors']))
        w.append('\n    minExecutors: ')
        w.append(str(p['spark']['leastExecutors']))
        w.append('\n    maxExecutors: ')
        w.append(str(p['spark']['mostExecutors']))
        w.append('\n    # There is no external shuffle service on Kubernetes: executors whose shuffle data is in use stay.\n    shuffleTrackingEnabled: true\n    shuffleTrackingTimeout: ')
        w.append(str(p['spark']['shuffleTimeout']))
        w.append('\n  ')
    w.append('\n  driver:\n    cores: ')
    w.append(str(p['spark']['driver']['cores']))
    w.append('\n    coreRequest: ')
    w.append(str(tojson(p['spark']['driver']['cpu'])))
    w.append('\n    memory: ')
    w.append(str(p['spark']['driver']['memory']))
    w.append('\n    memoryOverhead: ')
    w.append(str(p['spark']['driver']['overhead']))
    w.append('\n    serviceAccount: ')
    w.append(str(p['spark']['serviceAccount']))
    w.append('\n    labels:\n      modelyard.dev/stack: ')
    w.append(str(p['run']['stack']))
    w.append('\n      modelyard.dev/job: ')
    w.append(str(p['run']['job']))
    w.append('\n      modelyard.dev/run: ')
    w.append(str(p['run']['name']))
    w.append('\n    annotations:\n      cluster-autoscaler.kubernetes.io/safe-to-evict: "false"\n      karpenter.sh/do-not-disrupt: "true"\n    env:\n      - name: JOB_RUN\n        value: ')
    w.append(str(p['run']['name']))
    w.append('\n      ')
    for name_0, value_0 in items(p['run']['env']):
        w.append('\n      - name: ')
        w.append(str(name_0))
        w.append('\n        value: ')
        w.append(str(tojson(value_0)))
        w.append('\n      ')
    w.append('\n    # The application ends with its driver, and has no time limit of its own.\n    template:\n      spec:\n        activeDeadlineSeconds: ')
    w.append(str(p['run']['timeLimit']))
    w.append('\n        containers:\n          - name: spark-kubernetes-driver\n  executor:\n    ')
    if (p['spark']['mostExecutors'] is None):
        w.append('\n    instances: ')
        w.append(str(p['spark']['executor']['instances']))
        w.append('\n    ')
    w.append('\n    cores: ')
    w.append(str(p['spark']['executor']['cores']))
    w.append('\n    coreRequest: ')
    w.append(str(tojson(p['spark']['executor']['cpu'])))
    w.append('\n    memory: ')
    w.append(str(p['spark']['executor']['memory']))
    w.append('\n    memoryOverhead: ')
    w.append(str(p['spark']['executor']['overhead']))
    w.append('\n    ')
    if p['run']['gpus']:
        w.append('\n    gpu:\n      name: nvidia.com/gpu\n      quantity: ')
        w.append(str(p['run']['gpus']))
        w.append('\n    ')
    w.append('\n    labels:\n      modelyard.dev/stack: ')
    w.append(str(p['run']['stack']))
    w.append('\n      modelyard.dev/job: ')
    w.append(str(p['run']['job']))
    w.append('\n      modelyard.dev/run: ')
    w.append(str(p['run']['name']))
    w.append('\n    annotations:\n      cluster-autoscaler.kubernetes.io/safe-to-evict: "false"\n      karpenter.sh/do-not-disrupt: "true"\n      ')
    if p['run']['together']:
        w.append('\n      kueue.x-k8s.io/podset-required-topology: ')
        w.append(str(p['run']['together']))
        w.append('\n      ')
    elif p['run']['anyPlace']:
        w.append('\n      kueue.x-k8s.io/podset-unconstrained-topology: "true"\n      ')
    w.append('\n    env:\n      - name: JOB_RUN\n        value: ')
    w.append(str(p['run']['name']))
    w.append('\n      - name: NUM_GPUS_REQUESTED\n        value: "')
    w.append(str(p['run']['gpus']))
    w.append('"\n      ')
    for name_0, value_0 in items(p['run']['env']):
        w.append('\n      - name: ')
        w.append(str(name_0))
        w.append('\n        value: ')
        w.append(str(tojson(value_0)))
        w.append('\n      ')
    w.append('\n    ')
    if p['run']['products']:
        w.append('\n    affinity:\n      nodeAffinity:\n        requiredDuringSchedulingIgnoredDuringExecution:\n          nodeSelectorTerms:\n            - matchExpressions:\n                - key: nvidia.com/gpu.product\n                  operator: In\n                  values: ')
        w.append(str(tojson(p['run']['products'])))
        w.append('\n    ')
    w.append('\n    ')
    if p['run']['gpus']:
        w.append('\n    tolerations:\n      - key: nvidia.com/gpu\n        operator: Exists\n        effect: NoSchedule\n    ')
    w.append('\n    deleteOnTermination: true\n')
    return "".join(w)


def keda_celery_v1_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# target: ')
    w.append(str(p['deployment']))
    w.append('\n# phase: ')
    w.append(str(('up' if p['maxReplicas'] else 'down')))
    w.append("\n\n# The number of pods is KEDA's.\napiVersion: apps/v1\nkind: Deployment\nspec:\n  replicas:\n---\n# target: ")
    w.append(str(p['name']))
    w.append('\n# phase: ')
    w.append(str(('up' if p['maxReplicas'] else 'down')))
    w.append('\n\napiVersion: keda.sh/v1alpha1\nkind: ScaledObject\n')
    if (not p['maxReplicas']):
        w.append('\nmetadata:\n  annotations:\n    # KEDA takes no upper bound of 0: the idle side is held at 0 instead.\n    autoscaling.keda.sh/paused-replicas: "0"\n')
    w.append('\nspec:\n  maxReplicaCount: ')
    w.append(str((p['maxReplicas'] or 1)))
    w.append('\n')
    return "".join(w)


def keda_celery_v1_base(p: Any) -> str:
    w: list[str] = []
    w.append('apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata:\n  name: ')
    w.append(str(p['name']))
    w.append('\nspec:\n  scaleTargetRef:\n    apiVersion: apps/v1\n    kind: Deployment\n    name: ')
    w.append(str(p['deployment']))
    w.append('\n  minReplicaCount: 0\n  pollingInterval: ')
    w.append(str(p['pollingInterval']))
    w.append('\n  # These two guard the way to no pods. Pods that are there when KEDA comes are given the same time.\n  cooldownPeriod: ')
    w.append(str(p['cooldownPeriod']))
    w.append('\n  initialCooldownPeriod: ')
    w.append(str(p['cooldownPeriod']))
    w.append('\n  # Without an answer of Prometheus what runs goes on, and what sleeps sleeps. 0 replicas here would stop training.\n  fallback:\n    failureThreshold: ')
    w.append(str(p['failureThreshold']))
    w.append("\n    replicas: 1\n    behavior: currentReplicas\n  advanced:\n    horizontalPodAutoscalerConfig:\n      behavior:\n        # The way from many pods to fewer is the pod autoscaler's, which stops any of them, also one with a job in it.\n        scaleDown:\n          selectPolicy: Disabled\n    # KEDA itself writes this into every object.\n    scalingModifiers: {}\n  triggers:\n    ")
    for query_0 in p['queries']:
        w.append('\n    - type: prometheus\n      ')
        if p['authentication']:
            w.append('\n      authenticationRef:\n        name: ')
            w.append(str(p['authentication']))
            w.append('\n      ')
        w.append('\n      metadata:\n        serverAddress: ')
        w.append(str(tojson(p['serverAddress'])))
        w.append('\n        query: ')
        w.append(str(tojson(query_0)))
        w.append('\n        threshold: ')
        w.append(str(tojson(p['threshold'])))
        w.append('\n        # No answer is an error, not a 0.\n        ignoreNullValues: "false"\n        ')
        if p['authModes']:
            w.append('\n        authModes: ')
            w.append(str(p['authModes']))
            w.append('\n        ')
        w.append('\n    ')
    w.append('\n')
    return "".join(w)


def keda_celery_v2_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# target: ')
    w.append(str(p['deployment']))
    w.append('\n# phase: ')
    w.append(str(('up' if p['maxReplicas'] else 'down')))
    w.append("\n\n# The number of pods is KEDA's.\napiVersion: apps/v1\nkind: ")
    w.append(str(p['kind']))
    w.append('\nspec:\n  replicas:\n---\n# target: ')
    w.append(str(p['name']))
    w.append('\n# phase: ')
    w.append(str(('up' if p['maxReplicas'] else 'down')))
    w.append('\n\napiVersion: keda.sh/v1alpha1\nkind: ScaledObject\n')
    if (not p['maxReplicas']):
        w.append('\nmetadata:\n  annotations:\n    # KEDA takes no upper bound of 0: the idle side is held at 0 instead.\n    autoscaling.keda.sh/paused-replicas: "0"\n')
    w.append('\nspec:\n  maxReplicaCount: ')
    w.append(str((p['maxReplicas'] or 1)))
    w.append('\n')
    return "".join(w)


def keda_celery_v2_base(p: Any) -> str:
    w: list[str] = []
    w.append('apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata:\n  name: ')
    w.append(str(p['name']))
    w.append('\nspec:\n  scaleTargetRef:\n    apiVersion: apps/v1\n    kind: ')
    w.append(str(p['kind']))
    w.append('\n    name: ')
    w.append(str(p['deployment']))
    w.append('\n  minReplicaCount: 0\n  pollingInterval: ')
    w.append(str(p['pollingInterval']))
    w.append('\n  # These two guard the way to no pods. Pods that are there when KEDA comes are given the same time.\n  cooldownPeriod: ')
    w.append(str(p['cooldownPeriod']))
    w.append('\n  initialCooldownPeriod: ')
    w.append(str(p['cooldownPeriod']))
    w.append('\n  # Without an answer of Prometheus what runs goes on, and what sleeps sleeps. 0 replicas here would stop training.\n  fallback:\n    failureThreshold: ')
    w.append(str(p['failureThreshold']))
    w.append("\n    replicas: 1\n    behavior: currentReplicas\n  advanced:\n    horizontalPodAutoscalerConfig:\n      behavior:\n        # The way from many pods to fewer is the pod autoscaler's, which stops any of them, also one with a job in it.\n        scaleDown:\n          selectPolicy: Disabled\n    # KEDA itself writes this into every object.\n    scalingModifiers: {}\n  triggers:\n    ")
    for query_0 in p['queries']:
        w.append('\n    - type: prometheus\n      ')
        if p['authentication']:
            w.append('\n      authenticationRef:\n        name: ')
            w.append(str(p['authentication']))
            w.append('\n      ')
        w.append('\n      metadata:\n        serverAddress: ')
        w.append(str(tojson(p['serverAddress'])))
        w.append('\n        query: ')
        w.append(str(tojson(query_0)))
        w.append('\n        threshold: ')
        w.append(str(tojson(p['threshold'])))
        w.append('\n        # No answer is an error, not a 0.\n        ignoreNullValues: "false"\n        ')
        if p['authModes']:
            w.append('\n        authModes: ')
            w.append(str(p['authModes']))
            w.append('\n        ')
        w.append('\n    ')
    w.append('\n')
    return "".join(w)


def keda_ray_v1_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# target: ')
    w.append(str(p['deployment']))
    w.append('\n# phase: ')
    w.append(str(('up' if p['maxReplicas'] else 'down')))
    w.append("\n\n# The number of pods is KEDA's.\napiVersion: apps/v1\nkind: Deployment\nspec:\n  replicas:\n---\n# target: ")
    w.append(str(p['name']))
    w.append('\n# phase: ')
    w.append(str(('up' if p['maxReplicas'] else 'down')))
    w.append('\n\napiVersion: keda.sh/v1alpha1\nkind: ScaledObject\n')
    if (not p['maxReplicas']):
        w.append('\nmetadata:\n  annotations:\n    # KEDA takes no upper bound of 0: the idle side is held at 0 instead.\n    autoscaling.keda.sh/paused-replicas: "0"\n')
    w.append('\nspec:\n  maxReplicaCount: ')
    w.append(str((p['maxReplicas'] or 1)))
    w.append('\n')
    return "".join(w)


def keda_ray_v1_base(p: Any) -> str:
    w: list[str] = []
    w.append('apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata:\n  name: ')
    w.append(str(p['name']))
    w.append('\nspec:\n  scaleTargetRef:\n    apiVersion: apps/v1\n    kind: Deployment\n    name: ')
    w.append(str(p['deployment']))
    w.append('\n  minReplicaCount: 0\n  pollingInterval: ')
    w.append(str(p['pollingInterval']))
    w.append('\n  # These two guard the way to no pods. Pods that are there when KEDA comes are given the same time.\n  cooldownPeriod: ')
    w.append(str(p['cooldownPeriod']))
    w.append('\n  initialCooldownPeriod: ')
    w.append(str(p['cooldownPeriod']))
    w.append('\n  # Without an answer of Prometheus what runs goes on, and what sleeps sleeps. 0 replicas here would stop training.\n  fallback:\n    failureThreshold: ')
    w.append(str(p['failureThreshold']))
    w.append("\n    replicas: 1\n    behavior: currentReplicas\n  advanced:\n    horizontalPodAutoscalerConfig:\n      behavior:\n        # The way from many pods to fewer is the pod autoscaler's, which stops any of them, also one with a job in it.\n        scaleDown:\n          selectPolicy: Disabled\n    # KEDA itself writes this into every object.\n    scalingModifiers: {}\n  triggers:\n    ")
    for query_0 in p['queries']:
        w.append('\n    - type: prometheus\n      ')
        if p['authentication']:
            w.append('\n      authenticationRef:\n        name: ')
            w.append(str(p['authentication']))
            w.append('\n      ')
        w.append('\n      metadata:\n        serverAddress: ')
        w.append(str(tojson(p['serverAddress'])))
        w.append('\n        query: ')
        w.append(str(tojson(query_0)))
        w.append('\n        threshold: ')
        w.append(str(tojson(p['threshold'])))
        w.append('\n        # No answer is an error, not a 0.\n        ignoreNullValues: "false"\n        ')
        if p['authModes']:
            w.append('\n        authModes: ')
            w.append(str(p['authModes']))
            w.append('\n        ')
        w.append('\n    ')
    w.append('\n')
    return "".join(w)


def keda_ray_v2_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# target: ')
    w.append(str(p['deployment']))
    w.append('\n# phase: ')
    w.append(str(('up' if p['maxReplicas'] else 'down')))
    w.append("\n\n# The number of pods is KEDA's.\napiVersion: apps/v1\nkind: ")
    w.append(str(p['kind']))
    w.append('\nspec:\n  replicas:\n---\n# target: ')
    w.append(str(p['name']))
    w.append('\n# phase: ')
    w.append(str(('up' if p['maxReplicas'] else 'down')))
    w.append('\n\napiVersion: keda.sh/v1alpha1\nkind: ScaledObject\n')
    if (not p['maxReplicas']):
        w.append('\nmetadata:\n  annotations:\n    # KEDA takes no upper bound of 0: the idle side is held at 0 instead.\n    autoscaling.keda.sh/paused-replicas: "0"\n')
    w.append('\nspec:\n  maxReplicaCount: ')
    w.append(str((p['maxReplicas'] or 1)))
    w.append('\n')
    return "".join(w)


def keda_ray_v2_base(p: Any) -> str:
    w: list[str] = []
    w.append('apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata:\n  name: ')
    w.append(str(p['name']))
    w.append('\nspec:\n  scaleTargetRef:\n    apiVersion: apps/v1\n    kind: ')
    w.append(str(p['kind']))
    w.append('\n    name: ')
    w.append(str(p['deployment']))
    w.append('\n  minReplicaCount: 0\n  pollingInterval: ')
    w.append(str(p['pollingInterval']))
    w.append('\n  # These two guard the way to no pods. Pods that are there when KEDA comes are given the same time.\n  cooldownPeriod: ')
    w.append(str(p['cooldownPeriod']))
    w.append('\n  initialCooldownPeriod: ')
    w.append(str(p['cooldownPeriod']))
    w.append('\n  # Without an answer of Prometheus what runs goes on, and what sleeps sleeps. 0 replicas here would stop training.\n  fallback:\n    failureThreshold: ')
    w.append(str(p['failureThreshold']))
    w.append("\n    replicas: 1\n    behavior: currentReplicas\n  advanced:\n    horizontalPodAutoscalerConfig:\n      behavior:\n        # The way from many pods to fewer is the pod autoscaler's, which stops any of them, also one with a job in it.\n        scaleDown:\n          selectPolicy: Disabled\n    # KEDA itself writes this into every object.\n    scalingModifiers: {}\n  triggers:\n    ")
    for query_0 in p['queries']:
        w.append('\n    - type: prometheus\n      ')
        if p['authentication']:
            w.append('\n      authenticationRef:\n        name: ')
            w.append(str(p['authentication']))
            w.append('\n      ')
        w.append('\n      metadata:\n        serverAddress: ')
        w.append(str(tojson(p['serverAddress'])))
        w.append('\n        query: ')
        w.append(str(tojson(query_0)))
        w.append('\n        threshold: ')
        w.append(str(tojson(p['threshold'])))
        w.append('\n        # No answer is an error, not a 0.\n        ignoreNullValues: "false"\n        ')
        if p['authModes']:
            w.append('\n        authModes: ')
            w.append(str(p['authModes']))
            w.append('\n        ')
        w.append('\n    ')
    w.append('\n')
    return "".join(w)


def model_service_v1_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# target: ')
    w.append(str(p['deployment']))
    w.append('\n\napiVersion: apps/v1\nkind: Deployment\nspec:\n  replicas: ')
    w.append(str(p['replicas']))
    w.append('\n  template:\n    spec:\n      affinity:\n        nodeAffinity:\n          requiredDuringSchedulingIgnoredDuringExecution:\n            nodeSelectorTerms:\n              - matchExpressions:\n                  - key: nvidia.com/gpu.present\n                    operator: DoesNotExist\n      containers:\n        - name: ')
    w.append(str(p['container']))
    w.append('\n          resources:\n            limits:\n              cpu: ')
    w.append(str(p['cpu']))
    w.append('\n              memory: ')
    w.append(str(p['memory']))
    w.append('\n            requests:\n              cpu: ')
    w.append(str(p['cpu']))
    w.append('\n              memory: ')
    w.append(str(p['memory']))
    w.append('\n              ephemeral-storage: ')
    w.append(str(p['volume']))
    w.append('\n          volumeMounts:\n            - name: ')
    w.append(str(p['volumeName']))
    w.append('\n              mountPath: ')
    w.append(str(p['mountPath']))
    w.append('\n      volumes:\n        - name: ')
    w.append(str(p['volumeName']))
    w.append('\n          emptyDir:\n            sizeLimit: ')
    w.append(str(p['volume']))
    w.append('\n')
    return "".join(w)


def model_service_v1_base(p: Any) -> str:
    w: list[str] = []
    w.append('apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: ')
    w.append(str(p['deployment']))
    w.append('\n  namespace: ')
    w.append(str(p['namespace']))
    w.append('\n  labels:\n    app.kubernetes.io/name: ')
    w.append(str(p['container']))
    w.append('\n    app.kubernetes.io/part-of: ml-platform\nspec:\n  progressDeadlineSeconds: 600\n  revisionHistoryLimit: 3\n  selector:\n    matchLabels:\n      app.kubernetes.io/name: ')
    w.append(str(p['container']))
    w.append('\n  strategy:\n    type: RollingUpdate\n    rollingUpdate:\n      maxSurge: 25%\n      maxUnavailable: 25%\n  template:\n    metadata:\n      labels:\n        app.kubernetes.io/name: ')
    w.append(str(p['container']))
    w.append('\n        app.kubernetes.io/part-of: ml-platform\n    spec:\n      containers:\n        - name: ')
    w.append(str(p['container']))
    w.append('\n          image: ')
    w.append(str(p['image']))
    w.append('\n          imagePullPolicy: IfNotPresent\n          ports:\n            - containerPort: 8080\n              name: http\n              protocol: TCP\n          terminationMessagePath: /dev/termination-log\n          terminationMessagePolicy: File\n      dnsPolicy: ClusterFirst\n      restartPolicy: Always\n      schedulerName: default-scheduler\n      securityContext: {}\n      terminationGracePeriodSeconds: 30\n---\napiVersion: v1\nkind: Service\nmetadata:\n  name: ')
    w.append(str(str(p['deployment']).replace('deployment-', 'service-')))
    w.append('\n  namespace: ')
    w.append(str(p['namespace']))
    w.append('\n  labels:\n    app.kubernetes.io/name: ')
    w.append(str(p['container']))
    w.append('\n    app.kubernetes.io/part-of: ml-platform\nspec:\n  type: ClusterIP\n  internalTrafficPolicy: Cluster\n  sessionAffinity: None\n  selector:\n    app.kubernetes.io/name: ')
    w.append(str(p['container']))
    w.append('\n  ports:\n    - name: http\n      port: 8080\n      protocol: TCP\n      targetPort: http\n---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata:\n  name: ')
    w.append(str(str(p['deployment']).replace('deployment-', 'budget-')))
    w.append('\n  namespace: ')
    w.append(str(p['namespace']))
    w.append('\nspec:\n  maxUnavailable: 1\n  selector:\n    matchLabels:\n      app.kubernetes.io/name: ')
    w.append(str(p['container']))
    w.append('\n')
    return "".join(w)


def model_service_v2_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# target: ')
    w.append(str(p['deployment']))
    w.append('\n\napiVersion: apps/v1\nkind: ')
    w.append(str(p['kind']))
    w.append('\nspec:\n  replicas: ')
    w.append(str(p['replicas']))
    w.append('\n  template:\n    spec:\n      affinity:\n        nodeAffinity:\n          requiredDuringSchedulingIgnoredDuringExecution:\n            nodeSelectorTerms:\n              - matchExpressions:\n                  - key: nvidia.com/gpu.present\n                    operator: DoesNotExist\n      containers:\n        - name: ')
    w.append(str(p['container']))
    w.append('\n          resources:\n            limits:\n              cpu: ')
    w.append(str(p['cpu']))
    w.append('\n              memory: ')
    w.append(str(p['memory']))
    w.append('\n            requests:\n              cpu: ')
    w.append(str(p['cpu']))
    w.append('\n              memory: ')
    w.append(str(p['memory']))
    w.append('\n              ephemeral-storage: ')
    w.append(str(p['volume']))
    w.append('\n          volumeMounts:\n            - name: ')
    w.append(str(p['volumeName']))
    w.append('\n              mountPath: ')
    w.append(str(p['mountPath']))
    w.append('\n      volumes:\n        - name: ')
    w.append(str(p['volumeName']))
    w.append('\n          emptyDir:\n            sizeLimit: ')
    w.append(str(p['volume']))
    w.append('\n')
    return "".join(w)


def node_pools_v1_patch(p: Any) -> str:
    w: list[str] = []
    w.append("# Nothing is patched: the objects of base.yaml.j2 are the stack's own.\n")
    return "".join(w)


def node_pools_v1_base(p: Any) -> str:
    w: list[str] = []
    for pool_0 in p['pools']:
        w.append('\n---\napiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata:\n  name: ')
        w.append(str(pool_0['name']))
        w.append("\nspec:\n  template:\n    metadata:\n      # Node feature discovery writes the card's labels only once a node is there; Karpenter has to know them before.\n      labels: ")
        w.append(str(tojson(pool_0['labels'])))
        w.append('\n    spec:\n      requirements:\n        ')
        for one_1 in pool_0['requirements']:
            w.append('\n        - key: ')
            w.append(str(one_1['key']))
            w.append('\n          operator: In\n          values: ')
            w.append(str(tojson(one_1['values'])))
            w.append('\n        ')
        w.append('\n      nodeClassRef:\n        group: ')
        w.append(str(pool_0['nodeClass']['group']))
        w.append('\n        kind: ')
        w.append(str(pool_0['nodeClass']['kind']))
        w.append('\n        name: ')
        w.append(str(pool_0['nodeClass']['name']))
        w.append('\n      ')
        if pool_0['taint']:
            w.append('\n      taints:\n        - key: nvidia.com/gpu\n          value: present\n          effect: NoSchedule\n      ')
        w.append('\n      # A node with a job of six hours on it does not end because of its age.\n      expireAfter: Never\n  limits:\n    nvidia.com/gpu: "')
        w.append(str(pool_0['gpus']))
        w.append('"\n  disruption:\n    # A node goes when it is empty. To pack pods closer would stop them.\n    consolidationPolicy: WhenEmpty\n    consolidateAfter: ')
        w.append(str(pool_0['idle']))
        w.append('\n    budgets:\n      - nodes: 10%\n')
    w.append('\n')
    return "".join(w)


def notebook_servers_v1_patch(p: Any) -> str:
    w: list[str] = []
    w.append("# Nothing is patched: the objects of base.yaml.j2 are the stack's own.\n")
    return "".join(w)


def notebook_servers_v2_patch(p: Any) -> str:
    w: list[str] = []
    w.append("# Nothing is patched: the objects of base.yaml.j2 are the stack's own.\n")
    return "".join(w)


def pipeline_run_v1_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# Nothing is patched: the objects of base.yaml.j2 are whole.\n')
    return "".join(w)


def pipeline_run_v1_base(p: Any) -> str:
    w: list[str] = []
    w.append('apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: ')
    w.append(str(p['run']['run']))
    w.append('\n  namespace: ')
    w.append(str(p['run']['namespace']))
    w.append('\n  labels:\n    app.kubernetes.io/part-of: ml-platform\n    modelyard.dev/stack: ')
    w.append(str(p['run']['stack']))
    w.append('\n    modelyard.dev/job: ')
    w.append(str(p['run']['pipeline']))
    w.append('\n    modelyard.dev/run: ')
    w.append(str(p['run']['run']))
    w.append('\n    modelyard.dev/pipeline: ')
    w.append(str(p['run']['pipeline']))
    w.append('\n    modelyard.dev/pipeline-run: ')
    w.append(str(p['run']['run']))
    w.append('\nspec:\n  ttlSecondsAfterFinished: ')
    w.append(str(p['run']['keep']))
    w.append('\n  # It finds out anew how far the run is, so another pod may always take over; 42 says that a stage failed.\n  backoffLimit: 100\n  podFailurePolicy:\n    rules:\n      - action: FailJob\n        onExitCodes:\n          containerName: stages\n          operator: In\n          values: [42]\n      - action: Ignore\n        onPodConditions:\n          - type: DisruptionTarget\n  template:\n    metadata:\n      labels:\n        app.kubernetes.io/part-of: ml-platform\n        modelyard.dev/pipeline: ')
    w.append(str(p['run']['pipeline']))
    w.append('\n        modelyard.dev/pipeline-run: ')
    w.append(str(p['run']['run']))
    w.append('\n    spec:\n      restartPolicy: Never\n      serviceAccountName: ')
    w.append(str(p['run']['run']))
    w.append('\n      securityContext:\n        runAsNonRoot: true\n        runAsUser: 65534\n        runAsGroup: 65534\n        seccompProfile:\n          type: RuntimeDefault\n      containers:\n        - name: stages\n          image: ')
    w.append(str(p['run']['image']))
    w.append('\n          securityContext:\n            allowPrivilegeEscalation: false\n            readOnlyRootFilesystem: true\n            capabilities:\n              drop: [ALL]\n          env:\n            - name: PYTHONUNBUFFERED\n              value: "1"\n          command:\n            - python3\n            - -c\n            - |\n              ')
    w.append('\n              # Starts each stage of a run once those that it needs have succeeded. It keeps nothing: how far the run is, the\n              # API server knows.\n              import json, os, ssl, sys, time, urllib.error, urllib.request\n\n              FOLDER = os.environ.get("SERVICE_ACCOUNT_FOLDER", "/var/run/secrets/kubernetes.io/serviceaccount")\n              PAUSE = float(os.environ.get("PAUSE", "5"))\n              # Right after the submission its objects and rights may not all be there yet.\n              GRACE = float(os.environ.get("GRACE", "120"))\n              RELEASED = "modelyard.dev/released"\n              run, steps = sys.argv[1], json.loads(sys.argv[2])\n              host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]\n              server = "https://%s:%s" % ("[%s]" % host if ":" in host else host, port)\n              context = ssl.create_default_context(cafile=os.path.join(FOLDER, "ca.crt"))\n              begun = time.monotonic()\n\n\n              def call(method, path, body=None):\n                  # The object, or None where there is none. It waits as long as the API server does not answer.\n                  while True:\n                      # Kubernetes replaces the token in its file before it runs out.\n                      with open(os.path.join(FOLDER, "token")) as file:\n                          headers = {"Authorization": "Bearer " + file.read().strip()}\n                      data = None\n                      if body is not None:\n                          headers["Content-Type"] = "application/merge-patch+json"\n                          data = json.dumps(body).encode()\n                      asked = urllib.request.Request(server + path, data, headers, method=method)\n                      try:\n                          with urllib.request.urlopen(asked, timeout=30, context=context) as answer:\n                              return json.load(answer)\n                      except urllib.error.HTTPError as error:\n                          early = time.monotonic() - begun < GRACE\n                          if error.code == 404 and not early:\n                              return None\n                          if not (error.code in (409, 429) or error.code >= 500 or (error.code in (401, 403, 404) and early)):\n                              words = error.read(2000).decode(errors="replace")\n                              raise SystemExit("%s %s: %s %s" % (method, path, error.code, words))\n                      except (OSError, ValueError) as error:\n                          print("the API server does not answer: %s" % error)\n                      time.sleep(PAUSE)\n\n\n              def condition(found, kind):\n                  for one in found.get("status", {}).get("conditions") or ():\n                      if one["type"] == kind:\n                          return one\n                  return {}\n\n\n              def job(found):\n                  if condition(found, "Complete").get("status") == "True":\n                      return "succeeded"\n                  return "failed" if condition(found, "Failed").get("status") == "True" else "running"\n\n\n              def ray_job(found):\n                  status = found.get("status", {})\n                  if status.get("jobDeploymentStatus") not in ("Complete", "Failed"):\n                      return "running"\n                  return "succeeded" if status.get("jobStatus") == "SUCCEEDED" else "failed"\n\n\n              def spark_application(found):\n                  state = found.get("status", {}).get("applicationState", {}).get("state", "")\n                  return {"COMPLETED": "succeeded", "FAILED": "failed"}.get(state, "running")\n\n\n              def deployment(found):\n                  status, wanted = found.get("status", {}), found["spec"].get("replicas", 1)\n                  if status.get("observedGeneration", 0) < found["metadata"]["generation"]:\n                      return "running"\n                  if condition(found, "Progressing").get("reason") == "ProgressDeadlineExceeded":\n                      return "failed"\n                  counts = [status.get(key, 0) for key in ("updatedReplicas", "replicas", "availableReplicas")]\n                  return "succeeded" if counts == [wanted] * 3 else "running"\n\n\n              OUTCOMES = {"Job": job, "RayJob": ray_job, "SparkApplication": spark_application, "Deployment": deployment}\n\n\n              def release(step):\n                  # Of a restart too: what was started already is not started again.\n                  for name in step["objects"]:\n                      path = "%s/%s" % (step["path"], name)\n                      found = call("GET", path)\n                      if found is None or (found["metadata"].get("annotations") or {}).get(RELEASED) == run:\n                          continue\n                      call("PATCH", path + "?fieldManager=modelyard-pipeline", step["release"])\n\n\n              def outcome(step):\n                  found = [call("GET", "%s/%s" % (step["path"], name)) for name in step["objects"]]\n                  # One that somebody deleted will not succeed.\n                  states = ["failed" if one is None else OUTCOMES[step["kind"]](one) for one in found]\n                  # A search goes on when a trial has failed, and the run with it.\n                  if "running" in states:\n                      return "running"\n                  return "failed" if "failed" in states else "succeeded"\n\n\n              states = {step["name"]: "waiting" for step in steps}\n              while True:\n                  for step in steps:\n                      name, before = step["name"], states[step["name"]]\n                      if before == "waiting":\n                          needed = [states[each] for each in step["needs"]]\n                          if "failed" in needed or "skipped" in needed:\n                              states[name] = "skipped"\n                          elif all(each == "succeeded" for each in needed):\n                              release(step)\n                              states[name] = "running"\n                      elif before == "running":\n                          states[name] = outcome(step)\n                      if states[name] != before:\n                          print("%s: %s" % (name, states[name]))\n                  if not {"waiting", "running"} & set(states.values()):\n                      break\n                  time.sleep(PAUSE)\n              sys.exit(0 if set(states.values()) == {"succeeded"} else 42)\n              ')
    w.append('\n          args:\n            - ')
    w.append(str(p['run']['run']))
    w.append('\n            - ')
    w.append(str(tojson(tojson(p['run']['steps']))))
    w.append('\n          # Its last lines say which stage failed, also where nobody keeps logs.\n          terminationMessagePolicy: FallbackToLogsOnError\n          resources:\n            limits:\n              cpu: 200m\n              memory: 128Mi\n            requests:\n              cpu: 20m\n              memory: 64Mi\n---\napiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: ')
    w.append(str(p['run']['run']))
    w.append('\n  namespace: ')
    w.append(str(p['run']['namespace']))
    w.append('\n  labels:\n    modelyard.dev/pipeline: ')
    w.append(str(p['run']['pipeline']))
    w.append('\n    modelyard.dev/pipeline-run: ')
    w.append(str(p['run']['run']))
    w.append('\n---\n# These objects and no others: it makes nothing, deletes nothing, and reads no Secret.\napiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: ')
    w.append(str(p['run']['run']))
    w.append('\n  namespace: ')
    w.append(str(p['run']['namespace']))
    w.append('\n  labels:\n    modelyard.dev/pipeline: ')
    w.append(str(p['run']['pipeline']))
    w.append('\n    modelyard.dev/pipeline-run: ')
    w.append(str(p['run']['run']))
    w.append('\nrules:\n  ')
    for rule_0 in p['run']['rules']:
        w.append('\n  - apiGroups: [')
        w.append(str(rule_0['group']))
        w.append(']\n    resources: [')
        w.append(str(rule_0['resource']))
        w.append(']\n    resourceNames: ')
        w.append(str(tojson(rule_0['names'])))
        w.append('\n    verbs: [get, patch]\n  ')
    w.append('\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata:\n  name: ')
    w.append(str(p['run']['run']))
    w.append('\n  namespace: ')
    w.append(str(p['run']['namespace']))
    w.append('\n  labels:\n    modelyard.dev/pipeline: ')
    w.append(str(p['run']['pipeline']))
    w.append('\n    modelyard.dev/pipeline-run: ')
    w.append(str(p['run']['run']))
    w.append('\nroleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: Role\n  name: ')
    w.append(str(p['run']['run']))
    w.append('\nsubjects:\n  - kind: ServiceAccount\n    name: ')
    w.append(str(p['run']['run']))
    w.append('\n    namespace: ')
    w.append(str(p['run']['namespace']))
    w.append('\n')
    return "".join(w)


def ray_head_v1_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# target: ')
    w.append(str(p['deployment']))
    w.append('\n\napiVersion: apps/v1\nkind: Deployment\nspec:\n  replicas: ')
    w.append(str(p['replicas']))
    w.append('\n  # Two heads would be two clusters: the old one stops before the new one starts.\n  strategy:\n    rollingUpdate:\n      maxSurge: 0\n      maxUnavailable: 1\n  template:\n    spec:\n      affinity:\n        nodeAffinity:\n          requiredDuringSchedulingIgnoredDuringExecution:\n            nodeSelectorTerms:\n              - matchExpressions:\n                  - key: nvidia.com/gpu.present\n                    operator: DoesNotExist\n      containers:\n        - name: ')
    w.append(str(p['container']))
    w.append('\n          env:\n            # Read by Ray at start: no task or actor lands on the head.\n            - name: RAY_OVERRIDE_RESOURCES\n              value: \'{"CPU": 0}\'\n          resources:\n            limits:\n              cpu: ')
    w.append(str(p['cpu']))
    w.append('\n              memory: ')
    w.append(str(p['memory']))
    w.append('\n            requests:\n              cpu: ')
    w.append(str(p['cpu']))
    w.append('\n              memory: ')
    w.append(str(p['memory']))
    w.append('\n')
    return "".join(w)


def ray_head_v1_base(p: Any) -> str:
    w: list[str] = []
    w.append('apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: ')
    w.append(str(p['deployment']))
    w.append('\n  namespace: ')
    w.append(str(p['namespace']))
    w.append('\n  labels:\n    app.kubernetes.io/name: ')
    w.append(str(p['container']))
    w.append('\n    app.kubernetes.io/part-of: ml-platform\nspec:\n  progressDeadlineSeconds: 600\n  revisionHistoryLimit: 3\n  selector:\n    matchLabels:\n      app.kubernetes.io/name: ')
    w.append(str(p['container']))
    w.append('\n  strategy:\n    type: RollingUpdate\n    rollingUpdate:\n      maxSurge: 0\n      maxUnavailable: 1\n  template:\n    metadata:\n      labels:\n        app.kubernetes.io/name: ')
    w.append(str(p['container']))
    w.append('\n        app.kubernetes.io/part-of: ml-platform\n    spec:\n      containers:\n        - name: ')
    w.append(str(p['container']))
    w.append('\n          image: ')
    w.append(str(p['image']))
    w.append('\n          imagePullPolicy: IfNotPresent\n          ports:\n            - containerPort: 6379\n              name: gcs\n              protocol: TCP\n            - containerPort: 8265\n              name: dashboard\n              protocol: TCP\n            - containerPort: 10001\n              name: client\n              protocol: TCP\n          terminationMessagePath: /dev/termination-log\n          terminationMessagePolicy: File\n      dnsPolicy: ClusterFirst\n      restartPolicy: Always\n      schedulerName: default-scheduler\n      securityContext: {}\n      terminationGracePeriodSeconds: 30\n---\napiVersion: v1\nkind: Service\nmetadata:\n  name: ')
    w.append(str(str(p['deployment']).replace('deployment-', 'service-')))
    w.append('\n  namespace: ')
    w.append(str(p['namespace']))
    w.append('\n  labels:\n    app.kubernetes.io/name: ')
    w.append(str(p['container']))
    w.append('\n    app.kubernetes.io/part-of: ml-platform\nspec:\n  type: ClusterIP\n  internalTrafficPolicy: Cluster\n  sessionAffinity: None\n  selector:\n    app.kubernetes.io/name: ')
    w.append(str(p['container']))
    w.append('\n  ports:\n    - name: gcs\n      port: 6379\n      protocol: TCP\n      targetPort: gcs\n    - name: dashboard\n      port: 8265\n      protocol: TCP\n      targetPort: dashboard\n    - name: client\n      port: 10001\n      protocol: TCP\n      targetPort: client\n---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata:\n  name: ')
    w.append(str(str(p['deployment']).replace('deployment-', 'budget-')))
    w.append('\n  namespace: ')
    w.append(str(p['namespace']))
    w.append('\nspec:\n  maxUnavailable: 1\n  selector:\n    matchLabels:\n      app.kubernetes.io/name: ')
    w.append(str(p['container']))
    w.append('\n')
    return "".join(w)


def ray_head_v2_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# target: ')
    w.append(str(p['deployment']))
    w.append('\n\napiVersion: apps/v1\nkind: ')
    w.append(str(p['kind']))
    w.append('\nspec:\n  replicas: ')
    w.append(str(p['replicas']))
    if (p['kind'] == 'Deployment'):
        w.append('\n  # Two heads would be two clusters: the old one stops before the new one starts.\n  strategy:\n    rollingUpdate:\n      maxSurge: 0\n      maxUnavailable: 1')
    w.append('\n  template:\n    spec:\n      affinity:\n        nodeAffinity:\n          requiredDuringSchedulingIgnoredDuringExecution:\n            nodeSelectorTerms:\n              - matchExpressions:\n                  - key: nvidia.com/gpu.present\n                    operator: DoesNotExist\n      containers:\n        - name: ')
    w.append(str(p['container']))
    w.append('\n          env:\n            # Read by Ray at start: no task or actor lands on the head.\n            - name: RAY_OVERRIDE_RESOURCES\n              value: \'{"CPU": 0}\'\n          resources:\n            limits:\n              cpu: ')
    w.append(str(p['cpu']))
    w.append('\n              memory: ')
    w.append(str(p['memory']))
    w.append('\n            requests:\n              cpu: ')
    w.append(str(p['cpu']))
    w.append('\n              memory: ')
    w.append(str(p['memory']))
    w.append('\n')
    return "".join(w)


def ray_head_v3_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# target: ')
    w.append(str(p['deployment']))
    w.append('\n\napiVersion: ray.io/v1\nkind: RayCluster\nspec:\n  headGroupSpec:\n    template:\n      spec:\n        affinity:\n          nodeAffinity:\n            requiredDuringSchedulingIgnoredDuringExecution:\n              nodeSelectorTerms:\n                - matchExpressions:\n                    - key: nvidia.com/gpu.present\n                      operator: DoesNotExist\n        containers:\n          - name: ')
    w.append(str(p['container']))
    w.append('\n            env:\n              # Read by Ray at start, before rayStartParams: no task or actor lands on the head.\n              - name: RAY_OVERRIDE_RESOURCES\n                value: \'{"CPU": 0}\'\n            resources:\n              limits:\n                cpu: ')
    w.append(str(p['cpu']))
    w.append('\n                memory: ')
    w.append(str(p['memory']))
    w.append('\n              requests:\n                cpu: ')
    w.append(str(p['cpu']))
    w.append('\n                memory: ')
    w.append(str(p['memory']))
    w.append('\n')
    return "".join(w)


def ray_head_v4_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# target: ')
    w.append(str(p['deployment']))
    w.append('\n\napiVersion: ray.io/v1\nkind: ')
    w.append(str(p['kind']))
    w.append('\nspec:')
    if (p['kind'] == 'RayService'):
        w.append('\n  rayClusterConfig:')
    w.append('\n    headGroupSpec:\n      template:\n        spec:\n          affinity:\n            nodeAffinity:\n              requiredDuringSchedulingIgnoredDuringExecution:\n                nodeSelectorTerms:\n                  - matchExpressions:\n                      - key: nvidia.com/gpu.present\n                        operator: DoesNotExist\n          containers:\n            - name: ')
    w.append(str(p['container']))
    w.append('\n              env:\n                # Read by Ray at start, before rayStartParams: no task or actor lands on the head.\n                - name: RAY_OVERRIDE_RESOURCES\n                  value: \'{"CPU": 0}\'\n              resources:\n                limits:\n                  cpu: ')
    w.append(str(p['cpu']))
    w.append('\n                  memory: ')
    w.append(str(p['memory']))
    w.append('\n                requests:\n                  cpu: ')
    w.append(str(p['cpu']))
    w.append('\n                  memory: ')
    w.append(str(p['memory']))
    w.append('\n')
    return "".join(w)


def ray_worker_multi_gpu_v1_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# target: ')
    w.append(str(p['deployment']))
    w.append('\n\napiVersion: apps/v1\nkind: Deployment\nspec:\n  template:\n    spec:\n      containers:\n        - name: ')
    w.append(str(p['container']))
    w.append('\n          env:\n            - name: NUM_GPUS_REQUESTED\n              value: "')
    w.append(str(p['gpus']))
    w.append('"\n          resources:\n            limits:\n              nvidia.com/gpu: ')
    w.append(str(p['gpus']))
    w.append('\n              cpu: ')
    w.append(str(p['cpu']))
    w.append('\n              memory: ')
    w.append(str(p['memory']))
    w.append('\n            requests:\n              nvidia.com/gpu: ')
    w.append(str(p['gpus']))
    w.append('\n              cpu: ')
    w.append(str(p['cpu']))
    w.append('\n              memory: ')
    w.append(str(p['memory']))
    w.append('\n')
    return "".join(w)


def ray_worker_multi_gpu_v2_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# target: ')
    w.append(str(p['deployment']))
    w.append('\n\napiVersion: apps/v1\nkind: ')
    w.append(str(p['kind']))
    w.append('\nspec:\n  template:\n    spec:\n      containers:\n        - name: ')
    w.append(str(p['container']))
    w.append('\n          env:\n            - name: NUM_GPUS_REQUESTED\n              value: "')
    w.append(str(p['gpus']))
    w.append('"\n          resources:\n            limits:\n              nvidia.com/gpu: ')
    w.append(str(p['gpus']))
    w.append('\n              cpu: ')
    w.append(str(p['cpu']))
    w.append('\n              memory: ')
    w.append(str(p['memory']))
    w.append('\n            requests:\n              nvidia.com/gpu: ')
    w.append(str(p['gpus']))
    w.append('\n              cpu: ')
    w.append(str(p['cpu']))
    w.append('\n              memory: ')
    w.append(str(p['memory']))
    w.append('\n')
    return "".join(w)


def ray_worker_multi_gpu_v3_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# target: ')
    w.append(str(p['deployment']))
    w.append('\n\napiVersion: ray.io/v1\nkind: RayCluster\nspec:\n  workerGroupSpecs:\n    - groupName: ')
    w.append(str(p['group']))
    w.append('\n      template:\n        spec:\n          containers:\n            - name: ')
    w.append(str(p['container']))
    w.append('\n              env:\n                - name: NUM_GPUS_REQUESTED\n                  value: "')
    w.append(str(p['gpus']))
    w.append('"\n')
    return "".join(w)


def ray_worker_multi_gpu_v4_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# target: ')
    w.append(str(p['deployment']))
    w.append('\n\napiVersion: ray.io/v1\nkind: ')
    w.append(str(p['kind']))
    w.append('\nspec:')
    if (p['kind'] == 'RayService'):
        w.append('\n  rayClusterConfig:')
    w.append('\n    workerGroupSpecs:\n      - groupName: ')
    w.append(str(p['group']))
    w.append('\n        template:\n          spec:\n            containers:\n              - name: ')
    w.append(str(p['container']))
    w.append('\n                env:\n                  - name: NUM_GPUS_REQUESTED\n                    value: "')
    w.append(str(p['gpus']))
    w.append('"\n')
    return "".join(w)


def ray_worker_v1_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# target: ')
    w.append(str(p['deployment']))
    w.append('\n\napiVersion: apps/v1\nkind: Deployment\nspec:\n  # A surge would ask for a spare GPU that is rarely there.\n  strategy:\n    rollingUpdate:\n      maxSurge: 0\n      maxUnavailable: 1\n  template:\n    metadata:\n      annotations:\n        cluster-autoscaler.kubernetes.io/safe-to-evict: "false"\n        karpenter.sh/do-not-disrupt: "true"\n    spec:\n      terminationGracePeriodSeconds: ')
    w.append(str(p['gracePeriod']))
    if p['products']:
        w.append('\n      affinity:\n        nodeAffinity:\n          requiredDuringSchedulingIgnoredDuringExecution:\n            nodeSelectorTerms:\n              - matchExpressions:\n                  - key: nvidia.com/gpu.product\n                    operator: In\n                    values: ')
        w.append(str(tojson(p['products'])))
    w.append('\n      containers:\n        - name: ')
    w.append(str(p['container']))
    w.append('\n          resources:\n            limits:\n              nvidia.com/gpu: ')
    w.append(str(p['gpus']))
    w.append('\n              cpu: ')
    w.append(str(p['cpu']))
    w.append('\n              memory: ')
    w.append(str(p['memory']))
    w.append('\n            requests:\n              nvidia.com/gpu: ')
    w.append(str(p['gpus']))
    w.append('\n              cpu: ')
    w.append(str(p['cpu']))
    w.append('\n              memory: ')
    w.append(str(p['memory']))
    w.append('\n')
    return "".join(w)


def ray_worker_v1_base(p: Any) -> str:
    w: list[str] = []
    w.append('apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: ')
    w.append(str(p['deployment']))
    w.append('\n  namespace: ')
    w.append(str(p['namespace']))
    w.append('\n  labels:\n    app.kubernetes.io/name: ')
    w.append(str(p['container']))
    w.append('\n    app.kubernetes.io/part-of: ml-platform\nspec:\n  progressDeadlineSeconds: 600\n  revisionHistoryLimit: 3\n  selector:\n    matchLabels:\n      app.kubernetes.io/name: ')
    w.append(str(p['container']))
    w.append('\n  strategy:\n    type: RollingUpdate\n    rollingUpdate:\n      maxSurge: 0\n      maxUnavailable: 1\n  template:\n    metadata:\n      labels:\n        app.kubernetes.io/name: ')
    w.append(str(p['container']))
    w.append('\n        app.kubernetes.io/part-of: ml-platform\n    spec:\n      containers:\n        - name: ')
    w.append(str(p['container']))
    w.append('\n          image: ')
    w.append(str(p['image']))
    w.append("\n          imagePullPolicy: IfNotPresent\n          terminationMessagePath: /dev/termination-log\n          terminationMessagePolicy: File\n          # Data loaders hand batches over in shared memory; the runtime's own 64 MiB are too few.\n          volumeMounts:\n            - name: shared-memory\n              mountPath: /dev/shm\n      dnsPolicy: ClusterFirst\n      restartPolicy: Always\n      schedulerName: default-scheduler\n      securityContext: {}\n      terminationGracePeriodSeconds: ")
    w.append(str(p['gracePeriod']))
    w.append('\n      tolerations:\n        - key: nvidia.com/gpu\n          operator: Exists\n          effect: NoSchedule\n      volumes:\n        - name: shared-memory\n          emptyDir:\n            medium: Memory\n---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata:\n  name: ')
    w.append(str(str(p['deployment']).replace('deployment-', 'budget-')))
    w.append('\n  namespace: ')
    w.append(str(p['namespace']))
    w.append('\nspec:\n  maxUnavailable: 0\n  selector:\n    matchLabels:\n      app.kubernetes.io/name: ')
    w.append(str(p['container']))
    w.append('\n')
    return "".join(w)


def ray_worker_v2_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# target: ')
    w.append(str(p['deployment']))
    w.append('\n\napiVersion: apps/v1\nkind: ')
    w.append(str(p['kind']))
    w.append('\nspec:')
    if (p['kind'] == 'Deployment'):
        w.append('\n  # A surge would ask for a spare GPU that is rarely there.\n  strategy:\n    rollingUpdate:\n      maxSurge: 0\n      maxUnavailable: 1')
    w.append('\n  template:\n    metadata:\n      annotations:\n        cluster-autoscaler.kubernetes.io/safe-to-evict: "false"\n        karpenter.sh/do-not-disrupt: "true"\n    spec:\n      terminationGracePeriodSeconds: ')
    w.append(str(p['gracePeriod']))
    if p['products']:
        w.append('\n      affinity:\n        nodeAffinity:\n          requiredDuringSchedulingIgnoredDuringExecution:\n            nodeSelectorTerms:\n              - matchExpressions:\n                  - key: nvidia.com/gpu.product\n                    operator: In\n                    values: ')
        w.append(str(tojson(p['products'])))
    w.append('\n      containers:\n        - name: ')
    w.append(str(p['container']))
    w.append('\n          resources:\n            limits:\n              nvidia.com/gpu: ')
    w.append(str(p['gpus']))
    w.append('\n              cpu: ')
    w.append(str(p['cpu']))
    w.append('\n              memory: ')
    w.append(str(p['memory']))
    w.append('\n            requests:\n              nvidia.com/gpu: ')
    w.append(str(p['gpus']))
    w.append('\n              cpu: ')
    w.append(str(p['cpu']))
    w.append('\n              memory: ')
    w.append(str(p['memory']))
    w.append('\n')
    return "".join(w)


def ray_worker_v3_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# target: ')
    w.append(str(p['deployment']))
    w.append('\n\napiVersion: ray.io/v1\nkind: RayCluster\nspec:\n  workerGroupSpecs:\n    - groupName: ')
    w.append(str(p['group']))
    w.append('\n      template:\n        metadata:\n          annotations:\n            cluster-autoscaler.kubernetes.io/safe-to-evict: "false"\n            karpenter.sh/do-not-disrupt: "true"\n        spec:\n          terminationGracePeriodSeconds: ')
    w.append(str(p['gracePeriod']))
    if p['products']:
        w.append('\n          affinity:\n            nodeAffinity:\n              requiredDuringSchedulingIgnoredDuringExecution:\n                nodeSelectorTerms:\n                  - matchExpressions:\n                      - key: nvidia.com/gpu.product\n                        operator: In\n                        values: ')
        w.append(str(tojson(p['products'])))
    w.append('\n          containers:\n            - name: ')
    w.append(str(p['container']))
    w.append('\n              resources:\n                limits:\n                  nvidia.com/gpu: ')
    w.append(str(p['gpus']))
    w.append('\n                  cpu: ')
    w.append(str(p['cpu']))
    w.append('\n                  memory: ')
    w.append(str(p['memory']))
    w.append('\n                requests:\n                  nvidia.com/gpu: ')
    w.append(str(p['gpus']))
    w.append('\n                  cpu: ')
    w.append(str(p['cpu']))
    w.append('\n                  memory: ')
    w.append(str(p['memory']))
    w.append('\n')
    return "".join(w)


def ray_worker_v4_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# target: ')
    w.append(str(p['deployment']))
    w.append('\n\napiVersion: ray.io/v1\nkind: ')
    w.append(str(p['kind']))
    w.append('\nspec:')
    if (p['kind'] == 'RayService'):
        w.append('\n  rayClusterConfig:')
    w.append('\n    workerGroupSpecs:\n      - groupName: ')
    w.append(str(p['group']))
    w.append('\n        template:\n          metadata:\n            annotations:\n              cluster-autoscaler.kubernetes.io/safe-to-evict: "false"\n              karpenter.sh/do-not-disrupt: "true"\n          spec:\n            terminationGracePeriodSeconds: ')
    w.append(str(p['gracePeriod']))
    if p['products']:
        w.append('\n            affinity:\n              nodeAffinity:\n                requiredDuringSchedulingIgnoredDuringExecution:\n                  nodeSelectorTerms:\n                    - matchExpressions:\n                        - key: nvidia.com/gpu.product\n                          operator: In\n                          values: ')
        w.append(str(tojson(p['products'])))
    w.append('\n            containers:\n              - name: ')
    w.append(str(p['container']))
    w.append('\n                resources:\n                  limits:\n                    nvidia.com/gpu: ')
    w.append(str(p['gpus']))
    w.append('\n                    cpu: ')
    w.append(str(p['cpu']))
    w.append('\n                    memory: ')
    w.append(str(p['memory']))
    w.append('\n                  requests:\n                    nvidia.com/gpu: ')
    w.append(str(p['gpus']))
    w.append('\n                    cpu: ')
    w.append(str(p['cpu']))
    w.append('\n                    memory: ')
    w.append(str(p['memory']))
    w.append('\n')
    return "".join(w)


def remote_cluster_v1_patch(p: Any) -> str:
    w: list[str] = []
    w.append("# Nothing is patched: the objects of base.yaml.j2 are the stack's own.\n")
    return "".join(w)


def remote_cluster_v1_base(p: Any) -> str:
    w: list[str] = []
    if p['createNamespace']:
        w.append('\n---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: ')
        w.append(str(p['namespace']))
        w.append('\n  labels:\n    app.kubernetes.io/part-of: ml-platform\n')
    w.append("\n---\n# Of the jobs' pods: it has no rights there, and pods get no token of it.\napiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: remote-job\n  namespace: ")
    w.append(str(p['namespace']))
    w.append('\n  labels:\n    app.kubernetes.io/part-of: ml-platform\nautomountServiceAccountToken: false\n')
    for queue_0 in p['queues']:
        w.append('\n---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata:\n  name: remote-')
        w.append(str(queue_0['name']))
        w.append('-nodes\nspec:\n  tolerations:\n    - key: nvidia.com/gpu\n      operator: Exists\n      effect: NoSchedule\n---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata:\n  name: remote-')
        w.append(str(queue_0['name']))
        w.append('\nspec:\n  namespaceSelector:\n    matchLabels:\n      kubernetes.io/metadata.name: ')
        w.append(str(p['namespace']))
        w.append('\n  queueingStrategy: BestEffortFIFO\n  resourceGroups:\n    - coveredResources: [cpu, memory, nvidia.com/gpu]\n      flavors:\n        - name: remote-')
        w.append(str(queue_0['name']))
        w.append('-nodes\n          resources:\n            - name: cpu\n              nominalQuota: ')
        w.append(str(tojson(queue_0['cpu'])))
        w.append('\n            - name: memory\n              nominalQuota: ')
        w.append(str(tojson(queue_0['memory'])))
        w.append('\n            - name: nvidia.com/gpu\n              nominalQuota: "')
        w.append(str(queue_0['gpus']))
        w.append('"\n---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata:\n  name: ')
        w.append(str(queue_0['name']))
        w.append('\n  namespace: ')
        w.append(str(p['namespace']))
        w.append('\nspec:\n  clusterQueue: remote-')
        w.append(str(queue_0['name']))
        w.append('\n')
    w.append('\n')
    return "".join(w)


def team_queues_v1_patch(p: Any) -> str:
    w: list[str] = []
    w.append("# Nothing is patched: the objects of base.yaml.j2 are the stack's own.\n")
    return "".join(w)


def team_queues_v1_base(p: Any) -> str:
    w: list[str] = []
    for flavor_0 in p['flavors']:
        w.append('\n')
        if flavor_0['topology']:
            w.append('\n---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: Topology\nmetadata:\n  name: topology-')
            w.append(str(flavor_0['name']))
            w.append('\nspec:\n  levels:\n    ')
            for label_1 in flavor_0['topology']:
                w.append('\n    - nodeLabel: ')
                w.append(str(label_1))
                w.append('\n    ')
            w.append('\n')
        w.append('\n---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata:\n  name: ')
        w.append(str(flavor_0['name']))
        w.append('\nspec:\n  nodeLabels: ')
        w.append(str(tojson(flavor_0['labels'])))
        w.append('\n  tolerations: ')
        w.append(str(tojson(flavor_0['tolerations'])))
        w.append('\n  ')
        if flavor_0['topology']:
            w.append('\n  topologyName: topology-')
            w.append(str(flavor_0['name']))
            w.append('\n  ')
        w.append('\n')
    w.append('\n')
    for cluster_0 in p['workerClusters']:
        w.append('\n---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: MultiKueueCluster\nmetadata:\n  name: cluster-')
        w.append(str(cluster_0['name']))
        w.append('\nspec:\n  clusterSource:\n    # Kueue reads the key kubeconfig of this Secret, in the namespace that it runs in.\n    kubeConfig:\n      locationType: Secret\n      location: ')
        w.append(str(cluster_0['secret']))
        w.append('\n')
    w.append('\n')
    for team_0 in p['teams']:
        w.append('\n')
        if team_0['clusters']:
            w.append('\n---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: MultiKueueConfig\nmetadata:\n  name: clusters-')
            w.append(str(team_0['name']))
            w.append('\nspec:\n  clusters:\n    ')
            for cluster_1 in team_0['clusters']:
                w.append('\n    - cluster-')
                w.append(str(cluster_1))
                w.append('\n    ')
            w.append('\n---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: AdmissionCheck\nmetadata:\n  name: dispatch-')
            w.append(str(team_0['name']))
            w.append('\nspec:\n  controllerName: kueue.x-k8s.io/multikueue\n  parameters:\n    apiGroup: kueue.x-k8s.io\n    kind: MultiKueueConfig\n    name: clusters-')
            w.append(str(team_0['name']))
            w.append('\n')
        w.append('\n---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata:\n  name: team-')
        w.append(str(team_0['name']))
        w.append('\nspec:\n  ')
        if team_0['cohort']:
            w.append('\n  cohortName: ')
            w.append(str(team_0['cohort']))
            w.append('\n  ')
        w.append('\n  namespaceSelector:\n    matchLabels:\n      kubernetes.io/metadata.name: ')
        w.append(str(team_0['namespace']))
        w.append('\n  queueingStrategy: BestEffortFIFO\n  ')
        if team_0['clusters']:
            w.append('\n  admissionChecksStrategy:\n    admissionChecks:\n      - name: dispatch-')
            w.append(str(team_0['name']))
            w.append('\n  ')
        w.append('\n  preemption:\n    reclaimWithinCohort: ')
        w.append(str(team_0['reclaim']))
        w.append('\n    withinClusterQueue: ')
        w.append(str(team_0['within']))
        w.append('\n  resourceGroups:\n    ')
        for group_1 in team_0['groups']:
            w.append('\n    - coveredResources: ')
            w.append(str(tojson(group_1['resources'])))
            w.append('\n      flavors:\n        ')
            for flavor_2 in group_1['flavors']:
                w.append('\n        - name: ')
                w.append(str(flavor_2['name']))
                w.append('\n          resources:\n            ')
                for resource_3 in flavor_2['resources']:
                    w.append('\n            - name: ')
                    w.append(str(resource_3['name']))
                    w.append('\n              nominalQuota: ')
                    w.append(str(tojson(resource_3['quota'])))
                    w.append('\n              ')
                    if (not (resource_3['borrow'] is None)):
                        w.append('\n              borrowingLimit: ')
                        w.append(str(tojson(resource_3['borrow'])))
                        w.append('\n              ')
                    w.append('\n              ')
                    if (not (resource_3['lend'] is None)):
                        w.append('\n              lendingLimit: ')
                        w.append(str(tojson(resource_3['lend'])))
                        w.append('\n              ')
                    w.append('\n            ')
                w.append('\n        ')
            w.append('\n    ')
        w.append('\n---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata:\n  name: ')
        w.append(str(team_0['name']))
        w.append('\n  namespace: ')
        w.append(str(team_0['namespace']))
        w.append('\nspec:\n  clusterQueue: team-')
        w.append(str(team_0['name']))
        w.append('\n')
    w.append('\n')
    for priority_0 in p['priorities']:
        w.append('\n---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: WorkloadPriorityClass\nmetadata:\n  name: ')
        w.append(str(priority_0['name']))
        w.append('\nvalue: ')
        w.append(str(priority_0['value']))
        w.append('\ndescription: ')
        w.append(str(tojson(priority_0['description'])))
        w.append('\n')
    w.append('\n')
    return "".join(w)


def training_replicas_v1_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# target: ')
    w.append(str(p['celeryDeployment']))
    w.append('\n# phase: ')
    w.append(str(('up' if p['celeryReplicas'] else 'down')))
    w.append('\n\napiVersion: apps/v1\nkind: Deployment\nspec:\n  replicas: ')
    w.append(str(p['celeryReplicas']))
    w.append('\n')
    if p['ray']:
        w.append('---\n# target: ')
        w.append(str(p['rayDeployment']))
        w.append('\n# phase: ')
        w.append(str(('up' if p['rayReplicas'] else 'down')))
        w.append('\n\napiVersion: apps/v1\nkind: Deployment\nspec:\n  replicas: ')
        w.append(str(p['rayReplicas']))
    w.append('\n')
    return "".join(w)


def training_replicas_v2_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# target: ')
    w.append(str(p['celeryDeployment']))
    w.append('\n# phase: ')
    w.append(str(('up' if p['celeryReplicas'] else 'down')))
    w.append('\n\napiVersion: apps/v1\nkind: ')
    w.append(str(p['celeryKind']))
    w.append('\nspec:\n  replicas: ')
    w.append(str(p['celeryReplicas']))
    w.append('\n')
    if p['ray']:
        w.append('---\n# target: ')
        w.append(str(p['rayDeployment']))
        w.append('\n# phase: ')
        w.append(str(('up' if p['rayReplicas'] else 'down')))
        w.append('\n\napiVersion: apps/v1\nkind: ')
        w.append(str(p['rayKind']))
        w.append('\nspec:\n  replicas: ')
        w.append(str(p['rayReplicas']))
    w.append('\n')
    return "".join(w)


def training_replicas_v3_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# target: ')
    w.append(str(p['celeryDeployment']))
    w.append('\n# phase: ')
    w.append(str(('up' if p['celeryReplicas'] else 'down')))
    w.append('\n\napiVersion: apps/v1\nkind: ')
    w.append(str(p['celeryKind']))
    w.append('\nspec:\n  replicas: ')
    w.append(str(p['celeryReplicas']))
    w.append('\n')
    if p['ray']:
        w.append('---\n# target: ')
        w.append(str(p['rayDeployment']))
        w.append('\n# phase: ')
        w.append(str(('up' if p['rayReplicas'] else 'down')))
        w.append('\n\napiVersion: ray.io/v1\nkind: RayCluster\nspec:\n  workerGroupSpecs:\n    - groupName: ')
        w.append(str(p['rayGroup']))
        w.append('\n      replicas: ')
        w.append(str(p['rayReplicas']))
        if (not p['rayReplicas']):
            w.append('\n      # KubeRay keeps at least this many.\n      minReplicas: 0')
    w.append('\n')
    return "".join(w)


def training_replicas_v4_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# target: ')
    w.append(str(p['celeryDeployment']))
    w.append('\n# phase: ')
    w.append(str(('up' if p['celeryReplicas'] else 'down')))
    w.append('\n\napiVersion: apps/v1\nkind: ')
    w.append(str(p['celeryKind']))
    w.append('\nspec:\n  replicas: ')
    w.append(str(p['celeryReplicas']))
    w.append('\n')
    if p['ray']:
        w.append('---\n# target: ')
        w.append(str(p['rayDeployment']))
        w.append('\n# phase: ')
        w.append(str(('up' if p['rayReplicas'] else 'down')))
        w.append('\n\napiVersion: ray.io/v1\nkind: ')
        w.append(str(p['rayKind']))
        w.append('\nspec:')
        if (p['rayKind'] == 'RayService'):
            w.append('\n  rayClusterConfig:')
        w.append('\n    workerGroupSpecs:\n      - groupName: ')
        w.append(str(p['rayGroup']))
        w.append('\n        replicas: ')
        w.append(str(p['rayReplicas']))
        if (not p['rayReplicas']):
            w.append('\n        # KubeRay keeps at least this many.\n        minReplicas: 0')
        if (p['rayKind'] == 'RayService'):
            w.append('\n        template:\n          metadata:\n            annotations:\n              # KubeRay takes replicas of a RayService only into a new RayCluster, which a new template leads to.\n              modelyard.dev/replicas: "')
            w.append(str(p['rayReplicas']))
            w.append('"')
    w.append('\n')
    return "".join(w)


def training_route_v1_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# target: ')
    w.append(str(p['deployment']))
    w.append('\n\napiVersion: apps/v1\nkind: Deployment\nspec:\n  template:\n    spec:\n      containers:\n        - name: ')
    w.append(str(p['container']))
    w.append('\n          env:\n            - name: ENABLE_RAY_MODEL_TRAINING\n              value: "')
    w.append(str(p['ray']))
    w.append('"\n')
    return "".join(w)


def training_route_v2_patch(p: Any) -> str:
    w: list[str] = []
    w.append('# target: ')
    w.append(str(p['deployment']))
    w.append('\n\napiVersion: apps/v1\nkind: ')
    w.append(str(p['kind']))
    w.append('\nspec:\n  template:\n    spec:\n      containers:\n        - name: ')
    w.append(str(p['container']))
    w.append('\n          env:\n            - name: ENABLE_RAY_MODEL_TRAINING\n              value: "')
    w.append(str(p['ray']))
    w.append('"\n')
    return "".join(w)


METAS: Final[Mapping[str, Mapping[str, Any]]] = {
    '76875e8b7edd850f565c5a3daabf83589417bdf7282c43485e8e02ec85cd338a': {'description': "Lets the platform's autoscaler put the Celery training tasks to sleep.",
 'when': {'autoscaling.mode': 'annotations'},
 'params': {'deployment': 'celery.deployment', 'maxReplicas': 'celery.maxReplicas', 'queries': 'autoscaling.celeryQueries'}},
    '733edb3e16d10036040ad6cb362cd0a01983a6cf181e7638b3096463d585d098': {'description': "Lets the platform's autoscaler put the Celery training tasks to sleep.",
 'when': {'autoscaling.mode': 'annotations'},
 'version_for': {'targets.deployments': False},
 'params': {'deployment': 'celery.deployment',
            'kind': 'celery.kind',
            'maxReplicas': 'celery.maxReplicas',
            'queries': 'autoscaling.celeryQueries'}},
    '207e12ae5e6ca6f0f88d8896bc084c2b1aa4f059643120f6a703e08307bcbe99': {'description': "Lets the platform's autoscaler put the Ray training workers to sleep.",
 'when': {'autoscaling.mode': 'annotations', 'ray.available': True},
 'params': {'deployment': 'rayWorker.deployment', 'maxReplicas': 'rayWorker.maxReplicas', 'queries': 'autoscaling.rayQueries'}},
    '3de9489df50027b9a1db6b71b298af701d2c005df825e4abb8d4adf88b84a109': {'description': "Lets the platform's autoscaler put the Ray training workers to sleep.",
 'when': {'autoscaling.mode': 'annotations', 'ray.available': True},
 'version_for': {'targets.deployments': False},
 'params': {'deployment': 'rayWorker.deployment',
            'kind': 'rayWorker.kind',
            'maxReplicas': 'rayWorker.maxReplicas',
            'queries': 'autoscaling.rayQueries'}},
    '14bf1506f7e4521e820a3df1f1f121ac3b8ac157460995a6d6663bc562260c4e': {'description': 'Size, GPU nodes and careful rollout of the Celery training tasks.',
 'params': {'namespace': 'platform.namespace',
            'deployment': 'celery.deployment',
            'container': 'celery.container',
            'gpus': 'celery.gpus',
            'cpu': 'celery.cpu',
            'memory': 'celery.memory',
            'gracePeriod': 'celery.gracePeriod',
            'products': 'gpu.products',
            'image': 'celery.image'}},
    '81df0cf5579b6ab35ebe79d54522b45b79a78cf603a3da29e48a5efb667d6291': {'description': 'Size, GPU nodes, careful rollout, queue, concurrency and job limit of the Celery training tasks.',
 'params': {'namespace': 'platform.namespace',
            'deployment': 'celery.deployment',
            'container': 'celery.container',
            'gpus': 'celery.gpus',
            'cpu': 'celery.cpu',
            'memory': 'celery.memory',
            'gracePeriod': 'celery.gracePeriod',
            'products': 'gpu.products',
            'image': 'celery.image',
            'queue': 'celery.queue',
            'concurrency': 'celery.concurrency',
            'jobLimit': 'celery.jobLimit',
            'queueVariable': 'celery.variables.queue',
            'concurrencyVariable': 'celery.variables.concurrency',
            'jobLimitVariable': 'celery.variables.jobLimit',
            'arguments': 'celery.arguments'}},
    'b81d88cdee256aecf7d7e663633eb7c3a3e92eb31737d98e1e6ed71e9eca81fd': {'description': 'Size, GPU nodes, careful rollout, queue, concurrency and job limit of the Celery training tasks.',
 'version_for': {'targets.deployments': False},
 'params': {'namespace': 'platform.namespace',
            'deployment': 'celery.deployment',
            'kind': 'celery.kind',
            'container': 'celery.container',
            'gpus': 'celery.gpus',
            'cpu': 'celery.cpu',
            'memory': 'celery.memory',
            'gracePeriod': 'celery.gracePeriod',
            'products': 'gpu.products',
            'image': 'celery.image',
            'queue': 'celery.queue',
            'concurrency': 'celery.concurrency',
            'jobLimit': 'celery.jobLimit',
            'queueVariable': 'celery.variables.queue',
            'concurrencyVariable': 'celery.variables.concurrency',
            'jobLimitVariable': 'celery.variables.jobLimit',
            'arguments': 'celery.arguments'}},
    '4ec6ed379e6b1f1a69705cb541398189b9c89d92ec3aeab6d41d38930e46f523': {'description': 'Builds an environment from its lock on the shared volume, once.', 'params': {'build': 'build'}, 'use': 'submitted'},
    '69f1d98a2f5e6428bd5be178ec4bd6b5912274b5609e616d5b38627345277279': {'description': 'Configurations by which the stock device plugin and MIG manager divide the GPUs of nodes.',
 'when': {'partitions.declared': True},
 'params': {'partitions': 'partitions.configs'},
 'use': 'managed'},
    'e7e132a1242a10c714b210b9732bee94b44755d8659f946ddcce4471a980e601': {'description': 'A notebook that runs as a Job and leaves its result as a new notebook beside it.',
 'params': {'name': 'notebook.name',
            'namespace': 'notebook.namespace',
            'stack': 'notebook.stack',
            'queue': 'notebook.queue',
            'priority': 'notebook.priority',
            'flavor': 'notebook.flavor',
            'nodes': 'notebook.nodes',
            'anyPlace': 'notebook.anyPlace',
            'products': 'notebook.products',
            'tolerations': 'notebook.tolerations',
            'image': 'notebook.image',
            'claim': 'notebook.claim',
            'path': 'notebook.path',
            'environment': 'notebook.environment',
            'cpu': 'notebook.cpu',
            'memory': 'notebook.memory',
            'gpus': 'notebook.gpus',
            'gpuResource': 'notebook.gpuResource',
            'timeLimit': 'notebook.timeLimit',
            'keep': 'notebook.keep',
            'arguments': 'notebook.arguments'},
 'use': 'submitted'},
    'd48902971decae44555c26a0076b4a78212072ae85bef78e45561f9b6cbac4ef': {'description': 'One run of a job on a Ray cluster of its own, which ends with it.', 'params': {'run': 'run'}, 'use': 'submitted'},
    '594073b3e4645f43d34cb114da24ce4f35ad4d3a721de5e60e5b1903312d9f82': {'description': 'One run of a job on a Ray cluster of its own, which may grow.', 'params': {'run': 'run'}, 'use': 'submitted'},
    '4c6fa673f5b57e4cd7c597b56a4fec2ce54ea6e1a0612d6c5aeca9f051f6afb1': {'description': 'One run of a job on a Ray cluster of its own, which may grow.', 'params': {'run': 'run'}, 'use': 'submitted'},
    'bfc6bfcedff5c168a14b13a23689477d47b9ebc2e467db6dc0c7541e3c5d966d': {'description': 'Pods that jobs of one type share, as many and as large as their resource says.',
 'when': {'resources.deployed': True},
 'params': {'pods': 'resources.pods'},
 'use': 'managed'},
    '3d3ee132635955366360670be41f456c9b36f537381334fb8be6491c37d6fc0a': {'description': "One run of a job, as a Job that waits in its team's queue and holds its GPUs no longer than it runs.",
 'params': {'run': 'run'},
 'use': 'submitted'},
    '60bcdc918ac29d86c81ecf48bbd9874c04ab9faced3337fdcc675e66608b68a6': {'description': 'One run of a job as a Spark application, whose driver has no GPU and whose executors go with it.',
 'params': {'run': 'run', 'spark': 'spark'},
 'use': 'submitted'},
    'a60371aee00b1ad891a56233d62b525e02e4ab729dc96114630eb1e241994d5a': {'description': 'Lets KEDA start and stop the Celery training tasks.',
 'when': {'autoscaling.mode': 'keda'},
 'params': {'deployment': 'celery.deployment',
            'maxReplicas': 'celery.maxReplicas',
            'queries': 'autoscaling.celeryTriggers',
            'serverAddress': 'autoscaling.prometheus',
            'pollingInterval': 'autoscaling.pollingInterval',
            'cooldownPeriod': 'autoscaling.cooldownPeriod'},
 'use': 'managed'},
    'afe80ca7a1ba53e3b3250640947d033b7c3f48e544671eabe73a71a2d0727dee': {'description': 'Lets KEDA start and stop the Celery training tasks.',
 'when': {'autoscaling.mode': 'keda'},
 'version_for': {'targets.deployments': False},
 'params': {'deployment': 'celery.deployment',
            'kind': 'celery.kind',
            'maxReplicas': 'celery.maxReplicas',
            'queries': 'autoscaling.celeryTriggers',
            'serverAddress': 'autoscaling.prometheus',
            'pollingInterval': 'autoscaling.pollingInterval',
            'cooldownPeriod': 'autoscaling.cooldownPeriod'},
 'use': 'managed'},
    '0748feada1a131575a4ed5e9cb8dc455e05b89b561d44b03ddca411b400497ef': {'description': 'Lets KEDA start and stop the Ray training workers.',
 'when': {'autoscaling.mode': 'keda', 'ray.available': True},
 'params': {'deployment': 'rayWorker.deployment',
            'maxReplicas': 'rayWorker.maxReplicas',
            'queries': 'autoscaling.rayTriggers',
            'serverAddress': 'autoscaling.prometheus',
            'pollingInterval': 'autoscaling.pollingInterval',
            'cooldownPeriod': 'autoscaling.cooldownPeriod'},
 'use': 'managed'},
    '3e6e7e357401892b42fa450ba37c2f6b387a23188307c628514a063e9ff4d454': {'description': 'Lets KEDA start and stop the Ray training workers.',
 'when': {'autoscaling.mode': 'keda', 'ray.available': True},
 'version_for': {'targets.deployments': False},
 'params': {'deployment': 'rayWorker.deployment',
            'kind': 'rayWorker.kind',
            'maxReplicas': 'rayWorker.maxReplicas',
            'queries': 'autoscaling.rayTriggers',
            'serverAddress': 'autoscaling.prometheus',
            'pollingInterval': 'autoscaling.pollingInterval',
            'cooldownPeriod': 'autoscaling.cooldownPeriod'},
 'use': 'managed'},
    '9e1c7c63a02943f72d1c3141ee444dae7a27bedd535372ffe53206d09d938bd3': {'description': 'Size, replicas and local model volume of the CPU inference service.',
 'params': {'namespace': 'platform.namespace',
            'deployment': 'modelService.deployment',
            'container': 'modelService.container',
            'replicas': 'modelService.replicas',
            'cpu': 'modelService.cpu',
            'memory': 'modelService.memory',
            'volume': 'modelService.volume',
            'image': 'modelService.image'}},
    '4fb3ceb39bfc782fd14ff95921cba823de76a752195cf54313db99468a42a13a': {'description': 'Size, replicas and local model volume of the CPU inference service.',
 'version_for': {'targets.deployments': False},
 'params': {'namespace': 'platform.namespace',
            'deployment': 'modelService.deployment',
            'kind': 'modelService.kind',
            'container': 'modelService.container',
            'replicas': 'modelService.replicas',
            'cpu': 'modelService.cpu',
            'memory': 'modelService.memory',
            'volume': 'modelService.volume',
            'image': 'modelService.image'}},
    'de49ea08df7f500680b7083b78fbb0cf0c561ea8d6ee26434d06836889a3488b': {'description': "Karpenter's pools of GPU nodes.",
 'when': {'nodePools.any': True},
 'params': {'pools': 'nodePools.pools'},
 'use': 'managed'},
    '36a7ee8bae4b474b075a74a8422ec01430906005b7b747804bd9a56bad3a14c5': {'description': 'JupyterLab servers, one for each user, from which notebooks are submitted as jobs; none has a GPU.',
 'when': {'notebooks.servers.declared': True},
 'params': {'spaces': 'notebooks.servers.spaces',
            'users': 'notebooks.servers.users',
            'image': 'notebooks.servers.image',
            'login': 'notebooks.servers.login',
            'project': 'notebooks.servers.project',
            'cpu': 'notebooks.servers.cpu',
            'memory': 'notebooks.servers.memory',
            'kernelIdle': 'notebooks.servers.kernelIdle',
            'claim': 'notebooks.claim',
            'path': 'notebooks.path',
            'stack': 'stack.name',
            'context': 'stack.context'},
 'use': 'managed'},
    '78afbb717711607c161ca152ba8b55ac1bdf9ed77a8632563eb6f40093546b81': {'description': 'JupyterLab servers, one for each user, in which they submit notebooks as jobs and follow them; none has a GPU.',
 'when': {'notebooks.servers.declared': True},
 'params': {'spaces': 'notebooks.servers.spaces',
            'users': 'notebooks.servers.users',
            'image': 'notebooks.servers.image',
            'login': 'notebooks.servers.login',
            'project': 'notebooks.servers.project',
            'cpu': 'notebooks.servers.cpu',
            'memory': 'notebooks.servers.memory',
            'kernelIdle': 'notebooks.servers.kernelIdle',
            'claim': 'notebooks.claim',
            'path': 'notebooks.path',
            'stack': 'stack.name',
            'context': 'stack.context'},
 'use': 'managed'},
    '12b5b59772bb960801b15b6248a7d4a75c411ae4a71e70d5e4f500fd90791939': {'description': 'One run of a pipeline, as a pod without a GPU that starts each stage once those that it needs have succeeded.',
 'params': {'run': 'pipelineRun'},
 'use': 'submitted'},
    '22204e2875d8c01b516a0e4629281353d8df535020d89e3ac15c5b95a570b032': {'description': 'One Ray head on a CPU node that runs no tasks of its own.',
 'when': {'ray.available': True},
 'params': {'namespace': 'platform.namespace',
            'deployment': 'rayHead.deployment',
            'container': 'rayHead.container',
            'replicas': 'rayHead.replicas',
            'cpu': 'rayHead.cpu',
            'memory': 'rayHead.memory',
            'image': 'rayHead.image'}},
    '530e19ec97e283ad55d687b0fec32e7bd2627e995c03d587cfcafe4e12cfcf00': {'description': 'One Ray head on a CPU node that runs no tasks of its own.',
 'when': {'ray.available': True},
 'version_for': {'targets.deployments': False},
 'params': {'namespace': 'platform.namespace',
            'deployment': 'rayHead.deployment',
            'kind': 'rayHead.kind',
            'container': 'rayHead.container',
            'replicas': 'rayHead.replicas',
            'cpu': 'rayHead.cpu',
            'memory': 'rayHead.memory',
            'image': 'rayHead.image'}},
    'ce1b363b59506cafabe81641dc8b858bbaa1c6938d3d5419e63fd038f4c5fd55': {'description': 'One Ray head on a CPU node that runs no tasks of its own.',
 'when': {'ray.available': True},
 'version_for': {'rayHead.kind': 'RayCluster'},
 'params': {'deployment': 'rayHead.deployment', 'container': 'rayHead.container', 'cpu': 'rayHead.cpu', 'memory': 'rayHead.memory'}},
    '396bfed8c101fdcacc2d9a7e8afdfe06df2570b7ad851cb5b9f739f4d6b99478': {'description': 'One Ray head on a CPU node that runs no tasks of its own.',
 'when': {'ray.available': True},
 'version_for': {'rayHead.kind': ['RayCluster', 'RayService']},
 'params': {'deployment': 'rayHead.deployment',
            'kind': 'rayHead.kind',
            'container': 'rayHead.container',
            'cpu': 'rayHead.cpu',
            'memory': 'rayHead.memory'}},
    '642bfdc1721f74c9a974b483924013a31847dfabe9390297256aee8c31a82ddf': {'description': 'Lets a training job use all GPUs of a Ray worker that has several.',
 'when': {'gpu.several': True, 'ray.available': True},
 'after': ('ray-worker',),
 'params': {'deployment': 'rayWorker.deployment',
            'container': 'rayWorker.container',
            'gpus': 'rayWorker.gpus',
            'cpu': 'rayWorker.cpu',
            'memory': 'rayWorker.memory'}},
    'f029f4ac21b9ed550e11dadcf0eb5b85d9ef6a4f055e890dad64c669b1e4854c': {'description': 'Lets a training job use all GPUs of a Ray worker that has several.',
 'when': {'gpu.several': True, 'ray.available': True},
 'version_for': {'targets.deployments': False},
 'after': ('ray-worker',),
 'params': {'deployment': 'rayWorker.deployment',
            'kind': 'rayWorker.kind',
            'container': 'rayWorker.container',
            'gpus': 'rayWorker.gpus',
            'cpu': 'rayWorker.cpu',
            'memory': 'rayWorker.memory'}},
    'b77abedc477edf0cefcbee5baeb97680828b3fad59431e6a647862cb1097fe80': {'description': 'Lets a training job use all GPUs of a Ray worker that has several.',
 'when': {'gpu.several': True, 'ray.available': True},
 'version_for': {'rayWorker.kind': 'RayCluster'},
 'after': ('ray-worker',),
 'params': {'deployment': 'rayWorker.deployment', 'group': 'rayWorker.group', 'container': 'rayWorker.container', 'gpus': 'rayWorker.gpus'},
 'items': {'spec.workerGroupSpecs': 'groupName'}},
    '746e829589d65fd14dcd0f8a359b61392bfaeb65582f192441e6fb47536b402d': {'description': 'Lets a training job use all GPUs of a Ray worker that has several.',
 'when': {'gpu.several': True, 'ray.available': True},
 'version_for': {'rayWorker.kind': ['RayCluster', 'RayService']},
 'after': ('ray-worker',),
 'params': {'deployment': 'rayWorker.deployment',
            'kind': 'rayWorker.kind',
            'group': 'rayWorker.group',
            'container': 'rayWorker.container',
            'gpus': 'rayWorker.gpus'},
 'items': {'spec.workerGroupSpecs': 'groupName', 'spec.rayClusterConfig.workerGroupSpecs': 'groupName'}},
    'b6bc5d8d8dd91f8c3fae9a464a09da85b0e068e39223d30256f3b014f553afc8': {'description': 'Size, GPU nodes and careful rollout of the Ray training workers.',
 'when': {'ray.available': True},
 'params': {'namespace': 'platform.namespace',
            'deployment': 'rayWorker.deployment',
            'container': 'rayWorker.container',
            'gpus': 'rayWorker.gpus',
            'cpu': 'rayWorker.cpu',
            'memory': 'rayWorker.memory',
            'gracePeriod': 'rayWorker.gracePeriod',
            'products': 'gpu.products',
            'image': 'rayWorker.image'}},
    '30cdb3170382c5487302deef2f56c03e1fb12633d11f6896d2735ea92483e2df': {'description': 'Size, GPU nodes and careful rollout of the Ray training workers.',
 'when': {'ray.available': True},
 'version_for': {'targets.deployments': False},
 'params': {'namespace': 'platform.namespace',
            'deployment': 'rayWorker.deployment',
            'kind': 'rayWorker.kind',
            'container': 'rayWorker.container',
            'gpus': 'rayWorker.gpus',
            'cpu': 'rayWorker.cpu',
            'memory': 'rayWorker.memory',
            'gracePeriod': 'rayWorker.gracePeriod',
            'products': 'gpu.products',
            'image': 'rayWorker.image'}},
    '56a43aa7150a7f3f3d040df8a2a18d0a5a55eaddd75afc85654246f9b5af2977': {'description': 'Size and GPU nodes of the Ray training workers.',
 'when': {'ray.available': True},
 'version_for': {'rayWorker.kind': 'RayCluster'},
 'params': {'deployment': 'rayWorker.deployment',
            'group': 'rayWorker.group',
            'container': 'rayWorker.container',
            'gpus': 'rayWorker.gpus',
            'cpu': 'rayWorker.cpu',
            'memory': 'rayWorker.memory',
            'gracePeriod': 'rayWorker.gracePeriod',
            'products': 'gpu.products'},
 'items': {'spec.workerGroupSpecs': 'groupName'}},
    '598824d2a07e3ed6a11f7be11fe922df4175afecd34de4304cad9c3505b377a9': {'description': 'Size and GPU nodes of the Ray training workers.',
 'when': {'ray.available': True},
 'version_for': {'rayWorker.kind': ['RayCluster', 'RayService']},
 'params': {'deployment': 'rayWorker.deployment',
            'kind': 'rayWorker.kind',
            'group': 'rayWorker.group',
            'container': 'rayWorker.container',
            'gpus': 'rayWorker.gpus',
            'cpu': 'rayWorker.cpu',
            'memory': 'rayWorker.memory',
            'gracePeriod': 'rayWorker.gracePeriod',
            'products': 'gpu.products'},
 'items': {'spec.workerGroupSpecs': 'groupName', 'spec.rayClusterConfig.workerGroupSpecs': 'groupName'}},
    '25f9f32941515fe60bfbaedbc198b7f6891e7155ab5fb0ff4d52175b28d96e1c': {'description': 'What remote jobs need on a cluster at another place, its namespace, an account without rights, and queues.',
 'params': {'namespace': 'remote.namespace', 'createNamespace': 'remote.createNamespace', 'queues': 'remote.queues'},
 'use': 'managed',
 'cluster': 'remote'},
    '0b2a8b44839952eda41dc2120df7c7f4c871086f1176bd431d40b2b683dd1db6': {'description': "Kueue's flavors, queues and priorities, by which teams share the GPU pool.",
 'when': {'pool.shared': True},
 'params': {'flavors': 'flavors', 'workerClusters': 'workerClusters', 'teams': 'teams', 'priorities': 'priorities'},
 'use': 'managed'},
    '576676017f68a8e7dc9de56500dbac80557a261db4a518155ddac9db3e3fa505': {'description': 'Gives the active training side its replicas and the idle side none.',
 'when': {'autoscaling.mode': 'none'},
 'params': {'ray': 'ray.available',
            'rayDeployment': 'rayWorker.deployment',
            'rayReplicas': 'rayWorker.replicas',
            'celeryDeployment': 'celery.deployment',
            'celeryReplicas': 'celery.replicas'}},
    'd951d6ce6314035a5cecfef9a9456b49cd280aadf8cc03fbdac50c04934de205': {'description': 'Gives the active training side its replicas and the idle side none.',
 'when': {'autoscaling.mode': 'none'},
 'version_for': {'targets.deployments': False},
 'params': {'ray': 'ray.available',
            'rayDeployment': 'rayWorker.deployment',
            'rayKind': 'rayWorker.kind',
            'rayReplicas': 'rayWorker.replicas',
            'celeryDeployment': 'celery.deployment',
            'celeryKind': 'celery.kind',
            'celeryReplicas': 'celery.replicas'}},
    'ba7db00d5270acf26b26abcb0601f4979b09bc6092fc99c3f072ffae85377044': {'description': 'Gives the active training backend its replicas and the idle one none.',
 'when': {'autoscaling.mode': 'none'},
 'version_for': {'rayWorker.kind': 'RayCluster'},
 'params': {'ray': 'ray.available',
            'rayDeployment': 'rayWorker.deployment',
            'rayGroup': 'rayWorker.group',
            'rayReplicas': 'rayWorker.replicas',
            'celeryDeployment': 'celery.deployment',
            'celeryKind': 'celery.kind',
            'celeryReplicas': 'celery.replicas'},
 'items': {'spec.workerGroupSpecs': 'groupName'}},
    'a39b923f59b22dd7d7b216fd4cd9391caa3dbb18fdbeebede64c4025495606e2': {'description': 'Gives the active training backend its replicas and the idle one none.',
 'when': {'autoscaling.mode': 'none'},
 'version_for': {'rayWorker.kind': ['RayCluster', 'RayService']},
 'params': {'ray': 'ray.available',
            'rayDeployment': 'rayWorker.deployment',
            'rayKind': 'rayWorker.kind',
            'rayGroup': 'rayWorker.group',
            'rayReplicas': 'rayWorker.replicas',
            'celeryDeployment': 'celery.deployment',
            'celeryKind': 'celery.kind',
            'celeryReplicas': 'celery.replicas'},
 'items': {'spec.workerGroupSpecs': 'groupName', 'spec.rayClusterConfig.workerGroupSpecs': 'groupName'}},
    '88c9ef161762811d22f9935fdd0587ffc3bb27df601084e8af4c2d067f437161': {'description': 'Sends new training requests to Ray or to Celery.',
 'phase': 'route',
 'when': {'ray.available': True},
 'params': {'deployment': 'apiServer.deployment', 'container': 'apiServer.container', 'ray': 'rayWorker.active'}},
    '3836c9a7bb34c9b0b5c7fc1d18ca738fa947d9854b15deb57b2e0fb890fe6da7': {'description': 'Sends new training requests to Ray or to Celery.',
 'phase': 'route',
 'when': {'ray.available': True},
 'version_for': {'targets.deployments': False},
 'params': {'deployment': 'apiServer.deployment', 'kind': 'apiServer.kind', 'container': 'apiServer.container', 'ray': 'rayWorker.active'}},
}
TEMPLATES: Final[Mapping[tuple[str, str], Callable[[Mapping[str, Any]], str]]] = {
    ('76875e8b7edd850f565c5a3daabf83589417bdf7282c43485e8e02ec85cd338a', 'patch.yaml.j2'): autoscaling_celery_v1_patch,
    ('733edb3e16d10036040ad6cb362cd0a01983a6cf181e7638b3096463d585d098', 'patch.yaml.j2'): autoscaling_celery_v2_patch,
    ('207e12ae5e6ca6f0f88d8896bc084c2b1aa4f059643120f6a703e08307bcbe99', 'patch.yaml.j2'): autoscaling_ray_v1_patch,
    ('3de9489df50027b9a1db6b71b298af701d2c005df825e4abb8d4adf88b84a109', 'patch.yaml.j2'): autoscaling_ray_v2_patch,
    ('14bf1506f7e4521e820a3df1f1f121ac3b8ac157460995a6d6663bc562260c4e', 'patch.yaml.j2'): celery_training_v1_patch,
    ('14bf1506f7e4521e820a3df1f1f121ac3b8ac157460995a6d6663bc562260c4e', 'base.yaml.j2'): celery_training_v1_base,
    ('81df0cf5579b6ab35ebe79d54522b45b79a78cf603a3da29e48a5efb667d6291', 'patch.yaml.j2'): celery_training_v2_patch,
    ('81df0cf5579b6ab35ebe79d54522b45b79a78cf603a3da29e48a5efb667d6291', 'base.yaml.j2'): celery_training_v2_base,
    ('b81d88cdee256aecf7d7e663633eb7c3a3e92eb31737d98e1e6ed71e9eca81fd', 'patch.yaml.j2'): celery_training_v3_patch,
    ('4ec6ed379e6b1f1a69705cb541398189b9c89d92ec3aeab6d41d38930e46f523', 'patch.yaml.j2'): environment_build_v1_patch,
    ('4ec6ed379e6b1f1a69705cb541398189b9c89d92ec3aeab6d41d38930e46f523', 'base.yaml.j2'): environment_build_v1_base,
    ('69f1d98a2f5e6428bd5be178ec4bd6b5912274b5609e616d5b38627345277279', 'patch.yaml.j2'): gpu_partitions_v1_patch,
    ('e7e132a1242a10c714b210b9732bee94b44755d8659f946ddcce4471a980e601', 'patch.yaml.j2'): job_notebook_v1_patch,
    ('d48902971decae44555c26a0076b4a78212072ae85bef78e45561f9b6cbac4ef', 'patch.yaml.j2'): job_ray_v1_patch,
    ('d48902971decae44555c26a0076b4a78212072ae85bef78e45561f9b6cbac4ef', 'base.yaml.j2'): job_ray_v1_base,
    ('594073b3e4645f43d34cb114da24ce4f35ad4d3a721de5e60e5b1903312d9f82', 'patch.yaml.j2'): job_ray_v2_patch,
    ('4c6fa673f5b57e4cd7c597b56a4fec2ce54ea6e1a0612d6c5aeca9f051f6afb1', 'patch.yaml.j2'): job_ray_v3_patch,
    ('bfc6bfcedff5c168a14b13a23689477d47b9ebc2e467db6dc0c7541e3c5d966d', 'patch.yaml.j2'): job_resources_v1_patch,
    ('bfc6bfcedff5c168a14b13a23689477d47b9ebc2e467db6dc0c7541e3c5d966d', 'base.yaml.j2'): job_resources_v1_base,
    ('3d3ee132635955366360670be41f456c9b36f537381334fb8be6491c37d6fc0a', 'patch.yaml.j2'): job_run_v1_patch,
    ('60bcdc918ac29d86c81ecf48bbd9874c04ab9faced3337fdcc675e66608b68a6', 'patch.yaml.j2'): job_spark_v1_patch,
    ('60bcdc918ac29d86c81ecf48bbd9874c04ab9faced3337fdcc675e66608b68a6', 'base.yaml.j2'): job_spark_v1_base,
    ('a60371aee00b1ad891a56233d62b525e02e4ab729dc96114630eb1e241994d5a', 'patch.yaml.j2'): keda_celery_v1_patch,
    ('a60371aee00b1ad891a56233d62b525e02e4ab729dc96114630eb1e241994d5a', 'base.yaml.j2'): keda_celery_v1_base,
    ('afe80ca7a1ba53e3b3250640947d033b7c3f48e544671eabe73a71a2d0727dee', 'patch.yaml.j2'): keda_celery_v2_patch,
    ('afe80ca7a1ba53e3b3250640947d033b7c3f48e544671eabe73a71a2d0727dee', 'base.yaml.j2'): keda_celery_v2_base,
    ('0748feada1a131575a4ed5e9cb8dc455e05b89b561d44b03ddca411b400497ef', 'patch.yaml.j2'): keda_ray_v1_patch,
    ('0748feada1a131575a4ed5e9cb8dc455e05b89b561d44b03ddca411b400497ef', 'base.yaml.j2'): keda_ray_v1_base,
    ('3e6e7e357401892b42fa450ba37c2f6b387a23188307c628514a063e9ff4d454', 'patch.yaml.j2'): keda_ray_v2_patch,
    ('3e6e7e357401892b42fa450ba37c2f6b387a23188307c628514a063e9ff4d454', 'base.yaml.j2'): keda_ray_v2_base,
    ('9e1c7c63a02943f72d1c3141ee444dae7a27bedd535372ffe53206d09d938bd3', 'patch.yaml.j2'): model_service_v1_patch,
    ('9e1c7c63a02943f72d1c3141ee444dae7a27bedd535372ffe53206d09d938bd3', 'base.yaml.j2'): model_service_v1_base,
    ('4fb3ceb39bfc782fd14ff95921cba823de76a752195cf54313db99468a42a13a', 'patch.yaml.j2'): model_service_v2_patch,
    ('de49ea08df7f500680b7083b78fbb0cf0c561ea8d6ee26434d06836889a3488b', 'patch.yaml.j2'): node_pools_v1_patch,
    ('de49ea08df7f500680b7083b78fbb0cf0c561ea8d6ee26434d06836889a3488b', 'base.yaml.j2'): node_pools_v1_base,
    ('36a7ee8bae4b474b075a74a8422ec01430906005b7b747804bd9a56bad3a14c5', 'patch.yaml.j2'): notebook_servers_v1_patch,
    ('78afbb717711607c161ca152ba8b55ac1bdf9ed77a8632563eb6f40093546b81', 'patch.yaml.j2'): notebook_servers_v2_patch,
    ('12b5b59772bb960801b15b6248a7d4a75c411ae4a71e70d5e4f500fd90791939', 'patch.yaml.j2'): pipeline_run_v1_patch,
    ('12b5b59772bb960801b15b6248a7d4a75c411ae4a71e70d5e4f500fd90791939', 'base.yaml.j2'): pipeline_run_v1_base,
    ('22204e2875d8c01b516a0e4629281353d8df535020d89e3ac15c5b95a570b032', 'patch.yaml.j2'): ray_head_v1_patch,
    ('22204e2875d8c01b516a0e4629281353d8df535020d89e3ac15c5b95a570b032', 'base.yaml.j2'): ray_head_v1_base,
    ('530e19ec97e283ad55d687b0fec32e7bd2627e995c03d587cfcafe4e12cfcf00', 'patch.yaml.j2'): ray_head_v2_patch,
    ('ce1b363b59506cafabe81641dc8b858bbaa1c6938d3d5419e63fd038f4c5fd55', 'patch.yaml.j2'): ray_head_v3_patch,
    ('396bfed8c101fdcacc2d9a7e8afdfe06df2570b7ad851cb5b9f739f4d6b99478', 'patch.yaml.j2'): ray_head_v4_patch,
    ('642bfdc1721f74c9a974b483924013a31847dfabe9390297256aee8c31a82ddf', 'patch.yaml.j2'): ray_worker_multi_gpu_v1_patch,
    ('f029f4ac21b9ed550e11dadcf0eb5b85d9ef6a4f055e890dad64c669b1e4854c', 'patch.yaml.j2'): ray_worker_multi_gpu_v2_patch,
    ('b77abedc477edf0cefcbee5baeb97680828b3fad59431e6a647862cb1097fe80', 'patch.yaml.j2'): ray_worker_multi_gpu_v3_patch,
    ('746e829589d65fd14dcd0f8a359b61392bfaeb65582f192441e6fb47536b402d', 'patch.yaml.j2'): ray_worker_multi_gpu_v4_patch,
    ('b6bc5d8d8dd91f8c3fae9a464a09da85b0e068e39223d30256f3b014f553afc8', 'patch.yaml.j2'): ray_worker_v1_patch,
    ('b6bc5d8d8dd91f8c3fae9a464a09da85b0e068e39223d30256f3b014f553afc8', 'base.yaml.j2'): ray_worker_v1_base,
    ('30cdb3170382c5487302deef2f56c03e1fb12633d11f6896d2735ea92483e2df', 'patch.yaml.j2'): ray_worker_v2_patch,
    ('56a43aa7150a7f3f3d040df8a2a18d0a5a55eaddd75afc85654246f9b5af2977', 'patch.yaml.j2'): ray_worker_v3_patch,
    ('598824d2a07e3ed6a11f7be11fe922df4175afecd34de4304cad9c3505b377a9', 'patch.yaml.j2'): ray_worker_v4_patch,
    ('25f9f32941515fe60bfbaedbc198b7f6891e7155ab5fb0ff4d52175b28d96e1c', 'patch.yaml.j2'): remote_cluster_v1_patch,
    ('25f9f32941515fe60bfbaedbc198b7f6891e7155ab5fb0ff4d52175b28d96e1c', 'base.yaml.j2'): remote_cluster_v1_base,
    ('0b2a8b44839952eda41dc2120df7c7f4c871086f1176bd431d40b2b683dd1db6', 'patch.yaml.j2'): team_queues_v1_patch,
    ('0b2a8b44839952eda41dc2120df7c7f4c871086f1176bd431d40b2b683dd1db6', 'base.yaml.j2'): team_queues_v1_base,
    ('576676017f68a8e7dc9de56500dbac80557a261db4a518155ddac9db3e3fa505', 'patch.yaml.j2'): training_replicas_v1_patch,
    ('d951d6ce6314035a5cecfef9a9456b49cd280aadf8cc03fbdac50c04934de205', 'patch.yaml.j2'): training_replicas_v2_patch,
    ('ba7db00d5270acf26b26abcb0601f4979b09bc6092fc99c3f072ffae85377044', 'patch.yaml.j2'): training_replicas_v3_patch,
    ('a39b923f59b22dd7d7b216fd4cd9391caa3dbb18fdbeebede64c4025495606e2', 'patch.yaml.j2'): training_replicas_v4_patch,
    ('88c9ef161762811d22f9935fdd0587ffc3bb27df601084e8af4c2d067f437161', 'patch.yaml.j2'): training_route_v1_patch,
    ('3836c9a7bb34c9b0b5c7fc1d18ca738fa947d9854b15deb57b2e0fb890fe6da7', 'patch.yaml.j2'): training_route_v2_patch,
}
