"""The balancer's configuration for compose.yaml, from the template of tools/fleet/.

    python3 -m tests.containers.balancer        writes tools/fleet/balancer/compose.cfg

Compose cannot fill in a template, so the file is in the repository; test_files.py
fails when it is not what the template gives.
"""

from pathlib import Path

import jinja2
import yaml

TOP = Path(__file__).resolve().parents[2]
TEMPLATE = TOP / "tools" / "fleet" / "balancer" / "haproxy.cfg.j2"
FILE = TOP / "tools" / "fleet" / "balancer" / "compose.cfg"
PORT = 8000     # of the instances and of the balancer, each in its own container
HEAD = """\
# Written by `make tools/fleet/balancer/compose.cfg` from haproxy.cfg.j2, for compose.yaml.
# Change the template, not this file.

"""


def instances(compose):
    """Return the names of the services that run one of the seven servers.

    `compose` is what yaml.safe_load() returns for compose.yaml.
    """
    return [name for name, service in compose["services"].items()
            if service["image"] == "zerohttpd"]


def render():
    """Return the text that FILE should have. Raises OSError without TEMPLATE."""
    names = instances(yaml.safe_load((TOP / "compose.yaml").read_text()))
    environment = jinja2.Environment(
        trim_blocks=True, keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined)
    return HEAD + environment.from_string(TEMPLATE.read_text()).render(
        balancer_port=PORT, balancer_folder="/tmp", balancer_log="stderr",
        instances=[{"name": name, "host": name, "port": PORT} for name in names])


if __name__ == "__main__":
    FILE.write_text(render())
