"""vegeta, the open loop that has percentiles."""

import json
import os
import re
import subprocess

from bench.load.base import LoadError, Result, Tool, last_line

TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..",
                     "build", "tools")
VERSION = "v12.13.0"


class OpenLoop(Tool):
    """vegeta: an open loop; a request every 1/rate seconds, on an idle
    connection or, if there is none, on a new one. It never waits for the
    server: the number of its clients has no limit but its descriptors."""

    name = package = "vegeta"
    latency = ("vegeta: from the time when a request is due to the last byte, "
               "with connect; an open loop, so no coordinated omission as "
               "long as it does not lag")
    open_loop = True

    def path(self):
        """Return its path: on PATH, or in build/tools/."""
        own = os.path.join(os.path.normpath(TOOLS), self.name)
        return super().path() or (own if os.access(own, os.X_OK) else None)

    @property
    def remedy(self):
        """The command that installs it, from the top of the checkout."""
        return ('GOBIN="$PWD/build/tools" go install '
                f"github.com/tsenart/vegeta/v12@{VERSION}")

    def command(self, job, folder):
        """Return argv. The bodies are read, but not kept."""
        targets = os.path.join(folder, "targets")
        with open(targets, "w", encoding="ascii") as file:
            file.write(f"GET {job.urls[0]}\n")
        return [self.path(), "-cpus", str(job.threads), "attack",
                "-targets", targets, "-rate", f"{job.rate * job.calls:.0f}/1s",
                "-duration", f"{job.seconds:.3f}s",
                "-timeout", f"{job.timeout:g}s", "-redirects", "-1",
                f"-keepalive={str(job.keep_alive).lower()}",
                "-max-body", "0", "-output", os.path.join(folder, "results")]

    def report(self, text, folder):
        """Return what vegeta makes of its results, once the load is over."""
        done = subprocess.run(
            [self.path(), "report", "-type=json",
             os.path.join(folder, "results")], check=False, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return text + done.stdout

    def parse(self, text, job, folder):
        """Return the Result of vegeta's report."""
        try:
            found = json.loads(last_line(text))
        except ValueError:
            found = {}
        if not found.get("requests"):
            raise LoadError("no report from vegeta: " + last_line(text))
        asked = found["requests"]
        good = sum(count for status, count in found["status_codes"].items()
                   if status[0] in "23")
        sending = found["duration"] / 1e9
        result = Result(good=good, failed=asked - good,
                        seconds=sending + found["wait"] / 1e9)
        # An error is named once, however often and on however many ports.
        errors = " ".join(found["errors"])
        kinds = sorted({error.rpartition(": ")[2]
                        for error in found["errors"]})
        if re.search("deadline exceeded|Client.Timeout", errors):
            result.timeouts = None
        if "too many open files" in errors:
            kinds.insert(0, "fd-unavail")
        if kinds:
            result.notes.append("errors: " + ", ".join(kinds[:5]))
        if good:
            names = ("mean", "50th", "99th", "max")
            result.mean, result.p50, result.p99, result.max = (
                found["latencies"][name] / 1e6 for name in names)
        if asked > 1:
            sent = (asked - 1) / sending
            self.paced(result, sent,
                       100 * (1 - sent / (job.rate * job.calls)))
        return result
