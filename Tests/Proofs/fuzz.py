"""Requests that schemathesis makes from Docs/openapi.yaml: none is answered by a status of 500 or more.

Usage: fuzz.py PROGRAM SCHEMATHESIS [EXAMPLES]   at most so many requests of each kind for each operation
"""

import json
import pathlib
import random
import re
import subprocess
import sys

from served import CONTAINER, Client, Server, expect, prove

SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "Docs" / "openapi.yaml"
# The whole run, for a server that hangs.
SECONDS = 1800


def proof(program, folder):
    schemathesis = sys.argv[2]
    examples = sys.argv[3] if len(sys.argv) > 3 else "60"
    seed = random.randrange(10_000)
    server = Server(program, folder / "store.tide", "--rate-limit", "sign-in=1000000/1s")
    try:
        web = server.sign_in()
        # Most requests are for a place that there is, from somebody who may be there.
        parameters = {"container": CONTAINER, "environment": "development"}
        lines = ["[parameters]"] + [f"{name} = {json.dumps(value)}" for name, value in parameters.items()]
        lines += ["[auth.openapi.apiToken]", f"api_key = {json.dumps(server.token)}"]
        lines += ["[auth.openapi.webAuthToken]", f"api_key = {json.dumps(web)}"]
        # Of several ways to say who asks schemathesis takes the first: the API token alone, which opens little.
        text = SCHEMA.read_text()
        alone, both = "security:\n  - apiToken: []\n", "security:\n"
        expect(alone in text, f"{SCHEMA} does not begin its ways to sign with the API token alone")
        text = text.replace(alone, both, 1)
        # Streams, whose answers have no end: schemathesis would read heartbeats for ever.
        for method in ("notifications", "accountStatuses"):
            expect(f", {method}" in text, f"{SCHEMA} does not name the method {method}")
            text = text.replace(f", {method}", "", 1)
        schema = folder / "openapi.yaml"
        schema.write_text(text)
        settings = folder / "schemathesis.toml"
        settings.write_text("\n".join(lines) + "\n")
        done = subprocess.run(
            [
                schemathesis, "--config-file", settings, "run", schema, "--url", server.address,
                "--checks", "not_a_server_error", "--phases", "examples,coverage,fuzzing",
                "--max-examples", examples, "--seed", str(seed), "--continue-on-failure",
                "--exclude-operation-id", "getChangesStream", "--exclude-operation-id", "getCourier",
                "--request-timeout", "30", "--suppress-health-check", "all", "--generation-database", "none",
                "--warnings", "off", "--no-color",
            ],
            cwd=folder, capture_output=True, text=True, timeout=SECONDS,
        )
        expect(server.is_alive(), f"seed {seed}: the server ended\n{done.stdout[-3000:]}")
        expect(done.returncode == 0, f"seed {seed}: {done.stdout[-8000:]}{done.stderr[-2000:]}")
        summary = [line.strip() for line in done.stdout.splitlines() if "generated" in line or "Tested:" in line]
        _, _, metrics = Client(server).request("GET", "/metrics")
        answers = re.findall(r'^tidemark_requests_total\{[^}]*status="(\d+)"[^}]*\} (\d+)', metrics.decode(), re.M)
        counts = {}
        for status, count in answers:
            counts[status] = counts.get(status, 0) + int(count)
        expect(counts.get("200", 0) > 100, f"hardly any request was good: {counts}")
        print(f"  seed {seed}: {'; '.join(summary)}; by status {counts}")
        server.end()
        server.expect_sound()
    finally:
        server.kill()


prove(proof)
