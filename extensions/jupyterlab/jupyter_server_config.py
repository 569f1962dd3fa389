"""For /etc/jupyter in the image of a notebook server: the stack that gets its jobs, and when idle kernels end.

The server's own pod requests no GPU: jobs request GPUs, and hold them only while they run.
"""

c = get_config()  # noqa: F821 - Jupyter gives it

c.Modelyard.project = "/home/jovyan/platform"
c.Modelyard.stack = "dev"

# Ends a kernel that has run nothing for an hour, even if a page still shows it. The notebook stays.
c.MappingKernelManager.cull_idle_timeout = 3600
c.MappingKernelManager.cull_interval = 300
c.MappingKernelManager.cull_connected = True
c.MappingKernelManager.cull_busy = False

# Ends a server without kernels and terminals after two hours without a request. Only for servers that a hub starts
# again on demand: a Deployment would restart it at once.
c.ServerApp.shutdown_no_activity_timeout = 7200
