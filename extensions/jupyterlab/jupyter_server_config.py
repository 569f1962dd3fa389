"""For /etc/jupyter in the image of a notebook server: where notebooks are submitted to, and what ends by itself.

The server's own pod asks for no GPU: GPUs are for jobs, which hold them only while they run.
"""

c = get_config()  # noqa: F821 - Jupyter gives it

c.Modelyard.project = "/home/jovyan/platform"
c.Modelyard.stack = "dev"

# A kernel that ran nothing for an hour ends, also where a page still shows it: its memory is free, its notebook stays.
c.MappingKernelManager.cull_idle_timeout = 3600
c.MappingKernelManager.cull_interval = 300
c.MappingKernelManager.cull_connected = True
c.MappingKernelManager.cull_busy = False

# A server without kernels and terminals that nobody asked anything for two hours ends. It takes a hub that starts it
# again; a Deployment would do so at once.
c.ServerApp.shutdown_no_activity_timeout = 7200
